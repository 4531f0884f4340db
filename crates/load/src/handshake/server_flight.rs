//! What the server's first flight of TLS 1.2 says, read from the bytes on the wire. OpenSSL has no
//! call that reports whether encrypt-then-MAC was negotiated, nor the scheme of the signature.

/// The parts of a server's first flight that toll reads (RFC 5246, sections 7.4.1.3 and 7.4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServerFlight {
    /// The suite's code point.
    pub(super) suite: u16,
    /// Whether the extension of RFC 7366 is there.
    pub(super) encrypt_then_mac: bool,
    /// Code points of the group and the signature scheme of an ephemeral key exchange.
    pub(super) key_exchange: Option<(u16, u16)>,
    /// Whether there is a CertificateRequest (section 7.4.4).
    pub(super) asks_certificate: bool,
}

/// Collects the messages of the flight until it is complete. Each byte is parsed once, however many
/// pieces there are.
#[derive(Default)]
pub(super) struct Sniffer {
    /// The received part of a record.
    record: Vec<u8>,
    /// The handshake messages, without the records around them.
    messages: Vec<u8>,
    /// How many bytes of `messages` are whole messages that have been parsed.
    seen: usize,
    is_over: bool,
}

/// More than any certificate chain that a handshake here carries.
const LONGEST: usize = 256 << 10;

const SERVER_HELLO: u8 = 2;
const SERVER_KEY_EXCHANGE: u8 = 12;
const CERTIFICATE_REQUEST: u8 = 13;
const SERVER_HELLO_DONE: u8 = 14;

impl Sniffer {
    /// Takes bytes as they came from the server.
    pub(super) fn take(&mut self, bytes: &[u8]) {
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
            self.look_for_the_end();
            if self.is_over {
                break;
            }
        }
        used
    }

    fn look_for_the_end(&mut self) {
        let mut messages = Reader(&self.messages[self.seen..]);
        while let Some((kind, body)) = messages.message() {
            self.seen += 4 + body.len();
            self.is_over |= kind == SERVER_HELLO_DONE;
        }
    }

    /// The parts of the flight, if it began with a ServerHello.
    pub(super) fn flight(&self) -> Option<ServerFlight> {
        let mut messages = Reader(&self.messages);
        let (SERVER_HELLO, hello) = messages.message()? else { return None };
        let mut flight = server_hello(&mut Reader(hello))?;
        while let Some((kind, body)) = messages.message()
            && kind != SERVER_HELLO_DONE
        {
            match kind {
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
    let suite = hello.number()?;
    hello.bytes(1)?;
    let mut encrypt_then_mac = false;
    if let Some(length) = hello.number() {
        let mut extensions = Reader(hello.bytes(length.into())?);
        while let Some(kind) = extensions.number() {
            let length = extensions.number()?;
            extensions.bytes(length.into())?;
            encrypt_then_mac |= kind == ENCRYPT_THEN_MAC;
        }
    }
    Some(ServerFlight { suite, encrypt_then_mac, key_exchange: None, asks_certificate: false })
}

/// RFC 8422, section 5.4.
fn server_key_exchange(body: &mut Reader<'_>) -> Option<(u16, u16)> {
    const NAMED_CURVE: u8 = 3;
    (body.bytes(1)? == [NAMED_CURVE]).then_some(())?;
    let group = body.number()?;
    let point = body.bytes(1)?[0];
    body.bytes(point.into())?;
    Some((group, body.number()?))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u16> {
        self.bytes(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn message(&mut self) -> Option<(u8, &'a [u8])> {
        let &[kind, a, b, c] = self.bytes(4)? else { return None };
        Some((kind, self.bytes(u32::from_be_bytes([0, a, b, c]) as usize)?))
    }
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
            message(SERVER_HELLO_DONE, &[]),
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
                    })
                );
            }
        }
        assert_eq!(sniff(b"HTTP/1.1 400 Bad Request\r\n", 3), None);
    }

    #[test]
    fn what_follows_the_flight_is_not_kept() {
        let mut sniffer = Sniffer::default();
        sniffer.take(&flight_with(&[]));
        let length = sniffer.messages.len();
        sniffer.take(&[23; 1000]);
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
