//! Requests of other methods, with bodies, and answers with other statuses than 200: what is sent, and
//! where an answer ends (RFC 9112, section 6.3).

use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use load::{ErrorKind, Job, Method, Operation, Plan};
use tempfile::TempDir;
use units::Nanos;

use crate::scripted_server::{Plain, Server, Session, on_each_stack, silence};
use crate::{MILLISECOND, assert_completes, assert_fails, http, https, kinds, run, summary};

/// Answers each request with the same bytes.
fn answering(mut session: Box<dyn Session>, answer: &[u8]) -> io::Result<()> {
    loop {
        session.request_with_body()?;
        session.send(answer)?;
    }
}

fn plain(answer: &'static [u8]) -> Server {
    Server::start(move |stream| answering(Box::new(Plain(stream)), answer))
}

fn with(job: Job, method: Method, expect: Option<&str>) -> Job {
    let expect = expect.map(|statuses| statuses.parse().unwrap());
    Job { plan: Plan { method: Some(method), expect, ..job.plan }, ..job }
}

#[test]
fn an_answer_to_head_has_no_body_whatever_it_promises_over_each_stack() {
    on_each_stack(|accept, suite| {
        for head in [
            &b"HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n"[..],
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
        ] {
            let accept = accept.clone();
            let server = Server::start(move |stream| answering(accept(stream)?, head));
            // The path of a generated object, which is not in the answer.
            let mut job = with(https(server.address(), "/bytes/1MiB"), Method::Head, None);
            job.plan.suite = suite.map(tls::OrPlain::Tls);
            assert_completes(job, 0);
            assert_eq!(server.connections(), 1, "{}", String::from_utf8_lossy(head));
        }
    });
}

#[test]
fn a_body_after_an_answer_without_one_is_too_much() {
    // At once, and so late that it seems to belong to the next answer.
    for is_late in [false, true] {
        let server = Server::start(move |stream| {
            let mut http = Plain(stream);
            http.request()?;
            let (head, body) = ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "ok");
            match is_late {
                true => {
                    http.send(head.as_bytes())?;
                    std::thread::sleep(Duration::from_millis(30));
                    http.send(body.as_bytes())?;
                }
                false => http.send(format!("{head}{body}").as_bytes())?,
            }
            silence(http.stream())
        });
        let mut job = with(http(server.address(), "/"), Method::Head, None);
        job.plan.arrival = "closed, think 100ms".parse().unwrap();
        let outcome = run(job);
        assert!(outcome.failures.total() > 0, "{}", summary(&outcome));
        assert_eq!(kinds(&outcome), [(ErrorKind::LongBody, outcome.failures.total())]);
        assert_eq!(outcome.completed == 0, !is_late);
    }
    let no_content = b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok";
    let server = plain(no_content);
    let job = with(http(server.address(), "/"), Method::Get, Some("204"));
    assert_fails(job, ErrorKind::LongBody);
}

#[test]
fn the_statuses_that_are_expected_are_right_and_no_other() {
    const NO_CONTENT: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";
    const NOT_MODIFIED: &[u8] = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n";
    const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    const MISSING: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno";
    for (answer, expect, body) in [
        (NO_CONTENT, Some("204"), Some(0)),
        (NO_CONTENT, Some("200, 204"), Some(0)),
        (NO_CONTENT, None, None),
        (NOT_MODIFIED, Some("304"), Some(0)),
        (OK, Some("204"), None),
        (OK, Some("200, 204"), Some(2)),
        (OK, Some("200"), Some(2)),
        (MISSING, Some("404"), Some(2)),
        (MISSING, Some("200,404"), Some(2)),
        (MISSING, None, None),
    ] {
        let server = plain(answer);
        let job = with(http(server.address(), "/"), Method::Get, expect);
        let case = format!("{expect:?} {}", String::from_utf8_lossy(answer));
        match body {
            Some(body) => {
                let outcome = run(job);
                assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{case}");
                assert_eq!((outcome.bytes.body, server.connections()), (3 * body, 1), "{case}");
                let status: u16 = case.split("HTTP/1.1 ").nth(1).unwrap()[..3].parse().unwrap();
                let others = if status == 200 { vec![] } else { vec![(status, 3)] };
                assert_eq!(outcome.statuses, others);
            }
            None => assert_fails(job, ErrorKind::Status),
        }
    }
}

