//! Full handshakes of TLS 1.3 with a key exchange that costs the client nothing (RFC 8446).
//!
//! This exists because rustls 0.23, with its unbuffered connections, the same fixed key exchange and the
//! same sampling verifier, takes 1.24 times the client's CPU time: 72 and 59 us for a handshake, 87 and
//! 71 us for a GET on a new connection (TLS_AES_128_GCM_SHA256 on an AMD EPYC of the fourth generation,
//! medians of nine runs in turns, the kernel's part included). In callgrind, which has no SHA extensions,
//! it executes 2.5 times as many instructions: 331,600 and 128,400, 340,100 and 134,600. The client hashes
//! the messages, derives keys and opens the server's few records. The ClientHello is the one that rustls
//! would send, the same answers are accepted, and rustls verifies the certificates. rustls itself does
//! resumption and the fresh key exchange.
//!
//! Where the server requests a certificate, the client sends its own, or an empty list. Where it asks for another
//! group (HelloRetryRequest), the client sends that group's share.

mod common;
mod constants;
mod flight;
mod hello;
mod hello_sent;
mod mac;
mod protected;
mod schedule;
mod state;
mod updates;

use std::sync::Arc;

use ::tls::{Group, Suite};
use rustls::ClientConfig;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::ServerName;

use super::certificates::ServerCertificates;
use super::driver::{Content, Driver, Protocol, StepResult, opened};
use super::encoding::CHANGE_CIPHER_SPEC;
use super::numbers::kind;
use super::offer::Offer;
use super::refusal::Refusal;
use super::under_way::{Client, Handshake};
use super::verifier::SamplingVerifier;
use crate::Failure;
use crate::record::{Header, Sealer, content_type};
use common::Common;
use flight::ServerHello;
use hello::Hello;
use hello_sent::{HelloSent, Stage};
use schedule::Beginning;

/// Makes handshakes on one thread.
pub(super) struct Tls13Client(Arc<Common>);

impl Tls13Client {
    /// A client that offers what this configuration of rustls offers, whose key exchange is fixed.
    /// `None` where the configuration offers something that is not implemented here.
    pub(super) fn new(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        verifier: Arc<SamplingVerifier>,
        offer: &Offer,
    ) -> Option<Self> {
        let provider = config.crypto_provider();
        let suites = provider.cipher_suites.iter().filter_map(|suite| suite.tls13());
        let suites = suites
            .map(|suite| {
                let suite = Suite::by_code_point(suite.common.suite.into())?;
                Some((suite, Beginning::new(suite)?))
            })
            .collect::<Option<_>>()?;
        let group = |name: u16| Group::ALL.into_iter().find(|group| group.code_point() == name);
        let groups = provider.kx_groups.iter().map(|kx| group(kx.name().into()));
        let groups = groups.collect::<Option<_>>()?;
        let schemes = verifier.supported_verify_schemes().into_iter().map(u16::from).collect();
        let server = ServerCertificates::new(verifier, name.clone());
        let hello = Hello::of_rustls(config, name)?;
        let hello = if offer.sends_no_share { hello.without_share()? } else { hello };
        let common = Common {
            hello,
            suites,
            groups,
            schemes,
            server,
            client: offer.client_certificate.clone(),
            follows_key_updates: offer.follows_key_updates,
            protocol: offer.protocol,
        };
        Some(Self(Arc::new(common)))
    }
}

impl Tls13Client {
    /// The extensions that its ClientHellos offer, by type.
    pub(super) fn offered(&self) -> &[u16] {
        &self.0.hello.offered
    }

    /// The signature schemes that they offer.
    pub(super) fn schemes(&self) -> &[u16] {
        &self.0.schemes
    }

    pub(super) fn handshake(&self) -> Tls13 {
        Tls13 { common: self.0.clone(), stage: Stage::Start }
    }
}

impl Client for Tls13Client {
    fn start(&self) -> Result<Box<dyn Handshake>, Failure> {
        Ok(Box::new(Driver::new(self.handshake())))
    }
}

/// Whether the body of a ServerHello, or of a HelloRetryRequest, chooses a version as TLS 1.3 does.
pub(super) fn chooses_version(body: &[u8]) -> bool {
    ServerHello::read(body).is_some_and(|hello| hello.version.is_some())
}

/// One handshake.
pub(super) struct Tls13 {
    common: Arc<Common>,
    stage: Stage,
}

impl Tls13 {
    /// Hands over the ClientHello that was sent; this handshake ends with that.
    pub(super) fn take_hello(&mut self) -> Option<Vec<u8>> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::HelloSent(sent) => Some(sent.message),
            _ => None,
        }
    }
}

impl Protocol for Tls13 {
    fn begin(&mut self, to_send: &mut Vec<u8>) -> Result<(), Refusal> {
        let hello = &self.common.hello;
        let message = hello.fresh().ok_or_else(|| Refusal::internal("no random bytes"))?;
        Hello::put(to_send, &message, true);
        let asked = HelloSent { message, group: hello.group, retried: None };
        self.stage = Stage::HelloSent(Box::new(asked));
        Ok(())
    }

    fn content<'r>(&mut self, header: Header, body: &'r mut [u8], is_inside: bool) -> Content<'r> {
        match (header.content_type, &mut self.stage) {
            // It means nothing (RFC 8446, section 5), but may not come between the parts of a message (section 5.1).
            (content_type::CHANGE_CIPHER_SPEC, _) if *body == CHANGE_CIPHER_SPEC && !is_inside => {
                Ok(None)
            }
            (content_type::ALERT, _) => Refusal::from_alert(body, false),
            (content_type::HANDSHAKE, Stage::HelloSent(_)) => Ok(Some(body)),
            (content_type::APPLICATION_DATA, Stage::Protected(protected)) => {
                match opened(&mut protected.opener, header, body)? {
                    (content_type::HANDSHAKE, content) => Ok(Some(content)),
                    (content_type::ALERT, content) => Refusal::from_alert(content, false),
                    _ => Err(Refusal::unexpected("data before the handshake's end")),
                }
            }
            (_, Stage::Over) => Err(Refusal::internal("the handshake is over")),
            _ => Err(Refusal::unexpected("a record with the wrong protection")),
        }
    }

    fn message(&mut self, message: &[u8], is_last: bool, to_send: &mut Vec<u8>) -> StepResult {
        let (kind, body) = (message[0], &message[4..]);
        match (std::mem::replace(&mut self.stage, Stage::Over), kind) {
            // Keys change after these two (RFC 8446, section 5.1).
            (Stage::HelloSent(_), kind::SERVER_HELLO) | (Stage::Protected(_), kind::FINISHED)
                if !is_last =>
            {
                Err(Refusal::unexpected("more data in a record after which the keys change"))
            }
            (Stage::HelloSent(hello_sent), kind::SERVER_HELLO) => {
                let hello =
                    ServerHello::read(body).ok_or_else(|| Refusal::malformed("ServerHello"))?;
                self.stage = hello_sent.answered(&self.common, &hello, message, to_send)?;
                Ok(None)
            }
            (Stage::Protected(mut protected), kind) => {
                // The alert about a refusal is protected, so the keys are kept.
                let result = protected.take(&self.common, kind, message, to_send);
                if !matches!(result, Ok(Some(_))) {
                    self.stage = Stage::Protected(protected);
                }
                result
            }
            (_, kind) => Err(Refusal::unexpected(format!("a message of type {kind}"))),
        }
    }

    fn end(&mut self) -> Option<Sealer> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Protected(protected) => Some(protected.sealer),
            _ => None,
        }
    }
}
