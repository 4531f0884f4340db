//! Pages, which are kept whole whatever their status.

use super::*;

/// The page that arrives with these texts, each in its own record, or at the end of the stream.
fn page(layer: Layer, texts: &[&[u8]]) -> Result<(KeptResponse, Completed), ErrorKind> {
    let mut reception = layer.reception();
    let mut peer = layer.peer();
    let mut bytes: Vec<u8> = texts.iter().flat_map(|text| peer.data(text)).collect();
    if layer != Layer::Plain {
        bytes.extend(peer.record(content_type::ALERT, &[1, 0]));
    }
    reception.expect(Expectation::Page, false);
    let mut line = Line::new(&bytes, &[7]);
    let completed = match line.run(&mut reception) {
        // A connection has no more before it asks again.
        Ok(End::Complete(_)) if layer == Layer::Plain && line.left_over() > 0 => {
            return Err(ErrorKind::LongBody);
        }
        Ok(End::Complete(completed)) => completed,
        Ok(End::Closed | End::Starved) => match reception.end() {
            Ok(Given::Complete(completed)) => completed,
            other => return Err(other.unwrap_err().kind),
        },
        Err(failure) => return Err(failure.kind),
    };
    let kept = reception.take_kept();
    assert_eq!((completed.body, completed.opened), (kept.body.len() as u64, completed.body));
    Ok((kept, completed))
}

#[test]
fn bodies_end_as_their_heads_say_wherever_they_are_cut() {
    let ok = |status, body: &str| Ok((status, body.as_bytes().to_vec()));
    for (text, expected) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", ok(200, "hi")),
        ("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", ok(404, "")),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            ok(200, "hi"),
        ),
        ("HTTP/1.0 500 Oops\r\n\r\nhi", ok(500, "hi")),
        ("HTTP/1.1 204 None\r\n\r\n", ok(204, "")),
        ("HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n", ok(304, "")),
        ("HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", ok(200, "x")),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", Err(ErrorKind::ShortBody)),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nhi", Err(ErrorKind::LongBody)),
        ("HTTP/1.1 204 None\r\n\r\nx", Err(ErrorKind::LongBody)),
        ("HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\nx", Err(ErrorKind::LongBody)),
        ("HTTP/1.1 302 To\r\nLocation: /a\r\nLocation: /b\r\n\r\n", Err(ErrorKind::Status)),
        ("HTTP/1.1 200", Err(ErrorKind::EarlyClose)),
        ("", Err(ErrorKind::EarlyClose)),
        ("SSH-2.0", Err(ErrorKind::Status)),
    ] {
        for size in [1, 2, 7, 1000] {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            for layer in Layer::ALL {
                // A record after the last one of a response belongs to the next.
                let is_cut = layer != Layer::Plain && size < text.len();
                if is_cut && expected == Err(ErrorKind::LongBody) {
                    continue;
                }
                let page = page(layer, &pieces).map(|(kept, _)| (kept.status, kept.body));
                assert_eq!(page, expected, "{layer:?}: {text:?} in pieces of {size}");
            }
        }
    }
}

#[test]
fn a_body_without_a_promised_length_is_cut_off_at_the_limit() {
    for layer in [Layer::Plain, Layer::Tls13Gcm] {
        let mut reception = layer.reception();
        let mut peer = layer.peer();
        reception.expect(Expectation::Page, false);
        let mut wire = peer.data(b"HTTP/1.1 200 OK\r\n\r\n");
        (0..1024).for_each(|_| wire.extend(peer.data(&[b'x'; 1 << 14])));
        assert_eq!(Line::new(&wire, AT_ONCE).run(&mut reception), Ok(End::Starved), "{layer:?}");
        let end = Line::new(&peer.data(b"x"), AT_ONCE).run(&mut reception);
        assert_eq!(
            end,
            Err(Failure::new(ErrorKind::LongBody, "a page of more than 16 MiB")),
            "{layer:?}"
        );
    }
}

#[test]
fn the_next_page_begins_anew() {
    for layer in Layer::ALL {
        let mut reception = layer.reception();
        let mut peer = layer.peer();
        let first = "HTTP/1.1 302 To\r\nLocation: /a\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx";
        let mut page = |text: &str| {
            reception.expect(Expectation::Page, false);
            let end = Line::new(&peer.data(text.as_bytes()), AT_ONCE).run(&mut reception);
            let Ok(End::Complete(completed)) = end else { panic!("{end:?}") };
            (reception.take_kept(), completed.closes)
        };
        let cookies = vec![b"a=1".to_vec(), b"b=2".to_vec()];
        let redirect = KeptResponse {
            status: 302,
            location: Some(b"/a".to_vec()),
            cookies,
            body: b"x".to_vec(),
        };
        assert_eq!(page(first), (redirect, true));
        let plain = KeptResponse { status: 200, body: b"y".to_vec(), ..KeptResponse::default() };
        assert_eq!(page("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny"), (plain, false));
    }
}

#[test]
fn a_page_that_is_arriving_is_proven_as_it_comes() {
    let mut reception = Layer::Tls13Gcm.reception();
    let mut peer = Layer::Tls13Gcm.peer();
    reception.expect(Expectation::Page, false);
    let bytes = peer.data(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx");
    assert_eq!(Line::new(&bytes, AT_ONCE).run(&mut reception), Ok(End::Starved));
    assert!(reception.is_proven() && reception.body() == 1 && reception.opened() == 1);
}
