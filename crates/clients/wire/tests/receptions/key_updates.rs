//! KeyUpdates in TLS 1.3 (RFC 8446, section 4.6.3), correct ones and others.

use super::*;
use wire::record::Header;

const LAYERS: [Layer; 2] = [Layer::Tls13Gcm, Layer::Tls13ChaCha20];
const NOT_REQUESTED: &[u8] = &[24, 0, 0, 1, 0];
const REQUESTED: &[u8] = &[24, 0, 0, 1, 1];

/// A reception that follows KeyUpdates.
fn following(layer: Layer) -> Reception {
    layer.reception().with_post_handshake(layer.post_handshake())
}

/// The result of a response with these contents of handshake records within its body.
fn with_messages(layer: Layer, messages: &[&[u8]]) -> Result<End, Failure> {
    let mut peer = layer.peer();
    let mut bytes = peer.data(&head(200));
    bytes.extend(peer.data(&object(100)));
    bytes.extend(messages.iter().flat_map(|content| peer.record(content_type::HANDSHAKE, content)));
    bytes.extend(peer.data(&object(200)[100..]));
    let mut reception = following(layer);
    reception.expect(Expectation::Object(200), true);
    Line::new(&bytes, &[7, 50]).run(&mut reception)
}

#[test]
fn updates_before_within_and_after_a_response_are_followed() {
    for layer in LAYERS {
        let (mut peer, mut reception) = (layer.peer(), following(layer));
        for _ in 0..3 {
            let mut bytes = peer.record(content_type::HANDSHAKE, NOT_REQUESTED);
            bytes.extend(peer.data(&head(SIZE)));
            for piece in object(SIZE).chunks(4096) {
                bytes.extend(peer.data(piece));
                bytes.extend(peer.record(content_type::HANDSHAKE, REQUESTED));
            }
            reception.expect(Expectation::Object(SIZE as u64), true);
            let mut line = Line::new(&bytes, AT_ONCE);
            assert!(matches!(line.run(&mut reception), Ok(End::Complete(_))), "{layer:?}");
            assert_eq!(line.run(&mut reception), Ok(End::Starved), "{layer:?}");
        }
    }
}

#[test]
fn any_number_of_requests_is_answered_once_before_more_is_sent() {
    for layer in LAYERS {
        let (mut peer, mut reception, mut sealer) =
            (layer.peer(), following(layer), layer.sealer());
        let mut out = Vec::new();
        let none: &[&[u8]] = &[NOT_REQUESTED, NOT_REQUESTED];
        for (messages, answers) in [(none, 0), (&[REQUESTED, NOT_REQUESTED, REQUESTED], 1)] {
            let bytes: Vec<u8> = messages
                .iter()
                .flat_map(|content| peer.record(content_type::HANDSHAKE, content))
                .collect();
            assert_eq!(Line::new(&bytes, AT_ONCE).run(&mut reception), Ok(End::Starved));
            for _ in 0..2 {
                reception.answer_key_update(&mut sealer, &mut out).unwrap();
            }
            let record = NOT_REQUESTED.len() + HEADER + 1 + 16;
            assert_eq!(out.len(), answers * record, "{layer:?}");
        }
        sealer.seal(content_type::APPLICATION_DATA, b"GET", &mut out).unwrap();
        // The answer has the old key, what follows it the new one.
        let mut opened = Vec::new();
        let mut rest = &mut out[..];
        for mut opener in [layer.opener(), layer.opener_after(1)] {
            let header = Header::parse(rest[..HEADER].try_into().unwrap()).unwrap();
            let (record, after) = rest.split_at_mut(HEADER + header.length);
            let body = &mut record[HEADER..];
            let content = opener.open(header, body).unwrap();
            opened.push((content.content_type, body[content.plaintext].to_vec()));
            rest = after;
        }
        let get = (content_type::APPLICATION_DATA, b"GET".to_vec());
        assert_eq!(opened, [(content_type::HANDSHAKE, NOT_REQUESTED.to_vec()), get]);
    }
}

#[test]
fn updates_in_a_row_are_bounded() {
    for layer in LAYERS {
        for (count, is_followed) in [(32, true), (33, false), (200, false)] {
            let end = with_messages(layer, &vec![REQUESTED; count]);
            assert_eq!(end.is_ok(), is_followed, "{layer:?} {count}");
            if let Err(failure) = end {
                assert_eq!(failure.kind, ErrorKind::UnverifiableRecord);
                assert!(failure.seen.contains("in a row"), "{}", failure.seen);
            }
        }
    }
}

#[test]
fn bad_updates_are_refused() {
    let cases: [(&[&[u8]], &str); 7] = [
        (&[&[24, 0, 0, 1, 2]], "a malformed KeyUpdate"),
        (&[&[24, 0, 0, 0]], "a malformed KeyUpdate"),
        (&[&[24, 0, 0, 2, 0, 0]], "a malformed KeyUpdate"),
        (&[&[24, 0, 0, 1, 0, 4, 0, 0, 0]], "after which the keys change"),
        (&[&[24, 0, 0, 1, 0, 24, 0, 0, 1, 0]], "after which the keys change"),
        (&[&[24, 0, 0, 1, 0, 4]], "after which the keys change"),
        // Where one is announced but incomplete, the data after it has the old key.
        (&[&[24, 0, 0, 1], NOT_REQUESTED], "a malformed KeyUpdate"),
    ];
    for layer in LAYERS {
        for (messages, seen) in cases {
            let failure = match with_messages(layer, messages) {
                Err(failure) => failure,
                Ok(end) => panic!("{layer:?} {messages:?}: {end:?}"),
            };
            assert_eq!(failure.kind, ErrorKind::UnverifiableRecord, "{messages:?}");
            assert!(failure.seen.contains(seen), "{messages:?}: {}", failure.seen);
        }
    }
}

#[test]
fn endless_messages_are_refused() {
    let piece = vec![0; 16_000];
    let mut messages = vec![&[4, 0xff, 0xff, 0xff][..]];
    messages.extend([&piece[..]; 9]);
    let failure = with_messages(Layer::Tls13Gcm, &messages).unwrap_err();
    assert!(failure.seen.contains("128 KiB"), "{}", failure.seen);
}

#[test]
fn an_update_only_announced_or_only_made_fails() {
    for layer in LAYERS {
        // The peer changes its key in a record that is not sent.
        let mut peer = layer.peer();
        let _ = peer.record(content_type::HANDSHAKE, NOT_REQUESTED);
        let unannounced = peer.data(&head(0));
        // In two records, this peer's KeyUpdate changes nothing.
        let mut peer = layer.peer();
        let mut announced = peer.record(content_type::HANDSHAKE, &NOT_REQUESTED[..4]);
        announced.extend(peer.record(content_type::HANDSHAKE, &NOT_REQUESTED[4..]));
        announced.extend(peer.data(&head(0)));
        for bytes in [&unannounced, &announced] {
            let mut reception = following(layer);
            reception.expect(Expectation::Anything, true);
            let failure = Line::new(bytes, AT_ONCE).run(&mut reception).unwrap_err();
            assert_eq!(failure.kind, ErrorKind::UnverifiableRecord, "{layer:?}");
            assert!(failure.seen.contains("not authentic"), "{}", failure.seen);
        }
    }
}
