use serde_with::{DeserializeFromStr, SerializeDisplay};
use strum::{Display, EnumString, IntoStaticStr};

use crate::{CertificateKey, Group, KeyExchange, Mac, NameError, Suite};

/// A TLS library that the embedded server can run on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[derive(DeserializeFromStr, SerializeDisplay, Display, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case", parse_err_ty = NameError, parse_err_fn = unknown)]
pub enum Stack {
    /// OpenSSL: the system's, or another one of the same soname.
    #[default]
    #[strum(serialize = "openssl")]
    OpenSsl,
    /// rustls with the cryptography of ring.
    RustlsRing,
    /// rustls with the cryptography of AWS-LC.
    RustlsAwsLc,
}

impl Stack {
    pub const ALL: [Self; 3] = [Self::OpenSsl, Self::RustlsRing, Self::RustlsAwsLc];

    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether it has the suite. rustls has neither CBC nor static RSA.
    pub fn has_suite(self, suite: &Suite) -> bool {
        self == Self::OpenSsl || suite.mac == Mac::Aead && suite.key_exchange != KeyExchange::Rsa
    }

    /// Whether it has the group. OpenSSL may be one that has it or one that does not.
    pub fn has_group(self, group: Group) -> bool {
        match group {
            Group::Secp521r1 => self == Self::OpenSsl,
            Group::X25519MlKem768 => self != Self::RustlsRing,
            _ => true,
        }
    }

    /// Whether it takes a certificate with this key. ring and AWS-LC sign with no RSA key below
    /// 2048 bits.
    pub fn has_key(self, key: CertificateKey) -> bool {
        self == Self::OpenSsl || !matches!(key, CertificateKey::Rsa(bits) if bits < 2048)
    }
}

fn unknown(text: &str) -> NameError {
    NameError(format!(
        "`{text}` is not a TLS library of the embedded server; write openssl, rustls-ring or \
         rustls-aws-lc"
    ))
}
