//! Heads and bodies of responses over plain HTTP: where the bytes are cut changes nothing.

use super::input::Input;
use crate::{End, Layer, Line};
use wire::ErrorKind;
use wire::reception::{Expectation, Given};

/// The longest text. It is short because the limits of heads and lines are checked only after each
/// piece.
const LONGEST: usize = 4 << 10;

/// The input: a byte of choices, the pieces in which the rest arrives, and the rest, which is what
/// the server sends.
pub fn heads(input: &[u8]) {
    let mut input = Input(input);
    let choices = input.byte();
    let pieces = input.pieces();
    let text = input.bytes(LONGEST);
    let expectation = match choices & 1 {
        0 => Expectation::Anything,
        _ => Expectation::Object(usize::from(choices >> 1) as u64),
    };
    let at_once = receive(true, expectation, &[usize::MAX], text);
    assert_eq!(receive(true, expectation, &pieces, text), at_once, "the cut changes the outcome");
    // A dropped body is not compared; everything else is the same.
    let walked = receive(false, expectation, &pieces, text);
    assert!(walked == at_once || at_once == Err(ErrorKind::Content), "{walked:?} {at_once:?}");
}

/// The length of the body, where `text` is one response.
fn receive(
    whole: bool,
    expectation: Expectation,
    pieces: &[usize],
    text: &[u8],
) -> Result<Option<u64>, ErrorKind> {
    let mut reception = Layer::Plain.reception();
    reception.expect(expectation, whole);
    let mut line = Line::new(text, pieces);
    let end = line.run(&mut reception).map_err(|failure| failure.kind)?;
    let given = match end {
        End::Complete(completed) => Given::Complete(completed),
        End::Closed | End::Starved => reception.end().map_err(|failure| failure.kind)?,
    };
    match given {
        // Bytes after a response are an error, at the latest when the next one is requested.
        Given::Complete(_) if line.left_over() > 0 => Err(ErrorKind::LongBody),
        Given::Complete(completed) => {
            assert!(completed.opened <= completed.body && completed.body <= text.len() as u64);
            Ok(Some(completed.body))
        }
        Given::More | Given::Refused | Given::Closed => Ok(None),
    }
}
