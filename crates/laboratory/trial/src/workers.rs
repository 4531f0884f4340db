//! Whether the threads or processes that do a server's work have equal shares of it.

use std::collections::BTreeMap;

use observe::NamedThread;

/// How much more than the mean the busiest worker may do. Beyond that the others have a fifth of their
/// time left when it is full.
const UNEVEN: f64 = 1.25;

/// A worker that uses less of a CPU shows what the kernel's clock rounds, not how work is spread.
const LEAST_BUSY: f64 = 0.02;

/// The part of the busiest worker's work that makes a main thread a worker too.
const ALSO_WORKS: f64 = 0.01;

/// More threads than this on a CPU are a pool: each takes any connection, and which of them did is
/// chance.
const MOST_ON_A_CPU: usize = 2;

/// What a server's workers did: shares of a CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Workers {
    pub(crate) count: usize,
    pub(crate) busiest: f64,
    pub(crate) mean: f64,
}

impl Workers {
    /// From what each thread used, by its number, and the threads that may serve. `None` where there
    /// are not several workers, or their number says that they are a pool of threads.
    ///
    /// The workers are the threads with the name under which most was done, also those of them that
    /// did nothing. So compilers and collectors of a Java server are none, but a main thread that
    /// works beside threads of another name is one.
    pub(crate) fn of(
        used: &BTreeMap<u32, f64>,
        threads: &[NamedThread],
        cpus: usize,
    ) -> Option<Self> {
        let of_thread = |thread: &NamedThread| used.get(&thread.id).copied();
        let mut by_name: BTreeMap<&str, f64> = BTreeMap::new();
        for thread in threads {
            *by_name.entry(&thread.name).or_default() += of_thread(thread).unwrap_or_default();
        }
        let (name, _) = by_name.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let named = |thread: &&NamedThread| thread.name == name;
        let busiest = threads.iter().filter(named).filter_map(of_thread).fold(0.0, f64::max);
        let serves = |thread: &&NamedThread| {
            let also_works = of_thread(thread) >= Some(ALSO_WORKS * busiest);
            thread.name == name || (thread.is_main && also_works)
        };
        let shares: Vec<f64> = threads.iter().filter(serves).filter_map(of_thread).collect();
        let count = shares.len();
        (2..=MOST_ON_A_CPU * cpus).contains(&count).then(|| Self {
            count,
            busiest: shares.iter().copied().fold(0.0, f64::max),
            mean: shares.iter().sum::<f64>() / count as f64,
        })
    }

    pub(crate) fn are_uneven(&self) -> bool {
        self.busiest >= LEAST_BUSY && self.busiest >= UNEVEN * self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread with the share that it used.
    fn thread(id: u32, name: &str, is_main: bool, used: f64) -> (NamedThread, f64) {
        (NamedThread { id, name: name.to_owned(), is_main }, used)
    }

    fn workers(threads: &[(NamedThread, f64)], cpus: usize) -> Option<Workers> {
        let used = threads.iter().map(|(thread, used)| (thread.id, *used)).collect();
        let threads: Vec<_> = threads.iter().map(|(thread, _)| thread.clone()).collect();
        Workers::of(&used, &threads, cpus)
    }

    #[test]
    fn workers_have_the_name_under_which_most_is_done() {
        let java = [
            thread(1, "java", true, 0.0),
            thread(2, "http-nio-8443-e", false, 0.5),
            thread(3, "http-nio-8443-e", false, 0.0),
            thread(4, "C2 CompilerThre", false, 0.4),
        ];
        let found = workers(&java, 2).unwrap();
        assert_eq!(found, Workers { count: 2, busiest: 0.5, mean: 0.25 });
        assert!(found.are_uneven());
        // Its main thread works too.
        let embedded = [thread(1, "toll", true, 0.9), thread(2, "serve", false, 1.0)];
        let found = workers(&embedded, 2).unwrap();
        assert!(found.count == 2 && !found.are_uneven(), "{found:?}");
    }

    #[test]
    fn one_worker_and_a_pool_are_not_judged() {
        let alone = [thread(1, "nginx", true, 0.99)];
        assert_eq!(workers(&alone, 2), None);
        assert_eq!(workers(&[], 2), None);
        let pool: Vec<_> = (1..=5).map(|id| thread(id, "worker", false, 0.1)).collect();
        assert_eq!(workers(&pool, 2), None);
        assert!(workers(&pool, 3).is_some());
    }

    #[test]
    fn a_quarter_more_than_the_mean_is_uneven_unless_nothing_was_to_do() {
        let of = |busiest, mean| Workers { count: 4, busiest, mean }.are_uneven();
        assert!(of(0.5, 0.4) && !of(0.49, 0.4));
        assert!(!of(0.019, 0.005));
    }
}
