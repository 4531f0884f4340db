//! What can be measured: algorithms, their names, and the unit that they are measured in.

use std::fmt;
use std::str::FromStr;

/// An algorithm in the direction in which it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
    /// ECDSA (FIPS 186-5) with the hash function of the curve's size.
    Ecdsa(Curve, Signing),
    /// Ed25519 (RFC 8032).
    Ed25519(Signing),
    /// X25519 (RFC 7748).
    X25519(Agreement),
    /// ECDH on P-256 (NIST SP 800-56A).
    EcdhP256(Agreement),
    /// ML-KEM-768 (FIPS 203).
    MlKem768(Kem),
    /// X25519MLKEM768 of TLS 1.3 (RFC 9794 names such hybrids), one side's part.
    X25519MlKem768(Side),
    /// From the shared secret to the application traffic keys of both sides (RFC 8446, 7.1).
    KeySchedule,
}

/// The length of an AES key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aes {
    /// 128 bits, 10 rounds.
    Aes128,
    /// 256 bits, 14 rounds.
    Aes256,
}

impl Aes {
    /// Bytes of a key.
    #[must_use]
    pub fn key_bytes(self) -> usize {
        match self {
            Self::Aes128 => 16,
            Self::Aes256 => 32,
        }
    }

    /// Rounds of a block, each an instruction where the processor has them.
    #[must_use]
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
    /// From the message to the ciphertext.
    Encrypt,
    /// Back.
    Decrypt,
}

/// A hash function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hash {
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

impl Hash {
    /// Bytes of a digest.
    #[must_use]
    pub fn digest_bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }
}

/// The length of an RSA modulus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RsaBits {
    /// 2048 bits.
    Rsa2048,
    /// 3072 bits.
    Rsa3072,
    /// 4096 bits.
    Rsa4096,
}

impl RsaBits {
    /// Bits of the modulus.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::Rsa2048 => 2048,
            Self::Rsa3072 => 3072,
            Self::Rsa4096 => 4096,
        }
    }
}

/// A curve of FIPS 186-5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Curve {
    /// P-256, secp256r1.
    P256,
    /// P-384, secp384r1.
    P384,
}

/// A side of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signing {
    /// Making one.
    Sign,
    /// Checking one.
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
    /// What the server does.
    Encapsulate,
    /// What the client does, beside making its key.
    Decapsulate,
}

/// A side of a handshake.
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
    /// Bytes of the message.
    Byte,
    /// Operations.
    Operation,
}

use Aes::{Aes128, Aes256};
use Agreement::{Derive, Exchange};
use Algorithm as A;
use Direction::{Decrypt, Encrypt};
use Signing::{Sign, Verify};

/// All names, in the order of tables.
const NAMES: [(Algorithm, &str); 38] = [
    (A::Cbc(Aes128, Encrypt), "AES-128-CBC encrypt"),
    (A::Cbc(Aes128, Decrypt), "AES-128-CBC decrypt"),
    (A::Cbc(Aes256, Encrypt), "AES-256-CBC encrypt"),
    (A::Cbc(Aes256, Decrypt), "AES-256-CBC decrypt"),
    (A::Ctr(Aes128), "AES-128-CTR"),
    (A::Ctr(Aes256), "AES-256-CTR"),
    (A::Gcm(Aes128), "AES-128-GCM"),
    (A::Gcm(Aes256), "AES-256-GCM"),
    (A::CbcHmac(Hash::Sha1), "AES-128-CBC-HMAC-SHA1"),
    (A::CbcHmac(Hash::Sha256), "AES-128-CBC-HMAC-SHA256"),
    (A::ChaCha20Poly1305, "ChaCha20-Poly1305"),
    (A::Hash(Hash::Sha1), "SHA-1"),
    (A::Hash(Hash::Sha256), "SHA-256"),
    (A::Hash(Hash::Sha512), "SHA-512"),
    (A::Hmac(Hash::Sha1), "HMAC-SHA1"),
    (A::Hmac(Hash::Sha256), "HMAC-SHA256"),
    (A::Hmac(Hash::Sha512), "HMAC-SHA512"),
    (A::Rsa(RsaBits::Rsa2048, Sign), "RSA-2048 sign"),
    (A::Rsa(RsaBits::Rsa2048, Verify), "RSA-2048 verify"),
    (A::Rsa(RsaBits::Rsa3072, Sign), "RSA-3072 sign"),
    (A::Rsa(RsaBits::Rsa3072, Verify), "RSA-3072 verify"),
    (A::Rsa(RsaBits::Rsa4096, Sign), "RSA-4096 sign"),
    (A::Rsa(RsaBits::Rsa4096, Verify), "RSA-4096 verify"),
    (A::Ecdsa(Curve::P256, Sign), "ECDSA P-256 sign"),
    (A::Ecdsa(Curve::P256, Verify), "ECDSA P-256 verify"),
    (A::Ecdsa(Curve::P384, Sign), "ECDSA P-384 sign"),
    (A::Ecdsa(Curve::P384, Verify), "ECDSA P-384 verify"),
    (A::Ed25519(Sign), "Ed25519 sign"),
    (A::Ed25519(Verify), "Ed25519 verify"),
    (A::X25519(Derive), "X25519 derive"),
    (A::X25519(Exchange), "X25519 exchange"),
    (A::EcdhP256(Derive), "ECDH P-256 derive"),
    (A::EcdhP256(Exchange), "ECDH P-256 exchange"),
    (A::MlKem768(Kem::Encapsulate), "ML-KEM-768 encapsulate"),
    (A::MlKem768(Kem::Decapsulate), "ML-KEM-768 decapsulate"),
    (A::X25519MlKem768(Side::Server), "X25519MLKEM768 server"),
    (A::X25519MlKem768(Side::Client), "X25519MLKEM768 client"),
    (A::KeySchedule, "TLS 1.3 key schedule"),
];

