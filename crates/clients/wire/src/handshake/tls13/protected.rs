//! The state after the ServerHello: takes the messages under the handshake's keys, up to both
//! sides' Finished.

use std::sync::Arc;

use ::tls::{Group, Suite, Version};

use super::common::{Common, no_keys};
use super::flight;
use super::hello::Hello;
use super::schedule::{Finish, HandshakeKeys, Secrets, Transcripts};
use crate::handshake::alpn;
use crate::handshake::certificates::AcceptedCertificate;
use crate::handshake::client_certificate::{put_tls13, signed_tls13};
use crate::handshake::encoding::{CHANGE_CIPHER_SPEC, put_message, put_records};
use crate::handshake::established::{Established, Negotiated, Remarks};
use crate::handshake::numbers::{extension, kind};
use crate::handshake::refusal::Refusal;
use crate::handshake::transcript::Transcript;
use crate::record::{MOST_PLAINTEXT, Opener, Sealer, content_type};

/// What the server has chosen and proven so far.
pub(super) struct Protected {
    suite: &'static Suite,
    group: Group,
    transcript: Transcript,
    secrets: Secrets,
    pub(super) opener: Opener,
    pub(super) sealer: Sealer,
    awaits: Awaits,
    /// Whether a HelloRetryRequest came before.
    is_retried: bool,
    /// Whether the server chose the application protocol that was offered.
    is_protocol_agreed: bool,
    /// The signature schemes of a CertificateRequest.
    certificate_request: Option<Vec<u16>>,
}

enum Awaits {
    EncryptedExtensions,
    Certificate,
    CertificateVerify(Arc<AcceptedCertificate>),
    Finished(Signed),
}

/// The server's signature.
struct Signed {
    by: Arc<AcceptedCertificate>,
    scheme: u16,
    is_verified: bool,
}

impl Protected {
    /// The state after a ServerHello, with which the transcript ends. `None` where a library
    /// refuses a key, which cannot happen with keys of the right length.
    pub(super) fn new(
        suite: &'static Suite,
        group: Group,
        transcript: Transcript,
        keys: HandshakeKeys,
        is_retried: bool,
    ) -> Option<Self> {
        Some(Self {
            suite,
            group,
            transcript,
            opener: Opener::new(keys.server.protection()?, 0),
            sealer: Sealer::new(keys.client.protection()?, 0),
            secrets: keys.secrets,
            awaits: Awaits::EncryptedExtensions,
            is_retried,
            is_protocol_agreed: false,
            certificate_request: None,
        })
    }

    /// Takes a message with its header of four bytes.
    pub(super) fn take(
        &mut self,
        common: &Common,
        kind: u8,
        message: &[u8],
        to_send: &mut Vec<u8>,
    ) -> Result<Option<Established>, Refusal> {
        let body = &message[4..];
        match (&self.awaits, kind) {
            (Awaits::EncryptedExtensions, kind::ENCRYPTED_EXTENSIONS) => {
                let extensions = flight::encrypted_extensions(body)
                    .ok_or_else(|| Refusal::malformed("EncryptedExtensions"))?;
                for (kind, content) in extensions {
                    if !is_answer(&common.hello, kind) {
                        return Err(Refusal::extension(kind));
                    }
                    if kind == extension::APPLICATION_PROTOCOLS {
                        alpn::check_answer(content, common.protocol)?;
                        self.is_protocol_agreed = true;
                    }
                }
                self.awaits = Awaits::Certificate;
            }
            (Awaits::Certificate, kind::CERTIFICATE_REQUEST)
                if self.certificate_request.is_none() =>
            {
                let schemes = flight::certificate_request(body)
                    .ok_or_else(|| Refusal::malformed("CertificateRequest"))?
                    .ok_or_else(|| Refusal::missing("signature_algorithms"))?;
                self.certificate_request = Some(schemes);
            }
            (Awaits::Certificate, kind::CERTIFICATE) => {
                let offered = &common.hello.offered;
                let accepted = common.server.accept(body, |body| certificates(body, offered))?;
                self.awaits = Awaits::CertificateVerify(accepted);
            }
            (Awaits::CertificateVerify(by), kind::CERTIFICATE_VERIFY) => {
                let (scheme, signature) = flight::certificate_verify(body)
                    .ok_or_else(|| Refusal::malformed("CertificateVerify"))?;
                if !common.schemes.contains(&scheme) {
                    return Err(Refusal::illegal("a signature scheme that was not offered"));
                }
                let is_verified = common.server.draws_signature();
                let is_signed =
                    || by.public.has_signed_tls13(scheme, &signed(&self.transcript), signature);
                if is_verified && !is_signed() {
                    return Err(Refusal::unauthentic(
                        "a signature that does not match the handshake",
                    ));
                }
                let by = by.clone();
                self.awaits = Awaits::Finished(Signed { by, scheme, is_verified });
            }
            (Awaits::Finished(_), kind::FINISHED) => {
                return self.finish(common, message, to_send).map(Some);
            }
            (_, kind) => return Err(Refusal::unexpected(format!("a message of type {kind}"))),
        }
        self.transcript.add(message);
        Ok(None)
    }

