//! Heads that repeat are compared with the last one: they say the same, and one that differs is read anew.

use proptest::prelude::*;
use wire::reception::Answers;

use super::*;

const KNOWN: &str =
    "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n";

/// The result of these bytes, on a connection of a thread that has learned this.
fn received(
    layer: Layer,
    learned: &Learned,
    answers: Answers,
    text: &[u8],
) -> Result<End, Failure> {
    let mut reception = layer.reception_with(learned.clone());
    reception.set_answers(answers);
    reception.expect(Expectation::Anything, false);
    let wire = layer.peer().data(text);
    Line::new(&wire, AT_ONCE).run(&mut reception)
}

fn after(known: &str, answers: Answers, text: &str) -> Result<End, Failure> {
    let learned = Learned::default();
    assert!(received(Layer::Plain, &learned, Answers::USUAL, known.as_bytes()).is_ok());
    received(Layer::Plain, &learned, answers, text.as_bytes())
}

fn completed(end: Result<End, Failure>) -> (u16, u64, bool) {
    match end {
        Ok(End::Complete(completed)) => (completed.status, completed.body, completed.closes),
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_byte_of_a_known_head_decides() {
    let text = |from, to| format!("{}ab", KNOWN.replacen(from, to, 1));
    let next = |from, to| after(&text("", ""), Answers::USUAL, &text(from, to));
    assert_eq!(completed(next("", "")), (200, 2, true));
    assert_eq!(completed(next("close", "xlose")), (200, 2, false));
}

#[test]
fn another_status_or_length_is_refused() {
    let text = |from, to| format!("{}ab", KNOWN.replacen(from, to, 1));
    let refused =
        |from, to| after(&text("", ""), Answers::USUAL, &text(from, to)).unwrap_err().kind;
    assert_eq!(refused("200", "500"), ErrorKind::Status);
    assert_eq!(refused("200", "201"), ErrorKind::Status);
    assert_eq!(refused("Length: 2", "Length: 1"), ErrorKind::LongBody);
    assert_eq!(refused("Length: 2", "Length: z"), ErrorKind::Status);
    assert_eq!(refused("Length:", "Length "), ErrorKind::Status);
    assert_eq!(refused("HTTP", "HTTQ"), ErrorKind::Status);
}

#[test]
fn a_known_head_is_right_only_for_what_it_was_right_for() {
    let text = format!("{KNOWN}ab");
    let not_found = after(&text, Answers::with(&[404], false), &text);
    assert_eq!(not_found.unwrap_err().kind, ErrorKind::Status);
    // A response to HEAD ends with its head, whatever that says.
    assert_eq!(completed(after(&text, Answers::with(&[200], true), KNOWN)), (200, 0, true));
}

/// Heads that are near each other, right and wrong ones.
fn heads() -> impl Strategy<Value = Vec<u8>> {
    let start = prop_oneof![
        4 => Just("HTTP/1.1 200 OK"),
        1 => Just("HTTP/1.0 200 OK"),
        1 => Just("HTTP/1.1 204 No Content"),
        1 => Just("HTTP/1.1 404 Not Found"),
        1 => Just("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK"),
    ];
    let field = prop_oneof![
        3 => Just("Content-Length: 2"),
        1 => Just("Content-Length: 0"),
        1 => Just("Transfer-Encoding: chunked"),
        1 => Just("Connection: close"),
        1 => Just("Connection: keep-alive"),
        1 => Just("Date: Thu, 26 Nov 2026 00:00:00 GMT"),
        1 => Just("X-Log: one\r\n two"),
    ];
    let end = prop_oneof![4 => Just("\r\n"), 1 => Just("\n")];
    let change = proptest::option::weighted(0.2, (any::<proptest::sample::Index>(), any::<u8>()));
    (start, proptest::collection::vec(field, 0..4), end, change).prop_map(
        |(start, fields, end, change)| {
            let lines = [&[start], &fields[..], &["", ""]].concat();
            let mut text = lines.join(end).into_bytes();
            if let Some((at, byte)) = change {
                let at = at.index(text.len());
                text[at] = byte;
            }
            text
        },
    )
}

proptest! {
    #[test]
    fn what_was_seen_before_changes_nothing(
        heads in proptest::collection::vec(heads(), 1..4),
        turns in proptest::collection::vec(
            (any::<proptest::sample::Index>(), 0usize..3, 0usize..4, any::<bool>()), 1..12
        ),
    ) {
        let bodies = [&b""[..], b"ab", b"2\r\nab\r\n0\r\n\r\n", b"\r\n\r\n"];
        let answers = [
            Answers::USUAL, Answers::with(&[200, 204, 404], false), Answers::with(&[200], true)
        ];
        let learned = Learned::default();
        for (head, right, body, is_tls) in turns {
            let text = [head.get(&heads), bodies[body]].concat();
            let layer = if is_tls { Layer::Tls13Gcm } else { Layer::Plain };
            let again = received(layer, &learned, answers[right], &text);
            let first = received(layer, &Learned::default(), answers[right], &text);
            prop_assert_eq!(again, first);
        }
    }
}
