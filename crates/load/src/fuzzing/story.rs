//! What a peer sends, step by step: so a fuzzer, which cannot forge a record, gets beyond the first.

use std::collections::BTreeMap;

use super::input::Input;
use super::records::REGULAR;
use crate::receive::line::{Layer, Peer, head};
use crate::record::content_type;

/// No longer wire is told.
const LONGEST: usize = 128 << 10;

/// What a peer sends, and what of it is as it should be.
pub(super) struct Story {
    /// All that is sent.
    pub(super) wire: Vec<u8>,
    /// How much of it comes before the first record that is not as, or not where, it was sealed.
    pub(super) untouched: usize,
    /// The same without flipped bits, up to where something else is wrong with it.
    pub(super) unflipped: Vec<u8>,
    /// Whether there is nothing but untouched records of data.
    pub(super) is_honest: bool,
    /// Whether records of one length hold different amounts, as those of CBC may.
    pub(super) hides_amounts: bool,
}

struct Teller {
    peer: Peer,
    wire: Vec<u8>,
    unflipped: Vec<u8>,
    /// Where each record begins, and each insertion.
    starts: Vec<usize>,
    /// Where something else than a flipped bit is wrong.
    tampered: Option<usize>,
    is_honest: bool,
    /// What records of each length hold.
    amounts: BTreeMap<usize, usize>,
    hides_amounts: bool,
    /// How much of the object has been sent.
    sent: usize,
}

impl Story {
    /// A story to the end of the input; honest heads promise `size` bytes.
    pub(super) fn read(input: &mut Input<'_>, layer: Layer, size: usize) -> Self {
        let mut teller = Teller {
            peer: layer.peer(),
            wire: Vec::new(),
            unflipped: Vec::new(),
            starts: Vec::new(),
            tampered: None,
            is_honest: true,
            amounts: BTreeMap::new(),
            hides_amounts: false,
            sent: 0,
        };
        while !input.is_empty() && teller.wire.len() < LONGEST {
            teller.step(input, size);
        }
        let Teller { wire, mut unflipped, starts, tampered, is_honest, hides_amounts, .. } = teller;
        let mut untouched = tampered.unwrap_or(wire.len());
        // A bit that was flipped twice is as it was.
        if let Some(flipped) = wire.iter().zip(&unflipped).position(|(is, was)| is != was) {
            let start = starts.into_iter().rfind(|start| *start <= flipped);
            untouched = untouched.min(start.unwrap_or(0));
        }
        unflipped.truncate(tampered.unwrap_or(wire.len()));
        let is_honest = is_honest && untouched == wire.len();
        Self { wire, untouched, unflipped, is_honest, hides_amounts }
    }
}

impl Teller {
    fn step(&mut self, input: &mut Input<'_>, size: usize) {
        match input.byte() % 14 {
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
                let content = counted(input);
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
                let content = counted(input);
                self.is_honest = false;
                self.record(kind, content);
            }
            9 => self.record(content_type::ALERT, &[1, 0]),
            10 => {
                let bytes = counted(input);
                self.insert(bytes);
            }
            11 => {
                let again = self.wire[self.last()..].to_vec();
                self.insert(&again);
            }
            12 => {
                self.tamper();
                drop(self.peer.data(counted(input)));
            }
            _ => {
                let at = self.last() + input.short();
                let bit = input.byte() % 8;
                if let Some(byte) = self.wire.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
        }
    }

    /// Where the last of them begins.
    fn last(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    fn head(&mut self, text: &[u8]) {
        self.sent = 0;
        self.record(content_type::APPLICATION_DATA, text);
    }

    /// The next bytes of the object.
    fn object(&mut self, count: usize) {
        let content = &objects::slice(self.sent as u64)[..count];
        self.sent += count;
        self.record(content_type::APPLICATION_DATA, content);
    }

    fn record(&mut self, kind: u8, content: &[u8]) {
        self.is_honest &= kind == content_type::APPLICATION_DATA;
        let record = self.peer.record(kind, content);
        let amount = *self.amounts.entry(record.len()).or_insert(content.len());
        self.hides_amounts |= amount != content.len();
        self.extend(&record);
    }

    /// From here on something else is wrong than flipped bits.
    fn tamper(&mut self) {
        self.tampered.get_or_insert(self.wire.len());
    }

    /// Bytes that were not sealed here.
    fn insert(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.tamper();
            self.extend(bytes);
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.starts.push(self.wire.len());
        self.wire.extend_from_slice(bytes);
        self.unflipped.extend_from_slice(bytes);
    }
}

/// Bytes of the input, up to 255, behind their number.
fn counted<'a>(input: &mut Input<'a>) -> &'a [u8] {
    let count = input.byte();
    input.bytes(count.into())
}
