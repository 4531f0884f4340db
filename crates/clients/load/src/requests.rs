//! The requests of a load, and the object of the next one.

use std::sync::Arc;

use objects::{Files, HostName, Portion, WHOLE};
use random::Random;
use units::Bytes;

use crate::job::PlanError;
use crate::{Close, Header, Job, Operation, message};
use wire::reception::Expectation;

/// Arrivals use the random streams numbered by thread; the streams for objects begin here.
const FIRST_STREAM: u64 = 1 << 32;

/// One request and its expected answer.
#[derive(Debug)]
pub(crate) struct PreparedRequest {
    request: Vec<u8>,
    /// Where in it a value of `Host` from the list belongs.
    host_at: usize,
    expectation: Expectation,
}

/// The requests of a job, in the order of its objects, and the body of each of them. They may be a million,
/// so they are made before the load begins, once for all threads.
#[derive(Debug, Default)]
pub(crate) struct AllRequests {
    each: Vec<PreparedRequest>,
    pub(crate) body: Arc<Vec<u8>>,
    /// The values of `Host`, by the number of a connection's name; empty where each request has its own.
    hosts: Vec<String>,
}

/// The requests of one load thread, by the numbers of the job's objects.
#[derive(Debug)]
pub(crate) struct Requests {
    all: Arc<AllRequests>,
    /// The fields of all requests over HTTP/2, but for the path and the authority.
    common: Vec<(Vec<u8>, Vec<u8>)>,
    /// The authority where connections have no names.
    authority: String,
    order: Order,
    /// The last request that was put together.
    composed: Vec<u8>,
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
    pub(crate) fn new(job: &Job, all: Arc<AllRequests>, thread: usize) -> Self {
        let mut random = Random::stream(job.seed, FIRST_STREAM + thread as u64);
        let order = match (&job.files, &job.objects) {
            (Some(files), _) => {
                Order::Round { order: random.order(files.count.get() as usize), next: 0 }
            }
            (None, None) => Order::Drawn { up_to: vec![WHOLE], random },
            (None, Some(mix)) => {
                let sum = |sum: &mut u32, portion: &Portion| {
                    *sum += portion.thousandths();
                    Some(*sum)
                };
                Order::Drawn { up_to: mix.portions().iter().scan(0, sum).collect(), random }
            }
        };
        let (common, authority) = (common_fields(job, all.body.len()), job.url.authority());
        Self { all, common, authority, order, composed: Vec::new() }
    }