impl Algorithm {
    /// All that there are, in the order of tables.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.into_iter().map(|(algorithm, _)| algorithm)
    }

    /// Its name, as in `AES-128-GCM` or `RSA-2048 sign`.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(algorithm, _)| *algorithm == self).map_or("", |(_, name)| name)
    }

    /// What its cost is divided by.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            A::Cbc(..)
            | A::Ctr(_)
            | A::Gcm(_)
            | A::CbcHmac(_)
            | A::ChaCha20Poly1305
            | A::Hash(_)
            | A::Hmac(_) => Unit::Byte,
            _ => Unit::Operation,
        }
    }

    /// Whether messages must be whole blocks of 16 bytes.
    #[must_use]
    pub fn takes_whole_blocks(self) -> bool {
        matches!(self, A::Cbc(..))
    }

    /// Bytes that come out for a message of `size` bytes; the most where that varies.
    #[must_use]
    pub fn output_bytes(self, size: usize) -> usize {
        const KEM_CIPHERTEXT: usize = 1088;
        match self {
            A::Cbc(..) | A::Ctr(_) => size,
            A::Gcm(_) | A::ChaCha20Poly1305 => size + 16,
            A::CbcHmac(hash) => {
                crate::cbc_hmac::EXPLICIT_IV
                    + crate::cbc_hmac::padded_bytes(size + hash.digest_bytes())
            }
            A::Hash(hash) | A::Hmac(hash) => hash.digest_bytes(),
            A::Rsa(bits, Sign) => bits.bits() as usize / 8,
            // The largest DER forms of signatures on P-256 and P-384 have 72 and 104 bytes.
            A::Ecdsa(_, Sign) => 128,
            A::Ed25519(Sign) => 64,
            A::Rsa(_, Verify) | A::Ecdsa(_, Verify) | A::Ed25519(Verify) => 0,
            A::X25519(Derive) | A::EcdhP256(Derive) => 32,
            A::X25519(Exchange) => 32 + 32,
            A::EcdhP256(Exchange) => 65 + 32,
            A::MlKem768(Kem::Encapsulate) => KEM_CIPHERTEXT + 32,
            A::MlKem768(Kem::Decapsulate) => 32,
            A::X25519MlKem768(Side::Server) => KEM_CIPHERTEXT + 32 + 64,
            A::X25519MlKem768(Side::Client) => 64,
            A::KeySchedule => crate::key_schedule::OUTPUT_BYTES,
        }
    }

    /// The algorithms that a word of the command line means: one (`aes-128-gcm`, `RSA-2048 sign`),
    /// all directions of one (`rsa-2048`), or a kind (`gcm`, `rsa`, `ciphers`, `all`).
    ///
    /// # Errors
    /// A word that means none, with the nearest that does.
    pub fn select(word: &str) -> Result<Vec<Self>, UnknownAlgorithm> {
        let asked = normal(word);
        let matching: Vec<Self> =
            Self::all().filter(|algorithm| algorithm.words().contains(&asked)).collect();
        if matching.is_empty() { Err(UnknownAlgorithm::new(word)) } else { Ok(matching) }
    }

    /// The words that mean this algorithm, in normal form, the most exact first.
    fn words(self) -> Vec<String> {
        let mut words = vec![normal(self.name())];
        words.extend(self.name().rsplit_once(' ').map(|(name, _)| normal(name)));
        let kinds: &[&str] = match self {
            A::Cbc(..) => &["aes", "cbc", "ciphers"],
            A::Ctr(_) => &["aes", "ctr", "ciphers"],
            A::Gcm(_) => &["aes", "gcm", "ciphers"],
            A::CbcHmac(_) => &["stitched", "ciphers"],
            A::ChaCha20Poly1305 => &["chacha20", "ciphers"],
            A::Hash(_) => &["sha", "hashes"],
            A::Hmac(_) => &["hmac", "hashes"],
            A::Rsa(..) => &["rsa", "signatures", "public-key"],
            A::Ecdsa(..) => &["ecdsa", "signatures", "public-key"],
            A::Ed25519(_) => &["signatures", "public-key"],
            A::X25519(_) => &["key-exchange", "public-key"],
            A::EcdhP256(_) => &["ecdh", "key-exchange", "public-key"],
            A::MlKem768(_) => &["ml-kem", "key-exchange", "public-key"],
            A::X25519MlKem768(_) => &["key-exchange", "public-key"],
            A::KeySchedule => &["key-schedule"],
        };
        words.extend(kinds.iter().map(|kind| normal(kind)));
        words.push("all".to_owned());
        words
    }
}

