//! What a server of TLS 1.2 sends in plain text, read from the bytes on the wire. OpenSSL has no call that
//! reports whether encrypt-then-MAC was negotiated, nor the scheme of the signature; and rustls none that
//! reports whether a session came as a ticket or as an identifier.

use super::GivenSession;
use super::encoding::Reader;

/// The parts of a server's messages before its ChangeCipherSpec that toll reads (RFC 5246, sections
/// 7.4.1.3 and 7.4.3; RFC 5077, section 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerFlight {
    /// The suite's code point.
    pub(super) suite: u16,
    /// Whether the extension of RFC 7366 is there.
    pub(super) encrypt_then_mac: bool,
    /// Code points of the group and the signature scheme of an ephemeral key exchange.
    pub(super) key_exchange: Option<(u16, u16)>,
    /// Whether there is a CertificateRequest (section 7.4.4).
    pub(super) asks_certificate: bool,
    /// Whether the ServerHello has a session identifier.
    has_session_id: bool,
    /// Whether there is a NewSessionTicket that is not empty.
    has_ticket: bool,
}

impl ServerFlight {
    /// The session that a later handshake can resume; `None` where this one resumed another and no new
    /// ticket came.
    pub(super) fn given_session(&self, is_resumed: bool) -> Option<GivenSession> {
        match self {
            Self { has_ticket: true, .. } => Some(GivenSession::Ticket),
            Self { has_session_id: true, .. } if !is_resumed => Some(GivenSession::Id),
            _ => None,
        }
    }
}

/// Collects the messages until the records are protected. Each record is taken once, however many
/// pieces it comes in.
#[derive(Default)]
pub struct Sniffer {
    /// The received part of a record.
    record: Vec<u8>,
    /// The handshake messages, without the records around them.
    messages: Vec<u8>,
    is_over: bool,
}

/// More than any certificate chain that a handshake here carries.
const LONGEST: usize = 256 << 10;

const SERVER_HELLO: u8 = 2;
const NEW_SESSION_TICKET: u8 = 4;
const SERVER_KEY_EXCHANGE: u8 = 12;
const CERTIFICATE_REQUEST: u8 = 13;

impl Sniffer {
    /// Takes bytes as they came from the server.
    pub fn take(&mut self, bytes: &[u8]) {
        if self.is_over {
            return;
        }
        self.record.extend_from_slice(bytes);
        let mut record = std::mem::take(&mut self.record);
        let used = self.take_records(&record);
        if !self.is_over {
            record.drain(..used);
            self.is_over = self.messages.len() + record.len() > LONGEST;
            self.record = record;
        }
    }

    /// Takes whole records; returns their length.
    fn take_records(&mut self, bytes: &[u8]) -> usize {
        const HANDSHAKE: u8 = 22;
        let mut records = Reader(bytes);
        let mut used = 0;
        while let Some(header) = records.bytes(5) {
            let &[HANDSHAKE, 3, _, high, low] = header else {
                self.is_over = true;
                break;
            };
            let length = u16::from_be_bytes([high, low]).into();
            let Some(fragment) = records.bytes(length) else { break };
            self.messages.extend_from_slice(fragment);
            used += 5 + length;
        }
        used
    }

    /// The parts of what has come, if it began with a ServerHello.
    pub fn flight(&self) -> Option<ServerFlight> {
        let mut messages = Reader(&self.messages);
        let (SERVER_HELLO, hello) = message(&mut messages)? else { return None };
        let mut flight = server_hello(&mut Reader(hello))?;
        while let Some((kind, body)) = message(&mut messages) {
            match kind {
                // After its lifetime hint and its length.
                NEW_SESSION_TICKET => flight.has_ticket = body.len() > 4 + 2,
                SERVER_KEY_EXCHANGE => {
                    flight.key_exchange = server_key_exchange(&mut Reader(body));
                }
                CERTIFICATE_REQUEST => flight.asks_certificate = true,
                _ => {}
            }
        }
        Some(flight)
    }
}

fn server_hello(hello: &mut Reader<'_>) -> Option<ServerFlight> {
    const ENCRYPT_THEN_MAC: u16 = 22;
    hello.bytes(2 + 32)?;
    let session_id = hello.bytes(1)?[0];
    hello.bytes(session_id.into())?;
    let has_session_id = session_id > 0;
    let suite = hello.u16()?;
    hello.bytes(1)?;
    let mut encrypt_then_mac = false;
    if let Some(length) = hello.u16() {
        let mut extensions = Reader(hello.bytes(length.into())?);
        while let Some(kind) = extensions.u16() {
            let length = extensions.u16()?;
            extensions.bytes(length.into())?;
            encrypt_then_mac |= kind == ENCRYPT_THEN_MAC;
        }
    }
    Some(ServerFlight {
        suite,
        encrypt_then_mac,
        key_exchange: None,
        asks_certificate: false,
        has_session_id,
        has_ticket: false,
    })
}

