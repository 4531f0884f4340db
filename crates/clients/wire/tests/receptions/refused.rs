//! Responses that must fail, and how.

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
fn bytes_after_the_end_of_the_first_or_last_record() {
    each_protected(|layer, whole| {
        for i in [0, 5] {
            let end = edited(layer, whole, |records| {
                records[i].extend_from_slice(&[7; 5]);
                let length = (records[i].len() - HEADER) as u16;
                records[i][HEADER - 2..HEADER].copy_from_slice(&length.to_be_bytes());
            });
            assert_eq!(end, LOST, "{layer:?} {whole} record {i}");
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
            let repeated = edited(layer, whole, |records| records.insert(i, records[i].clone()));
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
            // Without the last bytes a walk only waits, until the end of the stream.
            let expected = if i == 5 || !whole && i > 0 { Err(ErrorKind::ShortBody) } else { LOST };
            assert_eq!(end, expected, "{layer:?} {whole} without record {i}");
            // With another response after it, the count is right but the sequence numbers are not.
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
fn a_last_record_sent_twice_is_not_part_of_the_next_response() {
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
        for (length, kind) in [(SIZE - 1, ErrorKind::ShortBody), (SIZE + 1, ErrorKind::LongBody)] {
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
fn chunks_that_end_early_are_reported_first_wherever_bytes_are_cut() {
    let text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nmore";
    each(|layer, whole| {
        for size in [text.len(), 7, 1] {
            let texts: Vec<&[u8]> = text.chunks(size).collect();
            let end = sent(layer, whole, Expectation::Object(8), &texts);
            assert_eq!(end, Err(ErrorKind::ShortBody), "{layer:?} {whole} {size}");
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
        // But for that it waited too long for a request (RFC 9110, section 15.5.9).
        let bytes = layer.peer().data(b"HTTP/1.0 408 Request Time-out\r\n\r\n");
        let end = Line::new(&bytes, AT_ONCE).run(&mut layer.reception());
        assert_eq!(end, Ok(End::Closed), "{layer:?}");
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
fn content_that_does_not_fit_after_dropped_bytes() {
    for layer in Layer::protected() {
        let mut wrong = object(SIZE);
        wrong[SIZE - 10] ^= 1;
        let texts = [&head(SIZE), &wrong[..8192], &wrong[8192..16_384], &wrong[16_384..]];
        let expectation = Expectation::Object(SIZE as u64);
        // A walk cannot know whether the content or the count of bytes is wrong.
        assert_eq!(sent(layer, false, expectation, &texts), LOST, "{layer:?}");
        assert_eq!(sent(layer, true, expectation, &texts), Err(ErrorKind::Content));
    }
}

#[test]
fn dropped_records_that_are_no_data() {
    // In TLS 1.3 all records look like data: a ticket, a KeyUpdate and padding are counted as such,
    // and then the count is wrong.
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
                    // After a ticket in the same record.
                    let messages = [4, 0, 0, 1, 9, 24, 0, 0, 1, 0];
                    bytes.extend(peer.record(content_type::HANDSHAKE, &messages));
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
            // A walk of TLS 1.3 only notices that nothing follows it.
            let is_hidden = before > 0 && !whole && !layer.is_tls12();
            let kind = if is_hidden { ErrorKind::ShortBody } else { ErrorKind::Alert };
            assert_eq!(end.unwrap_err().kind, kind, "{layer:?} {whole} {before}");
        }
    });
}

/// RFC 8446, section 4.6: the client has not offered post_handshake_auth.
#[test]
fn messages_that_may_not_come_after_the_handshake() {
    each_protected(|layer, whole| {
        let wrong: &[u8] = if layer.is_tls12() { &[2, 13, 20, 99] } else { &[0, 1, 2, 13, 20, 99] };
        for kind in wrong {
            let mut peer = layer.peer();
            let bytes = [
                peer.data(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"),
                peer.record(content_type::HANDSHAKE, &[*kind, 0, 0, 1, 9]),
            ];
            let failure = receive(layer, whole, Expectation::Anything, &bytes.concat());
            let failure = failure.unwrap_err();
            assert_eq!(failure.kind, ErrorKind::Handshake, "{layer:?} {kind}");
            let named = format!("(type {kind}) after the handshake: unexpected_message");
            assert!(failure.seen.contains(&named), "{}", failure.seen);
        }
    });
}

/// A server may end a connection that it keeps no longer by any alert, and says user_canceled whenever it likes, as
/// Java does before close_notify (RFC 8446, section 6.1).
#[test]
fn alerts_that_are_no_failures() {
    each_protected(|layer, whole| {
        let mut peer = layer.peer();
        let canceled = &[1, 90];
        let mut bytes = peer.record(content_type::ALERT, canceled);
        bytes.extend(peer.data(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"));
        bytes.extend(peer.record(content_type::ALERT, canceled));
        bytes.extend(peer.data(b"ok"));
        bytes.extend(peer.record(content_type::ALERT, canceled));
        let answered = bytes.len();
        bytes.extend(peer.record(content_type::ALERT, &[2, 80]));
        for (bytes, end) in [(&bytes[..answered], End::Starved), (&bytes, End::Closed)] {
            let mut reception = layer.reception();
            reception.expect(Expectation::Anything, whole);
            let mut line = Line::new(bytes, AT_ONCE);
            assert!(matches!(line.run(&mut reception), Ok(End::Complete(_))), "{layer:?}");
            assert_eq!(line.run(&mut reception), Ok(end), "{layer:?} {whole}");
        }
        // What was asked for since is not answered.
        let mut reception = layer.reception();
        reception.expect(Expectation::Anything, whole);
        let mut line = Line::new(&bytes, AT_ONCE);
        assert!(matches!(line.run(&mut reception), Ok(End::Complete(_))), "{layer:?}");
        reception.expect(Expectation::Anything, whole);
        assert_eq!(line.run(&mut reception).unwrap_err().kind, ErrorKind::Alert, "{layer:?}");
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
fn records_that_hold_too_much() {
    const FULL: usize = 1 << 14;
    each_protected(|layer, whole| {
        for (size, is_refused) in [(FULL, false), (FULL + 1, true), (FULL + 200, true)] {
            let mut peer = layer.peer();
            let mut bytes = peer.data(&head(5 * FULL));
            bytes.extend(peer.data(&object(size)));
            bytes.extend(peer.records(&object(5 * FULL)[size..], &[]).concat());
            let end = receive(layer, whole, Expectation::Object(5 * FULL as u64), &bytes);
            let kind = end.map(|_| ()).map_err(|failure| failure.kind);
            let expected = if is_refused { LOST.map(|_| ()) } else { Ok(()) };
            assert_eq!(kind, expected, "{layer:?} {whole} {size}");
        }
    });
}

#[test]
fn heads_that_are_no_success() {
    let heads: [&[u8]; 17] = [
        b"HTTP/1.1 206 Partial Content\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: +0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 500 Oops\r\n\r\n",
        b"HTTP/1.1 301 Moved\r\nLocation: /\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        // What is not ASCII is a coding that is not known, not none.
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\xff\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: \xe9\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\xff\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nGRPC-Status: 14\r\nContent-Length: 0\r\n\r\n",
        b"\x00\x01garbage\r\n\r\n",
    ];
    each(|layer, whole| {
        for head in heads {
            let end = sent(layer, whole, Expectation::Anything, &[head]);
            assert_eq!(end, Err(ErrorKind::Status), "{layer:?} {head:?}");
        }
        let endless = [b'a'; 9000];
        let texts: Vec<&[u8]> =
            [&b"HTTP/1.1 200 OK\r\nX: "[..]].into_iter().chain([&endless[..]; 30]).collect();
        let end = sent(layer, whole, Expectation::Anything, &texts);
        assert_eq!(end, Err(ErrorKind::LongHead), "{layer:?} an endless head");
    });
    // In one piece too, as it may be over plain HTTP.
    for (length, expected) in [((256 << 10) - 100, None), (256 << 10, Some(ErrorKind::LongHead))] {
        let long = format!("HTTP/1.1 200 {}\r\nContent-Length: 0\r\n\r\n", "a".repeat(length));
        let end = sent(Layer::Plain, true, Expectation::Anything, &[long.as_bytes()]);
        assert_eq!(end.err(), expected, "{length}");
    }
}

#[test]
fn a_call_of_grpc_that_failed_says_so_in_its_trailers() {
    each(|layer, whole| {
        for (trailers, expected) in [
            ("Grpc-Status: 0\r\n", Ok(())),
            ("X: 1\r\ngrpc-message: no\r\n", Ok(())),
            ("x: 1\r\ngrpc-status: 7\r\n", Err(ErrorKind::Status)),
        ] {
            let text = format!(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n{trailers}\r\n"
            );
            for size in [text.len(), 9, 1] {
                let texts: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
                let end = sent(layer, whole, Expectation::Anything, &texts).map(|_| ());
                assert_eq!(end, expected, "{layer:?} {whole} {trailers} {size}");
            }
        }
    });
}

#[test]
fn an_answer_between_the_parts_of_a_handshake_message() {
    each_protected(|layer, whole| {
        // A HelloRequest, or a ticket.
        let message: &[u8] = if layer.is_tls12() { &[0; 4] } else { &[4, 0, 0, 1, 9] };
        for is_between in [false, true] {
            let mut peer = layer.peer();
            let mut parts = vec![peer.record(content_type::HANDSHAKE, &message[..2])];
            let answer = |peer: &mut Peer| [peer.data(&head(9)), peer.data(&object(9))].concat();
            if is_between {
                parts.push(answer(&mut peer));
            }
            parts.push(peer.record(content_type::HANDSHAKE, &message[2..]));
            if !is_between {
                parts.push(answer(&mut peer));
            }
            let bytes = parts.concat();
            let end = receive(layer, whole, Expectation::Object(9), &bytes);
            let expected = if is_between { Some(ErrorKind::UnverifiableRecord) } else { None };
            assert_eq!(end.err().map(|failure| failure.kind), expected, "{layer:?} {whole}");

            let mut records = Records::new(layer.opener(), None);
            let (mut bytes, mut used) = (bytes, 0);
            let failure = loop {
                match records.open(&mut bytes[used..], false) {
                    Ok(Some((length, _))) => used += length,
                    Ok(None) => break None,
                    Err(failure) => break Some(failure.kind),
                }
            };
            assert_eq!(failure, expected, "{layer:?}");
        }
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

#[test]
fn data_that_began_before_its_request_is_no_response() {
    for layer in Layer::protected() {
        for whole in [false, true] {
            let bytes = layer.peer().data(&[&head(9)[..], &object(9)].concat());
            for cut in [1, HEADER, HEADER + 1, bytes.len() - 1] {
                let mut reception = layer.reception();
                let (before, after) = bytes.split_at(cut);
                let mut line = Line::new(before, AT_ONCE);
                assert_eq!(line.run(&mut reception), Ok(End::Starved));
                reception.expect(Expectation::Object(9), whole);
                if line.left_over() > 0 {
                    reception.has_early_bytes();
                }
                let failure = line.then(after).run(&mut reception).unwrap_err();
                assert_eq!(failure.kind, ErrorKind::LongBody, "{layer:?} {whole} {cut}");
            }
            // A ticket or a request for a handshake may have begun.
            let beside: &[u8] = if layer.is_tls12() { &[0; 4] } else { &[4, 0, 0, 0] };
            let mut peer = layer.peer();
            let ticket = peer.record(content_type::HANDSHAKE, beside);
            let mut reception = layer.reception();
            let mut line = Line::new(&ticket[..HEADER + 1], AT_ONCE);
            assert_eq!(line.run(&mut reception), Ok(End::Starved));
            reception.expect(Expectation::Object(9), whole);
            reception.has_early_bytes();
            let rest = [&ticket[HEADER + 1..], &peer.data(&head(9)), &peer.data(&object(9))];
            let rest = rest.concat();
            let end = line.then(&rest).run(&mut reception);
            assert!(matches!(end, Ok(End::Complete(_))), "{layer:?} {whole} {end:?}");
        }
    }
}

#[test]
fn a_file_in_place_of_another_is_wrong_content() {
    each(|layer, whole| {
        let end = |start| {
            let expectation = Expectation::File { size: SIZE as u64, start };
            receive(layer, whole, expectation, &response(layer).concat())
        };
        assert!(matches!(end(0), Ok(End::Complete(_))), "{layer:?}");
        let wrong = end(4099).unwrap_err();
        assert!(wrong.seen.contains("differs"), "{layer:?} {wrong:?}");
    });
}
