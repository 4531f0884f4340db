//! A client's and a server's session, side by side in memory.

use std::collections::BTreeMap;

use http2::{
    Client, ClientSettings, Frame, FrameKind, Handler, LARGEST_WINDOW, Server, ServerSettings,
    Stream, begins,
};
use proptest::prelude::*;

/// What a client has seen of each response, by its tag.
#[derive(Debug, Default)]
struct Seen {
    heads: BTreeMap<usize, Vec<(String, String)>>,
    bodies: BTreeMap<usize, Vec<u8>>,
    closed: Vec<(usize, u32)>,
    goaway: Option<u32>,
    not_sent: usize,
    wrong: Vec<String>,
}

impl Handler for Seen {
    fn field(&mut self, stream: Stream, name: &[u8], value: &[u8]) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        self.heads.entry(stream.tag).or_default().push((text(name), text(value)));
    }

    fn data(&mut self, stream: Stream, bytes: &[u8]) {
        self.bodies.entry(stream.tag).or_default().extend_from_slice(bytes);
    }

    fn received(&mut self, _: Stream, frame: Frame) {
        if let FrameKind::Goaway { error, .. } = frame.kind {
            self.goaway = Some(error);
        }
    }

    fn closed(&mut self, stream: Stream, error: u32) {
        self.closed.push((stream.tag, error));
    }

    fn not_sent(&mut self, _: Stream) {
        self.not_sent += 1;
    }

    fn wrong(&mut self, what: &str) {
        self.wrong.push(what.to_owned());
    }
}

/// A server that answers `/N` with N bytes, each the stream's number.
#[derive(Debug, Default)]
struct Serving {
    lengths: BTreeMap<i32, usize>,
    asked: Vec<i32>,
}

impl Handler for Serving {
    fn field(&mut self, stream: Stream, name: &[u8], value: &[u8]) {
        if name == b":path" {
            let length = std::str::from_utf8(&value[1..]).unwrap().parse().unwrap();
            self.lengths.insert(stream.id, length);
        }
    }

    fn received(&mut self, stream: Stream, frame: Frame) {
        if frame.ends_stream {
            self.asked.push(stream.id);
        }
    }

    fn body(&mut self, stream: Stream, most: usize) -> Option<(usize, bool)> {
        let left = self.lengths[&stream.id];
        Some((left.min(most), left <= most))
    }

    fn put_body(&mut self, stream: Stream, length: usize, out: &mut Vec<u8>) -> bool {
        *self.lengths.get_mut(&stream.id).unwrap() -= length;
        out.resize(out.len() + length, stream.id as u8);
        true
    }
}

struct Pair {
    client: Client<Seen>,
    seen: Seen,
    server: Server<Serving>,
    serving: Serving,
}

impl Pair {
    fn new(max_streams: u32, window: u32) -> Self {
        Self {
            client: Client::new(ClientSettings { window, max_frame: http2::DEFAULT_MAX_FRAME }),
            seen: Seen::default(),
            server: Server::new(ServerSettings { max_streams }),
            serving: Serving::default(),
        }
    }

    fn ask(&mut self, length: usize, tag: usize) -> i32 {
        let path = format!("/{length}");
        let fields: [(&[u8], &[u8]); 4] = [
            (b":path", path.as_bytes()),
            (b":method", b"GET"),
            (b":scheme", b"https"),
            (b":authority", b"localhost"),
        ];
        self.client.request(fields.into_iter(), tag, false).unwrap()
    }

    /// Moves bytes both ways, in pieces of this size, until neither side has any; what the server sent.
    fn settle(&mut self, piece: usize) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let (mut there, mut back) = (Vec::new(), Vec::new());
            self.client.send(&mut self.seen, &mut there, usize::MAX).unwrap();
            for piece in there.chunks(piece) {
                self.server.receive(&mut self.serving, piece).unwrap();
            }
            for stream in std::mem::take(&mut self.serving.asked) {
                let length = self.serving.lengths[&stream];
                let text = length.to_string();
                let fields: [(&[u8], &[u8]); 2] =
                    [(b":status", b"200"), (b"content-length", text.as_bytes())];
                self.server.respond(stream, &fields, length > 0).unwrap();
            }
            self.server.send(&mut self.serving, &mut back, 50_000).unwrap();
            assert!(back.len() < 50_000 + (17 << 10), "{}", back.len());
            for piece in back.chunks(piece) {
                self.client.receive(&mut self.seen, piece).unwrap();
            }
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
    pair.client.send(&mut pair.seen, &mut out, usize::MAX).unwrap();
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
    assert_eq!(pair.client.most_streams(), 2);
    let closed: Vec<_> = (1..=9).map(|tag| (tag, 0)).collect();
    pair.seen.closed.sort_unstable();
    assert_eq!(pair.seen.closed, closed);
    assert!((1..=9).all(|tag| pair.seen.bodies[&tag].len() == 70_000 + tag));
    assert_eq!(pair.seen.wrong, [""; 0]);
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
    let of = |tag| pair.seen.closed.iter().find(|(of, _)| *of == tag).map(|(_, error)| *error);
    assert_eq!(of(1), Some(0));
    assert_eq!((of(2), pair.seen.not_sent), (Some(http2::REFUSED_STREAM), 0));
    let none: [(&[u8], &[u8]); 0] = [];
    assert!(
        pair.client.request(none.into_iter(), 3, false).is_err() || !pair.client.takes_requests()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn bodies_come_whole_whatever_the_pieces_and_windows(
        lengths in proptest::collection::vec(0usize..200_000, 1..12),
        piece in 1usize..60_000,
        window in prop_oneof![Just(LARGEST_WINDOW), 1u32..100_000],
        max_streams in 1u32..20,
    ) {
        let mut pair = Pair::new(max_streams, window);
        for (tag, length) in lengths.iter().enumerate() {
            pair.ask(*length, tag + 1);
        }
        pair.settle(piece);
        prop_assert_eq!(pair.seen.closed.len(), lengths.len());
        for (tag, length) in lengths.iter().enumerate() {
            let body = pair.seen.bodies.get(&(tag + 1)).map_or(&[][..], Vec::as_slice);
            prop_assert_eq!(body.len(), *length);
            prop_assert!(body.iter().all(|byte| *byte == (2 * tag + 1) as u8));
            let head = &pair.seen.heads[&(tag + 1)];
            prop_assert!(head.contains(&("content-length".to_owned(), length.to_string())));
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
        pair.client.send(&mut seen, &mut out, usize::MAX).unwrap();
        for piece in sent.chunks(piece) {
            let went = pair.client.receive(&mut seen, piece);
            if went.is_err() || pair.client.send(&mut seen, &mut out, usize::MAX).is_err() {
                break;
            }
        }
        let known = |tag: &usize| *tag <= lengths.len();
        prop_assert!(seen.closed.iter().all(|(tag, _)| known(tag)));
        prop_assert!(seen.closed.len() <= lengths.len());
        prop_assert!(seen.bodies.keys().all(known));
        prop_assert!(seen.bodies.values().map(Vec::len).sum::<usize>() <= sent.len());
    }
}