#[test]
fn a_list_of_statuses_is_counted_each_apart() {
    let server = Server::start(|stream| {
        let mut http = Plain(stream);
        for answer in ["200 OK", "404 Not Found"].iter().cycle() {
            http.request()?;
            http.send(format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n").as_bytes())?;
        }
        Ok(())
    });
    let job = with(http(server.address(), "/bytes/1KiB"), Method::Get, Some("200, 404"));
    let outcome = run(Job { operations: Some(9), ..job });
    assert_eq!((outcome.completed, kinds(&outcome)), (9, vec![]));
    assert_eq!(outcome.statuses, [(404, 4)]);
}

/// A file of this length. Each byte is the last digit of its offset.
fn body(size: usize, folder: &TempDir) -> (Vec<u8>, PathBuf) {
    let bytes: Vec<u8> = (0..size).map(|place| (place % 251) as u8).collect();
    let file = folder.path().join("body");
    std::fs::write(&file, &bytes).unwrap();
    (bytes, file)
}

/// Shorter than a record, several records, and more than any socket's buffer.
#[test]
fn each_request_carries_the_whole_body_over_each_stack_and_plain() {
    let folder = tempfile::tempdir().unwrap();
    for size in [0, 5, 16 << 10, 100_000, 9 << 20] {
        let (bytes, file) = body(size, &folder);
        let serve =
            move |mut session: Box<dyn Session>, seen: &Mutex<Vec<String>>| -> io::Result<()> {
                loop {
                    let (head, body) = session.request_with_body()?;
                    let answer = if body == bytes { "204 No Content" } else { "400 Bad Request" };
                    seen.lock().unwrap().push(head);
                    session.send(format!("HTTP/1.1 {answer}\r\n\r\n").as_bytes())?;
                }
            };
        let check = |job: Job, seen: &Mutex<Vec<String>>| {
            let mut job = with(job, Method::Put, Some("204"));
            job.plan.body = Some(file.clone());
            let outcome = run(job);
            assert_eq!((outcome.completed, kinds(&outcome)), (3, vec![]), "{size}");
            assert_eq!(outcome.request_body, size as u64);
            let seen = seen.lock().unwrap();
            let length = format!("Content-Length: {size}\r\n");
            assert!(seen.iter().all(|head| head.starts_with("PUT / ") && head.contains(&length)));
        };
        on_each_stack(|accept, suite| {
            let (serve, seen) = (serve.clone(), Arc::<Mutex<Vec<_>>>::default());
            let noted = seen.clone();
            let server = Server::start(move |stream| serve(accept(stream)?, &noted));
            let mut job = https(server.address(), "/");
            job.plan.suite = suite.map(tls::OrPlain::Tls);
            check(job, &seen);
        });
        let (serve, seen) = (serve.clone(), Arc::<Mutex<Vec<_>>>::default());
        let noted = seen.clone();
        let server = Server::start(move |stream| serve(Box::new(Plain(stream)), &noted));
        check(http(server.address(), "/"), &seen);
    }
}

#[test]
fn bodies_go_with_one_request_per_connection_and_with_ending_connections() {
    let folder = tempfile::tempdir().unwrap();
    let (_, file) = body(50_000, &folder);
    let server = Server::start(|stream| {
        let mut http = Plain(stream);
        loop {
            let (head, body) = http.request_with_body()?;
            http.send(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok")?;
            assert_eq!(body.len(), 50_000);
            if head.contains("Connection: close") {
                return http.finish();
            }
        }
    });
    let mut job = with(http(server.address(), "/"), Method::Post, Some("201"));
    job.plan.body = Some(file);
    let once = Plan { operation: Operation::OneRequestPerConnection, ..job.plan.clone() };
    let ending = Plan { requests_per_connection: "2".parse().ok(), ..job.plan.clone() };
    for plan in [once, ending] {
        let outcome = run(Job { plan, operations: Some(6), ..job.clone() });
        assert_eq!((outcome.completed, kinds(&outcome)), (6, vec![]));
    }
}

/// Reads the head, answers, and reads no more for a while.
fn hasty(answer: &'static [u8], close: bool) -> Server {
    Server::start(move |stream: TcpStream| {
        let mut http = Plain(stream);
        let mut bytes = [0; 1000];
        http.read(&mut bytes)?;
        http.stream().write_all(answer)?;
        if close {
            // With unread bytes this is a reset.
            std::thread::sleep(Duration::from_millis(50));
            return http.stream().shutdown(Shutdown::Both);
        }
        std::thread::sleep(Duration::from_millis(300));
        Ok(())
    })
}

#[test]
fn an_answer_before_the_whole_body_is_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (_, file) = body(20 << 20, &folder);
    const TOO_LARGE: &[u8] = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno";
    for (expect, close) in [(None, false), (None, true), (Some("413"), false), (Some("413"), true)]
    {
        let server = hasty(TOO_LARGE, close);
        let mut job = with(http(server.address(), "/"), Method::Post, expect);
        job.plan.body = Some(file.clone());
        let outcome = run(Job { operations: Some(2), ..job });
        let expected = match expect {
            Some(_) => (2, vec![], 2),
            None => (0, vec![(ErrorKind::Status, 2)], 0),
        };
        let found = (outcome.completed, kinds(&outcome), outcome.answered_early);
        assert_eq!(found, expected, "{expect:?} {close} {}", summary(&outcome));
        assert_eq!(outcome.bodies_sent(), 0);
    }
}

#[test]
fn a_server_that_does_not_read_a_body_stalls_the_request() {
    let folder = tempfile::tempdir().unwrap();
    let (_, file) = body(20 << 20, &folder);
    let server = Server::start(|stream| {
        std::thread::sleep(Duration::from_secs(3));
        drop(stream);
        Ok(())
    });
    let mut job = with(http(server.address(), "/"), Method::Post, None);
    job.plan.body = Some(file);
    job.plan.timeout = Nanos(300 * MILLISECOND);
    let outcome = run(Job { operations: Some(1), ..job });
    assert_eq!((outcome.completed, kinds(&outcome)), (0, vec![(ErrorKind::Stall, 1)]));
}
