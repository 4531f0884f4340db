//! What a server sends in a handshake, given to the client libraries and to toll's own handshakes
//! and parsers.

use tls::{CertificateKey, Suite, Version};
use wire::handshake::{Client, Offer, Trust, client};

use super::input::Input;
use super::tls12::client_certificate;
use crate::Puppet;

/// The most that a client sends in a handshake.
const MOST_TO_SEND: usize = 64 << 10;

/// The input: a byte that chooses the client, the pieces in which the rest arrives, and the rest.
pub fn handshake(input: &[u8]) {
    thread_local! {
        static CLIENTS: [Box<dyn Client>; 6] = clients();
    }
    let mut input = Input(input);
    let which = usize::from(input.byte());
    if which == PROTECTED {
        return CLIENTS.with(|clients| protected(&*clients[0], input));
    }
    let which = which % 6;
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
        assert!(received.len() <= in_hand && to_send.len() <= MOST_TO_SEND);
    }
    if let Ok(Some(established)) = result {
        let version = established.negotiated.version;
        assert_ne!(version, Version::Tls13, "a handshake of TLS 1.3 cannot be replayed");
        assert_ne!(which, STATIC_RSA, "the server lacks the certificate's key");
    }
}

/// The index of the client with static RSA.
const STATIC_RSA: usize = 4;

/// The first byte of inputs that are protected with the handshake's keys.
const PROTECTED: usize = 0xff;

/// The input: records that a server protects with the right keys, each with its type and length.
/// None of them completes a handshake, since the input cannot guess a Finished.
fn protected(client: &dyn Client, mut input: Input<'_>) {
    let mut handshake = client.start().expect("a client starts");
    let (mut received, mut to_send) = (Vec::new(), Vec::new());
    assert!(matches!(handshake.advance(&mut received, &mut to_send), Ok(None)));
    let mut puppet = Puppet::new(&to_send).expect("a ClientHello can be answered");
    while !input.is_empty() {
        let content_type = input.byte();
        let length = input.short() % (1 << 14);
        puppet.send(content_type, input.bytes(length));
    }
    received.append(&mut puppet.out);
    let result = handshake.advance(&mut received, &mut to_send);
    assert!(!matches!(result, Ok(Some(_))), "a handshake without a Finished");
    assert!(to_send.len() <= MOST_TO_SEND);
}

/// TLS 1.3 by toll's own handshake, the ECDHE suites of TLS 1.2, one of CBC with a fresh key exchange,
/// TLS 1.3 through rustls, static RSA, and the version that the server chooses, with sessions.
fn clients() -> [Box<dyn Client>; 6] {
    let any = Offer {
        follows_key_updates: true,
        client_certificate: Some(client_certificate()),
        ..Offer::to("localhost", Trust::Anyone)
    };
    let suite = |name| Suite::parse(name).ok();
    let offers = [
        Offer { version: Some(Version::Tls13), ..any.clone() },
        Offer { version: Some(Version::Tls12), ..any.clone() },
        Offer { suite: suite("ECDHE-RSA-AES128-SHA"), fixed_key_exchange: false, ..any.clone() },
        Offer { version: Some(Version::Tls13), fixed_key_exchange: false, ..any.clone() },
        Offer { suite: suite("AES128-SHA"), version: Some(Version::Tls12), ..any.clone() },
        Offer { resumed_percent: 100, ..any },
    ];
    offers.map(|offer| client(&offer, Box::new(|| false)).expect("a client is made"))
}

/// The input is a certificate in DER.
pub fn certificate(input: &[u8]) {
    if let Some(key) = CertificateKey::of_certificate(input) {
        assert!(!key.to_string().is_empty());
    }
}
