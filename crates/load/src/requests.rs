//! The requests of a load, and the object of the next one.

use std::ops::Index;
use std::sync::Arc;

use objects::{Files, WHOLE};
use random::Random;
use units::Bytes;

use crate::{Close, Header, Job, Operation};
use wire::reception::Expectation;

/// Arrivals use the random streams numbered by thread; the streams for objects begin here.
const FIRST_STREAM: u64 = 1 << 32;

/// One request and its expected answer.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) request: Vec<u8>,
    pub(crate) expectation: Expectation,
}

/// The requests of one load thread, by the numbers of the job's objects.
#[derive(Debug)]
pub(crate) struct Requests {
    requests: Arc<[Request]>,
    /// The fields of all requests over HTTP/2, but for the path.
    common: Vec<(Vec<u8>, Vec<u8>)>,
    order: Order,
}

/// Which object is next.
#[derive(Debug)]
enum Order {
    /// Drawn by these cumulative shares, in the order of the requests; the last one is [`WHOLE`].
    Drawn { up_to: Vec<u32>, random: Random },
    /// All in this order, again and again.
    Round { order: Vec<usize>, next: usize },
}

impl Requests {
    /// The order in which the thread with this number sends a job's requests.
    pub(crate) fn new(job: &Job, requests: Arc<[Request]>, thread: usize) -> Self {
        let mut random = Random::stream(job.seed, FIRST_STREAM + thread as u64);
        let common = common_fields(job);
        if let Some(files) = &job.files {
            let order = random.order(files.count.get() as usize);
            return Self { requests, common, order: Order::Round { order, next: 0 } };
        }
        let shares: Vec<u32> = match &job.objects {
            None => vec![WHOLE],
            Some(mix) => mix.portions().iter().map(|portion| portion.thousandths()).collect(),
        };
        let sum = |sum: &mut u32, share| {
            *sum += share;
            Some(*sum)
        };
        Self {
            requests,
            common,
            order: Order::Drawn { up_to: shares.into_iter().scan(0, sum).collect(), random },
        }
    }

    /// The object of the next request.
    pub(crate) fn next(&mut self) -> usize {
        if self.requests.len() == 1 {
            return 0;
        }
        match &mut self.order {
            Order::Drawn { up_to, random } => {
                let drawn = random.below(u64::from(WHOLE));
                up_to.partition_point(|up_to| u64::from(*up_to) <= drawn)
            }
            Order::Round { order, next } => {
                let object = order[*next];
                *next = (*next + 1) % order.len();
                object
            }
        }
    }
}

impl Requests {
    /// The fields of an object's request over HTTP/2.
    pub(crate) fn fields(&self, object: usize) -> Fields<'_> {
        Fields { path: self.requests[object].path(), common: &self.common }
    }
}

/// A request's fields over HTTP/2 (RFC 9113, section 8.3.1), pseudo-header fields first.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'r> {
    path: &'r [u8],
    common: &'r [(Vec<u8>, Vec<u8>)],
}

impl<'r> Fields<'r> {
    pub(crate) fn iter(self) -> impl Iterator<Item = (&'r [u8], &'r [u8])> {
        let common = self.common.iter().map(|(name, value)| (name.as_slice(), value.as_slice()));
        std::iter::once((&b":path"[..], self.path)).chain(common)
    }

    /// The length of all names and values.
    pub(crate) fn length(self) -> u64 {
        self.iter().map(|(name, value)| (name.len() + value.len()) as u64).sum()
    }
}

/// Names are in lower case (RFC 9113, section 8.2.1).
fn common_fields(job: &Job) -> Vec<(Vec<u8>, Vec<u8>)> {
    let scheme = if job.url.is_tls() { "https" } else { "http" };
    let pseudo = [
        (":method", "GET".to_owned()),
        (":scheme", scheme.to_owned()),
        (":authority", job.url.authority().to_string()),
    ];
    let pseudo = pseudo.into_iter().map(|(name, value)| (name.into(), value.into_bytes()));
    let own = Header::fields(&job.plan.header);
    let own = own.lines().filter_map(|line| line.split_once(": "));
    let own = own.map(|(name, value)| (name.to_ascii_lowercase().into(), value.into()));
    pseudo.chain(own).collect()
}

