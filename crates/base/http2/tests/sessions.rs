//! A client's and a server's session, side by side in memory.

use std::collections::BTreeMap;

use http2::{
    Client, ClientHandler, ClientSettings, Frame, FrameKind, Head, LARGEST_WINDOW, Server,
    ServerHandler, ServerSettings, Stream, StreamEnd, begins,
};
use proptest::prelude::*;

/// What a client has seen of each response, by its tag.
#[derive(Debug, Default)]
struct Seen {
    heads: BTreeMap<usize, Vec<(String, String)>>,
    bodies: BTreeMap<usize, Vec<u8>>,
    closed: Vec<(usize, StreamEnd)>,
    goaway: Option<u32>,
    /// What is left of the bodies of requests.
    left: BTreeMap<usize, usize>,
}

impl ClientHandler for Seen {
    fn head(&mut self, stream: Stream, head: Head<'_>) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let fields = head.fields().map(|(name, value)| (text(name), text(value)));
        self.heads.entry(stream.tag).or_default().extend(fields);
    }

    fn data(&mut self, stream: Stream, bytes: &[u8]) {
        self.bodies.entry(stream.tag).or_default().extend_from_slice(bytes);
    }

    fn received(&mut self, _: Stream, frame: Frame) {
        if let FrameKind::Goaway { error, .. } = frame.kind {
            self.goaway = Some(error);
        }
    }

    fn closed(&mut self, stream: Stream, end: StreamEnd) {
        self.closed.push((stream.tag, end));
    }

    fn body(&mut self, stream: Stream, most: usize) -> Option<(usize, bool)> {
        let left = *self.left.get(&stream.tag)?;
        Some((left.min(most), left <= most))
    }

    fn put_body(&mut self, stream: Stream, length: usize, out: &mut Vec<u8>) {
        *self.left.get_mut(&stream.tag).unwrap() -= length;
        out.resize(out.len() + length, stream.id as u8);
    }
}

/// A server that answers `/N` with N bytes, each the stream's number. It refuses N = 13.
#[derive(Debug, Default)]
struct Serving {
    lengths: BTreeMap<i32, usize>,
    asked: Vec<i32>,
    closed: usize,
}

impl ServerHandler for Serving {
    fn field(&mut self, stream: i32, name: &[u8], value: &[u8]) {
        if name == b":path" {
            let length = std::str::from_utf8(&value[1..]).unwrap().parse().unwrap();
            self.lengths.insert(stream, length);
        }
    }

    fn request_ends(&mut self, stream: i32) {
        self.asked.push(stream);
    }

    fn closed(&mut self, _: i32) {
        self.closed += 1;
    }

    fn body(&mut self, stream: i32, most: usize) -> Option<(usize, bool)> {
        let left = self.lengths[&stream];
        Some((left.min(most), left <= most))
    }

    fn put_body(&mut self, stream: i32, length: usize, out: &mut Vec<u8>) -> bool {
        *self.lengths.get_mut(&stream).unwrap() -= length;
        out.resize(out.len() + length, stream as u8);
        true
    }
}

const REFUSED: usize = 13;

struct Pair {
    client: Client<Seen>,
    seen: Seen,
    server: Server<Serving>,
    serving: Serving,
}

fn client(window: u32) -> Client<Seen> {
    let max_frame = http2::DEFAULT_MAX_FRAME;
    Client::new(ClientSettings { window, max_frame, longest_head: 10_000 })
}

/// Asks for so many bytes, with a body of this length.
fn ask(client: &mut Client<Seen>, length: usize, tag: usize, has_body: bool) -> i32 {
    let path = format!("/{length}");
    let fields: [(&[u8], &[u8]); 4] = [
        (b":path", path.as_bytes()),
        (b":method", if has_body { b"POST" } else { b"GET" }),
        (b":scheme", b"https"),
        (b":authority", b"localhost"),
    ];
    client.request(fields.into_iter(), tag, has_body).unwrap()
}

impl Pair {
    fn new(max_streams: u32, window: u32) -> Self {
        Self {
            client: client(window),
            seen: Seen::default(),
            server: Server::new(ServerSettings { max_streams }),
            serving: Serving::default(),
        }
    }

    fn ask(&mut self, length: usize, tag: usize) -> i32 {
        ask(&mut self.client, length, tag, false)
    }

    fn post(&mut self, length: usize, tag: usize, body: usize) -> i32 {
        self.seen.left.insert(tag, body);
        ask(&mut self.client, length, tag, true)
    }

    /// Moves bytes both ways, in pieces of this size, until neither side has any; what the server sent.
    fn settle(&mut self, piece: usize) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let (mut there, mut back) = (Vec::new(), Vec::new());
            self.client.send(&mut self.seen, &mut there, 50_000);
            for piece in there.chunks(piece) {
                self.server.receive(&mut self.serving, piece).unwrap();
            }
            for stream in std::mem::take(&mut self.serving.asked) {
                let length = self.serving.lengths[&stream];
                let text = length.to_string();
                let fields: [(&[u8], &[u8]); 2] =
                    [(b":status", b"200"), (b"content-length", text.as_bytes())];
                match length {
                    REFUSED => self.server.refuse(stream),
                    _ => self.server.respond(stream, &fields, length > 0).unwrap(),
                }
            }
            self.server.send(&mut self.serving, &mut back, 50_000).unwrap();
            assert!(back.len() < 50_000 + (17 << 10), "{}", back.len());
            for piece in back.chunks(piece) {
                self.client.receive(&mut self.seen, piece);
            }
            assert_eq!(self.client.breach(), None);
            if there.is_empty() && back.is_empty() {
                return all;
            }
            all.append(&mut back);
        }
    }
}

