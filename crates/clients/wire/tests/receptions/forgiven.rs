//! What a recipient may forgive, or must not (RFC 9110 and 9112).

use super::*;

/// The body's length, or what is wrong, of a whole response over plain HTTP and over TLS.
#[track_caller]
fn received(text: &[u8]) -> Result<u64, String> {
    let of = |layer: Layer, whole| {
        let bytes = layer.peer().data(text);
        receive(layer, whole, Expectation::Anything, &bytes).map_err(|failure| failure.seen.clone())
    };
    let plain = of(Layer::Plain, true);
    assert_eq!(of(Layer::Plain, false).is_ok(), plain.is_ok());
    assert_eq!(of(Layer::Tls13Gcm, false).is_ok(), plain.is_ok());
    match plain? {
        End::Complete(completed) => Ok(completed.body),
        end => Err(format!("{end:?}")),
    }
}

#[test]
fn white_space_and_line_ends() {
    for text in [
        // Lines that end with LF alone (RFC 9112, section 2.2).
        &b"HTTP/1.1 200 OK\nContent-Length: 2\n\nab"[..],
        b"HTTP/1.1 200 OK\r\nServer: x\nContent-Length: 2\r\n\nab",
        // An empty line before the status line.
        b"\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab",
        // Several spaces, no reason, no space before it (section 4).
        b"HTTP/1.1  200  OK\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nab",
        // None, tabs and some around a value (section 5.1).
        b"HTTP/1.1 200 OK\r\nContent-Length:2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nContent-Length:\t 2 \t\r\n\r\nab",
        // A folded field (section 5.2), of which another has the length.
        b"HTTP/1.1 200 OK\r\nX-Log: one\r\n two\r\n\tthree\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nContent-Length:\r\n 2\r\n\r\nab",
        // Bytes beyond ASCII in a value (RFC 9110, section 5.5).
        b"HTTP/1.1 200 OK\r\nServer: caf\xe9\r\nContent-Length: 2\r\n\r\nab",
        // Chunks whose lines end with LF alone, or have white space before that (section 7.1.1).
        b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2 \nab\n0\n\n",
    ] {
        assert_eq!(received(text), Ok(2), "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn repeated_equal_fields() {
    for fields in [
        "Content-Length: 2\r\nContent-Length: 2",
        "Content-Length: 2, 2",
        "Content-Length: 2,2\r\nContent-Length: 2",
        "Connection: keep-alive\r\nConnection: keep-alive\r\nContent-Length: 2",
        "Transfer-Encoding: identity\r\nContent-Length: 2",
    ] {
        let text = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nab");
        assert_eq!(received(text.as_bytes()), Ok(2), "{fields}");
    }
    for fields in [
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: identity, Chunked",
        "Content-Length: 9\r\nTransfer-Encoding: chunked",
    ] {
        let text = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n2\r\nab\r\n0\r\n\r\n");
        assert_eq!(received(text.as_bytes()), Ok(2), "{fields}");
    }
    for fields in [
        "Content-Length: 2\r\nContent-Length: 3",
        "Content-Length: 2, 3",
        "Content-Length: 2 2",
        "Content-Length: 2,",
        "Transfer-Encoding: gzip, chunked",
    ] {
        let text = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nab");
        assert!(received(text.as_bytes()).is_err(), "{fields}");
    }
}

/// RFC 9112, section 9.3.
#[test]
fn close_wins_over_keep_alive() {
    for (version, fields, closes) in [
        ("1.1", "X: 1", false),
        ("1.1", "Connection: close", true),
        ("1.1", "Connection: close, keep-alive", true),
        ("1.1", "Connection: keep-alive, Close", true),
        ("1.1", "Connection: close\r\nConnection: keep-alive", true),
        ("1.1", "Connection: \u{e9}, close", true),
        ("1.0", "X: 1", true),
        ("1.0", "Connection: keep-alive", false),
        ("1.0", "Connection: keep-alive, close", true),
    ] {
        let text = format!("HTTP/{version} 200 OK\r\n{fields}\r\nContent-Length: 2\r\n\r\nab");
        each(|layer, whole| {
            // As another program writes it.
            let text: Vec<u8> = text.chars().map(|char| char as u8).collect();
            let bytes = layer.peer().data(&text);
            let Ok(End::Complete(completed)) = receive(layer, whole, Expectation::Anything, &bytes)
            else {
                panic!("{layer:?} {fields}")
            };
            assert_eq!(completed.closes, closes, "{layer:?} HTTP/{version} {fields}");
        });
    }
}

#[test]
fn the_line_that_is_wrong_is_quoted() {
    for (fields, quote) in [
        ("Server: x\r\nContent-Length : 2", "`Content-Length : 2`"),
        (" Content-Length: 2", "`Content-Length: 2`"),
        ("Server: x\r\nfatal error in module\r\nContent-Length: 2", "`fatal error in module`"),
        ("A: b\r\n c\r\nX-\u{e9}: 1\r\nContent-Length: 2", "`X-\u{e9}: 1`"),
    ] {
        let text = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nab");
        let seen = received(text.as_bytes()).unwrap_err();
        assert!(seen.contains(quote), "{seen}");
    }
    let seen = received(b"220 mail ESMTP ready\r\n").unwrap_err();
    assert!(seen.contains("`220 mail ESMTP ready`"), "{seen}");
    assert_eq!(received(&[21, 3, 3, 0, 2, 2, 10]), Err(TLS_RECORD.to_owned()));
    assert_eq!(
        received(&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100]),
        Err(HTTP2_FRAME.to_owned())
    );
}

#[test]
fn as_many_fields_as_servers_send_and_a_named_limit() {
    let text = |count: usize| {
        let fields: String = (1..count).map(|n| format!("X-{n}: {n}\r\n")).collect();
        format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 2\r\n\r\nab")
    };
    assert_eq!(received(text(256).as_bytes()), Ok(2));
    let seen = received(text(257).as_bytes()).unwrap_err();
    assert!(seen.contains("more than 256 header fields"), "{seen}");
}

/// What a server says with 400 is kept, however the response ends and in how many records it comes.
#[test]
fn the_words_of_a_400_are_kept() {
    const WORDS: &[u8] = b"<title>400 Bad Request</title><h1>Speak TLS to me</h1>";
    let head = |fields: &str| format!("HTTP/1.1 400 Bad Request\r\n{fields}\r\n").into_bytes();
    let length = format!("Content-Length: {}\r\n", WORDS.len());
    let chunked = [format!("{:x}\r\n", WORDS.len()).as_bytes(), WORDS, b"\r\n0\r\n\r\n"].concat();
    each(|layer, whole| {
        for (head, body) in [
            (head(&length), WORDS.to_vec()),
            (head(&format!("Connection: close\r\n{length}")), WORDS.to_vec()),
            (head("Transfer-Encoding: chunked\r\n"), chunked.clone()),
        ] {
            for texts in [vec![[&head[..], &body].concat()], vec![head.clone(), body.clone()]] {
                let mut peer = layer.peer();
                let bytes: Vec<u8> = texts.iter().flat_map(|text| peer.data(text)).collect();
                let failure = receive(layer, whole, Expectation::Anything, &bytes).unwrap_err();
                let expected = "400 Bad Request: Speak TLS to me";
                assert_eq!((failure.kind, &failure.seen[..]), (ErrorKind::Status, expected));
            }
        }
        // Without a length it is what came with the head.
        let text = [&head("")[..], WORDS].concat();
        let bytes = layer.peer().data(&text);
        let failure = receive(layer, whole, Expectation::Anything, &bytes).unwrap_err();
        assert_eq!(failure.seen, "400 Bad Request: Speak TLS to me", "{layer:?}");
    });
}
