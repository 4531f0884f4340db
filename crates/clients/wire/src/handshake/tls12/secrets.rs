//! Secrets derived from the premaster secret (RFC 5246, sections 7.4.9 and 8.1; RFC 7627).

use ::tls::{PrfHash, Suite};

use crate::handshake::established::Side;
use crate::handshake::transcript::Hashed;
use crate::record::{Tls12Keys, tls12_keys, tls12_prf};

/// Length of the master secret.
const SECRET: usize = 48;

/// Length of a Finished message's content.
const VERIFY_DATA: usize = 12;

/// The randoms of both sides.
pub(super) struct Randoms {
    pub(super) client: [u8; 32],
    pub(super) server: [u8; 32],
}

/// The master secret of one session.
#[derive(Clone)]
pub(super) struct Master {
    secret: Vec<u8>,
    hash: PrfHash,
}

impl Master {
    pub(super) fn new(hash: PrfHash, premaster: &[u8], randoms: &Randoms) -> Self {
        let seed = [randoms.client, randoms.server].concat();
        Self { secret: tls12_prf(hash, premaster, b"master secret", &seed, SECRET), hash }
    }

    /// The extended master secret, from the transcript up to the ClientKeyExchange.
    pub(super) fn extended(hash: PrfHash, premaster: &[u8], session: &Hashed) -> Self {
        let label = b"extended master secret";
        Self { secret: tls12_prf(hash, premaster, label, session.as_ref(), SECRET), hash }
    }

    /// The content of a side's Finished message after this transcript.
    pub(super) fn finished(&self, side: Side, transcript: &Hashed) -> Vec<u8> {
        let label: &[u8] = match side {
            Side::Client => b"client finished",
            Side::Server => b"server finished",
        };
        tls12_prf(self.hash, &self.secret, label, transcript.as_ref(), VERIFY_DATA)
    }

    /// The keys of both sides; `None` where a library refuses one.
    pub(super) fn keys(
        &self,
        suite: &Suite,
        encrypt_then_mac: bool,
        randoms: &Randoms,
    ) -> Option<Tls12Keys> {
        let Randoms { client, server } = randoms;
        tls12_keys(suite, encrypt_then_mac, &self.secret, client, server)
    }
}
