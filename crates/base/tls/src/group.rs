use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::{NameError, did_you_mean};

/// A group of the key exchange (RFC 8446, section 4.2.7; IANA "TLS Supported Groups").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(DeserializeFromStr, SerializeDisplay)]
pub enum Group {
    /// Curve25519, RFC 7748.
    X25519,
    Secp256r1,
    Secp384r1,
    Secp521r1,
    /// ML-KEM-768 (FIPS 203) and Curve25519 together; secure as long as one of them is
    /// (draft-ietf-tls-ecdhe-mlkem). Only in TLS 1.3.
    X25519MlKem768,
    /// The same with P-256.
    Secp256r1MlKem768,
    /// ML-KEM-1024 (FIPS 203) alone (draft-ietf-tls-mlkem). Only in TLS 1.3.
    MlKem1024,
}

impl Group {
    pub const ALL: [Self; 7] = [
        Self::X25519,
        Self::Secp256r1,
        Self::Secp384r1,
        Self::Secp521r1,
        Self::X25519MlKem768,
        Self::Secp256r1MlKem768,
        Self::MlKem1024,
    ];

    /// The IANA name and code point, and OpenSSL's name.
    fn registered(self) -> (&'static str, u16, &'static str) {
        match self {
            Self::X25519 => ("x25519", 29, "X25519"),
            Self::Secp256r1 => ("secp256r1", 23, "P-256"),
            Self::Secp384r1 => ("secp384r1", 24, "P-384"),
            Self::Secp521r1 => ("secp521r1", 25, "P-521"),
            Self::X25519MlKem768 => ("X25519MLKEM768", 4588, "X25519MLKEM768"),
            Self::Secp256r1MlKem768 => ("SecP256r1MLKEM768", 4587, "SecP256r1MLKEM768"),
            Self::MlKem1024 => ("MLKEM1024", 514, "MLKEM1024"),
        }
    }

    pub fn name(self) -> &'static str {
        self.registered().0
    }

    pub fn code_point(self) -> u16 {
        self.registered().1
    }

    /// OpenSSL's name, as in a list of groups.
    pub fn openssl_name(self) -> &'static str {
        self.registered().2
    }

    /// Whether TLS 1.2 has no such group: those with ML-KEM.
    pub fn is_of_tls13_only(self) -> bool {
        matches!(self, Self::X25519MlKem768 | Self::Secp256r1MlKem768 | Self::MlKem1024)
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Group {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        const NAMES: [(&str, Group); 14] = [
            ("x25519", Group::X25519),
            ("secp256r1", Group::Secp256r1),
            ("p-256", Group::Secp256r1),
            ("p256", Group::Secp256r1),
            ("prime256v1", Group::Secp256r1),
            ("secp384r1", Group::Secp384r1),
            ("p-384", Group::Secp384r1),
            ("p384", Group::Secp384r1),
            ("secp521r1", Group::Secp521r1),
            ("p-521", Group::Secp521r1),
            ("p521", Group::Secp521r1),
            ("x25519mlkem768", Group::X25519MlKem768),
            ("secp256r1mlkem768", Group::Secp256r1MlKem768),
            ("mlkem1024", Group::MlKem1024),
        ];
        let lower = text.to_ascii_lowercase();
        if let Some((_, group)) = NAMES.iter().find(|(name, _)| *name == lower) {
            return Ok(*group);
        }
        let hint = did_you_mean(text, NAMES.iter().map(|(name, _)| *name))
            .map_or_else(String::new, |name| format!("did you mean {name}? "));
        Err(NameError(format!(
            "`{text}` is not a group that toll knows; {hint}it knows x25519, secp256r1, \
             secp384r1, secp521r1, X25519MLKEM768, SecP256r1MLKEM768 and MLKEM1024"
        )))
    }
}
