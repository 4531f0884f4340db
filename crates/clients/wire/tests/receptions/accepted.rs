//! Responses that complete, with the right counts.

use std::sync::{Arc, Mutex};

use super::*;
use wire::record::Protection;

#[test]
fn an_object_is_walked_or_opened_whole() {
    each(|layer, whole| {
        let end = edited(layer, whole, |_| {});
        let opened = match (layer, whole) {
            (_, true) => SIZE as u64,
            // Body bytes that are read with the head.
            (Layer::Plain, false) => (ONE_RECORD - head(SIZE).len()) as u64,
            (_, false) => 4096,
        };
        let compared = opened == SIZE as u64;
        let completed = Completed {
            status: 200,
            body: SIZE as u64,
            opened,
            compared,
            peeked: false,
            closes: false,
        };
        assert_eq!(end, Ok(End::Complete(completed)), "{layer:?}");
    });
}

#[test]
fn bodies_of_every_framing() {
    let texts: [(&[&[u8]], u64); 6] = [
        (&[b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"], 0),
        (&[b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"], 3),
        (&[b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nContent-Length: 3\r\n\r\n", b"", b"abc"], 3),
        (
            &[
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWi",
                b"ki\r\n",
                b"5\r\npedia\r\n0\r\n",
                b"Expires: never\r\n\r\n",
            ],
            9,
        ),
        (
            &[
                b"HTTP/1.1 100 Continue\r\n\r\n",
                b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n",
                b"\r\nab",
            ],
            2,
        ),
        (&[b"HTTP/1.1 200", b" OK\r\nContent-Len", b"gth: 1\r", b"\n\r", b"\na"], 1),
    ];
    each(|layer, whole| {
        for (texts, length) in texts {
            let end = sent(layer, whole, Expectation::Anything, texts);
            assert_eq!(body_of(end), Ok(length), "{layer:?} {texts:?}");
        }
    });
}

#[test]
fn the_end_of_the_stream_ends_a_body_where_only_the_server_can_have_ended_it() {
    const TEXT: &[u8] = b"HTTP/1.0 200 OK\r\n\r\nuntil the close";
    each(|layer, whole| {
        let mut peer = layer.peer();
        let mut bytes = peer.data(TEXT);
        let cut = receive(layer, whole, Expectation::Anything, &bytes);
        if layer == Layer::Plain {
            let Ok(End::Complete(completed)) = cut else { panic!("{cut:?}") };
            assert!(completed.body == 15 && completed.closes);
            return;
        }
        assert_eq!(cut.unwrap_err().kind, ErrorKind::ShortBody, "{layer:?}");

        bytes.extend(peer.record(content_type::ALERT, &[1, 0]));
        let mut reception = layer.reception();
        reception.expect(Expectation::Anything, whole);
        assert_eq!(Line::new(&bytes, AT_ONCE).run(&mut reception), Ok(End::Closed));
        let ended = reception.end();
        assert!(
            matches!(ended, Ok(Given::Complete(Completed { body: 15, closes: true, .. }))),
            "{layer:?}: {ended:?}"
        );
    });
}

#[test]
fn tickets_and_hello_requests_are_skipped() {
    each_protected(|layer, whole| {
        let mut peer = layer.peer();
        let mut bytes = Vec::new();
        // TLS 1.3 tickets, any number and several in a record; HelloRequest in TLS 1.2.
        let beside: &[u8] =
            if layer.is_tls12() { &[0, 0, 0, 0] } else { &[4, 0, 0, 1, 9, 4, 0, 0, 0] };
        for _ in 0..50 {
            bytes.extend(peer.record(content_type::HANDSHAKE, beside));
            bytes.extend(peer.data(&[]));
        }
        bytes.extend(peer.data(&head(4)));
        bytes.extend(peer.record(content_type::HANDSHAKE, beside));
        bytes.extend(peer.data(&object(4)));
        let end = receive(layer, whole, Expectation::Object(4), &bytes);
        assert_eq!(body_of(end.map_err(|failure| failure.kind)), Ok(4), "{layer:?}");
    });
}

#[test]
fn tickets_go_to_the_post_handshake_handler() {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let mut peer = Layer::Tls13Gcm.peer();
    let mut bytes = Vec::new();
    // Two in a record, an empty one, and one in three records.
    for messages in
        [&[4, 0, 0, 1, 9, 4, 0, 0, 2, 7, 8][..], &[4, 0, 0, 0], &[4, 0], &[0, 3, 24, 0], &[0]]
    {
        bytes.extend(peer.record(content_type::HANDSHAKE, messages));
    }
    bytes.extend(peer.data(&head(0)));
    let taker = Box::new(Taker(taken.clone()));
    let mut reception = Layer::Tls13Gcm.reception().with_post_handshake(Some(taker));
    reception.expect(Expectation::Anything, true);
    assert!(matches!(Line::new(&bytes, AT_ONCE).run(&mut reception), Ok(End::Complete(_))));
    assert_eq!(*taken.lock().unwrap(), [vec![9], vec![7, 8], vec![], vec![24, 0, 0]]);
}

/// Keeps the tickets that it receives.
struct Taker(Arc<Mutex<Vec<Vec<u8>>>>);

impl PostHandshake for Taker {
    fn take_ticket(&mut self, ticket: &[u8]) -> Result<(), Failure> {
        self.0.lock().unwrap().push(ticket.to_vec());
        Ok(())
    }

    fn next_protection(&mut self, _: Side) -> Option<Protection> {
        None
    }
}

#[test]
fn padded_records_are_opened_to_their_content() {
    let mut peer = Layer::Tls13Gcm.peer();
    let mut bytes = Vec::new();
    for text in [head(8192), object(8192)] {
        // Content, its type, then zeros, of which the last takes the type's usual place.
        let padded = [&text[..], &[content_type::APPLICATION_DATA], &[0; 99]].concat();
        bytes.extend(peer.record(0, &padded));
    }
    let end = receive(Layer::Tls13Gcm, true, Expectation::Object(8192), &bytes);
    assert_eq!(body_of(end.map_err(|failure| failure.kind)), Ok(8192));
}

#[test]
fn a_proof_comes_with_the_next_record() {
    for layer in Layer::protected() {
        let records = response(layer);
        let (before, after) = records.split_at(3);
        let mut reception = layer.reception();
        reception.expect(Expectation::Object(SIZE as u64), false);
        let bytes = before.concat();
        assert_eq!(Line::new(&bytes, AT_ONCE).run(&mut reception), Ok(End::Starved));
        reception.ask_proof();
        assert!(!reception.is_proven());
        assert_eq!((reception.body(), reception.opened()), (8192, 0));
        assert_eq!(Line::new(&after[0], AT_ONCE).run(&mut reception), Ok(End::Starved));
        assert!(reception.is_proven(), "{layer:?}");
        assert_eq!((reception.body(), reception.opened()), (12_288, 4096));
    }
}

#[test]
fn the_bytes_of_tickets_before_a_response_are_learned() {
    const TICKET: &[u8] = &[4, 0, 0, 3, 1, 2, 3];
    for layer in Layer::protected() {
        let known = Learned::default();
        let receive = |tickets: usize| {
            let mut peer = layer.peer();
            let before: Vec<u8> =
                (0..tickets).flat_map(|_| peer.record(content_type::HANDSHAKE, TICKET)).collect();
            let wire = [&before[..], &peer.data(&[head(1), object(1)].concat())].concat();
            let mut reception = Reception::tls(layer.opener(), known.clone());
            reception.expect(Expectation::Object(1), false);
            let end = Line::new(&wire, &[20]).run(&mut reception);
            assert!(matches!(end, Ok(End::Complete(_))), "{layer:?} {end:?}");
            (before.len() as u64, reception.before_response())
        };
        for _ in 1..16 {
            assert_eq!(receive(2).1, 0, "{layer:?}");
        }
        let (before, known) = receive(2);
        assert_eq!(known, before, "{layer:?}");
        assert_eq!(receive(3).1, before, "{layer:?}");
        let (fewer, known) = receive(1);
        assert!(fewer < before && known == fewer, "{layer:?}");
        assert_eq!(receive(0), (0, 0), "{layer:?}");
    }
}
