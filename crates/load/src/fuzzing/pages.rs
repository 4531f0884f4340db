//! Responses of a session, over plain HTTP and in records: where the bytes are cut changes nothing,
//! and only what the peer sealed counts.

use super::input::Input;
use super::script::Script;
use crate::failure::{ErrorKind, Failure};
use crate::receive::line::Layer;
use crate::session::{Given, Reception};

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
    let mut reception = match layer {
        Layer::Plain => Reception::plain(),
        _ => Reception::tls(layer.opener(), layer.post_handshake()),
    };
    let mut bodies = Vec::new();
    let result = run(&mut reception, layer, pieces, bytes, &mut bodies);
    (bodies, result.err().map(|failure| failure.kind))
}

/// Asks for one response after another until something fails or nothing more comes.
fn run(
    reception: &mut Reception,
    layer: Layer,
    pieces: &[usize],
    mut coming: &[u8],
    bodies: &mut Vec<Vec<u8>>,
) -> Result<(), Failure> {
    let mut sizes = pieces.iter().cycle();
    let mut hand = Vec::new();
    reception.ask(b"", None, false, &mut Vec::new());
    loop {
        let (used, given) = reception.give(&mut hand)?;
        let body = reception.body(&hand).to_vec();
        hand.drain(..used);
        match given {
            Given::Complete => {
                // A connection has no more before it asks again.
                if layer == Layer::Plain && !coming.is_empty() {
                    return Err(Failure::unasked());
                }
                bodies.push(body);
                if coming.is_empty() && hand.is_empty() {
                    return Ok(());
                }
                reception.ask(b"", None, false, &mut Vec::new());
            }
            Given::Closed => break,
            Given::More if coming.is_empty() => break,
            Given::More => {
                let size = (*sizes.next().unwrap_or(&usize::MAX)).clamp(1, coming.len());
                let (piece, rest) = coming.split_at(size);
                hand.extend_from_slice(piece);
                coming = rest;
            }
        }
    }
    if reception.end()? == Given::Complete {
        bodies.push(reception.body(&[]).to_vec());
    }
    Ok(())
}