    /// The fields of an object's request over HTTP/2, on a connection with the name of this number.
    pub(crate) fn fields(&self, object: usize, name: usize) -> Fields<'_> {
        // The second word of its request line.
        let mut words = self.all.each[object].request.split(|byte| *byte == b' ');
        let path = words.nth(1).unwrap_or_default();
        let authority = self.all.hosts.get(name).unwrap_or(&self.authority).as_bytes();
        Fields { path, authority, common: &self.common }
    }

    /// What is right as the answer to a request for an object.
    pub(crate) fn expectation(&self, object: usize) -> Expectation {
        self.all.each[object].expectation
    }

    /// The request for an object on a connection with the name of this number, and what is right as its
    /// answer.
    #[inline]
    pub(crate) fn text(&mut self, object: usize, name: usize) -> (&[u8], Expectation) {
        let PreparedRequest { request, host_at, expectation } = &self.all.each[object];
        let Some(host) = self.all.hosts.get(name) else { return (request, *expectation) };
        let (before, after) = request.split_at(*host_at);
        self.composed.clear();
        for part in [before, host.as_bytes(), after] {
            self.composed.extend_from_slice(part);
        }
        (&self.composed, *expectation)
    }

    /// How many names connections have.
    pub(crate) fn names(&self) -> usize {
        self.all.hosts.len()
    }

    /// The body of each request.
    #[inline]
    pub(crate) fn body(&self) -> &[u8] {
        &self.all.body
    }

    /// The same, to be kept.
    pub(crate) fn shared_body(&self) -> Arc<Vec<u8>> {
        self.all.body.clone()
    }

    /// The object of the next request.
    pub(crate) fn next(&mut self) -> usize {
        if self.all.each.len() == 1 {
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

/// A request's fields over HTTP/2 (RFC 9113, section 8.3.1), pseudo-header fields first.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'r> {
    path: &'r [u8],
    authority: &'r [u8],
    common: &'r [(Vec<u8>, Vec<u8>)],
}

impl<'r> Fields<'r> {
    pub(crate) fn iter(self) -> impl Iterator<Item = (&'r [u8], &'r [u8])> + Clone {
        let common = self.common.iter().map(|(name, value)| (name.as_slice(), value.as_slice()));
        [(&b":path"[..], self.path), (b":authority", self.authority)].into_iter().chain(common)
    }

    /// The length of all names and values.
    pub(crate) fn length(self) -> u64 {
        self.iter().map(|(name, value)| (name.len() + value.len()) as u64).sum()
    }
}

/// Names are in lower case (RFC 9113, section 8.2.1).
fn common_fields(job: &Job, body: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let method = job.plan.method();
    let scheme = if job.url.is_tls() { "https" } else { "http" };
    let pseudo = [(":method", method.to_string()), (":scheme", scheme.to_owned())];
    let pseudo = pseudo.into_iter().map(|(name, value)| (name.into(), value.into_bytes()));
    let own = Header::fields(&job.plan.header);
    let own = own.lines().filter_map(|line| line.split_once(": "));
    let own = own.map(|(name, value)| (name.to_ascii_lowercase().into(), value.into()));
    let length = method.has_body().then(|| (b"content-length".into(), body.to_string().into()));
    pseudo.chain(own).chain(length).collect()
}

impl AllRequests {
    /// Those of a job whose connections have these names.
    ///
    /// # Errors
    /// A body that cannot be read.
    pub(crate) fn of(job: &Job, names: &[HostName]) -> Result<Self, PlanError> {
        let body = job.plan.body.as_deref().map(message::body).transpose().map_err(PlanError)?;
        let body = Arc::new(body.unwrap_or_default());
        let hosts: Vec<String> = names.iter().map(|name| job.url.authority_of(name)).collect();
        let host = if hosts.is_empty() { job.url.authority() } else { String::new() };
        let make = |path: &str, expectation| {
            let (request, host_at) = head(job, path, &host, body.len());
            let expectation = match job.plan.expects_objects() {
                true => expectation,
                false => Expectation::Anything,
            };
            PreparedRequest { request, host_at, expectation }
        };
        let each = match &job.files {
            Some(files) => (0..files.count.get())
                .map(|number| {
                    let (size, start) = (files.size.0, Files::start(number));
                    make(&files.path(number), Expectation::File { size, start })
                })
                .collect(),
            None => job
                .paths()
                .map(|path| match objects::size_of(path) {
                    Some(Bytes(size)) => make(path, Expectation::Object(size)),
                    None => make(path, Expectation::Anything),
                })
                .collect(),
        };
        Ok(Self { each, body, hosts })
    }
}

/// A request without its body, of which this is the size, and the end of this value of `Host` in it.
fn head(job: &Job, path: &str, host: &str, body: usize) -> (Vec<u8>, usize) {
    let method = job.plan.method();
    let length = match method.has_body() {
        true => format!("Content-Length: {body}\r\n"),
        false => String::new(),
    };
    let connection = match (job.plan.operation, job.plan.close) {
        (Operation::OneRequestPerConnection, Close::Fin) => "Connection: close\r\n",
        _ => "",
    };
    let beginning = format!("{method} {path} HTTP/1.1\r\nHost: {host}");
    let fields = Header::fields(&job.plan.header);
    let request = format!("{beginning}\r\n{fields}{length}{connection}\r\n");
    (request.into_bytes(), beginning.len())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::num::NonZeroU32;

    use objects::Storage;

    use super::*;
    use crate::job::tests::job;
    use crate::{Method, Mix, Plan};

    fn requests(mix: &str, seed: u64, thread: usize) -> Requests {
        let objects = Some(mix.parse::<Mix>().unwrap());
        let job = Job { objects, seed, ..job("https://localhost/", Plan::default()) };
        Requests::new(&job, Arc::new(AllRequests::of(&job, &[]).unwrap()), thread)
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
            let all = Arc::new(AllRequests::of(&job, &[]).unwrap());
            let mut requests = Requests::new(&job, all, thread);
            let order: Vec<usize> = std::iter::repeat_with(|| requests.next()).take(100).collect();
            (order, requests)
        };
        let (order, requests) = of(7, 0);
        assert_eq!(order[..50], order[50..]);
        assert_eq!(order.iter().copied().collect::<BTreeSet<_>>(), (0..50).collect());
        assert_eq!(of(7, 0).0, order);
        assert_ne!(of(8, 0).0, order);
        assert_ne!(of(7, 1).0, order);
        let request = &requests.all.each[17];
        assert!(request.request.starts_with(b"GET /disk/1KiB/17 HTTP/1.1\r\n"));
        let expectation = Expectation::File { size: 1024, start: Files::start(17) };
        assert_eq!(request.expectation, expectation);
    }

    #[test]
    fn a_request_has_its_method_and_the_length_of_its_body() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "hello").unwrap();
        let of = |method, body: Option<&std::path::Path>| {
            let plan = Plan { method, body: body.map(Into::into), ..Plan::default() };
            let job = job("https://localhost/bytes/1KiB", plan);
            let all = AllRequests::of(&job, &[]).unwrap();
            let PreparedRequest { request, expectation, .. } = &all.each[0];
            (String::from_utf8(request.clone()).unwrap(), *expectation, all.body.len())
        };
        let (put, expectation, size) = of(Some(Method::Put), Some(file.path()));
        assert!(put.starts_with("PUT /bytes/1KiB HTTP/1.1\r\nHost: localhost\r\n"), "{put}");
        assert!(put.ends_with("\r\nContent-Length: 5\r\n\r\n"), "{put}");
        assert_eq!((expectation, size), (Expectation::Anything, 5));
        assert!(of(Some(Method::Post), None).0.ends_with("Content-Length: 0\r\n\r\n"));
        let (get, expectation, _) = of(None, None);
        assert!(get.starts_with("GET ") && !get.contains("Content-Length"), "{get}");
        assert_eq!(expectation, Expectation::Object(1024));
        assert!(!of(Some(Method::Head), None).0.contains("Content-Length"));
    }

    #[test]
    fn over_http2_a_request_has_its_fields_in_lower_case() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "hello").unwrap();
        let plan = Plan {
            method: Some(Method::Post),
            body: Some(file.path().into()),
            header: vec!["X-Own: A".parse().unwrap()],
            ..Plan::default()
        };
        let job = job("https://localhost:8443/a?b", plan);
        let names = ["a.example".parse().unwrap()];
        for (names, authority) in [(&[][..], "localhost:8443"), (&names, "a.example:8443")] {
            let requests = Requests::new(&job, Arc::new(AllRequests::of(&job, names).unwrap()), 0);
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let fields: Vec<_> = requests
                .fields(0, 0)
                .iter()
                .map(|(name, value)| text(&[name, b"=", value].concat()))
                .collect();
            let authority = format!(":authority={authority}");
            let first = [":path=/a?b", &authority, ":method=POST", ":scheme=https"];
            assert_eq!(fields[..4], first);
            assert!(fields.contains(&"x-own=A".to_owned()), "{fields:?}");
            assert_eq!(fields.last().unwrap(), "content-length=5");
        }
    }

    #[test]
    fn each_object_has_its_request_and_its_size() {
        let mut requests = requests("1KiB 50%, /index.html?x 50%", 0, 0);
        let (request, expectation) = requests.text(0, 0);
        assert!(request.starts_with(b"GET /bytes/1KiB HTTP/1.1\r\nHost: localhost\r\n"));
        assert!(matches!(expectation, Expectation::Object(1024)));
        let (request, expectation) = requests.text(1, 0);
        assert!(request.starts_with(b"GET /index.html?x HTTP/1.1\r\n"));
        assert!(matches!(expectation, Expectation::Anything));
    }

    #[test]
    fn a_request_has_the_name_of_its_connection() {
        let job = job("https://localhost:8443/a", Plan::default());
        let names = ["a.example", "b.example"].map(|name| name.parse().unwrap());
        let all = Arc::new(AllRequests::of(&job, &names).unwrap());
        let mut requests = Requests::new(&job, all, 0);
        assert_eq!(requests.names(), 2);
        for (number, name) in names.iter().enumerate() {
            let (request, _) = requests.text(0, number);
            let expected = format!("GET /a HTTP/1.1\r\nHost: {name}:8443\r\nUser-Agent: toll/");
            assert!(
                request.starts_with(expected.as_bytes()),
                "{}",
                String::from_utf8_lossy(request)
            );
        }
    }
}
