//! A server of TLS 1.3 whose messages the caller chooses, with the right keys: for tests and
//! fuzzing.
//!
//! The client's key exchange is fixed, so the shared secret is the server's share, whatever it is.

use ::tls::{PrfHash, Suite};

use super::flight::kind;
use super::hello::Hello;
use super::schedule::Beginning;
#[cfg(test)]
use super::schedule::{Secrets, Transcripts};
use crate::handshake::transcript::Transcript;
use crate::handshake::wire::{Reader, put_message, put_records, put_vector16};
use crate::record::{Sealer, content_type};

const SHARE: [u8; 32] = [7; 32];

/// A server that has answered a ClientHello and sends what the caller chooses.
pub(crate) struct Puppet {
    transcript: Transcript,
    #[cfg(test)]
    secrets: Secrets,
    sealer: Sealer,
    /// The bytes to send.
    pub(crate) out: Vec<u8>,
}

/// The ServerHello that answers this ClientHello, a record, with TLS_AES_128_GCM_SHA256 and X25519.
pub(crate) fn server_hello(client_hello: &[u8]) -> Vec<u8> {
    let mut key_share = 29u16.to_be_bytes().to_vec();
    put_vector16(&mut key_share, &SHARE);
    let session_id = Hello::session_id(client_hello.get(5..).unwrap_or_default());
    answer(&[5; 32], session_id, 0x1301, &[(43, &[3, 4]), (51, &key_share)])
}

/// A ServerHello with these contents.
pub(crate) fn answer(
    random: &[u8; 32],
    session_id: &[u8],
    suite: u16,
    extensions: &[(u16, &[u8])],
) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend_from_slice(random);
    body.push(session_id.len() as u8);
    body.extend_from_slice(session_id);
    body.extend_from_slice(&suite.to_be_bytes());
    body.push(0);
    put_vector16(&mut body, &listed(extensions));
    message(kind::SERVER_HELLO, &body)
}

/// The encoding of several extensions.
pub(crate) fn listed(extensions: &[(u16, &[u8])]) -> Vec<u8> {
    let mut list = Vec::new();
    for (kind, content) in extensions {
        list.extend_from_slice(&kind.to_be_bytes());
        put_vector16(&mut list, content);
    }
    list
}

/// A handshake message.
pub(crate) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    put_message(&mut message, kind, body);
    message
}

impl Puppet {
    /// Answers this ClientHello, a record.
    pub(crate) fn new(client_hello: &[u8]) -> Option<Self> {
        let suite = Suite::by_code_point(0x1301)?;
        let hello = server_hello(client_hello);
        let mut transcript = Transcript::new(PrfHash::Sha256);
        transcript.add(Reader(client_hello.get(5..)?).0);
        transcript.add(&hello);
        let handshake = Beginning::new(suite)?.handshake(&SHARE, &transcript.hash());
        let sealer = Sealer::new(handshake.server.protection()?, 0);
        let mut out = Vec::new();
        put_records(&mut out, content_type::HANDSHAKE, [3, 3], &hello);
        Some(Self {
            transcript,
            #[cfg(test)]
            secrets: handshake.secrets,
            sealer,
            out,
        })
    }

    /// Sends this content in its own record.
    pub(crate) fn say(&mut self, content_type: u8, content: &[u8]) {
        if content_type == content_type::HANDSHAKE {
            self.transcript.add(content);
        }
        let _ = self.sealer.seal(content_type, content, &mut self.out);
    }

    /// The transcript's hash.
    #[cfg(test)]
    pub(crate) fn transcript(&self) -> Vec<u8> {
        self.transcript.hash().as_ref().to_vec()
    }

    /// The Finished message for this transcript.
    #[cfg(test)]
    pub(crate) fn finished(&self) -> Vec<u8> {
        let signed = self.transcript.hash();
        let transcripts = Transcripts { signed, finished: signed, last: signed };
        let content = self.secrets.finish(&transcripts, false).by_server;
        message(kind::FINISHED, content.as_ref())
    }
}
