//! Full handshakes of TLS 1.2 with static RSA in which the client has little left to do (RFC 5246).
//!
//! The premaster secret is encrypted once for each key of a server and sent again in all later
//! handshakes, with a random of its own each, so that every connection has keys of its own. The server
//! decrypts it each time as it would any other. What is left for the client is to hash what both
//! say and to derive keys: OpenSSL takes many times as long, for it serves every purpose and reads the
//! certificate anew each time. This sends the ClientHello that OpenSSL would send and accepts the
//! certificates that it would accept. Resumption is OpenSSL's, and so is an honest key exchange.
//!
//! A server that asks for a certificate is told that there is none.

mod agreed;
mod asked;
mod flight;
mod hello;
mod secrets;
mod server;

use std::sync::Arc;

use ::tls::Suite;
use openssl::x509::X509;

use super::refusal::Refusal;
use super::transcript::Transcript;
use super::wire::{header_of, message_length, next_record, put_records};
use super::{Client, Established, Handshake};
use crate::failure::Failure;
use crate::job::{PlanError, Trust};
use crate::record::{Header, MOST_PLAINTEXT, content_type};
use agreed::Agreed;
use asked::Asked;
use hello::Hello;
use server::Server;

/// Makes handshakes on one thread.
pub(super) struct StaticRsaClient(Arc<Offer>);

/// What is the same in all handshakes of a client.
struct Offer {
    hello: Hello,
    suite: &'static Suite,
    server: Server,
}

impl StaticRsaClient {
    /// One that sends this ClientHello, a record in which `suite` is the only suite, with a random of
    /// its own in each handshake.
    pub(super) fn new(
        client_hello: &[u8],
        suite: &'static Suite,
        trust: &Trust,
        roots: &[X509],
        host: &str,
    ) -> Result<Self, PlanError> {
        let failed = |what: &str| PlanError(format!("OpenSSL here gives no {what} for {suite}"));
        let hello = Hello::parse(client_hello).ok_or_else(|| failed("ClientHello"))?;
        let server = Server::new(trust, roots, host).map_err(|error| failed(&error.to_string()))?;
        Ok(Self(Arc::new(Offer { hello, suite, server })))
    }
}

impl Client for StaticRsaClient {
    fn start(&self) -> Result<Box<dyn Handshake>, Failure> {
        Ok(Box::new(StaticRsaHandshake {
            transcript: Transcript::new(self.0.suite.prf),
            offer: self.0.clone(),
            stage: Stage::Start,
            partial: Vec::new(),
            taken: 0,
        }))
    }
}

struct StaticRsaHandshake {
    offer: Arc<Offer>,
    transcript: Transcript,
    stage: Stage,
    /// A message of which a part has come.
    partial: Vec<u8>,
    /// Bytes that the server has sent.
    taken: usize,
}

enum Stage {
    Start,
    /// A ClientHello was sent.
    Asked(Asked),
    /// The client's Finished was sent.
    Agreed(Box<Agreed>),
    Over,
}

impl Handshake for StaticRsaHandshake {
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

impl StaticRsaHandshake {
    /// Takes whole records; `used` says how many bytes they have.
    fn go_on(
        &mut self,
        received: &mut [u8],
        used: &mut usize,
        to_send: &mut Vec<u8>,
    ) -> Result<Option<Established>, Refusal> {
        if matches!(self.stage, Stage::Start) {
            let (message, random) =
                self.offer.hello.fresh().ok_or_else(|| Refusal::internal("no random bytes"))?;
            // RFC 5246, appendix E.1.
            put_records(to_send, content_type::HANDSHAKE, [3, 1], &message);
            self.transcript.add(&message);
            self.stage = Stage::Asked(Asked::ServerHello { random });
        }
        loop {
            let parse = match &self.stage {
                Stage::Start | Stage::Asked(Asked::ServerHello { .. }) => header_of,
                // Records are of the version that was chosen.
                _ => |header: &[u8]| header.first_chunk().and_then(|header| Header::parse(*header)),
            };
            let Some((header, body)) = next_record(received, used, &mut self.taken, parse)? else {
                return Ok(None);
            };
            if let Some(established) = self.record(header, body, to_send)? {
                return Ok(Some(established));
            }
        }
    }

    fn record(
        &mut self,
        header: Header,
        body: &mut [u8],
        to_send: &mut Vec<u8>,
    ) -> Result<Option<Established>, Refusal> {
        match (header.content_type, &mut self.stage) {
            (content_type, Stage::Agreed(agreed)) if agreed.has_changed => {
                let opened = agreed.opener.open(header, body).ok_or_else(Refusal::unopened)?;
                let content = &body[opened.plaintext];
                if content.len() > MOST_PLAINTEXT {
                    return Err(Refusal::malformed("record"));
                }
                match content_type {
                    content_type::HANDSHAKE => self.messages(content, to_send),
                    content_type::ALERT => alert(content),
                    _ => Err(Refusal::unexpected("data before the handshake's end")),
                }
            }
            // No message may go on behind it (RFC 5246, section 7.1).
            (content_type::CHANGE_CIPHER_SPEC, Stage::Agreed(agreed))
                if *body == [1] && self.partial.is_empty() =>
            {
                agreed.has_changed = true;
                Ok(None)
            }
            (content_type::HANDSHAKE, _) => self.messages(body, to_send),
            (content_type::ALERT, _) => alert(body),
            (other, _) => Err(Refusal::unexpected(format!("a record of type {other}"))),
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
        let mut messages = std::mem::take(&mut self.partial);
        messages.extend_from_slice(content);
        let mut at = 0;
        while let Some(length) = message_length(&messages[at..]) {
            let message = &messages[at..at + length];
            at += length;
            match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Asked(asked) => {
                    self.stage = asked.take(&self.offer, &mut self.transcript, message, to_send)?;
                }
                Stage::Agreed(agreed) => {
                    let checked = agreed.check(message, &self.transcript);
                    if checked.is_ok() && at == messages.len() {
                        return Ok(Some(agreed.established()));
                    }
                    // An alert that tells of a refusal is protected.
                    self.stage = Stage::Agreed(agreed);
                    checked?;
                    return Err(Refusal::unexpected("more in a record than the last message"));
                }
                Stage::Start | Stage::Over => {
                    return Err(Refusal::internal("the handshake is over"));
                }
            }
        }
        self.partial = messages.split_off(at);
        Ok(None)
    }

    /// Appends an alert, protected where the client has sent its ChangeCipherSpec.
    fn tell(&mut self, alert: Option<u8>, to_send: &mut Vec<u8>) {
        const FATAL: u8 = 2;
        let Some(description) = alert else { return };
        let content = [FATAL, description];
        match &mut self.stage {
            Stage::Agreed(agreed) => {
                // Whether it arrives does not matter.
                let _ = agreed.sealer.seal(content_type::ALERT, &content, to_send);
            }
            _ => put_records(to_send, content_type::ALERT, [3, 3], &content),
        }
    }
}

/// A warning goes by, such as that the server does not know this name (RFC 6066, section 3); an end
/// does not.
fn alert(content: &[u8]) -> Result<Option<Established>, Refusal> {
    match *content {
        [1, description] if description != 0 => Ok(None),
        _ => Err(Refusal::told(content)),
    }
}

#[cfg(test)]
mod tests;