/// RFC 8422, section 5.4.
fn server_key_exchange(body: &mut Reader<'_>) -> Option<(u16, u16)> {
    const NAMED_CURVE: u8 = 3;
    (body.bytes(1)? == [NAMED_CURVE]).then_some(())?;
    let group = body.u16()?;
    let point = body.bytes(1)?[0];
    body.bytes(point.into())?;
    Some((group, body.u16()?))
}

fn message<'a>(messages: &mut Reader<'a>) -> Option<(u8, &'a [u8])> {
    Some((messages.u8()?, messages.vector24()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut message = vec![kind, 0];
        message.extend((body.len() as u16).to_be_bytes());
        message.extend(body);
        message
    }

    fn flight_with(extensions: &[u8]) -> Vec<u8> {
        let mut hello = vec![3, 3];
        hello.extend([7; 32]);
        hello.extend([2, 1, 1, 0xc0, 0x13, 0]);
        hello.extend((extensions.len() as u16).to_be_bytes());
        hello.extend(extensions);
        let messages = [
            message(SERVER_HELLO, &hello),
            message(11, &[9; 300]),
            message(SERVER_KEY_EXCHANGE, &[3, 0, 29, 2, 5, 5, 8, 4, 0, 1, 1]),
            message(14, &[]),
            message(NEW_SESSION_TICKET, &[0, 0, 0, 9, 0, 1, 7]),
        ]
        .concat();
        // Records may be cut anywhere in the messages.
        let records = messages.chunks(100).map(|fragment| {
            [&[22, 3, 3][..], &(fragment.len() as u16).to_be_bytes(), fragment].concat()
        });
        records.collect::<Vec<_>>().concat()
    }

    fn sniff(bytes: &[u8], cut: usize) -> Option<ServerFlight> {
        let mut sniffer = Sniffer::default();
        bytes.chunks(cut).for_each(|piece| sniffer.take(piece));
        sniffer.flight()
    }

    #[test]
    fn the_flight_may_be_cut_anywhere() {
        for (extensions, encrypt_then_mac) in
            [(&[0xff, 1, 0, 1, 0, 0, 22, 0, 0][..], true), (&[0xff, 1, 0, 1, 0][..], false)]
        {
            let bytes = flight_with(extensions);
            for cut in 1..bytes.len() {
                assert_eq!(
                    sniff(&bytes, cut),
                    Some(ServerFlight {
                        suite: 0xc013,
                        encrypt_then_mac,
                        key_exchange: Some((29, 0x0804)),
                        asks_certificate: false,
                        has_session_id: true,
                        has_ticket: true,
                    })
                );
            }
        }
        assert_eq!(sniff(b"HTTP/1.1 400 Bad Request\r\n", 3), None);
    }

    #[test]
    fn a_session_is_given_by_a_ticket_or_by_an_identifier_that_is_new() {
        use GivenSession::{Id, Ticket};
        let flight = sniff(&flight_with(&[]), 1000).unwrap();
        for (has_session_id, has_ticket, full, resumed) in [
            (false, false, None, None),
            (true, false, Some(Id), None),
            (false, true, Some(Ticket), Some(Ticket)),
            (true, true, Some(Ticket), Some(Ticket)),
        ] {
            let flight = ServerFlight { has_session_id, has_ticket, ..flight };
            assert_eq!((flight.given_session(false), flight.given_session(true)), (full, resumed));
        }
    }

    #[test]
    fn what_is_protected_is_not_kept() {
        let mut sniffer = Sniffer::default();
        sniffer.take(&flight_with(&[]));
        let length = sniffer.messages.len();
        sniffer.take(&[20, 3, 3, 0, 1, 1]);
        sniffer.take(&[22; 1000]);
        assert_eq!((sniffer.messages.len(), sniffer.record.len()), (length, 0));
    }

    proptest! {
        #[test]
        fn no_bytes_of_a_peer_panic(bytes: Vec<u8>, cut in 1usize..50) {
            let _ = sniff(&bytes, cut);
            let _ = sniff(&[&[22, 3, 3, 0, 200][..], &bytes].concat(), cut);
        }
    }
}
