use std::fmt;
use std::str::FromStr;

use crate::{NameError, Version, did_you_mean};

/// A cipher suite by its IANA name and code point.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Suite {
    pub name: &'static str,
    /// OpenSSL's name; the same as IANA's in TLS 1.3.
    pub openssl_name: &'static str,
    pub code_point: u16,
    /// The key exchange, which also gives the version.
    pub key_exchange: KeyExchange,
    pub cipher: Cipher,
    pub mac: Mac,
    /// The hash of the PRF (TLS 1.2, RFC 5246 section 5) or of HKDF (TLS 1.3).
    pub prf: PrfHash,
}

/// The key exchange of a suite and the kind of signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyExchange {
    /// TLS 1.3: always ephemeral, named by group and signature scheme instead.
    Tls13,
    /// TLS 1.2: ephemeral ECDH signed with RSA.
    EcdheRsa,
    /// TLS 1.2: ephemeral ECDH signed with ECDSA or EdDSA.
    EcdheEcdsa,
    /// TLS 1.2: the premaster secret encrypted to the server's RSA key ("static RSA").
    Rsa,
}

/// What encrypts a suite's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cipher {
    Aes128Gcm,
    Aes256Gcm,
    ChaCha20Poly1305,
    Aes128Cbc,
    Aes256Cbc,
}

impl Cipher {
    /// What people call it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Aes128Gcm => "AES-128-GCM",
            Self::Aes256Gcm => "AES-256-GCM",
            Self::ChaCha20Poly1305 => "ChaCha20-Poly1305",
            Self::Aes128Cbc => "AES-128-CBC",
            Self::Aes256Cbc => "AES-256-CBC",
        }
    }
}

/// What authenticates a suite's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mac {
    Aead,
    Sha1,
    Sha256,
    Sha384,
}

/// The hash from which a suite derives its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PrfHash {
    Sha256,
    Sha384,
}

impl Suite {
    /// The version of TLS that the suite belongs to.
    pub fn version(&self) -> Version {
        match self.key_exchange {
            KeyExchange::Tls13 => Version::Tls13,
            _ => Version::Tls12,
        }
    }

    /// The suite with this code point, if toll knows it.
    pub fn by_code_point(code_point: u16) -> Option<&'static Self> {
        SUITES.iter().find(|suite| suite.code_point == code_point)
    }

    /// The suite with this IANA or OpenSSL name, in any case.
    pub fn parse(text: &str) -> Result<&'static Self, NameError> {
        let same = |name: &str| name.eq_ignore_ascii_case(text);
        if let Some(suite) = SUITES.iter().find(|s| same(s.name) || same(s.openssl_name)) {
            return Ok(suite);
        }
        let names = SUITES.iter().flat_map(|suite| [suite.name, suite.openssl_name]);
        Err(NameError(match did_you_mean(text, names) {
            Some(name) => {
                format!("`{text}` is not a cipher suite that toll knows; did you mean {name}?")
            }
            None => format!(
                "`{text}` is not a cipher suite that toll knows; use an IANA name such as \
                 TLS_AES_128_GCM_SHA256 or an OpenSSL name such as AES128-SHA"
            ),
        }))
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A reference to a known suite, for argument parsers.
impl FromStr for &'static Suite {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Suite::parse(text)
    }
}

macro_rules! suites {
    ($($code:literal $name:ident $openssl:literal $kx:ident $cipher:ident $mac:ident $prf:ident;)*) => {
        /// All suites that toll knows: those of TLS 1.3, and of TLS 1.2 the ECDHE AEAD suites and
        /// the CBC and static-RSA suites that published measurements use.
        pub static SUITES: &[Suite] = &[$(Suite {
            name: stringify!($name),
            openssl_name: $openssl,
            code_point: $code,
            key_exchange: KeyExchange::$kx,
            cipher: Cipher::$cipher,
            mac: Mac::$mac,
            prf: PrfHash::$prf,
        }),*];
    };
}

