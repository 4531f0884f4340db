//! What a full handshake is made of: the algorithms that tell what its parts cost by themselves.

use load::{Operation, Percent};
use primitives::{Algorithm, Curve, Handshake, RsaBits, Side, Signing};
use tls::{CertificateKey, KeyExchange, Version};

use crate::Cell;

impl Cell {
    /// What the server's private key does in each operation: it signs, or with static RSA decrypts.
    /// `None` where operations are no full handshakes, or the server has a key that toll does not know.
    #[must_use]
    pub fn private_key_operation(&self) -> Option<Algorithm> {
        use Operation::{Handshakes, OneRequestPerConnection};
        let Self { target, load, .. } = self;
        let is_full = matches!(load.operation, Handshakes | OneRequestPerConnection)
            && !load.is_plain()
            && load.resumption == Percent::default();
        if !is_full || !target.server.uses("certificate-key") {
            return None;
        }
        let is_static = load.only_suite().is_some_and(|of| of.key_exchange == KeyExchange::Rsa);
        Some(match target.certificate_key {
            CertificateKey::Rsa(bits) if is_static => Algorithm::RsaDecrypt(RsaBits::of(bits)?),
            CertificateKey::Rsa(bits) => Algorithm::Rsa(RsaBits::of(bits)?, Signing::Sign),
            CertificateKey::EcdsaP256 => Algorithm::Ecdsa(Curve::P256, Signing::Sign),
            CertificateKey::EcdsaP384 => Algorithm::Ecdsa(Curve::P384, Signing::Sign),
            CertificateKey::Ed25519 => Algorithm::Ed25519(Signing::Sign),
        })
    }

    /// The server's side of its handshake in memory. `None` where the study leaves the version or the
    /// group open, or the version is another than TLS 1.3.
    #[must_use]
    pub fn handshake_in_memory(&self) -> Option<Algorithm> {
        let group = self.load.group.filter(|_| self.load.only_version() == Some(Version::Tls13))?;
        let handshake = Handshake::Full(self.target.certificate_key, group);
        Some(Algorithm::Handshake(handshake, Side::Server))
    }
}
