//! Pages of a session, over plain HTTP and in records: where the bytes are cut changes nothing, and
//! only what the peer sealed counts.

use super::input::Input;
use super::script::Script;
use crate::{End, Layer, Line};
use wire::reception::{Expectation, Given, Reception};
use wire::{ErrorKind, Failure};

/// The longest text. It is short because the limits of heads and lines are checked only after each
/// piece.
const LONGEST: usize = 4 << 10;

/// What came of all that a peer sent: the bodies of the responses that are whole, and why the next
/// one failed, if it did.
type Ending = (Vec<Vec<u8>>, Option<ErrorKind>);

/// The input: how the rest is protected, the pieces in which it arrives, and what the server sends:
/// a text, or a [`Script`] of records.
pub fn pages(input: &[u8]) {
    let mut input = Input(input);
    let layer = Layer::ALL[usize::from(input.byte()) % Layer::ALL.len()];
    let pieces = input.pieces();
    if layer == Layer::Plain {
        let text = input.bytes(LONGEST);
        let at_once = receive(layer, &[usize::MAX], text);
        assert_eq!(receive(layer, &pieces, text), at_once, "the cut changes the outcome");
        let kept: usize = at_once.0.iter().map(Vec::len).sum();
        assert!(kept <= text.len(), "{kept} bytes were kept of {}", text.len());
        return;
    }
    let size = input.short() % 40_000;
    let Script { wire, untouched, .. } = Script::read(&mut input, layer, size);
    let at_once = receive(layer, &[usize::MAX], &wire);
    assert_eq!(receive(layer, &pieces, &wire), at_once, "the cut changes the outcome");
    let (bodies, _) = receive(layer, &pieces, &wire[..untouched]);
    assert_eq!(at_once.0, bodies, "{layer:?}");
}

fn receive(layer: Layer, pieces: &[usize], bytes: &[u8]) -> Ending {
    let mut reception = layer.reception().with_post_handshake(layer.post_handshake());
    let mut bodies = Vec::new();
    let result = run(&mut reception, layer, &mut Line::new(bytes, pieces), &mut bodies);
    (bodies, result.err().map(|failure| failure.kind))
}

/// Asks for one response after another until something fails or nothing more comes.
fn run(
    reception: &mut Reception,
    layer: Layer,
    line: &mut Line<'_>,
    bodies: &mut Vec<Vec<u8>>,
) -> Result<(), Failure> {
    loop {
        reception.expect(Expectation::Page, false);
        let end = line.run(reception)?;
        let is_over = !matches!(end, End::Complete(_));
        if is_over && !matches!(reception.end()?, Given::Complete(_)) {
            return Ok(());
        }
        // A connection has no more before it asks again.
        if layer == Layer::Plain && line.left_over() > 0 {
            return Err(Failure::unrequested());
        }
        bodies.push(reception.take_kept().body);
        if is_over || line.left_over() == 0 {
            return Ok(());
        }
    }
}
