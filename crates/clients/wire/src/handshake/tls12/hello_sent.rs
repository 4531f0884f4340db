//! The state after the ClientHello: takes the server's messages up to the client's Finished, or up to
//! a ServerHello that resumes (RFC 5246, section 7.3).

use std::sync::Arc;

use ::tls::{Group, KeyExchange, Suite, Version};

use super::common::Common;
use super::finished_sent::{FinishedSent, Ticket};
use super::flight::{self, CertificateRequest, ServerHello, ServerKeyExchange};
use super::hello::Sessions;
use super::key_exchange::ClientKeyExchange;
use super::secrets::{Master, Randoms};
use super::sessions::Session;
use crate::handshake::alpn;
use crate::handshake::certificates::AcceptedCertificate;
use crate::handshake::client_certificate::put_tls12;
use crate::handshake::encoding::put_records;
use crate::handshake::established::{Negotiated, Remarks};
use crate::handshake::numbers::{extension, kind};
use crate::handshake::refusal::Refusal;
use crate::handshake::transcript::Transcript;
use crate::record::{Opener, Sealer, content_type};
use crate::{ErrorKind, Failure};

/// How far a handshake is.
pub(super) enum Stage {
    /// The ClientHello is made.
    HelloSent(Box<HelloSent>),
    /// Both sides have keys.
    FinishedSent(Box<FinishedSent>),
    Over,
}

impl Stage {
    fn finished_sent(sent: FinishedSent) -> Self {
        Self::FinishedSent(Box::new(sent))
    }
}

/// The next message that the server must send.
pub(super) enum HelloSent {
    ServerHello(Asked),
    Certificate(Chosen),
    ServerKeyExchange { chosen: Chosen, server: Arc<AcceptedCertificate> },
    Done(Answerable),
}

/// What the client has sent.
pub(super) struct Asked {
    /// The ClientHello.
    pub(super) message: Vec<u8>,
    pub(super) random: [u8; 32],
    /// The session that it offers.
    pub(super) session: Option<Arc<Session>>,
    /// Whether the server's session is kept.
    pub(super) keeps_session: bool,
}

impl Asked {
    pub(super) fn sessions(&self) -> Sessions<'_> {
        Sessions::of(self.session.as_deref(), self.keeps_session)
    }
}

/// What the server has chosen.
pub(super) struct Chosen {
    asked: Asked,
    /// All messages so far, hashed.
    transcript: Transcript,
    /// The same as they are, which the client signs; empty where it has no certificate.
    messages: Vec<u8>,
    suite: &'static Suite,
    randoms: Randoms,
    session_id: Vec<u8>,
    encrypt_then_mac: bool,
    extended_master_secret: bool,
    /// Whether a ticket will come.
    promises_ticket: bool,
    /// Whether a CertificateStatus may come.
    promises_status: bool,
    /// Whether the server chose the application protocol that was offered.
    is_protocol_agreed: bool,
}

/// All that the client needs for its answer.
pub(super) struct Answerable {
    chosen: Chosen,
    server: Arc<AcceptedCertificate>,
    exchange: Arc<ClientKeyExchange>,
    /// `None` with static RSA.
    signed: Option<Signed>,
    request: Option<CertificateRequest>,
}

/// What a ServerKeyExchange says.
struct Signed {
    group: Group,
    scheme: u16,
    is_verified: bool,
}

