//! The body of the fuzz target `responses`: what must hold whatever an HTTP/3 server sends on a request's stream.
//!
//! `cargo fuzz` runs it on what it finds (`crates/clients/load/fuzz`), the test here on the target's seeds and on
//! mutations of these. This module is there for them alone, under `cfg(fuzzing)` and `cfg(test)`.

use wire::reception::{Answers, Expectation};

use super::requests::{Exchange, Request};
use crate::connection::streams::Streams;
use crate::job::Stop;
use crate::quic::ResponseHeads;
use crate::recorder::{Recorder, Times};
use crate::window::Window;

/// The length of the object that is asked for.
const SIZE: u64 = 100;

/// The input is a response: its first byte says in what pieces it comes. Whether it is right.
pub fn responses(input: &[u8]) -> bool {
    let Some((first, input)) = input.split_first() else { return false };
    let stop = Stop::Operations { count: 1, within: units::Nanos(u64::MAX) };
    let (window, mut recorder) = (Window::new(stop, units::Nanos(0)), Recorder::default());
    let begun = recorder.begins(&window, Times::default());
    let expectation = Expectation::Object(SIZE);
    let exchange = Exchange::new(begun, Request::default(), expectation, Answers::USUAL, true);
    let mut streams = Streams::new(1, 0, (0, u64::MAX), (u64::MAX, u64::MAX));
    let mut heads = ResponseHeads::default();
    streams.put(0, exchange);
    streams.opens(0);
    let mut is_over = false;
    for piece in input.chunks(usize::from(*first) + 1) {
        if !matches!(streams.receive(0, piece, &mut heads), Ok(true)) {
            is_over = true;
            break;
        }
    }
    let end = match streams.at(0).map(|exchange| exchange.own.response.end()) {
        Some(Ok(())) if !is_over => Ok(()),
        _ => Err(wire::Failure::new(wire::ErrorKind::Http3, "")),
    };
    streams.ends_with(0, end);
    let ended = std::mem::take(&mut streams.ended);
    assert!(streams.is_idle() && ended.len() == 1);
    assert!(streams.counts.fields_received <= 100 * input.len() as u64);
    let Ok(Some(response)) = &ended[0].result else { return false };
    // What completes is the object, compared byte by byte.
    assert!(response.body == SIZE && response.compared && input.len() as u64 > SIZE);
    true
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn responses() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/responses");
        for (name, is_right) in
            [("whole", true), ("bytewise", true), ("interim", true), ("long", false)]
        {
            let seed = std::fs::read(folder.join(name)).unwrap();
            assert_eq!(super::responses(&seed), is_right, "{name}");
        }
        for input in mutation::mutated(&mutation::seeds(&folder).unwrap(), 5_000) {
            if std::panic::catch_unwind(|| super::responses(&input)).is_err() {
                panic!("responses fails on {:?}", input.escape_ascii().to_string());
            }
        }
    }
}
