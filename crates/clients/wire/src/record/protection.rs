//! How records are protected.

use super::aead::AeadKey;
use super::cbc::CbcKeys;

/// How records are protected, one direction of one connection.
pub enum Protection {
    /// TLS 1.3, all suites.
    Tls13(AeadKey),
    /// TLS 1.2 with AES-GCM, RFC 5288.
    Tls12Gcm(AeadKey),
    /// TLS 1.2 with ChaCha20-Poly1305, RFC 7905.
    Tls12ChaCha20(AeadKey),
    /// TLS 1.2 with CBC and HMAC.
    Tls12Cbc(Box<CbcKeys>),
}
