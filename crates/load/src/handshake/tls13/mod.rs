//! Full handshakes of TLS 1.3 with a key exchange that costs the client nothing (RFC 8446).
//!
//! With the key exchange fixed, what is left for the client is little: to hash what both say, to
//! derive keys, and to open the server's few records. rustls takes several times as long, for it
//! serves every purpose; this serves one. It sends the ClientHello that rustls would send, takes what
//! rustls would take, and has its certificates verified by it. Whatever is more, such as
//! resumption, an honest key exchange or TLS 1.2, is rustls's.
//!
//! A server that asks for a certificate is told that there is none. One that asks for another group
//! (HelloRetryRequest) gets it.

mod asked;
mod flight;
mod hello;
mod mac;
mod protected;
#[cfg(any(test, fuzzing))]
pub(crate) mod puppet;
mod schedule;
mod server;
mod updates;

use std::num::NonZeroU32;
use std::sync::Arc;

use ::tls::{Group, Suite};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::refusal::Refusal;
use super::verifier::SamplingVerifier;
use super::wire::{header_of, message_length, next_record, put_records};
use super::{Client, Established, Handshake};
use crate::Receive;
use crate::failure::Failure;
use crate::record::{Header, MOST_PLAINTEXT, content_type};
use asked::Asked;
use flight::{ServerHello, kind};
use hello::Hello;
use protected::Protected;
use schedule::Beginning;
use server::Server;

/// The content of a ChangeCipherSpec record, which means nothing in TLS 1.3 (RFC 8446, section 5).
const CHANGE_CIPHER_SPEC: [u8; 1] = [1];

/// Makes handshakes on one thread.
pub(super) struct Tls13Client(Arc<Offer>);

/// What is the same in all handshakes of a client.
struct Offer {
    hello: Hello,
    suites: Vec<(&'static Suite, Beginning)>,
    groups: Vec<Group>,
    schemes: Vec<u16>,
    server: Server,
    receive: Receive,
}

impl Tls13Client {
    /// One that offers what this configuration of rustls offers, whose key exchange is fixed and
    /// whose only version is TLS 1.3; `None` where that is more than is known here.
    pub(super) fn new(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        verifier: Arc<SamplingVerifier>,
        one_in: NonZeroU32,
        receive: Receive,
    ) -> Option<Self> {
        let provider = config.crypto_provider();
        let suites = provider.cipher_suites.iter().filter_map(|suite| suite.tls13());
        let suites = suites
            .map(|suite| {
                let suite = Suite::by_code_point(suite.common.suite.into())?;
                Some((suite, Beginning::new(suite.prf)))
            })
            .collect::<Option<_>>()?;
        let group = |name: u16| Group::ALL.into_iter().find(|group| group.code_point() == name);
        let groups = provider.kx_groups.iter().map(|kx| group(kx.name().into()));
        let groups = groups.collect::<Option<_>>()?;
        let schemes = provider.signature_verification_algorithms.supported_schemes();
        let schemes = schemes.into_iter().map(u16::from).collect();
        let server = Server::new(verifier, name.clone(), one_in);
        let hello = Hello::of_rustls(config, name)?;
        Some(Self(Arc::new(Offer { hello, suites, groups, schemes, server, receive })))
    }
}

impl Client for Tls13Client {
    fn start(&self) -> Result<Box<dyn Handshake>, Failure> {
        Ok(Box::new(Tls13Handshake {
            offer: self.0.clone(),
            stage: Stage::Start,
            partial: Vec::new(),
            taken: 0,
        }))
    }
}

struct Tls13Handshake {
    offer: Arc<Offer>,
    stage: Stage,
    /// A message of which a part has come.
    partial: Vec<u8>,
    /// Bytes that the server has sent.
    taken: usize,
}

enum Stage {
    Start,
    /// A ClientHello was sent.
    Asked(Box<Asked>),
    /// The server has chosen, and goes on under the handshake's keys.
    Protected(Box<Protected>),
    Over,
}

impl Handshake for Tls13Handshake {
    fn advance(
        &mut self,
        received: &mut Vec<u8>,
        to_send: &mut Vec<u8>,
    ) -> Result<Option<Established>, Failure> {
        let mut used = 0;
        let result = self.go_on(received, &mut used, to_send);
        received.drain(..used);
        result.map_err(|refusal| {
            self.tell(refusal.alert, to_send);
            self.stage = Stage::Over;
            refusal.failure
        })
    }
}

impl Tls13Handshake {
    /// Takes whole records; `used` says how many bytes they have.
    fn go_on(
        &mut self,
        received: &mut [u8],
        used: &mut usize,
        to_send: &mut Vec<u8>,
    ) -> Result<Option<Established>, Refusal> {
        if matches!(self.stage, Stage::Start) {
            let hello = &self.offer.hello;
            let message = hello.fresh().ok_or_else(|| Refusal::internal("no random bytes"))?;
            Hello::put(to_send, &message, true);
            let asked = Asked { message, group: hello.group, retried: None };
            self.stage = Stage::Asked(Box::new(asked));
        }
        while let Some((header, body)) = next_record(received, used, &mut self.taken, header_of)? {
            if let Some(established) = self.record(header, body, to_send)? {
                return Ok(Some(established));
            }
        }
        Ok(None)
    }

