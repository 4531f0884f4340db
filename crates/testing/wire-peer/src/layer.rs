//! How the bytes between two sides are protected, and the peer's side of that.

use objects::slice;
use tls::{Cipher, Suite};
use wire::Failure;
use wire::handshake::{PostHandshake, Side};
use wire::reception::{Expectation, LEARNED_FROM, Learned, Reception};
use wire::record::{AeadKey, HEADER, Opener, Protection, Sealer, content_type, tls12_keys};

use crate::{End, Line};

/// The first sequence number of every line here: the handshake used the earlier ones.
const FIRST_SEQUENCE: u64 = 3;

/// How a line is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    Plain,
    Tls13Gcm,
    Tls13ChaCha20,
    Tls12Gcm,
    Tls12ChaCha20,
    Cbc,
    CbcEncryptThenMac,
}

impl Layer {
    pub const ALL: [Self; 7] = [
        Self::Plain,
        Self::Tls13Gcm,
        Self::Tls13ChaCha20,
        Self::Tls12Gcm,
        Self::Tls12ChaCha20,
        Self::Cbc,
        Self::CbcEncryptThenMac,
    ];

    /// All but plain HTTP.
    pub fn protected() -> impl Iterator<Item = Self> {
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

    pub fn is_tls12(self) -> bool {
        !matches!(self, Self::Plain | Self::Tls13Gcm | Self::Tls13ChaCha20)
    }

    pub fn reception(self) -> Reception {
        self.reception_with(Learned::default())
    }

    /// A reception whose thread has learned this.
    pub fn reception_with(self, learned: Learned) -> Reception {
        match self {
            Self::Plain => Reception::plain(learned),
            _ => Reception::tls(self.opener(), learned),
        }
    }

    /// A reception whose thread has learned from another connection that records hold this much.
    pub fn reception_that_learned(self, plaintext: usize) -> Reception {
        let learned = Learned::default();
        let mut other = Reception::tls(self.opener(), learned.clone());
        let mut peer = self.peer();
        let body = vec![0; 3 * plaintext];
        for _ in 0..LEARNED_FROM {
            let text = peer.data(&head(body.len()));
            let wire = [text, peer.records(&body, &[plaintext; 3]).concat()].concat();
            other.expect(Expectation::Anything, false);
            let end = Line::new(&wire, &[usize::MAX]).run(&mut other);
            assert!(matches!(end, Ok(End::Complete(_))), "{self:?} {end:?}");
        }
        self.reception_with(learned)
    }

    pub fn opener(self) -> Opener {
        Opener::new(self.protection(0), FIRST_SEQUENCE)
    }

    /// The same after `updates` KeyUpdates.
    pub fn opener_after(self, updates: u32) -> Opener {
        Opener::new(self.protection(updates), 0)
    }

    /// The client's side of sending.
    pub fn sealer(self) -> Sealer {
        Sealer::new(self.protection(0), FIRST_SEQUENCE)
    }

    pub fn peer(self) -> Peer {
        let sealer = (self != Self::Plain).then(|| Sealer::new(self.protection(0), FIRST_SEQUENCE));
        Peer { layer: self, updates: 0, sealer }
    }

    /// What is kept of a handshake to follow KeyUpdates, which only TLS 1.3 has.
    pub fn post_handshake(self) -> Option<Box<dyn PostHandshake>> {
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
pub struct Peer {
    layer: Layer,
    /// KeyUpdates that it has sent.
    updates: u32,
    sealer: Option<Sealer>,
}

impl Peer {
    /// One record of this type; over plain HTTP its content as it is. After a KeyUpdate of TLS 1.3
    /// the next record has another key.
    pub fn record(&mut self, content_type: u8, content: &[u8]) -> Vec<u8> {
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

    pub fn data(&mut self, content: &[u8]) -> Vec<u8> {
        self.record(content_type::APPLICATION_DATA, content)
    }

    /// `content` in records of these sizes, then in full ones.
    pub fn records(&mut self, content: &[u8], sizes: &[usize]) -> Vec<Vec<u8>> {
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
pub fn head(length: usize) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: {length}\r\n\r\n").into_bytes()
}

/// The generated object of this size.
pub fn object(size: usize) -> Vec<u8> {
    slice(0)[..size].to_vec()
}

/// The most that the length of a record lets it hold.
pub fn plaintext_at_most(layer: Layer, record: &[u8]) -> u64 {
    layer.opener().most_plaintext(record.len() - HEADER).unwrap() as u64
}
