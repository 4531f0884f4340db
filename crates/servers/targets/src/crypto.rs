//! What the cryptography of a server runs on, where that is the server's to choose and not that of a
//! library which it maps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use units::Nanos;

/// About how long a server takes to say what its cryptography is.
pub const CRYPTO_TAKES: Nanos = Nanos(2_000_000_000);

/// What the cryptography of a Java server runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Crypto {
    /// Java's own providers, whose AES is compiled to AES instructions.
    Jdk,
    /// NSS, through PKCS#11.
    Nss,
}

/// Whether cryptography may use the CPU's AES instructions, and those that authenticate GCM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Aes {
    /// As it does by itself.
    On,
    /// It does without.
    Off,
}

/// What the cryptography of a running server is, as found in its process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CryptoFacts {
    /// What AES runs on: the word of a [`Crypto`], or other words where it is neither.
    pub crypto: String,
    /// The word of an [`Aes`], or other words where some of it is on and some is off.
    pub aes: String,
    /// What does each algorithm.
    pub providers: BTreeMap<String, String>,
    /// The current values of the switches for AES instructions.
    pub switches: BTreeMap<String, String>,
    /// What AES costs in the warm process, by cipher.
    pub ns_per_byte: BTreeMap<String, f64>,
    /// What TLS does not use there.
    pub disabled: String,
}
