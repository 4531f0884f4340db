//! What a client makes of each frame, right or wrong (RFC 9113).

use http2::{Breach, Client, ClientHandler, ClientSettings, Frame, Head, Stream, StreamEnd};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const UNKNOWN: u8 = 0xbe;

const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
const HAS_PRIORITY: u8 = 0x20;
/// HEADERS that are a whole response.
const WHOLE: u8 = END_HEADERS | END_STREAM;

const PROTOCOL: u32 = 1;
const FLOW_CONTROL: u32 = 3;
const CLOSED: u32 = 5;
const FRAME_SIZE: u32 = 6;
const CANCEL: u32 = 8;
const COMPRESSION: u32 = 9;
const CALM: u32 = 11;

/// The blocks of `:status: 200`, `:status: 103`, and of a field that is not a pseudo-header field.
const OK: &[u8] = &[0x88];
const INTERIM: &[u8] = &[0x08, 3, b'1', b'0', b'3'];
const TRAILER: &[u8] = &[0, 1, b'x', 1, b'y'];

const WINDOW: u32 = 100_000;

type Bytes = Vec<u8>;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Bytes {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn window_update(stream: u32, increment: u32) -> Bytes {
    frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

fn goaway(last: u32) -> Bytes {
    frame(GOAWAY, 0, 0, &[last, 0].map(u32::to_be_bytes).concat())
}

fn settings(id: u16, value: u32) -> Bytes {
    frame(SETTINGS, 0, 0, &[&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
}

#[derive(Default)]
struct Seen {
    heads: Vec<(usize, Option<u16>)>,
    body: usize,
    closed: Vec<(usize, StreamEnd)>,
    received: usize,
    /// What is left of each request's body.
    left: [usize; 8],
}

impl ClientHandler for Seen {
    fn head(&mut self, stream: Stream, head: Head<'_>) {
        self.heads.push((stream.tag, head.status()));
    }

    fn data(&mut self, _: Stream, bytes: &[u8]) {
        self.body += bytes.len();
    }

    fn received(&mut self, _: Stream, _: Frame) {
        self.received += 1;
    }

    fn closed(&mut self, stream: Stream, end: StreamEnd) {
        self.closed.push((stream.tag, end));
    }

    fn body(&mut self, stream: Stream, most: usize) -> Option<(usize, bool)> {
        let left = self.left[stream.tag];
        Some((left.min(most), left <= most))
    }

    fn put_body(&mut self, stream: Stream, length: usize, out: &mut Vec<u8>) {
        self.left[stream.tag] -= length;
        out.resize(out.len() + length, b'b');
    }
}

/// A client to which a server has sent its SETTINGS, with two requests: stream 1, with tag 1, and stream 3 with tag 2,
/// which has a body that is longer than its window.
struct Session {
    client: Client<Seen>,
    seen: Seen,
}

impl Session {
    fn new() -> Self {
        let settings = ClientSettings {
            window: WINDOW,
            max_frame: http2::DEFAULT_MAX_FRAME,
            longest_head: 1000,
        };
        let (client, mut seen) = (Client::new(settings), Seen::default());
        seen.left[2] = 100_000;
        let mut session = Self { client, seen };
        session.receive(&frame(SETTINGS, 0, 0, &[]));
        session.request(1, false);
        session.request(2, true);
        session.sent();
        session
    }

    fn request(&mut self, tag: usize, has_body: bool) {
        let fields: [(&[u8], &[u8]); 2] = [(b":method", b"GET"), (b"x-own", b"value")];
        self.client.request(fields.into_iter(), tag, has_body).unwrap();
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.client.receive(&mut self.seen, bytes);
    }

    /// The frames that were due: kind, flags, stream, payload.
    fn sent(&mut self) -> Vec<(u8, u8, u32, Bytes)> {
        let mut out = Vec::new();
        self.client.send(&mut self.seen, &mut out, usize::MAX);
        let mut rest = out.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap_or(&out);
        let mut frames = Vec::new();
        while let [_, b, c, kind, flags, stream @ ..] = rest {
            let length = usize::from(u16::from_be_bytes([*b, *c]));
            let (stream, payload) = stream.split_at(4);
            let stream = u32::from_be_bytes(stream.try_into().unwrap());
            frames.push((*kind, *flags, stream, payload[..length].to_vec()));
            rest = &payload[length..];
        }
        frames
    }
}

/// What breaks a rule of the connection ends it with this code, and nothing that comes later counts.
#[test]
fn each_breach_ends_the_connection_with_its_code() {
    let ended = || frame(HEADERS, WHOLE, 3, OK);
    let data = |length: usize| frame(DATA, 0, 1, &vec![0; length]);
    let flood = |one: Bytes, count: usize| one.repeat(count);
    for (name, code, bytes) in [
        ("a large frame", FRAME_SIZE, data((1 << 14) + 1)),
        ("PRIORITY of 4 bytes", FRAME_SIZE, frame(PRIORITY, 0, 1, &[0; 4])),
        ("RST_STREAM of 3 bytes", FRAME_SIZE, frame(RST_STREAM, 0, 1, &[0; 3])),
        ("SETTINGS of 5 bytes", FRAME_SIZE, frame(SETTINGS, 0, 0, &[0; 5])),
        ("a full acknowledgement", FRAME_SIZE, frame(SETTINGS, ACK, 0, &[0; 6])),
        ("PING of 7 bytes", FRAME_SIZE, frame(PING, 0, 0, &[0; 7])),
        ("GOAWAY of 7 bytes", FRAME_SIZE, frame(GOAWAY, 0, 0, &[0; 7])),
        ("WINDOW_UPDATE of 5 bytes", FRAME_SIZE, frame(WINDOW_UPDATE, 0, 1, &[0; 5])),
        ("DATA without its padding's length", FRAME_SIZE, frame(DATA, PADDED, 1, &[])),
        ("HEADERS without it", FRAME_SIZE, frame(HEADERS, PADDED, 1, &[])),
        ("HEADERS without their priority", FRAME_SIZE, frame(HEADERS, HAS_PRIORITY, 1, &[0; 4])),
        ("padding beyond DATA", PROTOCOL, frame(DATA, PADDED, 1, &[3, 0, 0])),
        ("padding beyond HEADERS", PROTOCOL, frame(HEADERS, PADDED, 1, &[1])),
        ("DATA on stream 0", PROTOCOL, frame(DATA, 0, 0, &[])),
        ("HEADERS on stream 0", PROTOCOL, frame(HEADERS, WHOLE, 0, OK)),
        ("RST_STREAM on stream 0", PROTOCOL, frame(RST_STREAM, 0, 0, &[0; 4])),
        ("PRIORITY on stream 0", PROTOCOL, frame(PRIORITY, 0, 0, &[0; 5])),
        ("SETTINGS on a stream", PROTOCOL, frame(SETTINGS, 0, 1, &[])),
        ("PING on a stream", PROTOCOL, frame(PING, 0, 1, &[0; 8])),
        ("GOAWAY on a stream", PROTOCOL, frame(GOAWAY, 0, 1, &[0; 8])),
        ("a stream of the server", PROTOCOL, frame(HEADERS, WHOLE, 2, OK)),
        ("a head that was not asked for", PROTOCOL, frame(HEADERS, WHOLE, 5, OK)),
        ("DATA that was not asked for", PROTOCOL, frame(DATA, 0, 5, b"x")),
        ("RST_STREAM of a stream to come", PROTOCOL, frame(RST_STREAM, 0, 5, &[0; 4])),
        ("a window of a stream to come", PROTOCOL, window_update(5, 1)),
        ("a pushed response", PROTOCOL, frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2, 0x82])),
        ("CONTINUATION alone", PROTOCOL, frame(CONTINUATION, END_HEADERS, 1, OK)),
        (
            "a head within another",
            PROTOCOL,
            [frame(HEADERS, 0, 1, OK), frame(HEADERS, WHOLE, 1, OK)].concat(),
        ),
        (
            "another stream's CONTINUATION",
            PROTOCOL,
            [frame(HEADERS, 0, 1, OK), frame(CONTINUATION, END_HEADERS, 3, OK)].concat(),
        ),
        ("a body within a head", PROTOCOL, [frame(HEADERS, 0, 1, OK), data(1)].concat()),
        ("a window of nothing", PROTOCOL, window_update(0, 0)),
        (
            "a window beyond all",
            FLOW_CONTROL,
            [window_update(0, 0x7fff_ffff), window_update(0, 1)].concat(),
        ),
        ("ENABLE_PUSH", PROTOCOL, settings(2, 1)),
        ("a small MAX_FRAME_SIZE", PROTOCOL, settings(5, 1000)),
        ("a large MAX_FRAME_SIZE", PROTOCOL, settings(5, 1 << 24)),
        ("a large window", FLOW_CONTROL, settings(4, 1 << 31)),
        (
            "a window that SETTINGS make too large",
            FLOW_CONTROL,
            [window_update(3, 0x7000_0000), settings(4, 0x7000_0000)].concat(),
        ),
        ("two acknowledgements", PROTOCOL, frame(SETTINGS, ACK, 0, &[]).repeat(2)),
        ("GOAWAY that takes back", PROTOCOL, [goaway(1), goaway(3)].concat()),
        ("a field beyond the table", COMPRESSION, frame(HEADERS, WHOLE, 1, &[0xff, 0x7f])),
        ("a table beyond its size", COMPRESSION, frame(HEADERS, WHOLE, 1, &[0x3f, 0xe2, 0x1f])),
        ("a table's size after a field", COMPRESSION, frame(HEADERS, WHOLE, 1, &[0x88, 0x20])),
        ("half a head", COMPRESSION, frame(HEADERS, WHOLE, 1, &[0x88, 0x40, 5, b'x'])),
        // A stream whose request has not been sent wholly is open, though the server has ended its side.
        ("a head after the end", CLOSED, [ended(), ended()].concat()),
        ("DATA after the end", CLOSED, [ended(), frame(DATA, 0, 3, b"x")].concat()),
        ("many pings", CALM, flood(frame(PING, 0, 0, &[0; 8]), 1001)),
        ("many SETTINGS", CALM, flood(frame(SETTINGS, 0, 0, &[]), 1001)),
        ("many frames of no use", CALM, flood(frame(UNKNOWN, 0, 0, b"?"), 10_001)),
        (
            "many frames of a stream that has ended",
            CALM,
            [frame(HEADERS, WHOLE, 1, OK), flood(data(1), 10_001)].concat(),
        ),
        (
            "a head of more bytes than are taken",
            CALM,
            frame(HEADERS, WHOLE, 1, &[OK, &[0, 1, b'x', 127, 0xe9, 0x06], &[b'y'; 1000]].concat()),
        ),
    ] {
        let mut session = Session::new();
        session.receive(&bytes);
        assert!(session.client.breach().is_some(), "{name}");
        let came = session.seen.received;
        session.receive(&frame(PING, 0, 0, &[0; 8]));
        assert_eq!(session.seen.received, came, "{name}");
        let (kind, _, stream, payload) = session.sent().pop().unwrap();
        assert_eq!((kind, stream), (GOAWAY, 0), "{name}");
        assert_eq!(payload[4..], code.to_be_bytes(), "{name}: {:?}", session.client.breach());
        assert_eq!(session.sent(), []);
        assert!(!session.client.takes_requests());
    }
}

/// What breaks a rule of a stream ends that one, and leaves the other.
#[test]
fn each_wrong_response_ends_its_stream() {
    let head = |flags: u8, block: &[u8]| frame(HEADERS, flags, 1, block);
    let ok = head(END_HEADERS, OK);
    for (name, code, bytes) in [
        ("no :status", PROTOCOL, head(WHOLE, TRAILER)),
        ("DATA before a head", PROTOCOL, frame(DATA, 0, 1, b"x")),
        ("an interim head at the end", PROTOCOL, head(WHOLE, INTERIM)),
        ("101", PROTOCOL, head(END_HEADERS, &[0x08, 3, b'1', b'0', b'1'])),
        ("a second head", PROTOCOL, [&ok[..], &head(WHOLE, OK)].concat()),
        ("trailers within a body", PROTOCOL, [&ok[..], &head(END_HEADERS, TRAILER)].concat()),
        ("a name in upper case", PROTOCOL, head(WHOLE, &[0x88, 0, 1, b'X', 1, b'y'])),
        ("a window of nothing", PROTOCOL, window_update(1, 0)),
        ("a window beyond all", FLOW_CONTROL, window_update(1, 0x7fff_ffff)),
    ] {
        let mut session = Session::new();
        session.receive(&bytes);
        let reset = (RST_STREAM, 0, 1, code.to_be_bytes().to_vec());
        assert_eq!(session.sent(), [reset], "{name}");
        let [(1, StreamEnd::Malformed(_))] = session.seen.closed[..] else {
            panic!("{name}: {:?}", session.seen.closed)
        };
        // What the server sent meanwhile is no breach, and the other stream goes on.
        session.receive(&[ok.clone(), frame(DATA, END_STREAM, 1, b"x")].concat());
        session.receive(&frame(RST_STREAM, 0, 1, &[0; 4]));
        session.receive(&frame(HEADERS, END_HEADERS, 3, OK));
        assert_eq!(session.client.breach(), None, "{name}");
        assert_eq!(session.seen.heads.last(), Some(&(2, Some(200))), "{name}");
        assert_eq!(session.seen.closed.len(), 1, "{name}");
    }
}

#[test]
fn what_means_nothing_to_a_client_changes_nothing() {
    let mut session = Session::new();
    let priority = [&[0x80, 0, 0, 3, 7], OK].concat();
    session.receive(
        &[
            frame(PRIORITY, 0, 1, &[0; 5]),
            frame(PRIORITY, 0, 9, &[0; 5]),
            frame(UNKNOWN, 0xff, 7, b"?"),
            settings(0x99, 7),
            // Reserved bits.
            frame(WINDOW_UPDATE, 0xff, 1 | 1 << 31, &(1u32 | 1 << 31).to_be_bytes()),
            frame(HEADERS, END_HEADERS, 1, INTERIM),
            frame(HEADERS, HAS_PRIORITY, 1, &priority),
            frame(CONTINUATION, 0, 1, &[]),
            frame(CONTINUATION, END_HEADERS, 1, TRAILER),
            frame(DATA, 0, 1, &[]),
            frame(DATA, PADDED, 1, &[2, b'x', 0, 0]),
            frame(HEADERS, WHOLE, 1, TRAILER),
        ]
        .concat(),
    );
    assert_eq!(session.client.breach(), None);
    assert_eq!(session.seen.heads, [(1, Some(103)), (1, Some(200)), (1, None)]);
    assert_eq!((session.seen.body, &session.seen.closed[..]), (1, &[(1, StreamEnd::Complete)][..]));
    assert_eq!(session.sent(), [(SETTINGS, ACK, 0, vec![])]);
}

#[test]
fn a_ping_is_answered_and_an_answer_is_not() {
    let mut session = Session::new();
    session.receive(&[frame(PING, 0, 0, b"12345678"), frame(PING, ACK, 0, &[0; 8])].concat());
    assert_eq!(session.sent(), [(PING, ACK, 0, b"12345678".to_vec())]);
}

#[test]
fn no_frame_counts_before_the_server_s_settings() {
    let settings = ClientSettings { window: WINDOW, max_frame: 1 << 14, longest_head: 1000 };
    for first in [frame(PING, 0, 0, &[0; 8]), frame(SETTINGS, ACK, 0, &[]), goaway(0)] {
        let (mut client, mut seen) = (Client::new(settings), Seen::default());
        client.receive(&mut seen, &first);
        assert!(matches!(client.breach(), Some(Breach::Rule { code: PROTOCOL, .. })), "{first:?}");
    }
}

#[test]
fn windows_are_opened_when_half_of_them_is_used() {
    let mut session = Session::new();
    session.receive(&frame(HEADERS, END_HEADERS, 1, OK));
    // Padding counts.
    let data = frame(DATA, PADDED, 1, &[&[99][..], &[0; 9_999]].concat());
    session.receive(&data.repeat(5));
    assert_eq!((session.client.window_left(), session.sent()), (WINDOW - 50_000, vec![]));
    session.receive(&data);
    let increment = 60_000u32.to_be_bytes().to_vec();
    let updates = [0, 1].map(|stream| (WINDOW_UPDATE, 0, stream, increment.clone()));
    assert_eq!((session.client.window_left(), session.sent()), (WINDOW, updates.to_vec()));
    assert_eq!(session.seen.body, 6 * 9_900);
}

#[test]
fn a_window_that_settings_change_is_that_of_open_streams_too() {
    let mut session = Session::new();
    // Stream 3 has sent all of its window of 65,535 bytes, and the connection's.
    let sent = |session: &mut Session| {
        let frames = session.sent().into_iter().filter(|(kind, ..)| *kind == DATA);
        frames.map(|(.., payload)| payload.len()).sum::<usize>()
    };
    assert_eq!((session.seen.left[2], session.client.window(3)), (100_000 - 65_535, 0));
    session.receive(&window_update(0, 50_000));
    assert_eq!((sent(&mut session), session.client.window(3)), (0, 0));
    session.receive(&settings(4, 65_545));
    assert_eq!(sent(&mut session), 10);
    session.receive(&settings(4, 1_000));
    assert_eq!((sent(&mut session), session.client.window(3)), (0, 1_000 - 65_545));
    session.receive(&window_update(3, 64_546));
    assert_eq!((sent(&mut session), session.client.window(3)), (1, 0));
}

#[test]
fn a_table_that_the_server_does_not_keep_is_not_used() {
    let mut session = Session::new();
    let block = |session: &mut Session| {
        session.request(3, false);
        session.sent().pop().unwrap().3
    };
    let indexed = block(&mut session);
    assert_eq!(indexed, [0x82, 0xbe]);
    session.receive(&settings(1, 0));
    // The name is compressed.
    let literal = [0x20, 0x82, 0, 0x84];
    assert_eq!(block(&mut session)[..4], literal);
    assert_eq!(block(&mut session)[..3], literal[1..]);
}

#[test]
fn a_goaway_ends_what_the_server_has_not_begun_with() {
    let mut session = Session::new();
    session.request(3, false);
    session.request(4, false);
    session.client.cancel(&mut session.seen, 7);
    session.receive(&goaway(1));
    let ends = [(4, StreamEnd::Cancelled), (2, StreamEnd::LeftOut), (3, StreamEnd::NotSent)];
    assert_eq!(session.seen.closed, ends);
    // Neither the requests nor the reset of one that was never sent.
    assert_eq!(session.sent(), []);
    session.receive(&frame(HEADERS, WHOLE, 1, OK));
    assert_eq!(session.seen.closed.last(), Some(&(1, StreamEnd::Complete)));
    assert_eq!(session.client.breach(), None);
}

#[test]
fn a_request_that_is_given_up_is_reset() {
    let mut session = Session::new();
    session.client.cancel(&mut session.seen, 3);
    assert_eq!(session.seen.closed, [(2, StreamEnd::Cancelled)]);
    assert_eq!(session.sent(), [(RST_STREAM, 0, 3, CANCEL.to_be_bytes().to_vec())]);
    session.client.cancel(&mut session.seen, 3);
    assert_eq!(session.sent(), []);
}

#[test]
fn a_long_head_goes_in_frames_that_every_server_takes() {
    let mut session = Session::new();
    let long = vec![b'~'; 40_000];
    session.client.request([(&b"x"[..], &long[..])].into_iter(), 3, false).unwrap();
    let sent = session.sent();
    let of = |(kind, flags, stream, payload): &(u8, u8, u32, Bytes)| {
        (*kind, *flags, *stream, payload.len())
    };
    let block: usize = sent.iter().map(|(.., payload)| payload.len()).sum();
    let expected = [
        (HEADERS, END_STREAM, 5, 1 << 14),
        (CONTINUATION, 0, 5, 1 << 14),
        (CONTINUATION, END_HEADERS, 5, block - (2 << 14)),
    ];
    assert_eq!(sent.iter().map(of).collect::<Vec<_>>(), expected);
}
