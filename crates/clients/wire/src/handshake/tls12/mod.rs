//! Handshakes of TLS 1.2 (RFC 5246), with static RSA or ECDHE, full or resumed.
//!
//! The key exchange is fixed or fresh. Where it is fixed, the client encrypts one premaster secret for
//! each key of a server and sends it again in all later handshakes, or its share is the group's base
//! point. The client's random is new each time, so every connection has its own keys. The server has
//! the same work as always; the client only hashes the messages and derives keys.
//!
//! Where sessions are to be resumed, the last one is kept, with its ticket (RFC 5077) if the server
//! sent one, else with its identifier (RFC 5246, section 7.3).
//!
//! Where the server requests a certificate, the client sends its own, or an empty list.

mod common;
mod finished_sent;
mod flight;
mod hello;
mod hello_sent;
mod key_exchange;
mod secrets;
mod sessions;

use std::sync::Arc;

use ::tls::Suite;

pub(super) use flight::given_session;

use super::certificates::ServerCertificates;
use super::driver::{Content, Driver, Protocol, StepResult, opened};
use super::encoding::{CHANGE_CIPHER_SPEC, header_of, put_records};
use super::numbers::extension;
use super::offer::{Offer, Sampler};
use super::offer_error::OfferError;
use super::provider::{group, provider, server_name};
use super::refusal::Refusal;
use super::resuming_share::ResumingShare;
use super::signature::TLS12_SCHEMES;
use super::under_way::{Client, Handshake};
use super::verifier::SamplingVerifier;
use crate::Failure;
use crate::record::{Header, Sealer, content_type};
use common::Common;
use hello::{Hello, Sessions};
use hello_sent::{Asked, HelloSent, Stage};
use key_exchange::StaticRsa;
use sessions::KeptSession;

/// Makes handshakes on one thread.
pub(super) struct Tls12Client {
    hello: Hello,
    common: Arc<Common>,
    resuming_share: ResumingShare,
}

impl Tls12Client {
    pub(super) fn new(offer: &Offer, signatures: Sampler) -> Result<Self, OfferError> {
        let name = server_name(offer)?;
        let verifier = SamplingVerifier::new(&offer.trust, Arc::new(provider(offer)), signatures)?;
        let server = ServerCertificates::new(Arc::new(verifier), name.clone());
        let common = Common::of(offer, server, Vec::new(), TLS12_SCHEMES.to_vec());
        let points: Vec<u16> = common.groups.iter().map(|(group, _)| group.code_point()).collect();
        let Common { suites, protocol, .. } = &common;
        let hello = Hello::new(&name, suites, &points, offer.encrypt_then_mac, protocol);
        let common = Arc::new(Common { offered: hello.offered.clone(), ..common });
        Ok(Self { hello, common, resuming_share: ResumingShare::of(offer) })
    }
}

impl Common {
    /// What handshakes with this offer have in common, whose ClientHellos have these extensions and signature schemes.
    fn of(offer: &Offer, server: ServerCertificates, offered: Vec<u16>, schemes: Vec<u16>) -> Self {
        let provider = provider(offer);
        let suites = match offer.suite {
            Some(suite) => vec![suite],
            None => {
                let theirs = provider.cipher_suites.iter().filter(|suite| suite.tls13().is_none());
                theirs.filter_map(|suite| Suite::by_code_point(suite.suite().into())).collect()
            }
        };
        let groups = provider.kx_groups.iter().filter_map(|kx| Some((group(kx.name())?, *kx)));
        Self {
            offered,
            schemes,
            protocol: offer.protocol,
            suites,
            groups: groups.filter(|(group, _)| !group.is_of_tls13_only()).collect(),
            server,
            client: offer.client_certificate.clone(),
            static_rsa: StaticRsa::new(offer.fixed_key_exchange),
            session: KeptSession::default(),
        }
    }
}

impl Client for Tls12Client {
    fn start(&self) -> Result<Box<dyn Handshake>, Failure> {
        let session = &self.common.session;
        let keeps_session = session.is_collecting() || self.resuming_share.next();
        let session = if keeps_session { session.to_offer() } else { None };
        let sessions = Sessions::of(session.as_deref(), keeps_session);
        let made = self.hello.message(sessions);
        let (message, random) = made.ok_or_else(|| Refusal::internal("no random bytes").failure)?;
        let asked = Asked { message, random, session, keeps_session };
        Ok(Box::new(Driver::new(Tls12::new(self.common.clone(), asked))))
    }

    fn collect(&self, is_collecting: bool) {
        self.common.session.collect(is_collecting);
    }
}

/// One handshake.
pub(super) struct Tls12 {
    common: Arc<Common>,
    stage: Stage,
}