    /// Takes the server's Finished, sends the client's, and derives the keys of the connection.
    fn finish(
        &mut self,
        common: &Common,
        message: &[u8],
        to_send: &mut Vec<u8>,
    ) -> Result<Established, Refusal> {
        let Awaits::Finished(server) = &self.awaits else {
            return Err(Refusal::internal("nothing was signed"));
        };
        let signed = self.transcript.hash();
        self.transcript.add(message);
        let finished = self.transcript.hash();
        let mut last = finished;
        let mut answer = Vec::with_capacity(4 + 48);
        let mut client_signature = None;
        if let Some(schemes) = &self.certificate_request {
            let signer = put_tls13(common.client.as_deref(), schemes, &mut answer);
            self.transcript.add(&answer);
            if let Some(signer) = signer {
                let certificate = answer.len();
                signer.put_verify(&signed_tls13(&self.transcript), &mut answer)?;
                self.transcript.add(&answer[certificate..]);
                client_signature = Some(signer.signature());
            }
            last = self.transcript.hash();
        }
        let transcripts = Transcripts { signed, finished, last };
        let Finish { by_server, by_client, client, server: key, updates } =
            self.secrets.finish(&transcripts, common.follows_key_updates);
        if by_server.as_ref() != &message[4..] {
            return Err(Refusal::unauthentic("a Finished that does not match the handshake"));
        }
        put_message(&mut answer, kind::FINISHED, by_client.as_ref());
        put_records(to_send, content_type::CHANGE_CIPHER_SPEC, [3, 3], &CHANGE_CIPHER_SPEC);
        for content in answer.chunks(MOST_PLAINTEXT) {
            self.sealer.seal(content_type::HANDSHAKE, content, to_send).ok_or_else(no_keys)?;
        }
        Ok(Established {
            opener: Opener::new(key.protection().ok_or_else(no_keys)?, 0),
            sealer: Sealer::new(client.protection().ok_or_else(no_keys)?, 0),
            negotiated: Negotiated {
                version: Version::Tls13,
                suite: self.suite,
                group: Some(self.group),
                signature_scheme: Some(server.scheme),
                certificate_key: server.by.key,
                encrypt_then_mac: false,
                resumed: false,
                client: client_signature,
            },
            remarks: Remarks {
                is_signature_verified: server.is_verified,
                certificate: Some(server.by.fingerprint),
                asks_certificate: self.certificate_request.is_some(),
                is_retried: self.is_retried,
                ..Remarks::default()
            },
            is_protocol_agreed: self.is_protocol_agreed,
            post_handshake: updates,
        })
    }
}

/// The certificates of a Certificate message, which may have extensions that the client offered.
fn certificates<'m>(body: &'m [u8], offered: &[u16]) -> Result<Vec<&'m [u8]>, Refusal> {
    let (certificates, extensions) =
        flight::certificates(body).ok_or_else(|| Refusal::malformed("Certificate"))?;
    match extensions.into_iter().find(|kind| !offered.contains(kind)) {
        Some(unoffered) => Err(Refusal::extension(unoffered)),
        None => Ok(certificates),
    }
}

/// What the server signs after this transcript (RFC 8446, section 4.4.3).
fn signed(transcript: &Transcript) -> Vec<u8> {
    const CONTEXT: &[u8] = b"TLS 1.3, server CertificateVerify\0";
    [&[b' '; 64], CONTEXT, transcript.hash().as_ref()].concat()
}

/// Whether an extension of EncryptedExtensions answers one that the client offered and may be there
/// (RFC 8446, section 4.2).
fn is_answer(hello: &Hello, kind: u16) -> bool {
    matches!(
        kind,
        extension::SERVER_NAME | extension::SUPPORTED_GROUPS | extension::APPLICATION_PROTOCOLS
    ) && hello.offered.contains(&kind)
}
