//! What a reception accepts, what it refuses, and what a walk does not see by design.

mod accepted;
mod forgiven;
mod heads;
mod key_updates;
mod known;
mod pages;
mod properties;
mod refused;
mod repeated_heads;
mod strides;
mod unseen_by_a_walk;

use wire::handshake::{PostHandshake, Side};
use wire::reception::{
    Completed, Expectation, Given, HTTP2_FRAME, KeptResponse, LEARNED_FROM, Learned, ONE_RECORD,
    Reception, Records, TLS_RECORD, Want,
};
use wire::record::{HEADER, content_type};
use wire::{ErrorKind, Failure};
use wire_peer::{End, Layer, Line, Peer, head, object, plaintext_at_most};

const SIZE: usize = 5 * 4096;
/// Delivered at once.
const AT_ONCE: &[usize] = &[usize::MAX];

/// A response with an object of [`SIZE`]: its head in a record, then five records of body, of
/// which a walk drops the first four.
fn response(layer: Layer) -> Vec<Vec<u8>> {
    let mut peer = layer.peer();
    let mut records = vec![peer.data(&head(SIZE))];
    records.extend(object(SIZE).chunks(4096).map(|here| peer.data(here)));
    records
}

/// The result of receiving these bytes and then the end of the stream.
fn receive(
    layer: Layer,
    whole: bool,
    expectation: Expectation,
    bytes: &[u8],
) -> Result<End, Failure> {
    let mut reception = layer.reception();
    reception.expect(expectation, whole);
    let mut line = Line::new(bytes, AT_ONCE);
    match line.run(&mut reception)? {
        End::Starved => match reception.end()? {
            Given::Complete(completed) => Ok(End::Complete(completed)),
            Given::More | Given::Refused | Given::Closed => Ok(End::Starved),
        },
        end => Ok(end),
    }
}

/// The body's length, if these bytes complete a response with one of this size.
fn body_received(
    reception: &mut Reception,
    size: usize,
    bytes: &[u8],
) -> Result<Option<u64>, ErrorKind> {
    reception.expect(Expectation::Object(size as u64), false);
    let end = Line::new(bytes, &[700]).run(reception);
    if end.is_err() || end == Ok(End::Starved) {
        reception.has_failed();
    }
    match end.map_err(|failure| failure.kind)? {
        End::Complete(completed) => Ok(Some(completed.body)),
        End::Closed | End::Starved => Ok(None),
    }
}

/// The result of receiving the response with an object of [`SIZE`] after `edit`.
fn edited(
    layer: Layer,
    whole: bool,
    edit: impl FnOnce(&mut Vec<Vec<u8>>),
) -> Result<End, ErrorKind> {
    let mut records = response(layer);
    edit(&mut records);
    receive(layer, whole, Expectation::Object(SIZE as u64), &records.concat())
        .map_err(|failure| failure.kind)
}

/// The result of receiving these plaintexts, each in its own record.
fn sent(
    layer: Layer,
    whole: bool,
    expectation: Expectation,
    texts: &[&[u8]],
) -> Result<End, ErrorKind> {
    let mut peer = layer.peer();
    let bytes: Vec<u8> = texts.iter().flat_map(|text| peer.data(text)).collect();
    receive(layer, whole, expectation, &bytes).map_err(|failure| failure.kind)
}

fn body_of(end: Result<End, ErrorKind>) -> Result<u64, String> {
    match end {
        Ok(End::Complete(completed)) => Ok(completed.body),
        other => Err(format!("{other:?}")),
    }
}

/// All layers, walked and opened whole.
fn each(check: impl Fn(Layer, bool)) {
    for layer in Layer::ALL {
        for whole in [false, true] {
            check(layer, whole);
        }
    }
}

/// All protected layers, walked and opened whole.
fn each_protected(check: impl Fn(Layer, bool)) {
    each(|layer, whole| {
        if layer != Layer::Plain {
            check(layer, whole)
        }
    });
}
