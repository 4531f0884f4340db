//! Full handshakes in which the server chooses the version, with a key exchange that costs the client nothing: one
//! ClientHello, and then what goes on after it in TLS 1.3 or 1.2.

use std::sync::Arc;

use super::certificates::ServerCertificates;
use super::driver::{Content, Driver, Protocol, StepResult};
use super::numbers::kind;
use super::offer::Offer;
use super::refusal::Refusal;
use super::tls12::{self, AfterHello, Tls12};
use super::tls13::{self, Tls13, Tls13Client};
use super::under_way::{Client, Handshake};
use crate::Failure;
use crate::record::{Header, Sealer, content_type};

/// How a server that has TLS 1.3 marks the random of a ServerHello that chooses less (RFC 8446, section 4.1.3): with
/// this, and one byte more. Who has offered TLS 1.3 was tampered with then.
const DOWNGRADED: &[u8] = b"DOWNGRD";

/// Where the mark is in a ServerHello: at the end of the random, after four bytes of header and two of version.
const MARK: std::ops::Range<usize> = 4 + 2 + 24..4 + 2 + 24 + DOWNGRADED.len();

/// Makes handshakes on one thread.
pub(super) struct EitherClient {
    tls13: Tls13Client,
    tls12: Arc<AfterHello>,
}

impl EitherClient {
    /// `tls13` makes the ClientHellos, which offer both versions.
    pub(super) fn new(tls13: Tls13Client, offer: &Offer, server: ServerCertificates) -> Self {
        let tls12 = AfterHello::new(offer, server, tls13.offered(), tls13.schemes());
        Self { tls13, tls12: Arc::new(tls12) }
    }
}

impl Client for EitherClient {
    fn start(&self) -> Result<Box<dyn Handshake>, Failure> {
        Ok(Box::new(Driver::new(Either {
            tls13: self.tls13.handshake(),
            tls12: None,
            is_chosen: false,
            after_hello: self.tls12.clone(),
        })))
    }
}

struct Either {
    /// Sends the ClientHello, and carries on unless the server chooses TLS 1.2.
    tls13: Tls13,
    tls12: Option<Tls12>,
    /// Whether the server has chosen a version.
    is_chosen: bool,
    after_hello: Arc<AfterHello>,
}

impl Either {
    fn chosen(&mut self) -> &mut dyn Protocol {
        match &mut self.tls12 {
            Some(tls12) => tls12,
            None => &mut self.tls13,
        }
    }

    /// Takes the first ServerHello, with its header.
    fn choose(&mut self, message: &[u8]) -> Result<(), Refusal> {
        self.is_chosen = true;
        if tls13::chooses_version(&message[4..]) {
            return Ok(());
        }
        if message.get(MARK) == Some(DOWNGRADED) {
            return Err(Refusal::illegal("TLS 1.2 although it has TLS 1.3, and both were offered"));
        }
        self.tls12 = self.tls13.take_hello().and_then(|hello| self.after_hello.handshake(hello));
        Ok(())
    }
}

impl Protocol for Either {
    fn begin(&mut self, to_send: &mut Vec<u8>) -> Result<(), Refusal> {
        self.tls13.begin(to_send)
    }

    fn header(&self, bytes: &[u8]) -> Option<Header> {
        match &self.tls12 {
            Some(tls12) => tls12.header(bytes),
            None => self.tls13.header(bytes),
        }
    }

    fn content<'r>(&mut self, header: Header, body: &'r mut [u8], is_inside: bool) -> Content<'r> {
        match header.content_type {
            content_type::ALERT if !self.is_chosen => tls12::warning(body),
            _ => self.chosen().content(header, body, is_inside),
        }
    }

    fn message(&mut self, message: &[u8], is_last: bool, to_send: &mut Vec<u8>) -> StepResult {
        if !self.is_chosen && message[0] == kind::SERVER_HELLO {
            self.choose(message)?;
        }
        self.chosen().message(message, is_last, to_send)
    }

    fn end(&mut self) -> Option<Sealer> {
        self.chosen().end()
    }
}
