//! What a peer sends, step by step. A fuzzer cannot forge a record, so its input chooses steps, and
//! the peer seals the records.

use std::collections::{BTreeMap, BTreeSet};

use super::input::Input;
use crate::{Layer, Peer, head};
use wire::record::content_type;

/// The most bytes that a script sends.
const LONGEST: usize = 128 << 10;

/// The plaintext of records whose length a thread may have learned.
pub(super) const REGULAR: usize = 1000;

/// What a peer sends, and how much of it is honest.
pub(super) struct Script {
    /// All that is sent.
    pub(super) wire: Vec<u8>,
    /// How many bytes come before the first record that was altered or moved.
    pub(super) untouched: usize,
    /// The same contents, each sealed again in its actual place, up to the first bytes that are no
    /// record.
    pub(super) resealed: Vec<u8>,
    /// The ends of the records that are in their original place.
    pub(super) in_place: BTreeSet<usize>,
    /// Whether there are only unaltered data records.
    pub(super) is_honest: bool,
    pub(super) is_flipped: bool,
    /// Whether records of one length hold different amounts, as those of CBC may.
    pub(super) hides_amounts: bool,
}

struct Writer {
    peer: Peer,
    /// How many records it has sealed.
    sealed: usize,
    wire: Vec<u8>,
    /// The same without flipped bits.
    unflipped: Vec<u8>,
    /// Records and insertions.
    sent: Vec<Sent>,
    is_honest: bool,
    /// What records of each length hold.
    amounts: BTreeMap<usize, usize>,
    hides_amounts: bool,
    /// How much of the object has been sent.
    object: usize,
}

#[derive(Clone)]
struct Sent {
    /// Where it begins.
    start: usize,
    /// The record that it is; `None` where it is none.
    record: Option<Record>,
}

#[derive(Clone)]
struct Record {
    /// How many records were sealed before it.
    place: usize,
    kind: u8,
    content: Vec<u8>,
}

impl Script {
    /// A script to the end of the input; honest heads promise `size` bytes.
    pub(super) fn read(input: &mut Input<'_>, layer: Layer, size: usize) -> Self {
        let mut writer = Writer {
            peer: layer.peer(),
            sealed: 0,
            wire: Vec::new(),
            unflipped: Vec::new(),
            sent: Vec::new(),
            is_honest: true,
            amounts: BTreeMap::new(),
            hides_amounts: false,
            object: 0,
        };
        while !input.is_empty() && writer.wire.len() < LONGEST {
            writer.step(input, size);
        }
        let Writer { wire, unflipped, sent, is_honest, hides_amounts, .. } = writer;
        let mut untouched = wire.len();
        // A bit that was flipped twice is unaltered.
        let flipped = wire.iter().zip(&unflipped).position(|(is, was)| is != was);
        if let Some(flipped) = flipped {
            untouched =
                sent.iter().rfind(|sent| sent.start <= flipped).map_or(0, |sent| sent.start);
        }
        let mut peer = layer.peer();
        let (mut resealed, mut in_place) = (Vec::new(), BTreeSet::new());
        let mut is_whole = true;
        for (i, Sent { start, record }) in sent.iter().enumerate() {
            if record.as_ref().is_none_or(|record| record.place != i) {
                untouched = untouched.min(*start);
            }
            let Some(record) = record.as_ref().filter(|_| is_whole) else {
                is_whole = false;
                continue;
            };
            resealed.extend(peer.record(record.kind, &record.content));
            if record.place == i {
                in_place.insert(resealed.len());
            }
        }
        let is_honest = is_honest && untouched == wire.len();
        let is_flipped = flipped.is_some();
        Self { wire, untouched, resealed, in_place, is_honest, is_flipped, hides_amounts }
    }
}

impl Writer {
    fn step(&mut self, input: &mut Input<'_>, size: usize) {
        match input.byte() % 15 {
            0 => self.head(&head(size)),
            1 => {
                let promised = input.short();
                self.head(&head(promised));
            }
            2 => self.head(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
            3 => self.head(b"HTTP/1.0 200 OK\r\n\r\n"),
            4 => {
                let count = input.short() % (1 << 14);
                self.object(count);
            }
            5 => (0..=input.byte() % 24).for_each(|_| self.object(REGULAR)),
            6 => {
                let content = input.counted();
                self.record(content_type::APPLICATION_DATA, content);
            }
            7 => {
                let count = usize::from(input.byte()) + 1;
                self.record(content_type::APPLICATION_DATA, format!("{count:x}\r\n").as_bytes());
                self.object(count);
                self.record(content_type::APPLICATION_DATA, b"\r\n");
            }
            8 => {
                let kind = 20 + input.byte() % 5;
                let content = input.counted();
                self.is_honest = false;
                self.record(kind, content);
            }
            9 => self.record(content_type::ALERT, &[1, 0]),
            10 => {
                let bytes = input.counted();
                if !bytes.is_empty() {
                    self.extend(bytes, None);
                }
            }
            11 => {
                if let Some(Sent { start, record }) = self.sent.last().cloned() {
                    let again = self.wire[start..].to_vec();
                    self.extend(&again, record);
                }
            }
            12 => {
                self.sealed += 1;
                drop(self.peer.data(input.counted()));
            }
            13 => {
                let last = self.sent.last().map_or(0, |sent| sent.start);
                let at = last + input.short();
                let bit = input.byte() % 8;
                if let Some(byte) = self.wire.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            // A KeyUpdate; one in three is malformed.
            _ => self.record(content_type::HANDSHAKE, &[24, 0, 0, 1, input.byte() % 3]),
        }
    }

    fn head(&mut self, text: &[u8]) {
        self.object = 0;
        self.record(content_type::APPLICATION_DATA, text);
    }

    /// The next bytes of the object.
    fn object(&mut self, count: usize) {
        let content = &objects::slice(self.object as u64)[..count];
        self.object += count;
        self.record(content_type::APPLICATION_DATA, content);
    }

    fn record(&mut self, kind: u8, content: &[u8]) {
        self.is_honest &= kind == content_type::APPLICATION_DATA;
        let record = self.peer.record(kind, content);
        let amount = *self.amounts.entry(record.len()).or_insert(content.len());
        self.hides_amounts |= amount != content.len();
        let place = self.sealed;
        self.sealed += 1;
        self.extend(&record, Some(Record { place, kind, content: content.to_vec() }));
    }

    fn extend(&mut self, bytes: &[u8], record: Option<Record>) {
        self.sent.push(Sent { start: self.wire.len(), record });
        self.wire.extend_from_slice(bytes);
        self.unflipped.extend_from_slice(bytes);
    }
}