/// Letters and digits alone: `AES128-GCM` and `aes_128_gcm` are one.
pub(crate) fn normal(word: &str) -> String {
    word.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that means no algorithm.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is no algorithm{}; toll bench --list names all", did_you_mean(.nearest.as_deref()))]
pub struct UnknownAlgorithm {
    word: String,
    nearest: Option<String>,
}

fn did_you_mean(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}

impl UnknownAlgorithm {
    fn new(word: &str) -> Self {
        let names = NAMES.iter().flat_map(|(algorithm, name)| {
            [Some(name.to_string()), name.rsplit_once(' ').map(|(start, _)| start.to_owned())]
                .into_iter()
                .flatten()
                .chain(algorithm.words().into_iter().skip(1))
        });
        Self { word: word.to_owned(), nearest: crate::nearest(word, names) }
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    /// Of one algorithm by its whole name, written in any way.
    fn from_str(text: &str) -> Result<Self, UnknownAlgorithm> {
        let asked = normal(text);
        Self::all()
            .find(|algorithm| normal(algorithm.name()) == asked)
            .ok_or_else(|| UnknownAlgorithm::new(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_means_its_algorithm_alone() {
        for algorithm in Algorithm::all() {
            assert_eq!(algorithm.name().parse(), Ok(algorithm));
            assert_eq!(Algorithm::select(algorithm.name()), Ok(vec![algorithm]));
        }
    }

    #[test]
    fn words_may_be_written_in_any_way() {
        let gcm = Ok(vec![A::Gcm(Aes128)]);
        for word in ["aes-128-gcm", "AES128-GCM", "aes_128_gcm"] {
            assert_eq!(Algorithm::select(word), gcm, "{word}");
        }
        assert_eq!(Algorithm::select("rsa-2048").map(|all| all.len()), Ok(2));
        assert_eq!(Algorithm::select("rsa").map(|all| all.len()), Ok(6));
        assert_eq!(Algorithm::select("public_key").map(|all| all.len()), Ok(20));
        assert_eq!(Algorithm::select("all").map(|all| all.len()), Ok(NAMES.len()));
    }

    #[test]
    fn an_unknown_word_is_answered_with_the_nearest() {
        let said = |word| Algorithm::select(word).unwrap_err().to_string();
        assert_eq!(
            said("aes-128-gmc"),
            "`aes-128-gmc` is no algorithm; did you mean `AES-128-GCM`?; toll bench --list names all"
        );
        assert!(said("rsa-2408").contains("`RSA-2048`"), "{}", said("rsa-2408"));
        assert_eq!(said("blowfish"), "`blowfish` is no algorithm; toll bench --list names all");
    }
}
