//! A peer whose bytes are all known, and a driver that feeds them to a reception as a connection
//! does: it reads in pieces, cuts skips short, and keeps in hand what was read ahead.

use objects::slice;
use tls::{Cipher, Suite};

use crate::failure::Failure;
use crate::handshake::{PostHandshake, Side};
use crate::receive::stride::{Dropped, Middle};
use crate::receive::{Completed, Given, LEARNED_FROM, Learned, Reception, Want};
use crate::record::{AeadKey, HEADER, Opener, Protection, Sealer, content_type, tls12_keys};

/// The first sequence number of every line here: the handshake used the earlier ones.
const FIRST_SEQUENCE: u64 = 3;

/// How a line is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    Plain,
    Tls13Gcm,
    Tls13ChaCha20,
    Tls12Gcm,
    Tls12ChaCha20,
    Cbc,
    CbcEncryptThenMac,
}

impl Layer {
    pub(crate) const ALL: [Self; 7] = [
        Self::Plain,
        Self::Tls13Gcm,
        Self::Tls13ChaCha20,
        Self::Tls12Gcm,
        Self::Tls12ChaCha20,
        Self::Cbc,
        Self::CbcEncryptThenMac,
    ];

    /// All but plain HTTP.
    pub(crate) fn protected() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|layer| *layer != Self::Plain)
    }

    /// What protects records of either side after `updates` KeyUpdates.
    fn protection(self, updates: u32) -> Protection {
        let tls13 = |cipher, length| {
            let mut key = vec![7; length];
            key[..4].copy_from_slice(&updates.to_be_bytes());
            Protection::Tls13(AeadKey::new(cipher, &key, &[3; 12]).unwrap())
        };
        let tls12 = |name, encrypt_then_mac| {
            let suite = Suite::parse(name).unwrap();
            tls12_keys(suite, encrypt_then_mac, &[1; 48], &[2; 32], &[3; 32]).unwrap().server
        };
        match self {
            Self::Plain => unreachable!("plain HTTP has no records"),
            Self::Tls13Gcm => tls13(Cipher::Aes128Gcm, 16),
            Self::Tls13ChaCha20 => tls13(Cipher::ChaCha20Poly1305, 32),
            Self::Tls12Gcm => tls12("ECDHE-RSA-AES256-GCM-SHA384", false),
            Self::Tls12ChaCha20 => tls12("ECDHE-RSA-CHACHA20-POLY1305", false),
            Self::Cbc => tls12("AES128-SHA", false),
            Self::CbcEncryptThenMac => tls12("AES128-SHA", true),
        }
    }

    pub(crate) fn is_tls12(self) -> bool {
        !matches!(self, Self::Plain | Self::Tls13Gcm | Self::Tls13ChaCha20)
    }

    pub(crate) fn reception(self) -> Reception {
        match self {
            Self::Plain => Reception::plain(),
            _ => Reception::tls(self.opener(), Learned::default()),
        }
    }

    /// A reception whose thread has learned that records hold this much.
    pub(crate) fn reception_that_learned(self, plaintext: usize) -> Reception {
        let length = self.peer().data(&vec![0; plaintext]).len() - HEADER;
        let learned = Learned::default();
        for _ in 0..LEARNED_FROM {
            learned.learn_records(Middle::Equal(Dropped { length, plaintext: plaintext as u64 }));
        }
        Reception::tls(self.opener(), learned)
    }

    pub(crate) fn opener(self) -> Opener {
        Opener::new(self.protection(0), FIRST_SEQUENCE)
    }

    /// The same after `updates` KeyUpdates.
    #[cfg(test)]
    pub(crate) fn opener_after(self, updates: u32) -> Opener {
        Opener::new(self.protection(updates), 0)
    }

    /// The client's side of sending.
    #[cfg(test)]
    pub(crate) fn sealer(self) -> Sealer {
        Sealer::new(self.protection(0), FIRST_SEQUENCE)
    }

    pub(crate) fn peer(self) -> Peer {
        let sealer = (self != Self::Plain).then(|| Sealer::new(self.protection(0), FIRST_SEQUENCE));
        Peer { layer: self, updates: 0, sealer }
    }

    /// What is kept of a handshake to follow KeyUpdates, which only TLS 1.3 has.
    pub(crate) fn post_handshake(self) -> Option<Box<dyn PostHandshake>> {
        let has_updates = self != Self::Plain && !self.is_tls12();
        has_updates.then(|| Box::new(Updates { layer: self, client: 0, server: 0 }) as _)
    }
}

/// How many KeyUpdates each side has sent.
struct Updates {
    layer: Layer,
    client: u32,
    server: u32,
}

impl PostHandshake for Updates {
    fn take_ticket(&mut self, _: &[u8]) -> Result<(), Failure> {
        Ok(())
    }

    fn next_protection(&mut self, side: Side) -> Option<Protection> {
        let updates = match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        *updates += 1;
        Some(self.layer.protection(*updates))
    }
}

/// The server's side of a line.
pub(crate) struct Peer {
    layer: Layer,
    /// KeyUpdates that it has sent.
    updates: u32,
    sealer: Option<Sealer>,
}

