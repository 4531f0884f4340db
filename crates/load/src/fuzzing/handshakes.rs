//! What a server sends before there are keys: to both client libraries, and to toll's own readers.

use std::num::NonZeroU32;

use tls::{CertificateKey, Suite, Version};

use super::input::Input;
use crate::handshake::{Client, client, sniffed};
use crate::{OneIn, TlsPlan, Trust};

/// A client has no more than this to say in a handshake.
const MOST_TO_SAY: usize = 64 << 10;

/// The input: a byte that chooses the client, the pieces in which the rest arrives, and the rest.
pub fn handshake(input: &[u8]) {
    thread_local! {
        static CLIENTS: [Box<dyn Client>; 3] = clients();
    }
    let mut input = Input(input);
    let which = usize::from(input.byte()) % 3;
    let mut pieces = input.pieces().into_iter().cycle();
    let mut handshake = CLIENTS.with(|clients| clients[which].start()).expect("a client starts");
    let (mut received, mut to_send) = (Vec::new(), Vec::new());
    // The first call brings the ClientHello, before anything is received.
    let mut result = handshake.advance(&mut received, &mut to_send);
    assert!(matches!(result, Ok(None)) && !to_send.is_empty(), "no ClientHello");
    while matches!(result, Ok(None)) && !input.is_empty() {
        let piece = input.bytes(pieces.next().unwrap_or(usize::MAX));
        let in_hand = received.len() + piece.len();
        received.extend_from_slice(piece);
        result = handshake.advance(&mut received, &mut to_send);
        assert!(received.len() <= in_hand && to_send.len() <= MOST_TO_SAY);
    }
    if let Ok(Some(established)) = result {
        let version = established.negotiated.version;
        assert_ne!(version, Version::Tls13, "nobody can replay a handshake of TLS 1.3");
    }
}

/// TLS 1.3 and 1.2 through rustls, CBC through OpenSSL.
fn clients() -> [Box<dyn Client>; 3] {
    let any = TlsPlan { trust: Trust::Anyone, ..TlsPlan::any() };
    let plans = [
        TlsPlan { version: Some(Version::Tls13), ..any.clone() },
        TlsPlan { version: Some(Version::Tls12), ..any.clone() },
        TlsPlan { suite: Suite::parse("ECDHE-RSA-AES128-SHA").ok(), ..any },
    ];
    let seldom = OneIn(NonZeroU32::MAX);
    plans.map(|plan| client(&plan, "localhost", seldom).expect("a client is made"))
}

/// The input: the size of the pieces in which the rest arrives, and the rest, a server's flight.
pub fn server_flight(input: &[u8]) {
    let mut input = Input(input);
    let piece = usize::from(input.byte()) + 1;
    let bytes = input.bytes(usize::MAX);
    let at_once = sniffed(std::iter::once(bytes));
    assert_eq!(sniffed(bytes.chunks(piece)), at_once, "the cut changes what is read");
}

/// The input is a certificate in DER.
pub fn certificate(input: &[u8]) {
    if let Some(key) = CertificateKey::of_certificate(input) {
        assert!(!key.to_string().is_empty());
    }
}
