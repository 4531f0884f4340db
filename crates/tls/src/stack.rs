use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::{CertificateKey, Group, KeyExchange, Mac, NameError, Suite};

/// A TLS library that the embedded server can run on.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, DeserializeFromStr, SerializeDisplay,
)]
pub enum Stack {
    /// OpenSSL: the system's, or another one of the same soname.
    #[default]
    OpenSsl,
    /// rustls with the cryptography of ring.
    RustlsRing,
    /// rustls with the cryptography of AWS-LC.
    RustlsAwsLc,
}

impl Stack {
    pub const ALL: [Self; 3] = [Self::OpenSsl, Self::RustlsRing, Self::RustlsAwsLc];

    pub fn name(self) -> &'static str {
        match self {
            Self::OpenSsl => "openssl",
            Self::RustlsRing => "rustls-ring",
            Self::RustlsAwsLc => "rustls-aws-lc",
        }
    }

    /// Whether it has the suite. rustls has neither CBC nor static RSA.
    pub fn has_suite(self, suite: &Suite) -> bool {
        self == Self::OpenSsl || suite.mac == Mac::Aead && suite.key_exchange != KeyExchange::Rsa
    }

    /// Whether it has the group. OpenSSL may be one that has it or one that does not.
    pub fn has_group(self, group: Group) -> bool {
        self != Self::RustlsRing || group != Group::X25519MlKem768
    }

    /// Whether it takes a certificate with this key. ring and AWS-LC sign with no RSA key below
    /// 2048 bits.
    pub fn has_key(self, key: CertificateKey) -> bool {
        self == Self::OpenSsl || !matches!(key, CertificateKey::Rsa(bits) if bits < 2048)
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Stack {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::ALL.into_iter().find(|stack| stack.name() == text).ok_or_else(|| {
            NameError(format!(
                "`{text}` is not a TLS library of the embedded server; write openssl, rustls-ring or \
                 rustls-aws-lc"
            ))
        })
    }
}