impl Tls12 {
    fn new(common: Arc<Common>, asked: Asked) -> Self {
        Self { common, stage: Stage::HelloSent(Box::new(HelloSent::ServerHello(asked))) }
    }
}

/// Goes on after ClientHellos that left the version to the server and offer no session.
pub(super) struct AfterHello(Arc<Common>);

impl AfterHello {
    /// `offered`: the extensions of the ClientHellos, by type; `schemes`: their signature schemes.
    pub(super) fn new(
        offer: &Offer,
        server: ServerCertificates,
        offered: &[u16],
        schemes: &[u16],
    ) -> Self {
        // The suites stand for this one.
        let offered = [offered, &[extension::RENEGOTIATION_INFO]].concat();
        Self(Arc::new(Common::of(offer, server, offered, schemes.to_vec())))
    }

    /// `None` where the message is none.
    pub(super) fn handshake(&self, message: Vec<u8>) -> Option<Tls12> {
        let random = *message.get(4 + 2..)?.first_chunk()?;
        let asked = Asked { message, random, session: None, keeps_session: false };
        Some(Tls12::new(self.0.clone(), asked))
    }
}

impl Protocol for Tls12 {
    fn begin(&mut self, to_send: &mut Vec<u8>) -> Result<(), Refusal> {
        let Stage::HelloSent(hello_sent) = &mut self.stage else { return Err(over()) };
        let HelloSent::ServerHello(asked) = &mut **hello_sent else { return Err(over()) };
        // RFC 5246, appendix E.1.
        put_records(to_send, content_type::HANDSHAKE, [3, 1], &asked.message);
        Ok(())
    }

    fn header(&self, bytes: &[u8]) -> Option<Header> {
        match &self.stage {
            Stage::HelloSent(sent) if matches!(**sent, HelloSent::ServerHello(_)) => {
                header_of(bytes)
            }
            // After the ServerHello, records have the negotiated version.
            _ => bytes.first_chunk().and_then(|header| Header::parse(*header)),
        }
    }

    fn content<'r>(&mut self, header: Header, body: &'r mut [u8], is_inside: bool) -> Content<'r> {
        match (header.content_type, &mut self.stage) {
            (_, Stage::FinishedSent(finished_sent)) if finished_sent.has_changed => {
                match opened(&mut finished_sent.opener, header, body)? {
                    (content_type::HANDSHAKE, content) => Ok(Some(content)),
                    (content_type::ALERT, content) => warning(content),
                    _ => Err(Refusal::unexpected("data before the handshake's end")),
                }
            }
            // A message may not continue after it (RFC 5246, section 7.1).
            (content_type::CHANGE_CIPHER_SPEC, Stage::FinishedSent(finished_sent))
                if *body == CHANGE_CIPHER_SPEC && !is_inside && finished_sent.may_change() =>
            {
                finished_sent.has_changed = true;
                Ok(None)
            }
            (content_type::HANDSHAKE, _) => Ok(Some(body)),
            (content_type::ALERT, Stage::FinishedSent(finished_sent))
                if finished_sent.remarks.asks_certificate =>
            {
                warning(body).map_err(Refusal::after_certificate_request)
            }
            (content_type::ALERT, _) => warning(body),
            (other, _) => Err(Refusal::unexpected(format!("a record of type {other}"))),
        }
    }

    fn message(&mut self, message: &[u8], is_last: bool, to_send: &mut Vec<u8>) -> StepResult {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::HelloSent(hello_sent) => {
                self.stage = hello_sent.take(&self.common, message, to_send)?;
                Ok(None)
            }
            Stage::FinishedSent(mut finished_sent) => {
                let taken = match finished_sent.has_changed && !is_last {
                    true => Err(Refusal::unexpected("more in a record than the last message")),
                    false => finished_sent.take(message, to_send),
                };
                if let Ok(true) = taken {
                    return Ok(Some(finished_sent.established(&self.common)));
                }
                // The alert about a refusal is protected, so the keys are kept.
                self.stage = Stage::FinishedSent(finished_sent);
                taken.map(|_| None)
            }
            Stage::Over => Err(over()),
        }
    }

    fn end(&mut self) -> Option<Sealer> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::FinishedSent(finished_sent) if finished_sent.is_protected() => {
                Some(finished_sent.sealer)
            }
            _ => None,
        }
    }
}

fn over() -> Refusal {
    Refusal::internal("the handshake is over")
}

/// Ignores a warning, such as that the server does not know this name (RFC 6066, section 3), and fails
/// with any other alert.
pub(super) fn warning(content: &[u8]) -> Content<'_> {
    Refusal::from_alert(content, true)
}
