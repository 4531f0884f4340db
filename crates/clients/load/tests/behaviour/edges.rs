//! Bytes that lie unread in the sockets when the window begins or ends: those that came within it
//! count, once they are proven.

use std::io::Write;
use std::time::{Duration, Instant};

use load::{Job, Plan};
use tls::OrPlain;
use units::Nanos;

use crate::scripted_server::{Accept, Server, on_each_stack};
use crate::{MILLISECOND, https, lasts, run, summary};

const BODY: u64 = 128 << 10;

/// Responses after which the client awaits the next ones whole, or half.
const HONEST: usize = 40;

/// The window is from 0.8 s to 1.3 s. The server sends half of one response before it and half within
/// it, three quarters of the next within it and, `damaged` or not, the last after it.
fn server(accept: Accept, damaged: bool) -> Server {
    Server::start(move |stream| {
        let began = Instant::now();
        let mut session = accept(stream)?;
        for response in 0.. {
            session.request()?;
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n");
            // The client awaits responses whole that begin in a long record.
            let content = [head.as_bytes(), &objects::slice(0)[..BODY as usize]].concat();
            let mut records = Vec::new();
            for piece in content.chunks(1 << 14) {
                records.extend(session.records(piece)?);
            }
            if response < HONEST {
                session.stream().write_all(&records.concat())?;
                continue;
            }
            // A client that hears nothing for 200 ms looks into its socket.
            let (first, at, then) =
                if response == HONEST { (4, 710, 890) } else { (6, 1210, 1390) };
            if response > HONEST && damaged {
                records[first..].iter_mut().for_each(|record| record[20] ^= 1);
            }
            let wait =
                |ms| std::thread::sleep(Duration::from_millis(ms).saturating_sub(began.elapsed()));
            wait(at);
            session.stream().write_all(&records[..first].concat())?;
            wait(then);
            session.stream().write_all(&records[first..].concat())?;
        }
        Ok(())
    })
}

fn job(server: &Server, suite: Option<&'static tls::Suite>) -> Job {
    let mut job = https(server.address(), "/bytes/128KiB");
    lasts(&mut job, Nanos(800 * MILLISECOND), Nanos(500 * MILLISECOND));
    Job { plan: Plan { suite: suite.map(OrPlain::Tls), ..job.plan }, ..job }
}

/// Heads, record headers and a record that was cut make the difference.
fn is_near(body: u64, expected: u64) -> bool {
    body.abs_diff(expected) < 20_000
}

#[test]
fn bytes_count_when_they_come_not_when_they_are_read() {
    on_each_stack(|accept, suite| {
        let outcome = run(job(&server(accept, false), suite));
        assert_eq!((outcome.completed, outcome.in_flight), (1, 1), "{}", summary(&outcome));
        assert!(is_near(outcome.bytes.body, BODY / 4 * 5), "{}", summary(&outcome));
    });
}

#[test]
fn bytes_that_lay_in_the_socket_are_proven_like_others() {
    on_each_stack(|accept, suite| {
        let outcome = run(job(&server(accept, true), suite));
        assert_eq!(outcome.completed, 1, "{}", summary(&outcome));
        assert!(is_near(outcome.bytes.body, BODY / 2), "{}", summary(&outcome));
    });
}
