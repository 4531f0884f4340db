//! The state after the ClientHello: takes the server's messages up to the client's Finished (RFC
//! 5246, section 7.3).

use std::sync::Arc;

use ::tls::Version;

use super::finished_sent::FinishedSent;
use super::flight::{self, ServerHello, kind};
use super::secrets::{Master, Randoms};
use super::server::AcceptedCertificate;
use super::{Common, Stage};
use crate::handshake::Side;
use crate::handshake::encoding::{put_message, put_records};
use crate::handshake::refusal::Refusal;
use crate::handshake::transcript::Transcript;
use crate::handshake::{Negotiated, Remarks};
use crate::record::{Opener, Sealer, content_type};

/// An empty list of certificates (RFC 5246, section 7.4.6).
const NO_CERTIFICATE: [u8; 3] = [0, 0, 0];

/// The next message that the server must send.
pub(super) enum HelloSent {
    ServerHello {
        /// The client's random.
        random: [u8; 32],
    },
    Certificate(Chosen),
    Done {
        chosen: Chosen,
        server: Arc<AcceptedCertificate>,
        /// Whether the server has requested a certificate.
        wants_certificate: bool,
    },
}

/// What the server has chosen.
pub(super) struct Chosen {
    randoms: Randoms,
    encrypt_then_mac: bool,
    extended_master_secret: bool,
}

impl HelloSent {
    /// Takes a message with its header of four bytes; `to_send` is what answers it.
    pub(super) fn take(
        self,
        common: &Common,
        transcript: &mut Transcript,
        message: &[u8],
        to_send: &mut Vec<u8>,
    ) -> Result<Stage, Refusal> {
        let (kind, body) = (message[0], &message[4..]);
        let next = match (self, kind) {
            // A HelloRequest is not part of the transcript, and a client ignores it during a
            // handshake (RFC 5246, section 7.4.1.1).
            (hello_sent, kind::HELLO_REQUEST) if body.is_empty() => {
                return Ok(Stage::HelloSent(hello_sent));
            }
            (Self::ServerHello { random }, kind::SERVER_HELLO) => {
                Self::Certificate(Chosen::read(common, random, body)?)
            }
            (Self::Certificate(chosen), kind::CERTIFICATE) => {
                Self::Done { chosen, server: common.server.accept(body)?, wants_certificate: false }
            }
            (
                Self::Done { chosen, server, wants_certificate: false },
                kind::CERTIFICATE_REQUEST,
            ) => {
                if !flight::is_certificate_request(body) {
                    return Err(Refusal::malformed("CertificateRequest"));
                }
                Self::Done { chosen, server, wants_certificate: true }
            }
            (Self::Done { chosen, server, wants_certificate }, kind::SERVER_HELLO_DONE) => {
                if !body.is_empty() {
                    return Err(Refusal::malformed("ServerHelloDone"));
                }
                transcript.add(message);
                let finished_sent =
                    chosen.answer(common, &server, wants_certificate, transcript, to_send)?;
                return Ok(Stage::FinishedSent(Box::new(finished_sent)));
            }
            (_, kind) => return Err(Refusal::unexpected(format!("a message of type {kind}"))),
        };
        transcript.add(message);
        Ok(Stage::HelloSent(next))
    }
}

impl Chosen {
    /// Parses the body of a ServerHello; `random` is the client's.
    fn read(common: &Common, random: [u8; 32], body: &[u8]) -> Result<Self, Refusal> {
        const TLS12: u16 = 0x0303;
        let hello = ServerHello::read(body).ok_or_else(|| Refusal::malformed("ServerHello"))?;
        if hello.version != TLS12 {
            return Err(Refusal::version());
        }
        if hello.suite != common.suite.code_point {
            return Err(Refusal::illegal("a suite that was not offered"));
        }
        let mut given = hello.extensions.iter();
        if let Some(unoffered) = given.find(|kind| !common.hello.offered.contains(kind)) {
            return Err(Refusal::extension(*unoffered));
        }
        Ok(Self {
            randoms: Randoms { client: random, server: hello.random },
            encrypt_then_mac: hello.encrypt_then_mac,
            extended_master_secret: hello.extended_master_secret,
        })
    }

    /// Sends the client's flight, up to its Finished.
    fn answer(
        self,
        common: &Common,
        server: &AcceptedCertificate,
        wants_certificate: bool,
        transcript: &mut Transcript,
        to_send: &mut Vec<u8>,
    ) -> Result<FinishedSent, Refusal> {
        let Self { randoms, encrypt_then_mac, extended_master_secret } = self;
        let (suite, hash) = (common.suite, common.suite.prf);
        let mut flight = Vec::with_capacity(7 + server.exchange.len());
        if wants_certificate {
            put_message(&mut flight, kind::CERTIFICATE, &NO_CERTIFICATE);
        }
        flight.extend_from_slice(&server.exchange);
        transcript.add(&flight);
        put_records(to_send, content_type::HANDSHAKE, [3, 3], &flight);
        put_records(to_send, content_type::CHANGE_CIPHER_SPEC, [3, 3], &[1]);

        let master = if extended_master_secret {
            Master::extended(hash, &server.premaster, &transcript.hash())
        } else {
            Master::new(hash, &server.premaster, &randoms)
        };
        let keys = master
            .keys(suite, encrypt_then_mac, &randoms)
            .ok_or_else(|| Refusal::internal("keys that could not be derived"))?;
        let opener = Opener::new(keys.server, 0);
        let mut sealer = Sealer::new(keys.client, 0);
        let mut finished = Vec::new();
        let verify_data = master.finished(Side::Client, &transcript.hash());
        put_message(&mut finished, kind::FINISHED, &verify_data);
        transcript.add(&finished);
        sealer
            .seal(content_type::HANDSHAKE, &finished, to_send)
            .ok_or_else(|| Refusal::internal("a Finished that could not be sealed"))?;
        let negotiated = Negotiated {
            version: Version::Tls12,
            suite,
            group: None,
            signature_scheme: None,
            certificate_key: server.key,
            encrypt_then_mac,
            resumed: false,
        };
        // The server signs nothing. Its Finished proves that it has the private key.
        let remarks = Remarks { asks_certificate: wants_certificate, ..Remarks::default() };
        Ok(FinishedSent { opener, sealer, master, negotiated, remarks, has_changed: false })
    }
}