suites! {
    0x1301 TLS_AES_128_GCM_SHA256 "TLS_AES_128_GCM_SHA256" Tls13 Aes128Gcm Aead Sha256;
    0x1302 TLS_AES_256_GCM_SHA384 "TLS_AES_256_GCM_SHA384" Tls13 Aes256Gcm Aead Sha384;
    0x1303 TLS_CHACHA20_POLY1305_SHA256 "TLS_CHACHA20_POLY1305_SHA256" Tls13 ChaCha20Poly1305 Aead Sha256;
    0xc02b TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 "ECDHE-ECDSA-AES128-GCM-SHA256" EcdheEcdsa Aes128Gcm Aead Sha256;
    0xc02c TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 "ECDHE-ECDSA-AES256-GCM-SHA384" EcdheEcdsa Aes256Gcm Aead Sha384;
    0xcca9 TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 "ECDHE-ECDSA-CHACHA20-POLY1305" EcdheEcdsa ChaCha20Poly1305 Aead Sha256;
    0xc02f TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 "ECDHE-RSA-AES128-GCM-SHA256" EcdheRsa Aes128Gcm Aead Sha256;
    0xc030 TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 "ECDHE-RSA-AES256-GCM-SHA384" EcdheRsa Aes256Gcm Aead Sha384;
    0xcca8 TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 "ECDHE-RSA-CHACHA20-POLY1305" EcdheRsa ChaCha20Poly1305 Aead Sha256;
    0x009c TLS_RSA_WITH_AES_128_GCM_SHA256 "AES128-GCM-SHA256" Rsa Aes128Gcm Aead Sha256;
    0x009d TLS_RSA_WITH_AES_256_GCM_SHA384 "AES256-GCM-SHA384" Rsa Aes256Gcm Aead Sha384;
    0x002f TLS_RSA_WITH_AES_128_CBC_SHA "AES128-SHA" Rsa Aes128Cbc Sha1 Sha256;
    0x0035 TLS_RSA_WITH_AES_256_CBC_SHA "AES256-SHA" Rsa Aes256Cbc Sha1 Sha256;
    0x003c TLS_RSA_WITH_AES_128_CBC_SHA256 "AES128-SHA256" Rsa Aes128Cbc Sha256 Sha256;
    0x003d TLS_RSA_WITH_AES_256_CBC_SHA256 "AES256-SHA256" Rsa Aes256Cbc Sha256 Sha256;
    0xc009 TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA "ECDHE-ECDSA-AES128-SHA" EcdheEcdsa Aes128Cbc Sha1 Sha256;
    0xc00a TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA "ECDHE-ECDSA-AES256-SHA" EcdheEcdsa Aes256Cbc Sha1 Sha256;
    0xc023 TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256 "ECDHE-ECDSA-AES128-SHA256" EcdheEcdsa Aes128Cbc Sha256 Sha256;
    0xc024 TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384 "ECDHE-ECDSA-AES256-SHA384" EcdheEcdsa Aes256Cbc Sha384 Sha384;
    0xc013 TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA "ECDHE-RSA-AES128-SHA" EcdheRsa Aes128Cbc Sha1 Sha256;
    0xc014 TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA "ECDHE-RSA-AES256-SHA" EcdheRsa Aes256Cbc Sha1 Sha256;
    0xc027 TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256 "ECDHE-RSA-AES128-SHA256" EcdheRsa Aes128Cbc Sha256 Sha256;
    0xc028 TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384 "ECDHE-RSA-AES256-SHA384" EcdheRsa Aes256Cbc Sha384 Sha384;
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::ssl::{Ssl, SslContext, SslMethod};

    #[test]
    fn openssl_has_the_same_names_and_code_points() {
        // OpenSSL is an independent copy of the registry.
        let mut context = SslContext::builder(SslMethod::tls()).unwrap();
        context.set_cipher_list("ALL:@SECLEVEL=0").unwrap();
        let ssl = Ssl::new(&context.build()).unwrap();
        for suite in SUITES {
            let theirs = ssl.bytes_to_cipher_list(&suite.code_point.to_be_bytes(), false).unwrap();
            let theirs = theirs.suites.get(0).unwrap_or_else(|| panic!("{suite} is unknown"));
            assert_eq!(theirs.standard_name(), Some(suite.name));
            assert_eq!(theirs.name(), suite.openssl_name);
        }
    }

    #[test]
    fn aliases_are_accepted_and_the_iana_name_is_shown() {
        let suite = Suite::parse("aes128-sha").unwrap();
        assert_eq!(suite.to_string(), "TLS_RSA_WITH_AES_128_CBC_SHA");
        assert_eq!(suite.version(), Version::Tls12);
        assert_eq!(Suite::by_code_point(0x1301).unwrap().version(), Version::Tls13);
    }

    #[test]
    fn a_mistyped_suite_gets_a_suggestion() {
        let message = Suite::parse("TLS_AES_128_GCM_SHA265").unwrap_err().to_string();
        assert!(message.ends_with("did you mean TLS_AES_128_GCM_SHA256?"), "{message}");
        let message = Suite::parse("nonsense").unwrap_err().to_string();
        assert!(message.contains("use an IANA name"), "{message}");
    }
}