#[test]
fn a_client_begins_with_what_a_server_knows_it_by() {
    let (mut pair, mut out) = (Pair::new(1, LARGEST_WINDOW), Vec::new());
    pair.client.send(&mut pair.seen, &mut out, usize::MAX);
    assert_eq!(begins(&out), Some(true));
    assert_eq!(begins(b"POST / HTTP/1.1\r\n"), Some(false));
    // A part of the line, and what is none of it.
    for length in 0..16 {
        assert_eq!(begins(&out[..length]), None, "{length}");
        assert_eq!(begins(&[&out[..length], b"x"].concat()), Some(false), "{length}");
    }
}

#[test]
fn more_requests_than_streams_wait_and_are_answered() {
    let mut pair = Pair::new(2, LARGEST_WINDOW);
    for tag in 1..=9 {
        pair.ask(70_000 + tag, tag);
    }
    pair.settle(1000);
    assert_eq!(pair.client.most_streams(), Some(2));
    let closed: Vec<_> = (1..=9).map(|tag| (tag, StreamEnd::Complete)).collect();
    pair.seen.closed.sort_unstable_by_key(|(tag, _)| *tag);
    assert_eq!(pair.seen.closed, closed);
    assert!((1..=9).all(|tag| pair.seen.bodies[&tag].len() == 70_000 + tag));
}

#[test]
fn a_server_that_goes_away_answers_what_it_has_taken() {
    let mut pair = Pair::new(100, LARGEST_WINDOW);
    pair.ask(10, 1);
    pair.settle(1000);
    pair.server.go_away();
    // It is asked before the client knows.
    pair.ask(10, 2);
    pair.settle(1000);
    assert_eq!((pair.seen.goaway, pair.client.takes_requests()), (Some(0), false));
    assert_eq!(pair.seen.closed, [(1, StreamEnd::Complete), (2, StreamEnd::LeftOut)]);
    let none: [(&[u8], &[u8]); 0] = [];
    assert!(pair.client.request(none.into_iter(), 3, false).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Requests with and without bodies, some of which the server refuses and some of which are given up.
    #[test]
    fn bodies_go_and_come_whole_whatever_the_pieces_and_windows(
        requests in proptest::collection::vec(
            (prop_oneof![Just(REFUSED), Just(0), 1usize..200_000], prop_oneof![Just(0), 0usize..150_000], 0..8),
            1..12,
        ),
        piece in 1usize..60_000,
        window in prop_oneof![Just(LARGEST_WINDOW), 65_535u32..200_000],
        max_streams in 1u32..20,
        rounds in 1usize..3,
    ) {
        let mut pair = Pair::new(max_streams, window);
        let mut number = 0;
        for _ in 0..rounds {
            let first = number + 1;
            for (length, body, given_up) in &requests {
                number += 1;
                let id = match body {
                    0 => pair.ask(*length, number),
                    _ => pair.post(*length, number, *body),
                };
                if *given_up == 0 {
                    pair.client.cancel(&mut pair.seen, id);
                }
            }
            pair.settle(piece);
            prop_assert_eq!(pair.seen.closed.len(), number);
            for (tag, (length, body, given_up)) in (first..).zip(&requests) {
                let end = pair.seen.closed.iter().find(|(of, _)| *of == tag).unwrap().1;
                let expected = match (given_up, *length) {
                    (0, _) => StreamEnd::Cancelled,
                    (_, REFUSED) => StreamEnd::Reset(http2::REFUSED_STREAM),
                    _ => StreamEnd::Complete,
                };
                prop_assert_eq!(end, expected);
                if end != StreamEnd::Complete {
                    continue;
                }
                prop_assert_eq!(*pair.seen.left.get(&tag).unwrap_or(&0), 0, "{}", body);
                let came = pair.seen.bodies.get(&tag).map_or(&[][..], Vec::as_slice);
                prop_assert_eq!(came.len(), *length);
                prop_assert!(came.iter().all(|byte| *byte == (2 * tag - 1) as u8));
                let head = &pair.seen.heads[&tag];
                prop_assert!(head.contains(&("content-length".to_owned(), length.to_string())));
            }
        }
    }

    /// Whatever a server sends, a client's session ends or goes on; it calls nothing for streams that are not
    /// there, and needs no more memory than was sent.
    #[test]
    fn a_client_takes_any_bytes(
        lengths in proptest::collection::vec(0usize..5000, 1..6),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..8),
        piece in 1usize..3000,
    ) {
        let mut pair = Pair::new(100, LARGEST_WINDOW);
        for (tag, length) in lengths.iter().enumerate() {
            pair.ask(*length, tag + 1);
        }
        let mut sent = pair.settle(10_000);
        for (at, value) in changes {
            let at = at.index(sent.len());
            sent[at] = value;
        }
        let mut pair = Pair::new(100, LARGEST_WINDOW);
        for (tag, length) in lengths.iter().enumerate() {
            pair.ask(*length, tag + 1);
        }
        let (mut seen, mut out) = (Seen::default(), Vec::new());
        pair.client.send(&mut seen, &mut out, usize::MAX);
        for piece in sent.chunks(piece) {
            pair.client.receive(&mut seen, piece);
            pair.client.send(&mut seen, &mut out, usize::MAX);
        }
        let known = |tag: &usize| *tag <= lengths.len();
        prop_assert!(seen.closed.iter().all(|(tag, _)| known(tag)));
        prop_assert!(seen.closed.len() <= lengths.len());
        prop_assert!(seen.bodies.keys().all(known));
        prop_assert!(seen.bodies.values().map(Vec::len).sum::<usize>() <= sent.len());
    }
}