    fn record(
        &mut self,
        header: Header,
        body: &mut [u8],
        to_send: &mut Vec<u8>,
    ) -> Result<Option<Established>, Refusal> {
        match (header.content_type, &mut self.stage) {
            (content_type::CHANGE_CIPHER_SPEC, _) if *body == CHANGE_CIPHER_SPEC => Ok(None),
            (content_type::ALERT, _) => Err(Refusal::told(body)),
            (content_type::HANDSHAKE, Stage::Asked(_)) => self.messages(body, to_send),
            (content_type::APPLICATION_DATA, Stage::Protected(protected)) => {
                let opened = protected.opener.open(header, body).ok_or_else(Refusal::unopened)?;
                let content = &body[opened.plaintext];
                if content.len() > MOST_PLAINTEXT {
                    return Err(Refusal::malformed("record"));
                }
                match opened.content_type {
                    content_type::HANDSHAKE => self.messages(content, to_send),
                    content_type::ALERT => Err(Refusal::told(content)),
                    _ => Err(Refusal::unexpected("data before the handshake's end")),
                }
            }
            (_, Stage::Over) => Err(Refusal::internal("the handshake is over")),
            _ => Err(Refusal::unexpected("a record that is not protected as it must be")),
        }
    }

    /// Takes the messages in the content of a record, and keeps what is not whole.
    fn messages(
        &mut self,
        content: &[u8],
        to_send: &mut Vec<u8>,
    ) -> Result<Option<Established>, Refusal> {
        if content.is_empty() {
            return Err(Refusal::unexpected("an empty record of handshake messages"));
        }
        let joined = if self.partial.is_empty() {
            None
        } else {
            self.partial.extend_from_slice(content);
            Some(std::mem::take(&mut self.partial))
        };
        let messages = joined.as_deref().unwrap_or(content);
        let mut at = 0;
        while let Some(length) = message_length(&messages[at..]) {
            let message = &messages[at..at + length];
            at += length;
            let is_last = at == messages.len();
            if let Some(established) = self.message(message, is_last, to_send)? {
                return Ok(Some(established));
            }
        }
        match joined {
            Some(joined) if at == 0 => self.partial = joined,
            _ => self.partial.extend_from_slice(&messages[at..]),
        }
        Ok(None)
    }

    /// Takes a message with its header of four bytes; `is_last` where its record holds no more.
    fn message(
        &mut self,
        message: &[u8],
        is_last: bool,
        to_send: &mut Vec<u8>,
    ) -> Result<Option<Established>, Refusal> {
        let (kind, body) = (message[0], &message[4..]);
        match (std::mem::replace(&mut self.stage, Stage::Over), kind) {
            // Keys change behind these two (RFC 8446, section 5.1).
            (Stage::Asked(_), kind::SERVER_HELLO) | (Stage::Protected(_), kind::FINISHED)
                if !is_last =>
            {
                Err(Refusal::unexpected("more in a record than may be where keys change"))
            }
            (Stage::Asked(asked), kind::SERVER_HELLO) => {
                let hello =
                    ServerHello::read(body).ok_or_else(|| Refusal::malformed("ServerHello"))?;
                self.stage = asked.answered(&self.offer, &hello, message, to_send)?;
                Ok(None)
            }
            (Stage::Protected(mut protected), kind) => {
                // An alert that tells of a refusal is protected too.
                let result = protected.take(&self.offer, kind, message, to_send);
                if !matches!(result, Ok(Some(_))) {
                    self.stage = Stage::Protected(protected);
                }
                result
            }
            (_, kind) => Err(Refusal::unexpected(format!("a message of type {kind}"))),
        }
    }

    /// Appends an alert, protected where there are keys.
    fn tell(&mut self, alert: Option<u8>, to_send: &mut Vec<u8>) {
        const FATAL: u8 = 2;
        let Some(description) = alert else { return };
        let content = [FATAL, description];
        match &mut self.stage {
            Stage::Protected(protected) => {
                // Whether it arrives does not matter.
                let _ = protected.sealer.seal(content_type::ALERT, &content, to_send);
            }
            _ => put_records(to_send, content_type::ALERT, [3, 3], &content),
        }
    }
}

/// No length here is one that the libraries refuse.
fn no_keys() -> Refusal {
    Refusal::internal("keys that could not be derived")
}

#[cfg(test)]
mod tests;
