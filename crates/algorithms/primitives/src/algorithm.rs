//! What can be measured: algorithms, their names, and the unit that they are measured in.

mod names;

use serde_with::{DeserializeFromStr, SerializeDisplay};
use tls::{CertificateKey, Group};

pub use names::UnknownAlgorithm;
pub(crate) use names::normal;

use crate::routine::Unavailable;

/// Bytes of an ML-KEM-768 ciphertext and of an encapsulation key (FIPS 203, table 3).
pub(crate) const KEM_CIPHERTEXT: usize = 1088;
pub(crate) const KEM_KEY: usize = 1184;
/// Bytes of a premaster secret of TLS 1.2 (RFC 5246, 7.4.7.1).
pub(crate) const PREMASTER_BYTES: usize = 48;

/// An algorithm in the direction in which it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[derive(SerializeDisplay, DeserializeFromStr)]
pub enum Algorithm {
    /// AES in cipher block chaining, without padding (NIST SP 800-38A).
    Cbc(Aes, Direction),
    /// AES in counter mode (NIST SP 800-38A).
    Ctr(Aes),
    /// Sealing with AES in Galois/counter mode (NIST SP 800-38D), 13 bytes of associated data.
    Gcm(Aes),
    /// Sealing a TLS 1.2 record with AES-128-CBC and HMAC, MAC first (RFC 5246, 6.2.3.2).
    CbcHmac(Hash),
    /// Sealing with ChaCha20-Poly1305 (RFC 8439), 13 bytes of associated data.
    ChaCha20Poly1305,
    /// A hash function (FIPS 180-4).
    Hash(Hash),
    /// HMAC (RFC 2104) with a key that is already set up.
    Hmac(Hash),
    /// RSA signatures, PKCS #1 version 1.5 with SHA-256 (RFC 8017); PSS costs the same within 1%.
    Rsa(RsaBits, Signing),
    /// RSA decryption of a premaster secret, PKCS #1 version 1.5 (RFC 8017): what static RSA asks of a server.
    RsaDecrypt(RsaBits),
    /// ECDSA (FIPS 186-5) with the hash function of the curve's size.
    Ecdsa(Curve, Signing),
    /// Ed25519 (RFC 8032).
    Ed25519(Signing),
    /// X25519 (RFC 7748).
    X25519(Agreement),
    /// ECDH (NIST SP 800-56A).
    Ecdh(Curve, Agreement),
    /// ML-KEM-768 (FIPS 203).
    MlKem768(Kem),
    /// X25519MLKEM768 of TLS 1.3 (RFC 9794 names such hybrids), one side's part.
    X25519MlKem768(Side),
    /// From the shared secret to the application traffic keys of both sides (RFC 8446, 7.1).
    KeySchedule,
    /// A TLS record of application data, through a connection in memory.
    Record(Protection, Way),
    /// One side's part of a TLS 1.3 handshake in memory.
    Handshake(Handshake, Side),
}

/// What protects a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protection {
    Tls13Aes128Gcm,
    Tls13Aes256Gcm,
    Tls13ChaCha20Poly1305,
    Tls12Aes128Gcm,
    /// TLS 1.2, AES-128-CBC and HMAC-SHA-1, MAC first (RFC 5246, 6.2.3.2).
    Tls12Aes128CbcSha,
}

