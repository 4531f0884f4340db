//! What follows from the keys of a plan.

use std::num::{NonZeroU16, NonZeroU32};

use tls::{Group, OrPlain, Suite, Version};
use units::{Bytes, Nanos};
use wire::reception::Answers;
use wire::{ErrorKind, Failure};

use super::{Client, Http, KeyExchangeMode, Operation, Plan, Receive, Wakeups};
use crate::{Arrival, Count, Counter, Method, OneIn, Percent, Statuses, Trust};

const PAGE: Bytes = Bytes(16 << 10);
const VERIFY: OneIn = OneIn(NonZeroU32::new(64).unwrap());
const WARMUP: Nanos = Nanos(1_000_000_000);

/// What Ethernet carries, without the headers of IPv6 and UDP.
const MAX_UDP_PAYLOAD: u16 = 1_452;

impl Plan {
    /// Whether it asks for HTTP without TLS.
    pub fn is_plain(&self) -> bool {
        self.tls == Some(OrPlain::Plain) || self.suite == Some(OrPlain::Plain)
    }

    /// Whether it asks for HTTP/2.
    pub fn is_http2(&self) -> bool {
        self.http == Some(Http::V2)
    }

    /// Whether a connection carries several requests at once.
    pub fn has_streams(&self) -> bool {
        self.is_http2() || self.is_http3()
    }

    /// The longest datagram that is sent over QUIC, and that the server is asked to send, in bytes without UDP's
    /// header.
    pub fn max_udp_payload(&self) -> u16 {
        self.max_udp_payload.map_or(MAX_UDP_PAYLOAD, NonZeroU16::get)
    }

    /// Whether requests go over HTTP/3, and so over QUIC.
    pub fn is_http3(&self) -> bool {
        self.http == Some(Http::V3)
    }

    /// How many operations a connection carries at once.
    pub fn streams(&self) -> usize {
        self.streams.map_or(1, |streams| streams.get() as usize)
    }

    /// How many operations are open at once, at most.
    pub fn most_open(&self) -> usize {
        self.connections.saturating_mul(self.streams())
    }

    /// The only suite to offer.
    pub fn only_suite(&self) -> Option<&'static Suite> {
        self.suite.and_then(OrPlain::tls)
    }

    /// The only version that can be negotiated: the one that is asked for, or that of the only suite
    /// or group, or of QUIC; `None` where both can.
    pub fn only_version(&self) -> Option<Version> {
        let is_tls13 = self.is_http3() || self.group.is_some_and(Group::is_of_tls13_only);
        self.asked_version().or(is_tls13.then_some(Version::Tls13))
    }

    /// The version that is asked for, or that of the suite.
    pub fn asked_version(&self) -> Option<Version> {
        self.tls.and_then(OrPlain::tls).or(self.only_suite().map(Suite::version))
    }

    /// How the client takes part in the key exchange.
    pub fn key_exchange(&self) -> KeyExchangeMode {
        self.key_exchange.unwrap_or(KeyExchangeMode::Fixed)
    }

    /// Whose certificates are accepted, where it says so.
    pub fn trust(&self) -> Option<Trust> {
        match (&self.ca, self.insecure) {
            (_, true) => Some(Trust::Anyone),
            (Some(file), false) => Some(Trust::File(file.clone())),
            (None, false) => None,
        }
    }

    /// How bodies are received.
    pub fn receive(&self) -> Receive {
        self.receive.unwrap_or(match (self.client, self.operation) {
            (Client::Toll, Operation::Session) => Receive::Decrypt,
            (Client::Toll, _) if self.is_http2() && self.streams() > 1 => Receive::Decrypt,
            (Client::Toll, _) if self.is_http3() => Receive::Decrypt,
            (Client::Toll, _) => Receive::Walk,
            _ => Receive::Decrypt,
        })
    }

    /// Which share of the responses is decrypted whole and compared, and which share of the
    /// handshake signatures is verified.
    pub fn verify(&self) -> OneIn {
        self.verify.unwrap_or(VERIFY)
    }

    /// The method of requests.
    pub fn method(&self) -> Method {
        self.method.unwrap_or_default()
    }

    /// Whether a request for a generated object is right only with the object in its answer.
    pub fn expects_objects(&self) -> bool {
        self.method() == Method::Get && self.expect.as_ref().is_none_or(Statuses::is_usual)
    }

    /// Which answers to a request are right.
    pub(crate) fn answers(&self) -> Answers {
        let is_head = self.method() == Method::Head;
        match &self.expect {
            Some(statuses) => statuses.answers(is_head),
            None => Answers::with(&[200], is_head),
        }
    }

    /// How large a session's pages are to be.
    pub fn page(&self) -> Bytes {
        self.page.unwrap_or(PAGE)
    }

    /// How long to load before the window.
    pub fn warmup(&self) -> Nanos {
        self.warmup.unwrap_or(match (self.client, self.walks, self.count) {
            (Client::Toll, None, None) => WARMUP,
            _ => Nanos(0),
        })
    }

    /// How many operations it begins, where that is what ends it.
    pub fn operations(&self) -> Option<NonZeroU32> {
        match self.count? {
            Count::Operations(count) => Some(count),
            Count::Instructions(_) => None,
        }
    }

    /// What counts the server's instructions, where they are what is measured.
    pub fn counter(&self) -> Option<Counter> {
        match self.count? {
            Count::Operations(_) => None,
            Count::Instructions(counter) => Some(counter),
        }
    }

    /// Whether its connections stay open until the load's end, as far as the server lets them.
    pub fn keeps_connections(&self) -> bool {
        matches!(self.operation, Operation::Requests | Operation::Session)
            && self.requests_per_connection.is_none()
    }

    /// When its threads wake up.
    pub fn wakeups(&self) -> Wakeups {
        let usual = match (self.client, self.arrival) {
            (Client::Toll, Arrival::CLOSED) | (Client::Shb, _) => Wakeups::Coalesced,
            _ => Wakeups::Each,
        };
        self.wakeups.unwrap_or(usual)
    }

    /// The same with what follows from other keys written out.
    #[must_use]
    pub fn settled(self) -> Self {
        let (tls, suite) = match self.is_plain() {
            true => (Some(OrPlain::Plain), None),
            false => (self.asked_version().map(OrPlain::Tls), self.suite),
        };
        if self.client != Client::Toll {
            return Self { tls, suite, ..self };
        }
        let (receive, verify) = (Some(self.receive()), Some(self.verify()));
        Self { tls, suite, receive, verify, warmup: Some(self.warmup()), ..self }
    }

    /// The keys that ask for something of TLS.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &'static str> {
        let asked = [
            (self.tls.is_some(), "tls"),
            (self.suite.is_some(), "suite"),
            (self.group.is_some(), "group"),
            (self.key_exchange.is_some(), "key-exchange"),
            (self.encrypt_then_mac.is_some(), "encrypt-then-mac"),
            (self.resumption != Percent::default(), "resumption"),
        ];
        asked.into_iter().filter_map(|(is_asked, key)| is_asked.then_some(key))
    }

    /// Why an operation has failed that takes longer.
    pub(crate) fn too_long(&self) -> Failure {
        let seen = format!("it had not ended after {}", self.operation_timeout());
        Failure::new(ErrorKind::OperationTimeout, seen)
    }

    /// How long an operation may take in all.
    pub fn operation_timeout(&self) -> Nanos {
        self.operation_timeout.unwrap_or(Nanos(self.timeout.0.saturating_mul(60)))
    }
}