impl HelloSent {
    /// Takes a message with its header of four bytes; `to_send` is what answers it.
    pub(super) fn take(
        self,
        common: &Common,
        message: &[u8],
        to_send: &mut Vec<u8>,
    ) -> Result<Stage, Refusal> {
        let (kind, body) = (message[0], &message[4..]);
        let next = match (self, kind) {
            // A HelloRequest is not part of the transcript, and a client ignores it during a
            // handshake (RFC 5246, section 7.4.1.1).
            (hello_sent, kind::HELLO_REQUEST) if body.is_empty() => hello_sent,
            (Self::ServerHello(asked), kind::SERVER_HELLO) => {
                let chosen = Chosen::read(common, asked, message)?;
                match chosen.resumed() {
                    Some(session) => return chosen.resume(&session).map(Stage::finished_sent),
                    None => Self::Certificate(chosen),
                }
            }
            (Self::Certificate(mut chosen), kind::CERTIFICATE) => {
                chosen.add(common, message);
                let certificates = |body| {
                    flight::certificates(body).ok_or_else(|| Refusal::malformed("Certificate"))
                };
                let server = common.server.accept(body, certificates)?;
                match chosen.suite.key_exchange {
                    KeyExchange::Rsa => {
                        let exchange = common.static_rsa.exchange(&server).ok_or_else(|| {
                            unfit("a certificate whose key cannot encrypt with RSA")
                        })?;
                        Self::Done(Answerable {
                            chosen,
                            server,
                            exchange,
                            signed: None,
                            request: None,
                        })
                    }
                    key_exchange => {
                        if server.public.is_rsa() != (key_exchange == KeyExchange::EcdheRsa) {
                            return Err(unfit(
                                "a certificate whose key is not of the suite's kind",
                            ));
                        }
                        Self::ServerKeyExchange { chosen, server }
                    }
                }
            }
            // What the server's authority says of its certificate (RFC 6066, section 8) is not asked for an opinion.
            (Self::ServerKeyExchange { mut chosen, server }, kind::CERTIFICATE_STATUS)
                if chosen.promises_status =>
            {
                chosen.promises_status = false;
                chosen.add(common, message);
                Self::ServerKeyExchange { chosen, server }
            }
            (Self::ServerKeyExchange { mut chosen, server }, kind::SERVER_KEY_EXCHANGE) => {
                chosen.add(common, message);
                let read = ServerKeyExchange::read(body)
                    .ok_or_else(|| Refusal::malformed("ServerKeyExchange"))?;
                let (exchange, signed) = chosen.exchange(common, &server, &read)?;
                let signed = Some(signed);
                let exchange = Arc::new(exchange);
                Self::Done(Answerable { chosen, server, exchange, signed, request: None })
            }
            (Self::Done(mut answerable), kind::CERTIFICATE_REQUEST)
                if answerable.request.is_none() =>
            {
                let request = CertificateRequest::read(body)
                    .ok_or_else(|| Refusal::malformed("CertificateRequest"))?;
                answerable.chosen.add(common, message);
                answerable.request = Some(request);
                Self::Done(answerable)
            }
            (Self::Done(mut answerable), kind::SERVER_HELLO_DONE) => {
                if !body.is_empty() {
                    return Err(Refusal::malformed("ServerHelloDone"));
                }
                answerable.chosen.add(common, message);
                return answerable.answer(common, to_send).map(Stage::finished_sent);
            }
            (_, kind) => return Err(Refusal::unexpected(format!("a message of type {kind}"))),
        };
        Ok(Stage::HelloSent(Box::new(next)))
    }
}

/// A certificate that is no use in the suite.
fn unfit(seen: &str) -> Refusal {
    Refusal::certificate(Failure::new(ErrorKind::Authentication, seen))
}

impl Chosen {
    /// Parses a ServerHello.
    fn read(common: &Common, asked: Asked, message: &[u8]) -> Result<Self, Refusal> {
        const TLS12: u16 = 0x0303;
        let hello =
            ServerHello::read(&message[4..]).ok_or_else(|| Refusal::malformed("ServerHello"))?;
        if hello.version != TLS12 {
            return Err(Refusal::version());
        }
        let suite = (common.suites.iter().find(|suite| suite.code_point == hello.suite))
            .ok_or_else(|| Refusal::illegal("a suite that was not offered"))?;
        let mut given = hello.extensions.iter();
        if let Some(unoffered) = given.find(|kind| !common.offers(**kind, asked.sessions())) {
            return Err(Refusal::extension(*unoffered));
        }
        if let Some(protocol) = hello.protocol {
            alpn::check_answer(protocol, common.protocol)?;
        }
        let mut transcript = Transcript::new(suite.prf);
        transcript.add(&asked.message);
        transcript.add(message);
        let messages = match common.client {
            Some(_) => [&asked.message, message].concat(),
            None => Vec::new(),
        };
        Ok(Self {
            transcript,
            messages,
            suite,
            randoms: Randoms { client: asked.random, server: hello.random },
            session_id: hello.session_id.to_owned(),
            // It means nothing with other suites (RFC 7366, section 3).
            encrypt_then_mac: hello.has(extension::ENCRYPT_THEN_MAC) && suite.mac != tls::Mac::Aead,
            extended_master_secret: hello.has(extension::EXTENDED_MASTER_SECRET),
            promises_ticket: hello.has(extension::SESSION_TICKET),
            promises_status: hello.has(extension::STATUS_REQUEST),
            is_protocol_agreed: hello.protocol.is_some(),
            asked,
        })
    }

    fn add(&mut self, common: &Common, messages: &[u8]) {
        self.transcript.add(messages);
        if common.client.is_some() {
            self.messages.extend_from_slice(messages);
        }
    }

    /// The session that the server resumes: it repeats its identifier.
    fn resumed(&self) -> Option<Arc<Session>> {
        self.asked.session.clone().filter(|session| session.id == self.session_id)
    }

