//! The names of algorithms, and what words of the command line mean.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use tls::{CertificateKey, Group};

use super::Aes::{Aes128, Aes256};
use super::Agreement::{Derive, Exchange};
use super::Algorithm as A;
use super::Direction::{Decrypt, Encrypt};
use super::Handshake::{Full, Resumed};
use super::Protection::{
    Tls12Aes128CbcSha, Tls12Aes128Gcm, Tls13Aes128Gcm, Tls13Aes256Gcm, Tls13ChaCha20Poly1305,
};
use super::Signing::{Sign, Verify};
use super::Way::{Open, Seal};
use super::{Algorithm, Curve, Handshake, Hash, Kem, RsaBits, Side};

/// The names of all but handshakes, in the order of tables.
const WITHOUT_HANDSHAKES: [(Algorithm, &str); 56] = [
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
    (A::Rsa(RsaBits::Rsa1024, Sign), "RSA-1024 sign"),
    (A::Rsa(RsaBits::Rsa2048, Sign), "RSA-2048 sign"),
    (A::Rsa(RsaBits::Rsa2048, Verify), "RSA-2048 verify"),
    (A::Rsa(RsaBits::Rsa3072, Sign), "RSA-3072 sign"),
    (A::Rsa(RsaBits::Rsa3072, Verify), "RSA-3072 verify"),
    (A::Rsa(RsaBits::Rsa4096, Sign), "RSA-4096 sign"),
    (A::Rsa(RsaBits::Rsa4096, Verify), "RSA-4096 verify"),
    (A::RsaDecrypt(RsaBits::Rsa1024), "RSA-1024 decrypt"),
    (A::RsaDecrypt(RsaBits::Rsa2048), "RSA-2048 decrypt"),
    (A::RsaDecrypt(RsaBits::Rsa3072), "RSA-3072 decrypt"),
    (A::RsaDecrypt(RsaBits::Rsa4096), "RSA-4096 decrypt"),
    (A::Ecdsa(Curve::P256, Sign), "ECDSA P-256 sign"),
    (A::Ecdsa(Curve::P256, Verify), "ECDSA P-256 verify"),
    (A::Ecdsa(Curve::P384, Sign), "ECDSA P-384 sign"),
    (A::Ecdsa(Curve::P384, Verify), "ECDSA P-384 verify"),
    (A::Ed25519(Sign), "Ed25519 sign"),
    (A::Ed25519(Verify), "Ed25519 verify"),
    (A::X25519(Derive), "X25519 derive"),
    (A::X25519(Exchange), "X25519 exchange"),
    (A::Ecdh(Curve::P256, Derive), "ECDH P-256 derive"),
    (A::Ecdh(Curve::P256, Exchange), "ECDH P-256 exchange"),
    (A::Ecdh(Curve::P384, Derive), "ECDH P-384 derive"),
    (A::Ecdh(Curve::P384, Exchange), "ECDH P-384 exchange"),
    (A::MlKem768(Kem::Generate), "ML-KEM-768 generate"),
    (A::MlKem768(Kem::Encapsulate), "ML-KEM-768 encapsulate"),
    (A::MlKem768(Kem::Decapsulate), "ML-KEM-768 decapsulate"),
    (A::X25519MlKem768(Side::Server), "X25519MLKEM768 server"),
    (A::X25519MlKem768(Side::Client), "X25519MLKEM768 client"),
    (A::KeySchedule, "TLS 1.3 key schedule"),
    (A::Record(Tls13Aes128Gcm, Seal), "TLS 1.3 AES-128-GCM record seal"),
    (A::Record(Tls13Aes128Gcm, Open), "TLS 1.3 AES-128-GCM record open"),
    (A::Record(Tls13Aes256Gcm, Seal), "TLS 1.3 AES-256-GCM record seal"),
    (A::Record(Tls13Aes256Gcm, Open), "TLS 1.3 AES-256-GCM record open"),
    (A::Record(Tls13ChaCha20Poly1305, Seal), "TLS 1.3 ChaCha20-Poly1305 record seal"),
    (A::Record(Tls13ChaCha20Poly1305, Open), "TLS 1.3 ChaCha20-Poly1305 record open"),
    (A::Record(Tls12Aes128Gcm, Seal), "TLS 1.2 AES-128-GCM record seal"),
    (A::Record(Tls12Aes128Gcm, Open), "TLS 1.2 AES-128-GCM record open"),
    (A::Record(Tls12Aes128CbcSha, Seal), "TLS 1.2 AES-128-CBC-SHA record seal"),
    (A::Record(Tls12Aes128CbcSha, Open), "TLS 1.2 AES-128-CBC-SHA record open"),
];

