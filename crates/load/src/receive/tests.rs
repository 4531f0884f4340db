//! What a reception accepts, what it refuses, and what a walk does not see by design.

mod line;

use proptest::prelude::*;

use self::line::{End, Layer, Line, head, object, plaintext_at_most};
use super::*;

const SIZE: usize = 5 * 4096;
const WHOLE: [bool; 2] = [false, true];
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

/// What comes of these bytes and the end of the stream behind them, if it comes to that.
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
            Given::More | Given::Closed => Ok(End::Starved),
        },
        end => Ok(end),
    }
}

/// How the response with an object of [`SIZE`] ends after `edit`.
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

/// How these plaintexts end, each in a record of its own.
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
        WHOLE.map(|whole| check(layer, whole));
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

mod accepted {
    use super::*;

    #[test]
    fn an_object_is_walked_or_opened_whole() {
        each(|layer, whole| {
            let end = edited(layer, whole, |_| {});
            let opened = match (layer, whole) {
                (_, true) => SIZE as u64,
                // What is read with the head.
                (Layer::Plain, false) => (ONE_RECORD - head(SIZE).len()) as u64,
                (_, false) => 4096,
            };
            let compared = opened == SIZE as u64;
            let completed = Completed { body: SIZE as u64, opened, compared, closes: false };
            assert_eq!(end, Ok(End::Complete(completed)), "{layer:?}");
        });
    }