/// Which way a record goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    Seal,
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Handshake {
    /// A full one, with that key in the server's certificate and that group of the key exchange.
    Full(CertificateKey, Group),
    /// One that resumes a session by a ticket, with a fresh key exchange (psk_dhe_ke) with X25519.
    Resumed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aes {
    /// 128 bits, 10 rounds.
    Aes128,
    /// 256 bits, 14 rounds.
    Aes256,
}

impl Aes {
    pub fn key_bytes(self) -> usize {
        if self == Self::Aes128 { 16 } else { 32 }
    }

    /// Rounds of a block, each an instruction where the processor has them.
    pub fn rounds(self) -> u32 {
        match self {
            Self::Aes128 => 10,
            Self::Aes256 => 14,
        }
    }
}

/// Which way a cipher goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    Encrypt,
    Decrypt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hash {
    Sha1,
    Sha256,
    Sha512,
}

impl Hash {
    pub fn digest_bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RsaBits {
    /// Few libraries still sign with so short a key.
    Rsa1024 = 1024,
    Rsa2048 = 2048,
    Rsa3072 = 3072,
    Rsa4096 = 4096,
}

impl RsaBits {
    /// Of a modulus of `bits`; `None` where no algorithm has it.
    pub fn of(bits: u32) -> Option<Self> {
        let all = [Self::Rsa1024, Self::Rsa2048, Self::Rsa3072, Self::Rsa4096];
        all.into_iter().find(|size| size.bits() == bits)
    }

    pub fn bits(self) -> u32 {
        self as u32
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Curve {
    P256,
    P384,
}

impl Curve {
    /// Of a scalar, and of the secret that two sides share.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signing {
    Sign,
    Verify,
}

/// What of a key agreement is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Agreement {
    /// The shared secret from a key that is there.
    Derive,
    /// A fresh key and the shared secret: what a TLS server does in each full handshake.
    Exchange,
}

/// What of a key encapsulation is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kem {
    /// A fresh key, as a client makes for each handshake.
    Generate,
    /// What the server does.
    Encapsulate,
    /// What the client does, besides making its key.
    Decapsulate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Who answers: a fresh X25519 key and secret, and an encapsulation.
    Server,
    /// Who asked, after the answer: an X25519 secret and a decapsulation, with keys that are there.
    Client,
}

/// What the cost of an algorithm is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Byte,
    Operation,
}

use Agreement::{Derive, Exchange};
use Algorithm as A;
use Signing::{Sign, Verify};

impl Algorithm {
    /// A signature with a certificate's key; `None` of a key whose signatures are not measured.
    pub fn signature_with(key: CertificateKey) -> Option<Self> {
        Some(match key {
            CertificateKey::Rsa(bits) => A::Rsa(RsaBits::of(bits)?, Sign),
            CertificateKey::EcdsaP256 => A::Ecdsa(Curve::P256, Sign),
            CertificateKey::EcdsaP384 => A::Ecdsa(Curve::P384, Sign),
            CertificateKey::Ed25519 => A::Ed25519(Sign),
            CertificateKey::MlDsa(_) => return None,
        })
    }

    /// What its cost is divided by.
    pub fn unit(self) -> Unit {
        match self {
            A::Cbc(..)
            | A::Ctr(_)
            | A::Gcm(_)
            | A::CbcHmac(_)
            | A::ChaCha20Poly1305
            | A::Hash(_)
            | A::Hmac(_)
            | A::Record(..) => Unit::Byte,
            _ => Unit::Operation,
        }
    }

    /// Whether it takes two connected sides: a library's TLS stack does it, not a routine.
    pub fn takes_a_connection(self) -> bool {
        matches!(self, A::Record(..) | A::Handshake(..))
    }

    /// Whether a message may have that many bytes.
    pub(crate) fn check_size(self, bytes: usize) -> Result<(), Unavailable> {
        match self {
            A::Cbc(..) if !bytes.is_multiple_of(16) => {
                Err(Unavailable::because("CBC takes whole blocks of 16 bytes"))
            }
            // RFC 8446, 5.1.
            A::CbcHmac(_) | A::Record(..) if !(1..=16 << 10).contains(&bytes) => {
                Err(Unavailable::because("a record holds between 1B and 16KiB"))
            }
            _ => Ok(()),
        }
    }

    /// Bytes that come out of a routine for a message of `size` bytes; the most where that varies.
    pub fn output_bytes(self, size: usize) -> usize {
        const KEM_SECRET: usize = 2400;
        match self {
            A::Cbc(..) | A::Ctr(_) => size,
            A::Gcm(_) | A::ChaCha20Poly1305 => size + 16,
            A::CbcHmac(hash) => {
                crate::cbc_hmac::EXPLICIT_IV
                    + crate::cbc_hmac::padded_bytes(size + hash.digest_bytes())
            }
            A::Hash(hash) | A::Hmac(hash) => hash.digest_bytes(),
            // OpenSSL wants room for the padding of what it decrypts too.
            A::Rsa(bits, Sign) | A::RsaDecrypt(bits) => bits.bits() as usize / 8,
            // The largest DER forms of signatures on P-256 and P-384 have 72 and 104 bytes.
            A::Ecdsa(_, Sign) => 128,
            A::Ed25519(Sign) => 64,
            A::Rsa(_, Verify) | A::Ecdsa(_, Verify) | A::Ed25519(Verify) => 0,
            A::X25519(Derive) => 32,
            A::X25519(Exchange) => 32 + 32,
            A::Ecdh(curve, Derive) => curve.bytes(),
            A::Ecdh(curve, Exchange) => 1 + 3 * curve.bytes(),
            A::MlKem768(Kem::Generate) => KEM_SECRET + KEM_KEY,
            A::MlKem768(Kem::Encapsulate) => KEM_CIPHERTEXT + 32,
            A::MlKem768(Kem::Decapsulate) => 32,
            A::X25519MlKem768(Side::Server) => KEM_CIPHERTEXT + 32 + 64,
            A::X25519MlKem768(Side::Client) => 64,
            A::KeySchedule => crate::key_schedule::OUTPUT_BYTES,
            A::Record(..) | A::Handshake(..) => 0,
        }
    }

    /// How much of the place for a result, where many lie one after the other, the result takes.
    pub(crate) fn result_bytes(self, place: &[u8]) -> usize {
        let bytes = match self {
            A::RsaDecrypt(_) => PREMASTER_BYTES,
            // DER: a tag, the length in a byte, and as many bytes.
            A::Ecdsa(_, Sign) => 2 + usize::from(place[1]),
            _ => place.len(),
        };
        bytes.min(place.len())
    }
}
