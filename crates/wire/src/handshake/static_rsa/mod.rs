//! Full handshakes of TLS 1.2 with static RSA in which the client does little work (RFC 5246).
//!
//! The client encrypts one premaster secret for each key of a server and sends it again in all later
//! handshakes. The client's random is new each time, so every connection has its own keys. The server
//! decrypts the premaster secret each time as it would any other. The client only hashes the messages
//! and derives keys. OpenSSL takes many times as long, mostly because it parses the certificate each
//! time. The ClientHello is the one that OpenSSL would send, and the same certificates are accepted.
//! OpenSSL itself does resumption and the fresh key exchange.
//!
//! Where the server requests a certificate, the client sends an empty list.

mod finished_sent;
mod flight;
mod hello;
mod hello_sent;
mod secrets;
mod server;

use std::sync::Arc;

use ::tls::Suite;
use openssl::x509::X509;

use super::driver::{Content, Driver, Progress, Protocol, opened};
use super::encoding::{header_of, put_records};
use super::refusal::Refusal;
use super::transcript::Transcript;
use super::{Client, Handshake, OfferError, Trust};
use crate::Failure;
use crate::record::{Header, Sealer, content_type};
use finished_sent::FinishedSent;
use hello::Hello;
use hello_sent::HelloSent;
use server::Server;

/// Makes handshakes on one thread.
pub(super) struct StaticRsaClient(Arc<Common>);

/// What is the same in all handshakes of a client.
struct Common {
    hello: Hello,
    suite: &'static Suite,
    server: Server,
}

impl StaticRsaClient {
    /// A client that sends this ClientHello, a record in which `suite` is the only suite, with a
    /// new random in each handshake.
    pub(super) fn new(
        client_hello: &[u8],
        suite: &'static Suite,
        trust: &Trust,
        roots: &[X509],
        host: &str,
    ) -> Result<Self, OfferError> {
        let failed = |what: &str| OfferError(format!("OpenSSL here gives no {what} for {suite}"));
        let hello = Hello::parse(client_hello).ok_or_else(|| failed("ClientHello"))?;
        let server = Server::new(trust, roots, host).map_err(|error| failed(&error.to_string()))?;
        Ok(Self(Arc::new(Common { hello, suite, server })))
    }
}

impl Client for StaticRsaClient {
    fn start(&self) -> Result<Box<dyn Handshake>, Failure> {
        Ok(Box::new(Driver::new(StaticRsa {
            transcript: Transcript::new(self.0.suite.prf),
            common: self.0.clone(),
            stage: Stage::Start,
        })))
    }
}

struct StaticRsa {
    common: Arc<Common>,
    transcript: Transcript,
    stage: Stage,
}

enum Stage {
    Start,
    /// A ClientHello was sent.
    HelloSent(HelloSent),
    /// The client's Finished was sent.
    FinishedSent(Box<FinishedSent>),
    Over,
}

impl Protocol for StaticRsa {
    fn begin(&mut self, to_send: &mut Vec<u8>) -> Result<(), Refusal> {
        let (message, random) =
            self.common.hello.fresh().ok_or_else(|| Refusal::internal("no random bytes"))?;
        // RFC 5246, appendix E.1.
        put_records(to_send, content_type::HANDSHAKE, [3, 1], &message);
        self.transcript.add(&message);
        self.stage = Stage::HelloSent(HelloSent::ServerHello { random });
        Ok(())
    }

    fn header(&self, bytes: &[u8]) -> Option<Header> {
        match &self.stage {
            Stage::HelloSent(HelloSent::ServerHello { .. }) => header_of(bytes),
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
                if *body == [1] && !is_inside =>
            {
                finished_sent.has_changed = true;
                Ok(None)
            }
            (content_type::HANDSHAKE, _) => Ok(Some(body)),
            (content_type::ALERT, _) => warning(body),
            (other, _) => Err(Refusal::unexpected(format!("a record of type {other}"))),
        }
    }

    fn message(&mut self, message: &[u8], is_last: bool, to_send: &mut Vec<u8>) -> Progress {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::HelloSent(hello_sent) => {
                self.stage =
                    hello_sent.take(&self.common, &mut self.transcript, message, to_send)?;
                Ok(None)
            }
            Stage::FinishedSent(finished_sent) => {
                let checked = finished_sent.check(message, &self.transcript);
                if checked.is_ok() && is_last {
                    return Ok(Some(finished_sent.established()));
                }
                // The alert about a refusal is protected, so the keys are kept.
                self.stage = Stage::FinishedSent(finished_sent);
                checked?;
                Err(Refusal::unexpected("more in a record than the last message"))
            }
            Stage::Start | Stage::Over => Err(Refusal::internal("the handshake is over")),
        }
    }

    fn end(&mut self) -> Option<Sealer> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::FinishedSent(finished_sent) => Some(finished_sent.sealer),
            _ => None,
        }
    }
}

/// Ignores a warning, such as that the server does not know this name (RFC 6066, section 3), and fails
/// with any other alert.
fn warning(content: &[u8]) -> Content<'_> {
    match *content {
        [1, description] if description != 0 => Ok(None),
        _ => Err(Refusal::from_alert(content)),
    }
}
