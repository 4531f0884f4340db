//! Handshakes as one trait: those of TLS 1.2 and the full ones with a fixed key exchange are toll's own, rustls
//! makes the others and hands its keys over.

mod alert;
mod alpn;
mod certificates;
mod client_certificate;
mod distrust;
mod driver;
mod either;
mod encoding;
mod established;
mod fingerprint;
mod fixed_group;
mod fixed_kem;
mod fixed_share;
mod fresh_p521;
mod numbers;
mod offer;
mod offer_error;
mod provider;
mod quic;
mod refusal;
mod resuming_share;
mod rustls;
mod rustls_output;
mod sessions;
mod signature;
mod tls12;
mod tls13;
mod transcript;
mod trust;
mod under_way;
mod verifier;

use ::tls::Version;

pub(crate) use alert::Alert;
pub use alert::alert;
pub use client_certificate::ClientCertificate;
pub use distrust::Distrust;
pub(crate) use encoding::message_length;
pub use established::{
    ClientSignature, Established, GivenSession, Negotiated, PostHandshake, Remarks, Side,
};
pub use fingerprint::Fingerprint;
pub(crate) use numbers::kind;
pub use offer::{Offer, Sampler, Trust};
pub use offer_error::OfferError;
pub use quic::{QuicClient, QuicHandshake};
pub use under_way::{Client, Handshake};

/// The handshakes of one thread. Each thread has its own client, so that none waits for another.
/// `signatures` says which are verified.
///
/// # Errors
/// An offer that cannot be made here.
pub fn client(offer: &Offer, signatures: Sampler) -> Result<Box<dyn Client>, OfferError> {
    match offer.version() {
        Some(Version::Tls12) => Ok(Box::new(tls12::Tls12Client::new(offer, signatures)?)),
        _ => rustls::client(offer, signatures),
    }
}
