//! What no load can be, and the values that none can have.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use keys::WrongValue;
use tls::Version;
use units::Nanos;

use super::{KeyExchangeMode, LONGEST, Operation, Plan};
use crate::message::body_size;
use crate::session::{Session, is_built_in};
use crate::{Percent, names};

/// More connections than any machine here has memory and descriptors for.
const MOST_CONNECTIONS: usize = 1_000_000;

/// More streams of a connection than any server takes by default.
const MOST_STREAMS: usize = 10_000;

/// What every path carries that QUIC takes (RFC 9000, section 14), and what UDP can (section 18.2).
const UDP_PAYLOADS: RangeInclusive<u16> = 1_200..=65_527;

impl Plan {
    /// # Errors
    /// A value that no load can have.
    pub fn check(&self) -> Result<(), WrongValue> {
        let wrong = |key, why: String| Err(WrongValue { key, why });
        let at = |key| move |why| WrongValue { key, why };
        let is_session = self.operation == Operation::Session;
        let (certificate, its_key) = (self.client_certificate.is_some(), self.client_key.is_some());
        let is_retried = self.key_exchange == Some(KeyExchangeMode::Retried);
        let is_full = self.resumption == Percent::default();
        let can_be_retried = self.only_version() == Some(Version::Tls13) && is_full;
        let pages = "operation session needs session, which says what the pages are; give petstore or a session \
                     file";
        let signs = "a client certificate signs with its key; give client-key too";
        let is_signed = "a client key signs for its certificate; give client-certificate too";
        let retries = "a server asks for a key share in full handshakes of TLS 1.3; give tls 1.3 and no \
                       resumption, or leave key-exchange retried out";
        let fails = "a time limit of 0s fails everything; give one such as 10s";
        let streams = "streams are of HTTP/2 and HTTP/3; ask for one of these too (http 2)";
        let datagrams = "QUIC's datagrams have room for 1200 to 65527 bytes; give one such as 1452";
        let has_room = UDP_PAYLOADS.contains(&self.max_udp_payload());
        let measures = "a window of 0s measures nothing; give one such as 10s";
        for (is_wrong, key, why) in [
            (self.connections == 0, "connections", "0 connections load nothing; give at least 1"),
            (is_session && self.session.is_none(), "session", pages),
            (self.streams.is_some() && self.http.is_none(), "streams", streams),
            (!has_room, "max-udp-payload", datagrams),
            (self.duration == Nanos(0), "duration", measures),
            (certificate && !its_key, "client-certificate", signs),
            (its_key && !certificate, "client-key", is_signed),
            (is_retried && !can_be_retried, "key-exchange", retries),
            (self.timeout == Nanos(0), "timeout", fails),
            (self.operation_timeout == Some(Nanos(0)), "operation-timeout", fails),
        ] {
            if is_wrong {
                return wrong(key, why.to_owned());
            }
        }
        // A study has hundreds of loads of the session that is built in, which is right.
        let is_read = |session: &&PathBuf| is_session && !is_built_in(session);
        if let Some(file) = self.session.as_ref().filter(is_read) {
            Session::read(file).map_err(at("session"))?;
        }
        let (connections, streams, open) = (self.connections, self.streams(), self.most_open());
        if connections > MOST_CONNECTIONS {
            let most = MOST_CONNECTIONS;
            let why = format!("{connections} connections are too many; give at most {most}");
            return wrong("connections", why);
        }
        if streams > MOST_STREAMS || open > MOST_CONNECTIONS {
            let why = format!(
                "{streams} streams of each connection, {open} in all, are too many; give at most \
                 {MOST_STREAMS}, and {MOST_CONNECTIONS} in all"
            );
            return wrong("streams", why);
        }
        let times = [self.ramp, self.ramp, self.warmup(), self.duration];
        if times.iter().fold(0u64, |sum, time| sum.saturating_add(time.0)) > LONGEST.0 {
            let why = format!("a load lasts {LONGEST} at most; give a shorter duration");
            return wrong("duration", why);
        }
        for source in &self.source {
            source.check().map_err(at("source"))?;
        }
        if let Some(file) = &self.body {
            let method = self.method();
            if !method.has_body() {
                let why = "requests have no body; give method POST, PUT or PATCH too";
                return wrong("body", format!("{method} {why}"));
            }
            body_size(file).map_err(at("body"))?;
        }
        if let Some(file) = &self.names {
            names::read(file).map_err(at("names"))?;
        }
        // Of ranks, each checks it where it is.
        if let Some(control) = self.congestion.as_ref().filter(|_| self.ranks.is_none()) {
            control.check().map_err(at("congestion"))?;
        }
        Ok(())
    }
}