impl Peer {
    /// One record of this type; over plain HTTP its content as it is. After a KeyUpdate of TLS 1.3
    /// the next record has another key.
    pub(crate) fn record(&mut self, content_type: u8, content: &[u8]) -> Vec<u8> {
        match &mut self.sealer {
            None => content.to_vec(),
            Some(sealer) => {
                let mut record = Vec::new();
                sealer.seal(content_type, content, &mut record).unwrap();
                let is_update = matches!(content, [24, 0, 0, 1, 0 | 1]) && !self.layer.is_tls12();
                if content_type == content_type::HANDSHAKE && is_update {
                    self.updates += 1;
                    *sealer = Sealer::new(self.layer.protection(self.updates), 0);
                }
                record
            }
        }
    }

    pub(crate) fn data(&mut self, content: &[u8]) -> Vec<u8> {
        self.record(content_type::APPLICATION_DATA, content)
    }

    /// `content` in records of these sizes, then in full ones.
    pub(crate) fn records(&mut self, content: &[u8], sizes: &[usize]) -> Vec<Vec<u8>> {
        let mut rest = content;
        let mut records = Vec::new();
        for size in sizes {
            let (here, after) = rest.split_at((*size).min(rest.len()));
            records.push(self.data(here));
            rest = after;
        }
        records.extend(rest.chunks(1 << 14).map(|here| self.data(here)));
        records
    }
}

/// A head with this Content-Length.
pub(crate) fn head(length: usize) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: {length}\r\n\r\n").into_bytes()
}

/// The generated object of this size.
pub(crate) fn object(size: usize) -> Vec<u8> {
    slice(0)[..size].to_vec()
}

/// How a line ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Complete(Completed),
    Closed,
    /// All bytes were used and more are wanted.
    Starved,
}

/// The client's side of a line: what is still to come, and what is in hand.
pub(crate) struct Line<'a> {
    coming: &'a [u8],
    hand: Vec<u8>,
    pieces: std::iter::Cycle<std::slice::Iter<'a, usize>>,
    /// Whether the bytes are an honest server's, so that marks can be checked.
    is_honest: bool,
}

impl<'a> Line<'a> {
    /// Delivers `bytes` in pieces of these sizes, in turn.
    pub(crate) fn new(bytes: &'a [u8], pieces: &'a [usize]) -> Self {
        Self { coming: bytes, hand: Vec::new(), pieces: pieces.iter().cycle(), is_honest: false }
    }

    pub(crate) fn honest(self) -> Self {
        Self { is_honest: true, ..self }
    }

    /// The same line, with these bytes after those in hand.
    #[cfg(test)]
    pub(crate) fn then(self, coming: &'a [u8]) -> Self {
        Self { coming, ..self }
    }

    /// Bytes that the reception left in hand or on the line.
    pub(crate) fn left_over(&self) -> usize {
        self.hand.len() + self.coming.len()
    }

    /// Feeds `reception` until a response is complete, the peer closes, or nothing is left.
    pub(crate) fn run(&mut self, reception: &mut Reception) -> Result<End, Failure> {
        // Each step uses a byte or changes the state once, so an endless loop is caught.
        let mut steps_left = 1000 + 4 * self.left_over();
        loop {
            steps_left = steps_left.checked_sub(1).expect("the reception goes in circles");
            let given = match reception.want() {
                Want::Skip(count) => {
                    // An empty read would look like the end of the stream.
                    assert!(count > 0, "nothing is to be skipped");
                    let count = if self.hand.is_empty() {
                        let Some(piece) = self.next_piece(reception, count) else {
                            return Ok(End::Starved);
                        };
                        piece.len() as u64
                    } else {
                        let here = count.min(self.hand.len() as u64);
                        self.hand.drain(..here as usize);
                        here
                    };
                    reception.skipped(count)?
                }
                Want::Read { min, max } if self.hand.len() < min => {
                    assert!(max >= min);
                    let room = max.max(self.hand.len() + 1) - self.hand.len();
                    let Some(piece) = self.next_piece(reception, room as u64) else {
                        return Ok(End::Starved);
                    };
                    self.hand.extend_from_slice(piece);
                    continue;
                }
                Want::Read { .. } => {
                    let (used, given) = reception.give(&mut self.hand)?;
                    self.hand.drain(..used);
                    given
                }
            };
            match given {
                Given::More => {}
                Given::Complete(completed) => return Ok(End::Complete(completed)),
                Given::Refused => return Err(reception.refusal()),
                Given::Closed => return Ok(End::Closed),
            }
        }
    }

    fn next_piece(&mut self, reception: &Reception, room: u64) -> Option<&'a [u8]> {
        if self.is_honest {
            let least = reception.least_to_come(self.hand.len());
            let coming = self.coming.len() as u64;
            assert!(least <= coming, "{least} bytes are awaited where {coming} come");
        }
        let piece = *self.pieces.next().unwrap_or(&usize::MAX);
        let count = piece.max(1).min(self.coming.len()).min(room as usize);
        let (piece, rest) = self.coming.split_at(count);
        self.coming = rest;
        (count > 0).then_some(piece)
    }
}

/// The most that the length of a record lets it hold.
pub(crate) fn plaintext_at_most(layer: Layer, record: &[u8]) -> u64 {
    layer.opener().most_plaintext(record.len() - HEADER).unwrap() as u64
}
