//! Loads of several objects: each gets its share of the requests, is compared with the right
//! content, and is counted.

use std::io;
use std::sync::{Arc, Mutex};

use load::{ErrorKind, Job, Outcome, Plan, ProbeError, Receive};
use units::Bytes;

use crate::scripted_server::{Plain, Secure, Server, Session, config};
use crate::{http, https, kinds, one_in, run, summary};

/// Which paths were asked for, in order.
type Paths = Arc<Mutex<Vec<String>>>;

/// Sends the generated object that `of` names for a path, noting the path.
fn serve(session: &mut dyn Session, paths: &Paths, of: fn(&str) -> &str) -> io::Result<()> {
    loop {
        let request = session.request()?;
        let path = request.split(' ').nth(1).unwrap_or_default();
        paths.lock().unwrap().push(path.to_owned());
        let Some(size) = objects::size_of(of(path)) else {
            session.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?;
            continue;
        };
        let mut response =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", size.0).into_bytes();
        objects::write_to(&mut response, size)?;
        session.send(&response)?;
    }
}

fn secure(of: fn(&str) -> &str) -> (Server, Paths) {
    let (config, paths) = (config(), Paths::default());
    let noted = paths.clone();
    let server =
        Server::start(move |stream| serve(&mut Secure::accept(stream, &config)?, &noted, of));
    (server, paths)
}

fn asking(job: Job, objects: &str, operations: u64, seed: u64) -> Job {
    let objects = Some(objects.parse().unwrap());
    Job { objects, operations: Some(operations), seed, ..job }
}

fn honest(path: &str) -> &str {
    path
}

const MIX: &str = "1KiB 75%, 64KiB 25%";

#[test]
fn each_object_has_its_share_and_all_its_bytes_are_compared() {
    let (server, paths) = secure(honest);
    for receive in [Receive::Walk, Receive::Decrypt] {
        paths.lock().unwrap().clear();
        let job = asking(https(server.address(), "/"), MIX, 400, 1);
        let outcome = run(Job {
            plan: Plan {
                receive: Some(receive),
                verify: Some(one_in(1)),
                connections: 4,
                ..job.plan
            },
            ..job
        });
        assert_eq!((outcome.completed, kinds(&outcome)), (400, vec![]), "{}", summary(&outcome));
        let [small, large] = outcome.objects[..] else { panic!("{:?}", outcome.objects) };
        assert_eq!(small + large, 400);
        // Five standard deviations of a binomial count are 43.
        assert!((257..=343).contains(&small), "{small}");
        assert_eq!(outcome.verified.compared, 400);
        // Operations under way when the last one ended may have received bytes too.
        let body = small * Bytes(1 << 10).0 + large * Bytes(64 << 10).0;
        assert!(
            (body..=body + 3 * (64 << 10)).contains(&outcome.bytes.body),
            "{}",
            summary(&outcome)
        );
        // The server saw at least as many requests, and at most one more per connection.
        let asked = paths.lock().unwrap();
        for (path, count) in [("/bytes/1KiB", small), ("/bytes/64KiB", large)] {
            let asked = asked.iter().filter(|asked| *asked == path).count() as u64;
            assert!((count..=count + 4).contains(&asked), "{asked} of {path}, {count} counted");
        }
    }
}

#[test]
fn equal_seeds_ask_alike() {
    let paths = Paths::default();
    let noted = paths.clone();
    let server = Server::start(move |stream| serve(&mut Plain(stream), &noted, honest));
    let asked = |seed| {
        paths.lock().unwrap().clear();
        let outcome = run(asking(http(server.address(), "/"), MIX, 100, seed));
        assert_eq!((outcome.completed, kinds(&outcome)), (100, vec![]));
        paths.lock().unwrap()[..100].to_vec()
    };
    let first = asked(1);
    assert_eq!(asked(1), first);
    assert_ne!(asked(2), first);
}

fn failed(of: fn(&str) -> &str, job: impl Fn(&Server) -> Job) -> Outcome {
    let (server, _) = secure(of);
    run(job(&server))
}

#[test]
fn an_object_in_anothers_place_is_noticed() {
    let swapped = |path: &str| match path {
        "/bytes/1KiB" => "/bytes/64KiB",
        _ => "/bytes/1KiB",
    };
    let outcome = failed(swapped, |server| asking(https(server.address(), "/"), MIX, 40, 1));
    let kinds = kinds(&outcome);
    let all: u64 = kinds.iter().map(|(_, count)| count).sum();
    assert_eq!((outcome.completed, all), (0, 40), "{}", summary(&outcome));
    assert!(kinds.iter().all(|(kind, _)| {
        matches!(kind, ErrorKind::LongBody | ErrorKind::ShortBody | ErrorKind::Content)
    }));
}

#[test]
fn a_missing_object_fails_the_probe_and_its_operations() {
    let mix = "1KiB 50%, /missing 50%";
    let (server, _) = secure(honest);
    let job = asking(https(server.address(), "/"), mix, 40, 1);
    let Err(ProbeError::Failed { url, kind, .. }) = crate::probe(&job) else {
        panic!("it is not there")
    };
    assert!(url.ends_with("/missing"), "{url}");
    assert_eq!(kind, ErrorKind::Status);
    let outcome = run(job);
    assert_eq!(outcome.completed, outcome.objects[0]);
    assert_eq!(kinds(&outcome), [(ErrorKind::Status, 40 - outcome.completed)]);
    // Five standard deviations of a fair coin.
    assert!((5..=35).contains(&outcome.completed), "{}", outcome.completed);
}