    /// The state in which the server's Finished comes first.
    fn resume(self, session: &Session) -> Result<FinishedSent, Refusal> {
        if session.suite != self.suite {
            return Err(Refusal::illegal("another suite than the resumed session's"));
        }
        // RFC 7627, section 5.3.
        if session.extended_master_secret != self.extended_master_secret {
            return Err(Refusal::illegal("another kind of master secret than the session's"));
        }
        self.keyed(session.master.clone(), session.key, None)
    }

    /// The client's answer to a server's share, which its signature must cover.
    fn exchange(
        &self,
        common: &Common,
        server: &AcceptedCertificate,
        read: &ServerKeyExchange<'_>,
    ) -> Result<(ClientKeyExchange, Signed), Refusal> {
        let (group, kx) = (common.groups.iter().find(|(of, _)| of.code_point() == read.group))
            .ok_or_else(|| Refusal::illegal("a group that was not offered"))?;
        if !common.schemes.contains(&read.scheme) || !server.public.signs_in_tls12(read.scheme) {
            return Err(Refusal::illegal("a signature scheme that was not offered for such a key"));
        }
        let is_verified = common.server.draws_signature();
        let message = || [&self.randoms.client, &self.randoms.server, read.parameters].concat();
        if is_verified && !server.public.has_signed_tls12(read.scheme, &message(), read.signature) {
            return Err(Refusal::unauthentic("a signature that does not match the handshake"));
        }
        let exchange = ClientKeyExchange::ephemeral(*kx, read.point)
            .ok_or_else(|| Refusal::illegal("a key share that is not valid in its group"))?;
        Ok((exchange, Signed { group: *group, scheme: read.scheme, is_verified }))
    }

    /// The state with the keys of this master secret.
    fn keyed(
        self,
        master: Master,
        key: Option<tls::CertificateKey>,
        signed: Option<Signed>,
    ) -> Result<FinishedSent, Refusal> {
        let is_resumed = self.resumed().is_some();
        let keys = master
            .keys(self.suite, self.encrypt_then_mac, &self.randoms)
            .ok_or_else(|| Refusal::internal("keys that could not be derived"))?;
        Ok(FinishedSent {
            transcript: self.transcript,
            opener: Opener::new(keys.server, 0),
            sealer: Sealer::new(keys.client, 0),
            negotiated: Negotiated {
                version: Version::Tls12,
                suite: self.suite,
                group: signed.as_ref().map(|signed| signed.group),
                signature_scheme: signed.as_ref().map(|signed| signed.scheme),
                certificate_key: key,
                encrypt_then_mac: self.encrypt_then_mac,
                resumed: is_resumed,
                client: None,
            },
            // With static RSA the server signs nothing: its Finished proves that it has the key.
            remarks: Remarks {
                is_signature_verified: signed.is_some_and(|signed| signed.is_verified),
                offers_session: self.asked.session.is_some(),
                ..Remarks::default()
            },
            is_protocol_agreed: self.is_protocol_agreed,
            keeps_session: self.asked.keeps_session,
            master,
            extended_master_secret: self.extended_master_secret,
            session_id: self.session_id,
            ticket: if self.promises_ticket { Ticket::Promised } else { Ticket::None },
            has_changed: false,
        })
    }
}

impl Answerable {
    /// Sends the client's flight, up to its Finished.
    fn answer(self, common: &Common, to_send: &mut Vec<u8>) -> Result<FinishedSent, Refusal> {
        let Self { mut chosen, server, exchange, signed, request } = self;
        let mut flight = Vec::with_capacity(7 + exchange.message.len());
        let signer = request.as_ref().and_then(|CertificateRequest { types, schemes }| {
            put_tls12(common.client.as_deref(), types, schemes, &mut flight)
        });
        flight.extend_from_slice(&exchange.message);
        chosen.add(common, &flight);

        // A CertificateVerify comes after what the extended master secret hashes (RFC 7627, section 3).
        let (hash, premaster) = (chosen.suite.prf, &exchange.premaster);
        let master = match chosen.extended_master_secret {
            true => Master::extended(hash, premaster, &chosen.transcript.hash()),
            false => Master::new(hash, premaster, &chosen.randoms),
        };
        if let Some(signer) = &signer {
            let unsigned = flight.len();
            signer.put_verify(&chosen.messages, &mut flight)?;
            chosen.transcript.add(&flight[unsigned..]);
        }
        put_records(to_send, content_type::HANDSHAKE, [3, 3], &flight);
        let mut sent = chosen.keyed(master, server.key, signed)?;
        sent.remarks.certificate = Some(server.fingerprint);
        sent.remarks.asks_certificate = request.is_some();
        sent.negotiated.client = signer.map(|signer| signer.signature());
        sent.send_finished(to_send)?;
        Ok(sent)
    }
}
