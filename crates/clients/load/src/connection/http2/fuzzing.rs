//! The body of the fuzz target `frames`: what must hold whatever an HTTP/2 server sends.
//!
//! `cargo fuzz` runs it on what it finds (`crates/clients/load/fuzz`), the test here on the target's seeds and on
//! mutations of these. This module is there for them alone, under `cfg(fuzzing)` and `cfg(test)`.

use std::sync::Arc;

use http2::Client;
use wire::reception::{Answers, Expectation};

use super::SETTINGS;
use super::handler::{Exchange, Handler};
use crate::connection::streams::Streams;
use crate::job::Stop;
use crate::recorder::{Recorder, Times};
use crate::window::Window;

/// Operations under way.
const PLACES: usize = 4;
/// The length of the object that they ask for.
const SIZE: u64 = 100;
/// The length of requests' bodies, which no window of a server lets through at once.
const BODY: usize = 70_000;

/// The input is what a server sends to a client with four requests. The first byte says in what pieces, and
/// whether the requests have bodies.
pub fn frames(input: &[u8]) {
    let Some((first, input)) = input.split_first() else { return };
    let (has_body, piece) = (*first >= 128, usize::from(*first % 128) + 1);
    let body = vec![7; if has_body { BODY } else { 0 }];
    let streams = Streams::new(PLACES, body.len(), (0, u64::MAX), (u64::MAX, u64::MAX));
    let mut handler = Handler::new(streams, Arc::new(body));
    let mut client = Client::new(SETTINGS);
    let stop = Stop::Operations { count: PLACES as u64, within: units::Nanos(u64::MAX) };
    let (window, mut recorder) = (Window::new(stop, units::Nanos(0)), Recorder::default());
    for place in 0..PLACES {
        let fields: [(&[u8], &[u8]); 4] = [
            (b":method", b"GET"),
            (b":scheme", b"http"),
            (b":authority", b"a"),
            (b":path", b"/bytes/100B"),
        ];
        let id = client.request(fields.into_iter(), place + 1, has_body).expect("a new session");
        let begun = recorder.begins(&window, Times::default());
        let expectation = Expectation::Object(SIZE);
        let exchange = Exchange::new(begun, id, expectation, Answers::USUAL, true);
        handler.streams.put(place, exchange);
    }
    let (mut out, mut completed, mut ended) = (Vec::new(), 0, 0);
    client.send(&mut handler, &mut out, usize::MAX);
    for piece in input.chunks(piece) {
        client.receive(&mut handler, piece);
        while let Some(stream) = handler.rejected.pop() {
            client.cancel(&mut handler, stream);
        }
        client.send(&mut handler, &mut out, usize::MAX);
        for one in handler.streams.ended.drain(..) {
            ended += 1;
            if let Ok(Some(response)) = one.result {
                // What completes is the object, compared byte by byte.
                assert!(response.body == SIZE && response.compared);
                completed += 1;
            }
        }
    }
    assert!(completed <= ended && ended <= PLACES);
    assert!(completed * SIZE as usize <= input.len());
    assert_eq!(handler.streams.places(|_| true).len(), PLACES - ended);
    // It answers settings and pings, and sends its bodies, and no more than that. A window may let each byte
    // of these through alone.
    let bodies = if has_body { 10 * PLACES * BODY } else { 0 };
    assert!(out.len() <= 1000 + 20 * input.len() + bodies);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn frames() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/frames");
        for input in mutation::mutated(&mutation::seeds(&folder).unwrap(), 5_000) {
            if std::panic::catch_unwind(|| super::frames(&input)).is_err() {
                panic!("frames fails on {:?}", input.escape_ascii().to_string());
            }
        }
    }
}
