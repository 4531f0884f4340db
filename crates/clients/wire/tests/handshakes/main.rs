//! The crate's own handshakes, with OpenSSL's server, and with servers that break the rules.

mod client_certificates;
mod either;
mod static_rsa;
mod static_rsa_dishonest;
mod tls12;
mod tls12_dishonest;
mod tls12_sessions;
mod tls13;
mod trust;

use std::num::NonZeroU32;
use std::sync::OnceLock;

use openssl::pkey::{PKey, Private};
use openssl::ssl::SslOptions;
use tls::{CertificateKey, Identity};
use wire::handshake::{Client, Handshake, Offer, Sampler, Trust, client};

/// `SSL_OP_NO_EXTENDED_MASTER_SECRET`, which has no name in the `openssl` crate.
const NO_EXTENDED_MASTER_SECRET: SslOptions = SslOptions::from_bits_retain(1);

/// A server's certificate with this key, made once.
fn identity(key: CertificateKey) -> &'static Identity {
    static IDENTITIES: OnceLock<Vec<(CertificateKey, Identity)>> = OnceLock::new();
    let keys = [
        CertificateKey::Rsa(1024),
        CertificateKey::Rsa(2048),
        CertificateKey::EcdsaP256,
        CertificateKey::EcdsaP384,
        CertificateKey::Ed25519,
    ];
    let identities =
        IDENTITIES.get_or_init(|| keys.map(|key| (key, Identity::generate(key).unwrap())).into());
    &identities.iter().find(|(of, _)| *of == key).unwrap().1
}

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
