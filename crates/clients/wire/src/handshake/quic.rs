//! The TLS of QUIC (RFC 9001), by rustls: the same offer as over TCP, and what became of it.

use std::any::Any;
use std::io::Cursor;
use std::sync::Arc;

use quinn_proto::crypto::{
    ClientConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, Session,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use ring::aead;
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::quic::{ClientConnection, KeyChange, Secrets, Suite, Version};
use rustls::{Error, HandshakeKind};

use super::established::{ClientSignature, Negotiated, Remarks};
use super::numbers::kind;
use super::offer::{Offer, Sampler};
use super::offer_error::OfferError;
use super::rustls::{RustlsClient, negotiated};
use super::rustls_output::failure;
use super::verifier::Noted;
use crate::{ErrorKind, Failure};

/// The handshakes of one thread with one name.
#[derive(Clone)]
pub struct QuicClient(Arc<Tls>);

struct Tls {
    client: RustlsClient,
    /// The first packets are protected with it, whichever suite is offered (RFC 9001, section 5).
    initial: Suite,
}

/// What is known of a connection's handshake: [`Session::handshake_data`] gives it at any time.
#[derive(Debug, Clone)]
pub struct QuicHandshake {
    /// Once it has ended.
    pub negotiated: Option<Negotiated>,
    pub remarks: Remarks,
    /// Why it failed, where this side found that.
    pub failure: Option<Failure>,
    /// How many tickets have come.
    pub tickets: u64,
}

impl QuicClient {
    /// # Errors
    /// An offer that cannot be made here.
    pub fn new(offer: &Offer, signatures: Sampler) -> Result<Self, OfferError> {
        let initial = TLS13_AES_128_GCM_SHA256.tls13().and_then(|suite| suite.quic_suite());
        let initial = initial.ok_or_else(|| OfferError("rustls: no suite for QUIC".to_owned()))?;
        Ok(Self(Arc::new(Tls { client: RustlsClient::new(offer, signatures)?, initial })))
    }

    /// What a QUIC library begins connections with.
    pub fn config(&self) -> Arc<dyn ClientConfig> {
        self.0.clone()
    }

    /// Whether handshakes are full from now on, and their tickets kept for later ones.
    pub fn collect(&self, is_collecting: bool) {
        self.0.client.collect_sessions(is_collecting);
    }
}

impl ClientConfig for Tls {
    /// The name is that of the offer.
    fn start_session(
        self: Arc<Self>,
        _version: u32,
        name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let mut bytes = Vec::new();
        parameters.write(&mut bytes);
        let begun = self
            .client
            .begin(|config, name| ClientConnection::new(config, Version::V1, name, bytes));
        let (connection, _, remarks) =
            begun.map_err(|_| ConnectError::InvalidServerName(name.to_owned()))?;
        Ok(Box::new(QuicSession {
            connection,
            tls: self,
            next: None,
            noted: None,
            remarks,
            signature: None,
            failure: None,
            after: AfterHandshake::default(),
        }))
    }
}

struct QuicSession {
    connection: ClientConnection,
    tls: Arc<Tls>,
    /// The secrets of the keys that follow the next update.
    next: Option<Secrets>,
    noted: Option<Noted>,
    remarks: Remarks,
    signature: Option<ClientSignature>,
    failure: Option<Failure>,
    after: AfterHandshake,
}

impl QuicSession {
    /// What rustls has found since the last call, which it shares with other connections.
    fn note(&mut self) {
        let RustlsClient { verifier, requests, .. } = &self.tls.client;
        self.noted = verifier.take().or(self.noted.take());
        if requests.take_asked() {
            self.remarks.asks_certificate = true;
            self.signature = requests.take_signature();
        }
        // A handshake that resumes is only known to have been retried until it does.
        self.remarks.is_retried |=
            self.connection.handshake_kind() == Some(HandshakeKind::FullWithHelloRetryRequest);
    }
}

impl Session for QuicSession {
    fn initial_keys(&self, id: &ConnectionId, side: Side) -> Keys {
        let Suite { suite, quic } = self.tls.initial;
        let side = match side {
            Side::Client => rustls::Side::Client,
            Side::Server => rustls::Side::Server,
        };
        keys(rustls::quic::Keys::initial(Version::V1, suite, quic, id, side))
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        let has_ended = !self.connection.is_handshaking();
        let negotiated = has_ended.then(|| negotiated(&self.connection, self.noted.as_ref()));
        let (negotiated, unknown) = match negotiated.transpose() {
            Ok(negotiated) => (negotiated, None),
            Err(failure) => (None, Some(failure)),
        };
        let noted = self.noted.as_ref();
        Some(Box::new(QuicHandshake {
            negotiated: negotiated.map(|of| Negotiated { client: self.signature, ..of }),
            remarks: Remarks {
                is_signature_verified: noted.is_some_and(|noted| noted.is_signature_verified),
                certificate: noted.and_then(|noted| noted.certificate),
                ..self.remarks
            },
            failure: self.failure.clone().or(unknown),
            tickets: self.after.tickets,
        }))
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    /// 0-RTT is never sent.
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        if !self.connection.is_handshaking() {
            self.after.take(bytes);
        }
        let read = self.connection.read_hs(bytes);
        self.note();
        let Err(error) = read else { return Ok(false) };
        let mut failed = failure(&error);
        if error == Error::NoApplicationProtocol {
            failed = Failure::new(
                ErrorKind::NoH3,
                "the server did not choose h3 in the handshake (ALPN)",
            );
        }
        self.failure = Some(failed);
        // RFC 9001, section 4.8.
        let code =
            self.connection.alert().map_or(TransportErrorCode::PROTOCOL_VIOLATION, |alert| {
                TransportErrorCode::crypto(alert.into())
            });
        Err(TransportError { code, frame: None, reason: error.to_string() })
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(bytes) = self.connection.quic_transport_parameters() else { return Ok(None) };
        Ok(Some(TransportParameters::read(Side::Client, &mut Cursor::new(bytes))?))
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        Some(keys(match self.connection.write_hs(out)? {
            KeyChange::Handshake { keys } => keys,
            KeyChange::OneRtt { keys, next } => {
                self.next = Some(next);
                keys
            }
        }))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let next = self.next.as_mut()?.next_packet_keys();
        Some(KeyPair { local: Box::new(next.local), remote: Box::new(next.remote) })
    }

    fn is_valid_retry(&self, id: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        is_valid_retry(id, header, payload)
    }

    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

fn keys(keys: rustls::quic::Keys) -> Keys {
    let rustls::quic::Keys { local, remote } = keys;
    Keys {
        header: KeyPair { local: Box::new(local.header), remote: Box::new(remote.header) },
        packet: KeyPair { local: Box::new(local.packet), remote: Box::new(remote.packet) },
    }
}

/// Whether a Retry packet is of the server to which the first packet went: the tag at its end authenticates it and
/// the connection ID that the client chose (RFC 9001, section 5.8).
fn is_valid_retry(id: &[u8], header: &[u8], payload: &[u8]) -> bool {
    const KEY: [u8; 16] = [
        0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8,
        0x4e,
    ];
    const NONCE: [u8; 12] =
        [0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb];
    let Some((token, tag)) = payload.split_last_chunk::<16>() else { return false };
    let Ok(key) = aead::UnboundKey::new(&aead::AES_128_GCM, &KEY) else { return false };
    let authenticated = [&[id.len() as u8], id, header, token].concat();
    let (nonce, authenticated) =
        (aead::Nonce::assume_unique_for_key(NONCE), aead::Aad::from(authenticated));
    aead::LessSafeKey::new(key).open_in_place(nonce, authenticated, &mut tag.to_owned()).is_ok()
}

/// Counts the tickets among the messages after the handshake, which may come in pieces.
#[derive(Default)]
struct AfterHandshake {
    tickets: u64,
    /// The header of the message under way, as far as it has come.
    header: Vec<u8>,
    /// What is to come of its body.
    left: usize,
}

impl AfterHandshake {
    fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.left > 0 {
                let here = self.left.min(bytes.len());
                (self.left, bytes) = (self.left - here, &bytes[here..]);
                continue;
            }
            self.header.push(bytes[0]);
            bytes = &bytes[1..];
            if let [kind, a, b, c] = *self.header {
                self.tickets += u64::from(kind == kind::NEW_SESSION_TICKET);
                self.left = u32::from_be_bytes([0, a, b, c]) as usize;
                self.header.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::bytes;

    /// RFC 9001, appendix A.4.
    #[test]
    fn the_published_retry_is_valid_and_a_changed_one_is_not() {
        let id = bytes("8394c8f03e515708");
        let packet =
            bytes("ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f0f2496ba");
        let (header, payload) = packet.split_at(packet.len() - 16 - b"token".len());
        assert!(is_valid_retry(&id, header, payload));
        for at in 0..payload.len() {
            let mut changed = payload.to_owned();
            changed[at] ^= 1;
            assert!(!is_valid_retry(&id, header, &changed), "byte {at}");
        }
        assert!(!is_valid_retry(&id[1..], header, payload));
        assert!(!is_valid_retry(&id, header, &payload[..15]));
    }

    #[test]
    fn tickets_are_counted_however_they_are_cut() {
        let ticket = [&[kind::NEW_SESSION_TICKET, 0, 0, 3][..], b"abc"].concat();
        let other = [&[kind::KEY_UPDATE, 0, 0, 1][..], b"\0"].concat();
        let all = [&ticket[..], &other, &ticket, &[kind::NEW_SESSION_TICKET, 0, 0, 0]].concat();
        for piece in 1..=all.len() {
            let mut after = AfterHandshake::default();
            all.chunks(piece).for_each(|piece| after.take(piece));
            assert_eq!(after.tickets, 3, "{piece}");
        }
    }
}
