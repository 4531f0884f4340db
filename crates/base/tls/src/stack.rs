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
    /// AWS-LC's own libssl.
    AwsLc,
    #[strum(serialize = "boringssl")]
    BoringSsl,
    #[strum(serialize = "s2n-tls")]
    S2n,
    #[strum(serialize = "wolfssl")]
    WolfSsl,
    #[strum(serialize = "gnutls")]
    GnuTls,
}

impl Stack {
    pub const ALL: [Self; 8] = [
        Self::OpenSsl,
        Self::RustlsRing,
        Self::RustlsAwsLc,
        Self::AwsLc,
        Self::BoringSsl,
        Self::S2n,
        Self::WolfSsl,
        Self::GnuTls,
    ];

    /// Those that every toll has.
    pub const BUILT_IN: [Self; 3] = [Self::OpenSsl, Self::RustlsRing, Self::RustlsAwsLc];

    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The file of a library that is opened when it is asked for; `None` where it is built in.
    pub fn file(self) -> Option<&'static str> {
        match self {
            Self::OpenSsl | Self::RustlsRing | Self::RustlsAwsLc => None,
            Self::AwsLc => Some("libaws-lc.so"),
            Self::BoringSsl => Some("libboringssl.so"),
            Self::S2n => Some("libs2n.so"),
            Self::WolfSsl => Some("libwolfssl.so"),
            Self::GnuTls => Some("libgnutls.so"),
        }
    }

    /// How to get it, where it is opened and not there.
    pub fn installation(self) -> &'static str {
        match self {
            Self::GnuTls => "apt-get install libgnutls30",
            Self::WolfSsl => "make stacks, or apt-get install libwolfssl-dev",
            _ => "make stacks",
        }
    }

    fn is_rustls(self) -> bool {
        matches!(self, Self::RustlsRing | Self::RustlsAwsLc)
    }

    /// Whether it has the suite. rustls has neither CBC nor static RSA; libraries that are opened are asked
    /// when they are.
    pub fn has_suite(self, suite: &Suite) -> bool {
        !self.is_rustls() || suite.mac == Mac::Aead && suite.key_exchange != KeyExchange::Rsa
    }

    /// Whether it has the group. OpenSSL, and libraries that are opened, may be ones that have it or not.
    pub fn has_group(self, group: Group) -> bool {
        match group {
            Group::Secp521r1 => !self.is_rustls(),
            group if group.is_of_tls13_only() => self != Self::RustlsRing,
            _ => true,
        }
    }

    /// Whether it takes a certificate with this key. ring and AWS-LC sign with no RSA key below
    /// 2048 bits. OpenSSL may be one that has ML-DSA or not.
    pub fn has_key(self, key: CertificateKey) -> bool {
        if let CertificateKey::MlDsa(_) = key {
            return matches!(self, Self::OpenSsl | Self::RustlsAwsLc);
        }
        !self.is_rustls() || !matches!(key, CertificateKey::Rsa(bits) if bits < 2048)
    }
}

fn unknown(text: &str) -> NameError {
    NameError(format!(
        "`{text}` is not a TLS library of the embedded server; write openssl, rustls-ring, \
         rustls-aws-lc, aws-lc, boringssl, s2n-tls, wolfssl or gnutls"
    ))
}
