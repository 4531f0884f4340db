use std::io::{Read, Write};

use super::*;
use crate::connection::tests::{begun, with_context};

/// Begins an operation on a new connection; returns the server's side of it, which has the request.
fn ask(
    slots: &mut Slots,
    context: &mut Context<'_>,
    listener: &std::net::TcpListener,
) -> std::net::TcpStream {
    let begun = begun(context, 0);
    slots.begin(context, 0, begun);
    let mut stream = listener.accept().unwrap().0;
    while stream.peek(&mut [0]).unwrap() == 0 {}
    assert!(stream.read(&mut [0; 1000]).unwrap() > 0);
    stream
}

/// The next event.
fn event(context: &mut Context<'_>) -> Ready {
    let mut ready = Vec::new();
    while ready.is_empty() {
        let limit = context.now() + 1_000_000_000;
        context.wait(&mut ready, None, limit).unwrap();
    }
    ready.remove(0)
}

/// The first connection ends, and while that event waits for its turn, another one takes its place.
#[test]
fn an_event_is_of_the_connection_that_was_there_when_it_came() {
    with_context(Plan::default(), |context, listener| {
        let mut slots = Slots::new(context.plan, 1);
        drop(ask(&mut slots, context, listener));
        let ended = event(context);
        let woken = context.woken;
        slots.close_all(context);
        let mut stream = ask(&mut slots, context, listener);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\nbegin").unwrap();
        let has_come = event(context);
        // As if it were still the turn in which the first event came.
        context.woken = woken;
        slots.ready(context, ended);
        assert!(slots.are_any_open());
        assert_eq!(context.recorder.totals().1, 0);
        assert!(!has_come.has_ended);
    });
}
