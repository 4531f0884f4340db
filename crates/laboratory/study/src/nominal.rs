//! What a full handshake and a record are made of: the algorithms that tell what parts cost by themselves.

use load::{Operation, Percent};
use primitives::{Aes, Algorithm, Handshake, Hash, RsaBits, Side};
use tls::{CertificateKey, Cipher, KeyExchange, Mac, Stack, Version};
use units::Bytes;

use crate::Cell;

impl Cell {
    /// What the server's private key does in each operation: it signs, or with static RSA decrypts.
    /// `None` where operations are no full handshakes, or the server has a key that toll does not know.
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
        match target.certificate_key {
            CertificateKey::Rsa(bits) if is_static => RsaBits::of(bits).map(Algorithm::RsaDecrypt),
            key => Algorithm::signature_with(key),
        }
    }

    /// The server's side of its handshake in memory. `None` where the study leaves the version or the
    /// group open, or the version is another than TLS 1.3.
    pub fn handshake_in_memory(&self) -> Option<Algorithm> {
        let group = self.load.group.filter(|_| self.load.only_version() == Some(Version::Tls13))?;
        let handshake = Handshake::Full(self.target.certificate_key, group);
        Some(Algorithm::Handshake(handshake, Side::Server))
    }
    /// What encrypts and authenticates the records that the server sends. `None` over plain HTTP, where the
    /// study leaves the suite open, and for what is measured under no name of its own.
    pub fn record_cipher(&self) -> Option<Algorithm> {
        let suite = self.load.only_suite()?;
        // Encrypt-then-MAC seals in another way, and either side alone can be without it.
        let is_mac_first =
            !self.target.encrypt_then_mac || self.load.encrypt_then_mac == Some(false);
        Some(match (suite.cipher, suite.mac) {
            (Cipher::Aes128Gcm, _) => Algorithm::Gcm(Aes::Aes128),
            (Cipher::Aes256Gcm, _) => Algorithm::Gcm(Aes::Aes256),
            (Cipher::ChaCha20Poly1305, _) => Algorithm::ChaCha20Poly1305,
            (Cipher::Aes128Cbc, Mac::Sha1) if is_mac_first => Algorithm::CbcHmac(Hash::Sha1),
            (Cipher::Aes128Cbc, Mac::Sha256) if is_mac_first => Algorithm::CbcHmac(Hash::Sha256),
            _ => return None,
        })
    }

    /// The plaintext of the records that it sends.
    pub fn record_size(&self) -> Bytes {
        Bytes(self.target.record_size.get() as u64)
    }

    /// The library of primitives that its server runs on; `None` where that is another build, or not
    /// known.
    pub fn cipher_library(&self) -> Option<&'static str> {
        let target = &self.target;
        if !target.server.uses("library") || target.library_folder().is_some() {
            return None;
        }
        Some(match target.library.stack() {
            Stack::OpenSsl => "openssl",
            Stack::RustlsRing => "ring",
            Stack::RustlsAwsLc => "aws-lc",
            _ => return None,
        })
    }
}