    #[test]
    fn bodies_of_every_framing() {
        let texts: [(&[&[u8]], u64); 7] = [
            (&[b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"], 0),
            (&[b"HTTP/1.1 204 No Content\r\n\r\n"], 0),
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
    fn what_servers_send_beside_data_is_passed_over() {
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
            let (before, behind) = records.split_at(3);
            let mut reception = layer.reception();
            reception.expect(Expectation::Object(SIZE as u64), false);
            let bytes = before.concat();
            assert_eq!(Line::new(&bytes, AT_ONCE).run(&mut reception), Ok(End::Starved));
            reception.ask_proof();
            assert!(!reception.is_proven());
            assert_eq!((reception.body(), reception.opened()), (8192, 0));
            assert_eq!(Line::new(&behind[0], AT_ONCE).run(&mut reception), Ok(End::Starved));
            assert!(reception.is_proven(), "{layer:?}");
            assert_eq!((reception.body(), reception.opened()), (12_288, 4096));
        }
    }
}

mod refused {
    use super::*;

    const LOST: Result<End, ErrorKind> = Err(ErrorKind::UnverifiableRecord);

    #[test]
    fn a_flipped_byte_in_the_first_or_last_record() {
        each_protected(|layer, whole| {
            for i in [0, 5] {
                for at in [HEADER, 40, usize::MAX] {
                    let end = edited(layer, whole, |records| {
                        let at = at.min(records[i].len() - 1);
                        records[i][at] ^= 0x10;
                    });
                    assert_eq!(end, LOST, "{layer:?} {whole} byte {at} of record {i}");
                }
            }
        });
    }

    #[test]
    fn a_flipped_byte_in_a_plain_body_that_is_read() {
        let end = edited(Layer::Plain, true, |texts| texts[3][7] ^= 1);
        assert_eq!(end, Err(ErrorKind::Content));
    }

    #[test]
    fn records_repeated_or_replayed() {
        each_protected(|layer, whole| {
            for i in 1..5 {
                let repeated =
                    edited(layer, whole, |records| records.insert(i, records[i].clone()));
                assert_eq!(repeated, LOST, "{layer:?} {whole} record {i} twice");
                let replayed = edited(layer, whole, |records| records[5] = records[i].clone());
                assert_eq!(replayed, LOST, "{layer:?} {whole} record {i} as the last");
            }
            let swapped = edited(layer, whole, |records| records.swap(4, 5));
            assert_eq!(swapped, LOST, "{layer:?} {whole} the last two swapped");
        });
    }

    #[test]
    fn records_that_are_missing() {
        each_protected(|layer, whole| {
            for i in 0..6 {
                let end = edited(layer, whole, |records| drop(records.remove(i)));
                // A walk without its last bytes only waits; what comes is the end of the stream.
                let expected =
                    if i == 5 || !whole && i > 0 { Err(ErrorKind::ShortBody) } else { LOST };
                assert_eq!(end, expected, "{layer:?} {whole} without record {i}");
                // With another response behind, the count comes out but the places do not.
                let mut peer_goes_on = response(layer);
                let gone = peer_goes_on.remove(i);
                peer_goes_on.extend(response(layer));
                let end =
                    receive(layer, whole, Expectation::Object(SIZE as u64), &peer_goes_on.concat());
                let kind = end.map_err(|failure| failure.kind);
                assert_eq!(kind, LOST, "{layer:?} {whole} without {} bytes", gone.len());
            }
        });
    }

    #[test]
    fn a_last_record_sent_twice_is_none_of_the_next_response() {
        each_protected(|layer, whole| {
            let mut records = response(layer);
            records.push(records[5].clone());
            let bytes = records.concat();
            let mut reception = layer.reception();
            let mut line = Line::new(&bytes, AT_ONCE);
            reception.expect(Expectation::Object(SIZE as u64), whole);
            assert!(matches!(line.run(&mut reception), Ok(End::Complete(_))));
            reception.expect(Expectation::Object(SIZE as u64), whole);
            let failure = line.run(&mut reception).unwrap_err();
            assert_eq!(failure.kind, ErrorKind::UnverifiableRecord, "{layer:?}");
        });
    }

    #[test]
    fn bodies_of_another_length_than_the_object() {
        each(|layer, whole| {
            for (length, kind) in
                [(SIZE - 1, ErrorKind::ShortBody), (SIZE + 1, ErrorKind::LongBody)]
            {
                let texts = [head(length), object(length)];
                let texts = texts.each_ref().map(Vec::as_slice);
                let expectation = Expectation::Object(SIZE as u64);
                let promised = sent(layer, whole, expectation, &texts);
                assert_eq!(promised, Err(kind), "{layer:?} {whole} {length}");
            }
        });
    }

    #[test]
    fn bodies_shorter_than_promised() {
        each(|layer, whole| {
            for length in [0, 1, 4096, SIZE - 1] {
                let mut peer = layer.peer();
                let mut records = vec![peer.data(&head(SIZE))];
                records.extend(peer.records(&object(length), &[length / 2]));
                if layer != Layer::Plain {
                    records.push(peer.record(content_type::ALERT, &[1, 0]));
                }
                let bytes = records.concat();
                let mut reception = layer.reception();
                reception.expect(Expectation::Object(SIZE as u64), whole);
                let end = match Line::new(&bytes, AT_ONCE).run(&mut reception) {
                    Ok(End::Starved | End::Closed) => reception.end().map(|_| ()),
                    other => panic!("{layer:?} {whole} {length}: {other:?}"),
                };
                assert_eq!(end.unwrap_err().kind, ErrorKind::ShortBody, "{layer:?} {length}");
            }
        });
    }

    #[test]
    fn bodies_longer_than_promised() {
        each(|layer, whole| {
            let texts: [&[u8]; 2] = [&head(100), &object(101)];
            let end = sent(layer, whole, Expectation::Object(100), &texts);
            assert_eq!(end, Err(ErrorKind::LongBody), "{layer:?} {whole}");
        });
    }

    #[test]
    fn data_where_no_response_is_expected() {
        each(|layer, _| {
            let mut reception = layer.reception();
            let bytes = layer.peer().data(b"HTTP/1.1 200 OK\r\n\r\n");
            let failure = Line::new(&bytes, AT_ONCE).run(&mut reception).unwrap_err();
            assert_eq!(failure.kind, ErrorKind::LongBody, "{layer:?}");
        });
    }

    #[test]
    fn content_that_is_not_the_objects() {
        each(|layer, whole| {
            let mut wrong = object(SIZE);
            wrong[10] ^= 1;
            let first = [&head(SIZE)[..], &wrong[..100]].concat();
            let texts = [&first, &wrong[100..8192], &wrong[8192..]];
            let end = sent(layer, whole, Expectation::Object(SIZE as u64), &texts);
            assert_eq!(end, Err(ErrorKind::Content), "{layer:?} {whole}");
        });
    }

    #[test]
    fn content_that_does_not_fit_behind_what_was_dropped() {
        for layer in Layer::protected() {
            let mut wrong = object(SIZE);
            wrong[SIZE - 10] ^= 1;
            let texts = [&head(SIZE), &wrong[..8192], &wrong[8192..16_384], &wrong[16_384..]];
            let expectation = Expectation::Object(SIZE as u64);
            // Whether the content or the count of bytes is wrong, a walk cannot tell.
            assert_eq!(sent(layer, false, expectation, &texts), LOST, "{layer:?}");
            assert_eq!(sent(layer, true, expectation, &texts), Err(ErrorKind::Content));
        }
    }

    #[test]
    fn what_is_dropped_and_is_no_data() {
        // In TLS 1.3 all records look like data from outside: a ticket, a KeyUpdate and padding
        // are counted, and the count does not come out.
        let padding = [&object(4096)[..], &[content_type::APPLICATION_DATA], &[0; 9]].concat();
        let strangers: [(u8, &[u8], usize); 3] = [
            (content_type::HANDSHAKE, &[4, 0, 0, 1, 9], 0),
            (content_type::HANDSHAKE, &[24, 0, 0, 1, 0], 0),
            (0, &padding, 4096),
        ];
        for layer in [Layer::Tls13Gcm, Layer::Tls13ChaCha20] {
            for (kind, content, holds) in strangers {
                for expectation in [Expectation::Object(SIZE as u64), Expectation::Anything] {
                    let mut peer = layer.peer();
                    let mut bytes = peer.data(&head(SIZE));
                    bytes.extend(peer.record(kind, content));
                    bytes.extend(peer.records(&object(SIZE)[holds..], &[4096; 5]).concat());
                    let end = receive(layer, false, expectation, &bytes);
                    assert_eq!(end.map_err(|failure| failure.kind), LOST, "{layer:?} {kind}");
                }
            }
        }
    }

    #[test]
    fn a_key_update_before_the_body_or_in_an_opened_one() {
        for layer in [Layer::Tls13Gcm, Layer::Tls13ChaCha20] {
            for (whole, before) in [(false, 0), (true, 0), (true, 3)] {
                let mut peer = layer.peer();
                let mut texts = vec![head(SIZE)];
                texts.extend(object(SIZE).chunks(4096).map(<[u8]>::to_vec));
                let mut bytes = Vec::new();
                for (i, text) in texts.iter().enumerate() {
                    if i == before {
                        bytes.extend(peer.record(content_type::HANDSHAKE, &[24, 0, 0, 1, 0]));
                    }
                    bytes.extend(peer.data(text));
                }
                let end = receive(layer, whole, Expectation::Object(SIZE as u64), &bytes);
                assert_eq!(end.map_err(|failure| failure.kind), LOST, "{layer:?} {before}");
            }
        }
    }

    #[test]
    fn alerts() {
        each_protected(|layer, whole| {
            for before in [0, 2] {
                let mut peer = layer.peer();
                let mut bytes = Vec::new();
                for i in 0..=before {
                    if i == before {
                        bytes.extend(peer.record(content_type::ALERT, &[2, 80]));
                    } else if i == 0 {
                        bytes.extend(peer.data(&head(SIZE)));
                    } else {
                        bytes.extend(peer.data(&object(4096)));
                    }
                }
                let end = receive(layer, whole, Expectation::Object(SIZE as u64), &bytes);
                // A walk through TLS 1.3 sees only that nothing follows it.
                let is_hidden = before > 0 && !whole && !layer.is_tls12();
                let kind = if is_hidden { ErrorKind::ShortBody } else { ErrorKind::Alert };
                assert_eq!(end.unwrap_err().kind, kind, "{layer:?} {whole} {before}");
            }
        });
    }

    #[test]
    fn bytes_that_are_no_protected_record() {
        let cases: [(&[u8], ErrorKind); 6] = [
            (b"HTTP/1.1 400 Bad Request\r\n\r\n", ErrorKind::UnverifiableRecord),
            // Longer than any version allows.
            (&[23, 3, 3, 0x48, 1, 0, 0], ErrorKind::UnverifiableRecord),
            (&[23, 3, 3, 0xff, 0xff, 0, 0], ErrorKind::UnverifiableRecord),
            // Shorter than its own authentication.
            (&[23, 3, 3, 0, 3, 1, 2, 3], ErrorKind::UnverifiableRecord),
            (&[20, 3, 3, 0, 1, 1], ErrorKind::UnverifiableRecord),
            (&[21, 3, 3, 0, 2, 2, 40], ErrorKind::Alert),
        ];
        each_protected(|layer, whole| {
            for (bytes, kind) in cases {
                let failure = receive(layer, whole, Expectation::Anything, bytes).unwrap_err();
                assert_eq!(failure.kind, kind, "{layer:?} {bytes:?}");
                // In the middle of a body too.
                let bytes = [&response(layer)[..2].concat(), bytes].concat();
                let failure = receive(layer, whole, Expectation::Anything, &bytes).unwrap_err();
                assert_eq!(failure.kind, kind, "{layer:?} {bytes:?}");
            }
        });
    }

    #[test]
    fn heads_that_are_no_success() {
        let heads: [&[u8]; 9] = [
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 500 Oops\r\n\r\n",
            b"HTTP/1.1 301 Moved\r\nLocation: /\r\n\r\n",
            b"HTTP/1.1 304 Not Modified\r\n\r\n",
            b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            b"\x00\x01garbage\r\n\r\n",
        ];
        each(|layer, whole| {
            for head in heads {
                let end = sent(layer, whole, Expectation::Anything, &[head]);
                assert_eq!(end, Err(ErrorKind::Status), "{layer:?} {head:?}");
            }
            let endless = [b'a'; 9000];
            let texts: Vec<&[u8]> =
                [&b"HTTP/1.1 200 OK\r\nX: "[..]].into_iter().chain([&endless[..]; 9]).collect();
            let end = sent(layer, whole, Expectation::Anything, &texts);
            assert_eq!(end, Err(ErrorKind::Status), "{layer:?} an endless head");
        });
    }

    #[test]
    fn an_end_before_the_response() {
        each(|layer, whole| {
            for text in [&b""[..], b"HTTP/1.1 200 OK\r\nContent-"] {
                let end = sent(layer, whole, Expectation::Anything, &[text]);
                assert_eq!(end, Err(ErrorKind::EarlyClose), "{layer:?} {text:?}");
            }
        });
    }
}

/// What a walk takes for right by design, and what opening all records sees.
mod unseen_by_a_walk {
    use super::*;

    #[test]
    fn two_middle_records_swapped() {
        for layer in Layer::protected() {
            let swap = |records: &mut Vec<Vec<u8>>| records.swap(2, 3);
            assert_eq!(body_of(edited(layer, false, swap)), Ok(SIZE as u64), "{layer:?}");
            assert_eq!(edited(layer, true, swap), Err(ErrorKind::UnverifiableRecord));
        }
    }

    #[test]
    fn a_flipped_byte_in_a_middle_record() {
        for layer in Layer::protected() {
            let flip = |records: &mut Vec<Vec<u8>>| records[2][1000] ^= 1;
            assert_eq!(body_of(edited(layer, false, flip)), Ok(SIZE as u64), "{layer:?}");
            assert_eq!(edited(layer, true, flip), Err(ErrorKind::UnverifiableRecord));
        }
    }

    #[test]
    fn wrong_content_in_a_middle_record() {
        for layer in Layer::protected() {
            let mut wrong = object(SIZE);
            wrong[9000] ^= 1;
            let mut texts = vec![head(SIZE)];
            texts.extend(wrong.chunks(4096).map(<[u8]>::to_vec));
            let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
            let expectation = Expectation::Object(SIZE as u64);
            assert_eq!(body_of(sent(layer, false, expectation, &texts)), Ok(SIZE as u64));
            assert_eq!(sent(layer, true, expectation, &texts), Err(ErrorKind::Content));
        }
    }

    #[test]
    fn the_content_of_a_plain_body() {
        let texts: [&[u8]; 2] = [&head(SIZE), &[0; SIZE]];
        let expectation = Expectation::Object(SIZE as u64);
        let mut reception = Reception::plain();
        reception.expect(expectation, false);
        assert_eq!(Line::new(texts[0], AT_ONCE).run(&mut reception), Ok(End::Starved));
        let end = Line::new(texts[1], AT_ONCE).run(&mut reception);
        let completed = Completed { body: SIZE as u64, opened: 0, compared: false, closes: false };
        assert_eq!(end, Ok(End::Complete(completed)));
        assert_eq!(sent(Layer::Plain, true, expectation, &texts), Err(ErrorKind::Content));
    }
}

fn sizes(most: usize) -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![Just(0), 1..20usize, 1..=most, Just(most)];
    proptest::collection::vec(size, 0..24)
}

/// Body bytes of a response that a walk opens: those that come with the head, and those in
/// records that could hold the body's last byte.
fn opened_by_a_walk(
    layer: Layer,
    head: usize,
    total: usize,
    records: &[Vec<u8>],
    cuts: &[usize],
) -> u64 {
    let mut contents = cuts.to_vec();
    let mut at: usize = contents.iter().sum::<usize>().min(total);
    while at < total {
        contents.push((total - at).min(1 << 14));
        at += 1 << 14;
    }
    let (mut passed, mut opened) = (0, 0);
    for (record, size) in records.iter().zip(contents) {
        let size = size.min(total - passed);
        let is_dropped =
            passed >= head && plaintext_at_most(layer, record) < (total - passed) as u64;
        if !is_dropped {
            opened += (passed + size).saturating_sub(head.max(passed));
        }
        passed += size;
    }
    opened as u64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_cut_into_records_and_pieces_completes_with_the_right_counts(
        which in 0..Layer::ALL.len(),
        whole: bool,
        bodies in proptest::collection::vec(0usize..80_000, 1..3),
        cuts in sizes(1 << 14),
        pieces in proptest::collection::vec(1usize..40_000, 1..8),
    ) {
        let layer = Layer::ALL[which];
        let mut peer = layer.peer();
        let mut wire = Vec::new();
        let mut expected = Vec::new();
        for size in &bodies {
            let text = [head(*size), object(*size)].concat();
            let records = peer.records(&text, &cuts);
            expected.push(match (layer, whole) {
                (_, true) => Some(*size as u64),
                (Layer::Plain, false) => None,
                _ => Some(opened_by_a_walk(layer, text.len() - size, text.len(), &records, &cuts)),
            });
            wire.push(records.concat());
        }
        let mut reception = layer.reception();
        for ((size, opened), wire) in bodies.iter().zip(expected).zip(&wire) {
            let mut line = Line::new(wire, &pieces).honest();
            reception.expect(Expectation::Object(*size as u64), whole);
            let end = line.run(&mut reception);
            let Ok(End::Complete(completed)) = end else { panic!("{end:?}") };
            prop_assert_eq!(completed.body, *size as u64);
            if let Some(opened) = opened {
                prop_assert_eq!(completed.opened, opened);
            }
            prop_assert_eq!(completed.compared, completed.opened == completed.body);
            // Empty records may stand behind a response.
            prop_assert_eq!(line.run(&mut reception), Ok(End::Starved));
        }
    }

    #[test]
    fn chunks_in_any_records_and_pieces_complete(
        which in 0..Layer::ALL.len(),
        whole: bool,
        chunks in proptest::collection::vec(1usize..3000, 0..6),
        cuts in sizes(2000),
        pieces in proptest::collection::vec(1usize..3000, 1..8),
    ) {
        let layer = Layer::ALL[which];
        let total: usize = chunks.iter().sum();
        let body = object(total);
        let mut text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        let mut rest = &body[..];
        for size in chunks {
            let (here, behind) = rest.split_at(size);
            text.extend(format!("{size:x}\r\n").bytes());
            text.extend(here);
            text.extend(b"\r\n");
            rest = behind;
        }
        text.extend(b"0\r\n\r\n");
        let wire = layer.peer().records(&text, &cuts).concat();
        let mut reception = layer.reception();
        reception.expect(Expectation::Object(total as u64), whole);
        let end = Line::new(&wire, &pieces).honest().run(&mut reception);
        let completed =
            Completed { body: total as u64, opened: total as u64, compared: true, closes: false };
        prop_assert_eq!(end, Ok(End::Complete(completed)));
    }

    #[test]
    fn one_changed_byte_never_passes_where_all_is_opened(
        which in 1..Layer::ALL.len(),
        at: proptest::sample::Index,
        bit in 0u32..8,
    ) {
        let layer = Layer::ALL[which];
        let mut bytes = response(layer).concat();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let end = receive(layer, true, Expectation::Anything, &bytes);
        prop_assert!(end.is_err(), "{end:?}");
    }

    #[test]
    fn no_bytes_of_a_peer_panic_or_go_in_circles(
        which in 0..Layer::ALL.len(),
        whole: bool,
        is_object: bool,
        honest in 0usize..7,
        lies in proptest::collection::vec(
            prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..300),
                (20u8..25, 0u16..400).prop_map(|(kind, length)| {
                    [vec![kind, 3, 3], length.to_be_bytes().to_vec(), vec![kind; length.into()]]
                        .concat()
                }),
            ],
            0..6,
        ),
        pieces in proptest::collection::vec(1usize..5000, 1..8),
    ) {
        let layer = Layer::ALL[which];
        let mut bytes = response(layer)[..honest.min(6)].concat();
        bytes.extend(lies.concat());
        let mut reception = layer.reception();
        let size = if is_object { Expectation::Object(SIZE as u64) } else { Expectation::Anything };
        reception.expect(size, whole);
        let mut line = Line::new(&bytes, &pieces);
        loop {
            match line.run(&mut reception) {
                Ok(End::Complete(_)) => reception.expect(size, whole),
                Ok(End::Closed | End::Starved) => {
                    let _ = reception.end();
                    break;
                }
                Err(_) => break,
            }
        }
    }
}