impl Index<usize> for Requests {
    type Output = Request;

    fn index(&self, object: usize) -> &Request {
        &self.requests[object]
    }
}

impl Request {
    /// The requests of a job, in the order of its objects. They may be a million, so they are made before
    /// the load begins, once for all threads.
    pub(crate) fn all(job: &Job) -> Arc<[Self]> {
        match &job.files {
            Some(files) => {
                (0..files.count.get()).map(|number| Self::of_file(job, files, number)).collect()
            }
            None => job.paths().map(|path| Self::new(job, path)).collect(),
        }
    }

    /// What it asks for: the second word of its request line.
    fn path(&self) -> &[u8] {
        self.request.split(|byte| *byte == b' ').nth(1).unwrap_or_default()
    }

    fn new(job: &Job, path: &str) -> Self {
        let expectation = match objects::size_of(path) {
            Some(Bytes(size)) => Expectation::Object(size),
            None => Expectation::Anything,
        };
        Self { request: get(job, path), expectation }
    }

    fn of_file(job: &Job, files: &Files, number: u32) -> Self {
        let (size, start) = (files.size.0, Files::start(number));
        Self {
            request: get(job, &files.path(number)),
            expectation: Expectation::File { size, start },
        }
    }
}

fn get(job: &Job, path: &str) -> Vec<u8> {
    let connection = match (job.plan.operation, job.plan.close) {
        (Operation::OneRequestPerConnection, Close::Fin) => "Connection: close\r\n",
        _ => "",
    };
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\n{}{connection}\r\n",
        job.url.authority(),
        Header::fields(&job.plan.header),
    );
    request.into_bytes()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::num::NonZeroU32;

    use objects::Storage;

    use super::*;
    use crate::job::tests::job;
    use crate::{Mix, Plan};

    fn requests(mix: &str, seed: u64, thread: usize) -> Requests {
        let objects = Some(mix.parse::<Mix>().unwrap());
        let job = Job { objects, seed, ..job("https://localhost/", Plan::default()) };
        Requests::new(&job, Request::all(&job), thread)
    }

    fn drawn(mix: &str, seed: u64, thread: usize, count: usize) -> Vec<usize> {
        let mut requests = requests(mix, seed, thread);
        std::iter::repeat_with(|| requests.next()).take(count).collect()
    }

    #[test]
    fn objects_are_drawn_in_proportion_to_their_shares() {
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
    fn files_are_asked_for_in_a_seeded_order_each_once_before_any_again() {
        let count = NonZeroU32::new(50).unwrap();
        let files = Some(Files { storage: Storage::Disk, size: Bytes(1024), count });
        let of = |seed, thread| {
            let job = Job { files, seed, ..job("https://localhost/", Plan::default()) };
            let mut requests = Requests::new(&job, Request::all(&job), thread);
            let order: Vec<usize> = std::iter::repeat_with(|| requests.next()).take(100).collect();
            (order, requests)
        };
        let (order, requests) = of(7, 0);
        assert_eq!(order[..50], order[50..]);
        assert_eq!(order.iter().copied().collect::<BTreeSet<_>>(), (0..50).collect());
        assert_eq!(of(7, 0).0, order);
        assert_ne!(of(8, 0).0, order);
        assert_ne!(of(7, 1).0, order);
        assert!(requests[17].request.starts_with(b"GET /disk/1KiB/17 HTTP/1.1\r\n"));
        let expectation = Expectation::File { size: 1024, start: Files::start(17) };
        assert_eq!(requests[17].expectation, expectation);
    }

    #[test]
    fn each_object_has_its_request_and_its_size() {
        let requests = requests("1KiB 50%, /index.html?x 50%", 0, 0);
        assert!(
            requests[0].request.starts_with(b"GET /bytes/1KiB HTTP/1.1\r\nHost: localhost\r\n")
        );
        assert!(requests[1].request.starts_with(b"GET /index.html?x HTTP/1.1\r\n"));
        assert!(matches!(requests[0].expectation, Expectation::Object(1024)));
        assert!(matches!(requests[1].expectation, Expectation::Anything));
    }
}
