//! Connections that are driven by hand, with a server's side that says one thing after another.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use units::Nanos;

use super::sealing::LEAST_ROOM;
use super::*;
use crate::job::Stop;
use crate::recorder::{Recorder, Times};
use crate::requests::AllRequests;
use crate::retry::Unanswered;
use crate::window::Window;
use crate::{Arrival, Http, Job, Plan, Url};
use wire::ErrorKind;

const MS: u64 = 1_000_000;

/// Gives a test the context of a load that began an hour ago, and the listener of its server.
pub(crate) fn with_context(plan: Plan, test: impl FnOnce(&mut Context<'_>, &TcpListener)) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let job = Job::new(plan, Url::at(false, address, "/bytes/1MiB"), address);
    let stop = Stop::Operations { count: 9, within: Nanos(u64::MAX) };
    let window = Window::new(stop, Nanos(0));
    let requests = Arc::new(AllRequests::of(&job, &[]).unwrap());
    let (recorder, base) = (Recorder::new(Arrival::CLOSED), Instant::now());
    let base = base.checked_sub(Duration::from_secs(3600)).unwrap();
    let mut context =
        Context::new(&job, &requests, &window, &crate::clients::Clients::Plain, recorder, 0, base)
            .unwrap();
    context.now();
    test(&mut context, &listener);
}

/// An operation that began so long ago.
pub(crate) fn begun(context: &mut Context<'_>, ago: u64) -> Begun {
    let at = context.now() - ago;
    context.recorder.begins(context.window, Times::new(at, at))
}

/// A connection and the server's side of it.
fn connect(context: &mut Context<'_>, listener: &TcpListener) -> (Connection, TcpStream) {
    let (mut connection, _) = Connection::dial(context, 0, None).unwrap();
    let (stream, _) = listener.accept().unwrap();
    assert_eq!(connection.connected(context), Ok(Next::Wait));
    (connection, stream)
}

/// The same over HTTP/2, with the server's SETTINGS.
fn connect_http2(context: &mut Context<'_>, listener: &TcpListener) -> (Connection, TcpStream) {
    let (mut connection, mut stream) = connect(context, listener);
    stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).unwrap();
    while !connection.is_accepted() {
        assert_eq!(connection.ready(context, false), Ok(Next::Wait));
    }
    (connection, stream)
}

/// Whatever its limits and whatever it waits for, a connection that was looked at and goes on is looked at again
/// later, and not at once and for ever.
#[test]
fn after_a_look_the_next_one_is_later() {
    let ages = [0, 50, 250, 600, 2_000, 20_000].map(|age| age * MS);
    for (timeout, whole) in [(10_000, None), (1_500, None), (10_000, Some(1_000)), (100, None)] {
        let plan = Plan {
            timeout: Nanos(timeout * MS),
            operation_timeout: whole.map(|whole| Nanos(whole * MS)),
            ..Plan::default()
        };
        let mut went_on = 0;
        with_context(plan, |context, listener| {
            for (age, progress) in ages.into_iter().flat_map(|age| ages.map(|other| (age, other))) {
                for (mark, took) in [(1, 0), (LEAST_ROOM, 0), (LEAST_ROOM, 8_000 * MS)] {
                    let (mut connection, _stream) = connect(context, listener);
                    let begun = begun(context, age);
                    assert_eq!(connection.begin(context, 0, begun), Ok(Next::Wait));
                    context.took = took;
                    connection.set_mark(mark);
                    connection.progress -= progress;
                    if connection.check_time(context) == Ok(Next::Wait) {
                        went_on += 1;
                        let next = connection.next_check(context);
                        assert!(
                            next > context.recently(),
                            "{timeout} {age} {progress} {mark} {took}"
                        );
                    }
                }
            }
        });
        assert!(went_on > 0);
    }
}

/// Of two operations over HTTP/2 the first has waited for too long, and the connection longer.
#[test]
fn the_next_look_at_streams_is_at_the_one_that_is_left() {
    let plan = Plan {
        http: Some(Http::V2),
        streams: std::num::NonZeroU32::new(2),
        timeout: Nanos(50 * MS),
        ..Plan::default()
    };
    with_context(plan, |context, listener| {
        let (mut connection, _stream) = connect_http2(context, listener);
        for place in 0..2 {
            let begun = begun(context, 0);
            assert_eq!(connection.begin(context, place, begun), Ok(Next::Wait));
            std::thread::sleep(Duration::from_millis(30));
        }
        let first = connection.next_check(context);
        assert!(first <= context.now());
        assert_eq!(connection.check_time(context), Ok(Next::Wait));
        assert_eq!(connection.rest(context, Ok(Next::Wait)), Ok(Next::Wait));
        assert!(!context.ended.is_empty());
        assert!(connection.next_check(context) > context.recently());
    });
}

/// The server has said that it takes no requests, and is gone before that was read.
#[test]
fn what_came_before_a_request_that_cannot_be_sent_is_read() {
    let plan = Plan { http: Some(Http::V2), ..Plan::default() };
    with_context(plan, |context, listener| {
        let (mut connection, mut stream) = connect_http2(context, listener);
        connection.send(context).unwrap();
        let goaway = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        stream.write_all(&goaway).unwrap();
        socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
        drop(stream);
        let mut ends = [PollFd::new(&connection.socket, PollFlags::empty())];
        poll(&mut ends, None).unwrap();
        let begun = begun(context, 0);
        assert_eq!(connection.begin(context, 0, begun), Ok(Next::Wait));
        assert_eq!(connection.send(context).unwrap_err().kind, ErrorKind::Reset);
        assert_eq!(connection.rest(context, Ok(Next::Wait)), Ok(Next::Leave));
        let failed = context.ended.iter().filter_map(|over| over.failed.as_ref());
        let unanswered: Vec<_> = failed.map(|failed| failed.unanswered).collect();
        assert_eq!(unanswered, [Some(Unanswered::NotTaken)]);
    });
}
