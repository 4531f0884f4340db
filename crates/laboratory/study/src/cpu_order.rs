//! CPUs in the order in which a server gets them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use cpus::{CpuList, Topology};

/// CPUs in an order, not empty, without repetition.
#[derive(Debug, Clone, PartialEq, Eq)]
#[derive(serde_with::DeserializeFromStr, serde_with::SerializeDisplay)]
pub struct CpuOrder(Vec<usize>);

impl CpuOrder {
    /// All of `cpus`, so that the first ones make a good server: a CPU of each core before a second
    /// hyperthread of any, those of the client's cores being second ones, and the sockets in turn.
    pub fn spread(cpus: &CpuList, client: &CpuList, machine: &Topology) -> Self {
        let mut threads: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for &cpu in client.as_slice() {
            *threads.entry(machine.core(cpu)).or_default() += 1;
        }
        let mut of_socket: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let mut ranked = Vec::new();
        for &cpu in cpus.as_slice() {
            let core = machine.core(cpu);
            let thread = threads.entry(core).or_default();
            *thread += 1;
            let turn = of_socket.entry((core.0, *thread)).or_default();
            *turn += 1;
            ranked.push((*thread, *turn, core.0, cpu));
        }
        ranked.sort_unstable();
        Self(ranked.into_iter().map(|(.., cpu)| cpu).collect())
    }

    /// The first `threads` CPUs of each of the first `cores` cores that have as many.
    ///
    /// # Errors
    /// How many cores with as many CPUs there are, where these are too few.
    pub fn cores(
        &self,
        cores: usize,
        threads: usize,
        machine: &Topology,
    ) -> Result<CpuList, usize> {
        let mut of_core: Vec<((usize, usize), Vec<usize>)> = Vec::new();
        for &cpu in &self.0 {
            let core = machine.core(cpu);
            match of_core.iter_mut().find(|(other, _)| *other == core) {
                Some((_, cpus)) => cpus.push(cpu),
                None => of_core.push((core, vec![cpu])),
            }
        }
        of_core.retain(|(_, cpus)| cpus.len() >= threads);
        let there = of_core.len();
        let chosen = of_core.get(..cores).ok_or(there)?;
        let cpus: Vec<usize> =
            chosen.iter().flat_map(|(_, cpus)| cpus[..threads].iter().copied()).collect();
        list(&cpus).ok_or(there)
    }

    /// How many there are; never 0.
    #[expect(clippy::len_without_is_empty, reason = "an order of CPUs is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The first ones; `None` where there are fewer, or for 0.
    pub fn first(&self, count: usize) -> Option<CpuList> {
        list(self.0.get(..count)?)
    }

    /// All, without their order.
    pub fn list(&self) -> CpuList {
        list(&self.0).unwrap_or_else(|| CpuList::from(0))
    }
}

/// `None` of none.
fn list(cpus: &[usize]) -> Option<CpuList> {
    cpus.iter().map(|cpu| CpuList::from(*cpu)).reduce(|all, cpu| all.with(&cpu))
}

impl From<&CpuList> for CpuOrder {
    fn from(list: &CpuList) -> Self {
        Self(list.as_slice().to_vec())
    }
}

impl FromStr for CpuOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // As a whole first, so that what is wrong is told of the whole.
        text.parse::<CpuList>()?;
        let mut order = Vec::new();
        for part in text.split(',') {
            for &cpu in part.parse::<CpuList>()?.as_slice() {
                if !order.contains(&cpu) {
                    order.push(cpu);
                }
            }
        }
        Ok(Self(order))
    }
}

impl fmt::Display for CpuOrder {
    /// As it is read; `0-3` where four follow each other.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|a, b| a + 1 == *b);
        let in_words: Vec<String> = runs
            .map(|run| match run {
                [first, .., last] => format!("{first}-{last}"),
                _ => run.iter().map(ToString::to_string).collect(),
            })
            .collect();
        f.write_str(&in_words.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets of two cores of two threads, numbered as Linux does: threads last.
    fn two_sockets() -> Topology {
        Topology::new("0-8".parse().unwrap(), |cpu| (cpu < 8).then_some((cpu % 4 / 2, cpu % 2)))
    }

    fn spread(cpus: &str, client: usize) -> CpuOrder {
        CpuOrder::spread(&cpus.parse().unwrap(), &CpuList::from(client), &two_sockets())
    }

    #[test]
    fn cores_come_before_hyperthreads_and_sockets_take_turns() {
        assert_eq!(spread("0-7", 8).0, [0, 2, 1, 3, 4, 6, 5, 7]);
        // CPU 4 is the sibling of CPU 0, which the client has.
        let order = spread("1-7", 0);
        assert_eq!(order.0, [1, 2, 3, 4, 6, 5, 7]);
        assert_eq!(order.first(3).unwrap().to_string(), "1-3");
        assert_eq!((order.first(8), order.first(0)), (None, None));
    }

    #[test]
    fn a_core_gives_one_of_its_threads_or_both() {
        let cores = |order: &CpuOrder, cores, threads| {
            order.cores(cores, threads, &two_sockets()).map(|cpus| cpus.to_string())
        };
        let all = spread("0-7", 8);
        assert_eq!(cores(&all, 2, 1).unwrap(), "0,2");
        assert_eq!(cores(&all, 2, 2).unwrap(), "0,2,4,6");
        assert_eq!(cores(&all, 4, 2).unwrap(), "0-7");
        assert_eq!((cores(&all, 5, 1), cores(&all, 0, 1)), (Err(4), Err(4)));
        // The client has a thread of one core, which comes last and has no second thread to give.
        let beside = spread("1-7", 0);
        assert_eq!(cores(&beside, 4, 1).unwrap(), "1-4");
        assert_eq!(
            (cores(&beside, 3, 2).unwrap(), cores(&beside, 4, 2)),
            ("1-3,5-7".into(), Err(3))
        );
        // A list that is written keeps its order.
        let written: CpuOrder = "5,1,8,0".parse().unwrap();
        assert_eq!(
            (cores(&written, 1, 1).unwrap(), cores(&written, 1, 2).unwrap()),
            ("5".into(), "1,5".into())
        );
        assert_eq!(cores(&written, 2, 2), Err(1));
    }

    #[test]
    fn where_nothing_is_known_they_stay_as_they_are() {
        let machine = Topology::from("0-6".parse::<CpuList>().unwrap());
        let order = CpuOrder::spread(&"0,3,5-6".parse().unwrap(), &CpuList::from(1), &machine);
        assert_eq!(order.0, [0, 3, 5, 6]);
        assert_eq!(order.cores(1, 2, &machine), Err(0));
    }

    #[test]
    fn an_order_is_read_as_it_is_written() {
        for text in ["0", "0,2,1,3", "4-7,0-1", "3,2"] {
            assert_eq!(text.parse::<CpuOrder>().unwrap().to_string(), text);
        }
        assert_eq!("2,0-2".parse::<CpuOrder>().unwrap().to_string(), "2,0-1");
        assert_eq!("2,0".parse::<CpuOrder>().unwrap().list().to_string(), "0,2");
        assert!("0,".parse::<CpuOrder>().is_err());
    }
}
