//! What the requests of a load ask for, and which of it the next one does.

use std::ops::Index;

use objects::WHOLE;
use random::Random;
use units::Bytes;

use crate::receive::Expectation;
use crate::{Close, Job, Operation};

/// Random numbers of arrivals have the streams of the threads' numbers; those of objects begin here.
const FIRST_STREAM: u64 = 1 << 32;

/// One request and what it is to be answered with.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) request: Vec<u8>,
    pub(crate) expectation: Expectation,
}

/// The requests of one load thread, by the numbers of the job's objects.
#[derive(Debug)]
pub(crate) struct Asks {
    asks: Vec<Ask>,
    /// The shares summed up, in the same order; the last one is [`WHOLE`].
    up_to: Vec<u32>,
    random: Random,
}

impl Asks {
    /// Those of the load's thread of this number.
    pub(crate) fn new(job: &Job, thread: usize) -> Self {
        let shares: Vec<u32> = match &job.objects {
            None => vec![WHOLE],
            Some(mix) => mix.portions().iter().map(|portion| portion.thousandths()).collect(),
        };
        let sum = |sum: &mut u32, share| {
            *sum += share;
            Some(*sum)
        };
        Self {
            asks: job.paths().map(|path| Ask::new(job, path)).collect(),
            up_to: shares.into_iter().scan(0, sum).collect(),
            random: Random::stream(job.seed, FIRST_STREAM + thread as u64),
        }
    }

    /// Which object the next request asks for.
    pub(crate) fn next(&mut self) -> usize {
        if self.asks.len() == 1 {
            return 0;
        }
        let drawn = self.random.below(u64::from(WHOLE));
        self.up_to.partition_point(|up_to| u64::from(*up_to) <= drawn)
    }
}

impl Index<usize> for Asks {
    type Output = Ask;

    fn index(&self, object: usize) -> &Ask {
        &self.asks[object]
    }
}

impl Ask {
    fn new(job: &Job, path: &str) -> Self {
        let connection = match (job.plan.operation, job.plan.close) {
            (Operation::OneRequestPerConnection, Close::Fin) => "Connection: close\r\n",
            _ => "",
        };
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nUser-Agent: toll/{}\r\n{connection}\r\n",
            job.url.authority(),
            env!("CARGO_PKG_VERSION"),
        );
        let expectation = match objects::size_of(path) {
            Some(Bytes(size)) => Expectation::Object(size),
            None => Expectation::Anything,
        };
        Self { request: request.into_bytes(), expectation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::tests::job;
    use crate::{Mix, Plan};

    fn asks(mix: &str, seed: u64, thread: usize) -> Asks {
        let objects = Some(mix.parse::<Mix>().unwrap());
        let job = Job { objects, seed, ..job("https://localhost/", Plan::default()) };
        Asks::new(&job, thread)
    }

    fn drawn(mix: &str, seed: u64, thread: usize, count: usize) -> Vec<usize> {
        let mut asks = asks(mix, seed, thread);
        std::iter::repeat_with(|| asks.next()).take(count).collect()
    }

    #[test]
    fn each_object_is_asked_for_as_often_as_it_should_be() {
        let count = 100_000;
        let drawn = drawn("1KiB 89.5%, /a 10%, 1MiB 0.5%", 1, 0, count);
        for (object, share) in [0.895, 0.1, 0.005].into_iter().enumerate() {
            let of_it = drawn.iter().filter(|drawn| **drawn == object).count() as f64;
            // Five standard deviations of a binomial count.
            let room = 5.0 * (count as f64 * share * (1.0 - share)).sqrt();
            assert!((of_it - count as f64 * share).abs() < room, "{of_it} of {share}");
        }
    }

    #[test]
    fn objects_follow_from_the_seed_and_the_thread() {
        let mix = "1KiB 50%, 1MiB 50%";
        let first = drawn(mix, 7, 0, 100);
        assert_eq!(drawn(mix, 7, 0, 100), first);
        assert_ne!(drawn(mix, 8, 0, 100), first);
        assert_ne!(drawn(mix, 7, 1, 100), first);
        assert_eq!(drawn("1KiB", 7, 0, 5), [0; 5]);
    }

    #[test]
    fn each_object_has_its_request_and_its_size() {
        let asks = asks("1KiB 50%, /index.html?x 50%", 0, 0);
        assert!(asks[0].request.starts_with(b"GET /bytes/1KiB HTTP/1.1\r\nHost: localhost\r\n"));
        assert!(asks[1].request.starts_with(b"GET /index.html?x HTTP/1.1\r\n"));
        assert!(matches!(asks[0].expectation, Expectation::Object(1024)));
        assert!(matches!(asks[1].expectation, Expectation::Anything));
    }
}