const KEYS: [(CertificateKey, &str); 6] = [
    (CertificateKey::EcdsaP256, "P-256"),
    (CertificateKey::EcdsaP384, "P-384"),
    (CertificateKey::Ed25519, "Ed25519"),
    (CertificateKey::Rsa(2048), "RSA-2048"),
    (CertificateKey::Rsa(3072), "RSA-3072"),
    (CertificateKey::Rsa(4096), "RSA-4096"),
];

/// All names, in the order of tables.
static NAMES: LazyLock<Vec<(Algorithm, String)>> = LazyLock::new(|| {
    let mut names = WITHOUT_HANDSHAKES.map(|(of, name)| (of, name.to_owned())).to_vec();
    let mut add = |handshake, words: &str| {
        for (side, of_side) in [(Side::Server, "server"), (Side::Client, "client")] {
            names.push((A::Handshake(handshake, side), format!("TLS 1.3 {words} {of_side}")));
        }
    };
    for (key, name) in KEYS {
        for group in Group::ALL {
            match group {
                // Not measured in memory.
                Group::Secp521r1 | Group::Secp256r1MlKem768 | Group::MlKem1024 => {}
                Group::X25519 => add(Full(key, group), &format!("{name} full handshake")),
                _ => {
                    let group_name = group.openssl_name();
                    add(Full(key, group), &format!("{name} full handshake with {group_name}"));
                }
            }
        }
    }
    add(Resumed, "resumed handshake");
    names
});

impl Algorithm {
    /// All that there are, in the order of tables.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(algorithm, _)| *algorithm)
    }

    /// All but the full handshakes of other keys than RSA-2048 and P-256 and of other groups than X25519,
    /// which are nearly half of all.
    pub fn usual() -> impl Iterator<Item = Self> {
        let is_usual = |algorithm: &Self| match algorithm {
            A::Handshake(Full(key, group), _) => {
                let keys = [CertificateKey::Rsa(2048), CertificateKey::EcdsaP256];
                keys.contains(key) && *group == Group::X25519
            }
            _ => true,
        };
        Self::all().filter(is_usual)
    }

    /// Its name, as in `AES-128-GCM` or `RSA-2048 sign`.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(algorithm, _)| *algorithm == self).map_or("", |(_, name)| name)
    }

    /// The algorithms that a word of the command line means: one (`aes-128-gcm`, `RSA-2048 sign`),
    /// all directions of one (`rsa-2048`), or a kind (`gcm`, `rsa`, `ciphers`, `all`).
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
            A::RsaDecrypt(_) => &["rsa", "public-key"],
            A::Rsa(..) => &["rsa", "signatures", "public-key"],
            A::Ecdsa(..) => &["ecdsa", "signatures", "public-key"],
            A::Ed25519(_) => &["signatures", "public-key"],
            A::X25519(_) => &["key-exchange", "public-key"],
            A::Ecdh(..) => &["ecdh", "key-exchange", "public-key"],
            A::MlKem768(_) => &["ml-kem", "key-exchange", "public-key"],
            A::X25519MlKem768(_) => &["key-exchange", "public-key"],
            A::KeySchedule => &["key-schedule"],
            A::Record(..) => &["records", "tls"],
            A::Handshake(Handshake::Full(..), _) => &["full-handshakes", "handshakes", "tls"],
            A::Handshake(Handshake::Resumed, _) => &["resumed-handshakes", "handshakes", "tls"],
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

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not an algorithm{hint}; toll bench --list names all")]
pub struct UnknownAlgorithm {
    word: String,
    hint: String,
}

impl UnknownAlgorithm {
    fn new(word: &str) -> Self {
        let names = NAMES.iter().flat_map(|(algorithm, name)| {
            [Some(name.clone()), name.rsplit_once(' ').map(|(start, _)| start.to_owned())]
                .into_iter()
                .flatten()
                .chain(algorithm.words().into_iter().skip(1))
        });
        Self { word: word.to_owned(), hint: crate::did_you_mean(word, names) }
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
        assert_eq!(Algorithm::select("rsa-2048").map(|all| all.len()), Ok(3));
        assert_eq!(Algorithm::select("rsa").map(|all| all.len()), Ok(11));
        assert_eq!(Algorithm::select("public_key").map(|all| all.len()), Ok(28));
        assert_eq!(Algorithm::select("all").map(|all| all.len()), Ok(NAMES.len()));
    }

    #[test]
    fn an_unknown_word_is_answered_with_the_nearest() {
        let said = |word| Algorithm::select(word).unwrap_err().to_string();
        assert!(said("aes-128-gmc").contains("did you mean `AES-128-GCM`?"));
        assert!(said("rsa-2408").contains("`RSA-2048`"), "{}", said("rsa-2408"));
        assert!(!said("blowfish").contains("did you mean"));
    }
}
