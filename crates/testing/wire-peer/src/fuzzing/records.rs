//! Records after a handshake, from a peer that has its keys and is honest or not.

use super::input::Input;
use super::script::{REGULAR, Script};
use crate::{End, Layer, Line};
use wire::ErrorKind;
use wire::reception::{Content, Expectation, Given, LEARNED_FROM, Reception, Records};
use wire::record::{HEADER, MOST_PLAINTEXT};

/// The result of receiving all that a peer sent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ending {
    /// The body lengths of the responses that count, and whether the connection closes after each.
    completed: Vec<(u64, bool)>,
    /// The offset at which each of them was complete.
    ends: Vec<usize>,
    /// Why the next response failed, if it did.
    failure: Option<ErrorKind>,
}

/// The input: how records are protected, how they are received, and a [`Script`] of what is sent.
pub fn records(input: &[u8]) {
    let mut input = Input(input);
    let layers: Vec<Layer> = Layer::protected().collect();
    let layer = layers[usize::from(input.byte()) % layers.len()];
    let choices = input.byte();
    let (is_object, has_learned) = (choices & 1 != 0, choices & 2 != 0);
    let follows_updates = choices & 4 != 0;
    let size = input.short() % 40_000;
    let expectation =
        if is_object { Expectation::Object(size as u64) } else { Expectation::Anything };
    let pieces = input.pieces();
    let script = Script::read(&mut input, layer, size);

    let run = |whole: bool, wire: &[u8]| {
        let reception = match has_learned {
            true => layer.reception_that_learned(REGULAR),
            false => layer.reception(),
        };
        let kept = layer.post_handshake().filter(|_| follows_updates);
        let reception = reception.with_post_handshake(kept);
        receive(reception, whole, expectation, &pieces, wire)
    };
    one_by_one(layer, follows_updates, &script.wire);
    let (opened, walked) = (run(true, &script.wire), run(false, &script.wire));
    let untouched = &script.wire[..script.untouched];
    // Where all is opened, only what the peer sealed counts.
    assert_eq!(opened.completed, run(true, untouched).completed, "{layer:?}");
    // The same holds for a walk up to the first altered record.
    assert!(walked.completed.starts_with(&run(false, untouched).completed), "{layer:?} {walked:?}");
    // A walk proves the number of records: each response that counts ends with a record in its
    // original place.
    assert!(walked.ends.iter().all(|end| script.in_place.contains(end)), "{layer:?} {walked:?}");
    // It does not see the content of the records before that one, so it counts what such records
    // would hold there. In CBC records a flipped bit can change that.
    if !(script.is_flipped && layer.opener().tail() > 0) {
        let resealed = run(false, &script.resealed).completed;
        assert!(resealed.starts_with(&walked.completed), "{layer:?} {walked:?} {resealed:?}");
    }
    if script.is_honest && !has_learned {
        assert_same(&opened, &walked, script.hides_amounts);
    }
}

/// Opens the records as is done for HTTP/2, until one fails or is not whole.
fn one_by_one(layer: Layer, follows_updates: bool, wire: &[u8]) {
    let kept = layer.post_handshake().filter(|_| follows_updates);
    let (mut records, mut bytes) = (Records::new(layer.opener(), kept), wire.to_vec());
    let mut used = 0;
    while let Ok(Some((length, content))) = records.open(&mut bytes[used..], false) {
        assert!(length >= HEADER);
        if let Content::Data(data) = content {
            assert!(data.start >= HEADER && data.end <= length && data.len() <= MOST_PLAINTEXT);
        }
        used += length;
    }
}

/// A walk counts the same as opening all does, except for content that it does not see.
fn assert_same(opened: &Ending, walked: &Ending, hides_amounts: bool) {
    if opened.failure == Some(ErrorKind::Content) {
        assert!(walked.completed.starts_with(&opened.completed), "{opened:?} {walked:?}");
        return;
    }
    let learned_from = LEARNED_FROM as usize;
    let has_learned = walked.completed.len() >= learned_from;
    // Records that are dropped together are assumed to hold what such records held before.
    if has_learned && hides_amounts {
        let first = opened.completed.get(..learned_from);
        assert_eq!(first, walked.completed.get(..learned_from), "{opened:?} {walked:?}");
        return;
    }
    // The record lengths that a walk has learned may prove wrong; then the response fails.
    if has_learned && walked.failure.is_some() {
        assert!(opened.completed.starts_with(&walked.completed), "{opened:?} {walked:?}");
        return;
    }
    assert_eq!(opened.completed, walked.completed);
    // An error after dropped records may come from a wrong count of them.
    let is_lost = walked.failure == Some(ErrorKind::UnverifiableRecord);
    let may_be_lost = opened.failure == Some(ErrorKind::LongBody);
    assert!(opened.failure == walked.failure || (is_lost && may_be_lost), "{opened:?} {walked:?}");
}

/// Receives one response after another until something fails or nothing more comes.
fn receive(
    mut reception: Reception,
    whole: bool,
    expectation: Expectation,
    pieces: &[usize],
    wire: &[u8],
) -> Ending {
    let mut line = Line::new(wire, pieces);
    let (mut completed, mut ends) = (Vec::new(), Vec::new());
    let failure = loop {
        reception.expect(expectation, whole);
        let end = line.run(&mut reception);
        // After a close, announced or not, a connection is not used again.
        let is_over = !matches!(end, Ok(End::Complete(_)));
        let given = end.and_then(|end| match end {
            End::Complete(completed) => Ok(Given::Complete(completed)),
            End::Closed | End::Starved => reception.end(),
        });
        match given {
            Ok(Given::Complete(response)) => {
                assert!(response.opened <= response.body);
                assert!(!response.compared || response.opened == response.body);
                if let Expectation::Object(size) = expectation {
                    assert_eq!(response.body, size);
                }
                completed.push((response.body, response.closes));
                ends.push(wire.len() - line.left_over());
            }
            Ok(Given::More | Given::Refused | Given::Closed) => {}
            Err(failure) => break Some(failure.kind),
        }
        if is_over || line.left_over() == 0 {
            break None;
        }
    };
    let counted: u64 = completed.iter().map(|(body, _)| body).sum();
    assert!(counted <= wire.len() as u64, "{counted} bytes were counted of {}", wire.len());
    Ending { completed, ends, failure }
}
