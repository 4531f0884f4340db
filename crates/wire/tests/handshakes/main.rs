//! The crate's own handshakes, with OpenSSL's server, and with servers that break the rules.

mod client_certificates;
mod static_rsa;
mod static_rsa_dishonest;
mod tls12;
mod tls12_dishonest;
mod tls12_sessions;
mod tls13;
mod trust;

use std::num::NonZeroU32;

use openssl::pkey::{PKey, Private};
use tls::Identity;
use wire::handshake::{Client, Handshake, Offer, Sampler, Trust, client};

fn private(identity: &Identity) -> PKey<Private> {
    PKey::private_key_from_pem(&identity.key_pem).unwrap()
}

/// An offer to a server that anyone may be.
fn to_anyone() -> Offer {
    Offer::to("localhost", Trust::Anyone)
}

/// The first of this many signatures, again and again.
fn one_in(count: NonZeroU32) -> Sampler {
    let mut next = 0;
    Box::new(move || {
        let is_first = next == 0;
        next = (next + 1) % count.get();
        is_first
    })
}

/// A client that verifies all signatures.
fn client_of(offer: &Offer) -> Box<dyn Client> {
    client(offer, one_in(NonZeroU32::MIN)).unwrap()
}

fn start(offer: &Offer) -> Box<dyn Handshake> {
    client_of(offer).start().unwrap()
}

/// The ClientHello of a handshake, a record.
fn hello_of(handshake: &mut dyn Handshake) -> Vec<u8> {
    let (mut received, mut to_send) = (Vec::new(), Vec::new());
    assert!(handshake.advance(&mut received, &mut to_send).unwrap().is_none());
    to_send
}
