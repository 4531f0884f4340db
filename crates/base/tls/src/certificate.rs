use std::fmt;
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::str::FromStr;

use openssl::asn1::{Asn1Integer, Asn1Time};
use openssl::bn::{BigNum, MsbOption};
use openssl::ec::{Asn1Flag, EcGroup, EcKey};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, PKeyRef, Private};
use openssl::rsa::Rsa;
use openssl::x509::extension::{BasicConstraints, ExtendedKeyUsage, SubjectAlternativeName};
use openssl::x509::{X509, X509Builder, X509Name, X509NameBuilder};
use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::{MlDsa, NameError};

/// The kind of key in a server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, DeserializeFromStr, SerializeDisplay)]
pub enum CertificateKey {
    /// RSA with this many bits of modulus.
    Rsa(u32),
    EcdsaP256,
    EcdsaP384,
    Ed25519,
    /// Only in TLS 1.3.
    MlDsa(MlDsa),
}

impl CertificateKey {
    /// The kinds that toll makes.
    pub const ALL: [Self; 10] = [
        Self::Rsa(1024),
        Self::Rsa(2048),
        Self::Rsa(3072),
        Self::Rsa(4096),
        Self::EcdsaP256,
        Self::EcdsaP384,
        Self::Ed25519,
        Self::MlDsa(MlDsa::MlDsa44),
        Self::MlDsa(MlDsa::MlDsa65),
        Self::MlDsa(MlDsa::MlDsa87),
    ];

    /// What people call it.
    pub fn words(self) -> String {
        match self {
            Self::Rsa(bits) => format!("RSA-{bits}"),
            Self::EcdsaP256 => "ECDSA P-256".to_owned(),
            Self::EcdsaP384 => "ECDSA P-384".to_owned(),
            Self::Ed25519 => "Ed25519".to_owned(),
            Self::MlDsa(of) => of.to_string().to_uppercase().replace(':', "-"),
        }
    }

    /// The kind of key in a certificate in DER, or `None` where toll has no name for it.
    pub fn of_certificate(der: &[u8]) -> Option<Self> {
        if let Some(of) = MlDsa::of_certificate(der) {
            return Some(Self::MlDsa(of));
        }
        let key = X509::from_der(der).ok()?.public_key().ok()?;
        match key.id() {
            Id::RSA => Some(Self::Rsa(key.bits())),
            Id::ED25519 => Some(Self::Ed25519),
            Id::EC => match key.ec_key().ok()?.group().curve_name()? {
                Nid::X9_62_PRIME256V1 => Some(Self::EcdsaP256),
                Nid::SECP384R1 => Some(Self::EcdsaP384),
                _ => None,
            },
            _ => None,
        }
    }

    /// # Errors
    /// OpenSSL's; none of it for ML-DSA, whose keys OpenSSL does not make here.
    pub fn generate(self) -> Result<PKey<Private>, ErrorStack> {
        let ec = |curve| -> Result<PKey<Private>, ErrorStack> {
            let mut group = EcGroup::from_curve_name(curve)?;
            group.set_asn1_flag(Asn1Flag::NAMED_CURVE);
            PKey::from_ec_key(EcKey::generate(&group)?)
        };
        match self {
            Self::Rsa(bits) => PKey::from_rsa(Rsa::generate(bits)?),
            Self::EcdsaP256 => ec(Nid::X9_62_PRIME256V1),
            Self::EcdsaP384 => ec(Nid::SECP384R1),
            Self::Ed25519 => PKey::generate_ed25519(),
            Self::MlDsa(_) => Err(ErrorStack::get()),
        }
    }
}

impl fmt::Display for CertificateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rsa(bits) => write!(f, "rsa:{bits}"),
            Self::EcdsaP256 => f.write_str("ecdsa:p256"),
            Self::EcdsaP384 => f.write_str("ecdsa:p384"),
            Self::Ed25519 => f.write_str("ed25519"),
            Self::MlDsa(of) => of.fmt(f),
        }
    }
}

impl FromStr for CertificateKey {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::ALL.into_iter().find(|key| key.to_string() == text).ok_or_else(|| {
            NameError(format!(
                "`{text}` is not a kind of certificate key; write rsa:1024, rsa:2048, rsa:3072, rsa:4096, \
                 ecdsa:p256, ecdsa:p384, ed25519, ml-dsa:44, ml-dsa:65 or ml-dsa:87"
            ))
        })
    }
}

/// Why an identity could not be made, read or written.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("{path}: {source}")]
    File { path: String, source: io::Error },
    #[error("{path} does not hold a {expected} in PEM form; {fix}")]
    NotPem {
        path: String,
        /// "certificate" or "private key".
        expected: &'static str,
        fix: &'static str,
    },
    #[error("the key in {key} does not belong to the certificate in {certificate}")]
    Unmatched { certificate: String, key: String },
    #[error("AWS-LC cannot make or use a key of ML-DSA for that")]
    MlDsa,
    #[error("OpenSSL: {0}")]
    OpenSsl(#[from] ErrorStack),
}

/// A private key with its certificate chain, both in PEM form.
#[derive(Clone)]
pub struct Identity {
    /// The certificate, leaf first where it is a chain.
    pub certificate_pem: Vec<u8>,
    pub key_pem: Vec<u8>,
}

impl Identity {
    /// A fresh key with a self-signed certificate for `localhost`, `127.0.0.1` and `::1`, valid
    /// from yesterday for ten years. It is an end-entity certificate, so that a client with it as
    /// its only trust anchor accepts it.
    pub fn generate(key: CertificateKey) -> Result<Self, IdentityError> {
        Self::generate_for(key, &[])
    }

    /// The same, for these addresses too.
    pub fn generate_for(key: CertificateKey, addresses: &[IpAddr]) -> Result<Self, IdentityError> {
        // What a certificate of ML-DSA says is taken from one of another key.
        let of_openssl = match key {
            CertificateKey::MlDsa(_) => CertificateKey::EcdsaP256,
            key => key,
        };
        let private = of_openssl.generate()?;
        let itself = ("localhost", &*private);
        let certificate = certificate(itself, itself, &|builder| {
            builder.append_extension(BasicConstraints::new().critical().build()?)?;
            let mut names = SubjectAlternativeName::new();
            names.dns("localhost").ip("127.0.0.1").ip("::1");
            for address in addresses {
                names.ip(&address.to_string());
            }
            builder.append_extension(names.build(&builder.x509v3_context(None, None))?)
        })?;
        if let CertificateKey::MlDsa(of) = key {
            let made = of.generate_like(&certificate).ok_or(IdentityError::MlDsa)?;
            let [certificate_pem, key_pem] = made;
            return Ok(Self { certificate_pem, key_pem });
        }
        Ok(Self {
            certificate_pem: certificate.to_pem()?,
            key_pem: private.private_key_to_pem_pkcs8()?,
        })
    }

    /// A fresh key with a client's certificate, and the certificate in PEM form of the authority that
    /// issued it, whose key is forgotten.
    pub fn issued_client(key: CertificateKey) -> Result<(Self, Vec<u8>), IdentityError> {
        let (private, issuer) = (key.generate()?, key.generate()?);
        let authority = ("toll's authority of clients", &*issuer);
        let authority_pem = certificate(authority, authority, &|builder| {
            builder.append_extension(BasicConstraints::new().critical().ca().build()?)
        })?
        .to_pem()?;
        let own = certificate(("toll's client", &private), authority, &|builder| {
            builder.append_extension(BasicConstraints::new().critical().build()?)?;
            builder.append_extension(ExtendedKeyUsage::new().client_auth().build()?)
        })?;
        let identity =
            Self { certificate_pem: own.to_pem()?, key_pem: private.private_key_to_pem_pkcs8()? };
        Ok((identity, authority_pem))
    }

    /// Reads a certificate (chain) and its key from PEM files.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, IdentityError> {
        let certificate_pem = read(certificate)?;
        let key_pem = read(key)?;
        let not_pem = |path: &Path, expected, fix| IdentityError::NotPem {
            path: path.display().to_string(),
            expected,
            fix,
        };
        let unmatched = || IdentityError::Unmatched {
            certificate: certificate.display().to_string(),
            key: key.display().to_string(),
        };
        let leaf = X509::from_pem(&certificate_pem).map_err(|_| {
            not_pem(certificate, "certificate", "give the file with -----BEGIN CERTIFICATE-----")
        })?;
        if let Some(of) = MlDsa::of_certificate(&leaf.to_der()?) {
            let is_its = of.is_key_of(&key_pem, &leaf.to_der()?).ok_or_else(|| {
                not_pem(key, "private key", "give one of ML-DSA, -----BEGIN PRIVATE KEY-----")
            })?;
            return match is_its {
                true => Ok(Self { certificate_pem, key_pem }),
                false => Err(unmatched()),
            };
        }
        // Without a callback OpenSSL would ask the terminal for the passphrase of an encrypted key.
        let private = PKey::private_key_from_pem_callback(&key_pem, |_| Ok(0)).map_err(|_| {
            not_pem(key, "private key", "give an unencrypted key, -----BEGIN PRIVATE KEY-----")
        })?;
        if !leaf.public_key()?.public_eq(&private) {
            return Err(unmatched());
        }
        Ok(Self { certificate_pem, key_pem })
    }

    /// Writes both to files; the key's file is created with mode 0600.
    pub fn write(&self, certificate: &Path, key: &Path) -> Result<(), IdentityError> {
        self.write_certificate(certificate)?;
        write_new(key, &self.key_pem, 0o600)
    }

    /// Writes the certificate to a new file, which is gone again where the disk is full.
    pub fn write_certificate(&self, path: &Path) -> Result<(), IdentityError> {
        write_new(path, &self.certificate_pem, 0o644)
    }
}

/// A certificate of a subject by an issuer, both by their common names and keys, with some extensions.
/// It is valid from yesterday for ten years.
///
/// All of the same names and kinds of keys are equally long: an ECDSA signature is shorter in DER where one of its
/// numbers begins with a zero bit, and two bytes more or less in a certificate change how many instructions a server
/// runs for each handshake (0.03% in nginx) and, by where its buffers lie, for each request (0.06%).
pub fn certificate(
    subject: (&str, &PKeyRef<Private>),
    issuer: (&str, &PKeyRef<Private>),
    extend: &dyn Fn(&mut X509Builder) -> Result<(), ErrorStack>,
) -> Result<X509, ErrorStack> {
    loop {
        let certificate = signed(subject, issuer, extend)?;
        // Of ECDSA signatures a quarter are of the greatest length, of RSA and Ed25519 all.
        if certificate.signature().len() == issuer.1.size() {
            return Ok(certificate);
        }
    }
}

fn signed(
    (subject, key): (&str, &PKeyRef<Private>),
    (issuer, issuer_key): (&str, &PKeyRef<Private>),
    extend: &dyn Fn(&mut X509Builder) -> Result<(), ErrorStack>,
) -> Result<X509, ErrorStack> {
    let mut serial = BigNum::new()?;
    serial.rand(120, MsbOption::ONE, false)?;
    let mut certificate = X509::builder()?;
    certificate.set_version(2)?;
    certificate.set_serial_number(&*Asn1Integer::from_bn(&serial)?)?;
    certificate.set_subject_name(&*named(subject)?)?;
    certificate.set_issuer_name(&*named(issuer)?)?;
    certificate.set_pubkey(key)?;
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |time| i64::try_from(time.as_secs()).unwrap_or(0));
    certificate.set_not_before(&*Asn1Time::from_unix(now - 86_400)?)?;
    certificate.set_not_after(&*Asn1Time::days_from_now(3650)?)?;
    extend(&mut certificate)?;
    // Ed25519 hashes by itself.
    let digest = match issuer_key.id() {
        Id::ED25519 => MessageDigest::null(),
        _ => MessageDigest::sha256(),
    };
    certificate.sign(issuer_key, digest)?;
    Ok(certificate.build())
}

fn named(name: &str) -> Result<X509Name, ErrorStack> {
    let mut builder = X509NameBuilder::new()?;
    builder.append_entry_by_text("CN", name)?;
    Ok(builder.build())
}

fn read(path: &Path) -> Result<Vec<u8>, IdentityError> {
    std::fs::read(path)
        .map_err(|source| IdentityError::File { path: path.display().to_string(), source })
}

fn write_new(path: &Path, content: &[u8], mode: u32) -> Result<(), IdentityError> {
    let failed = |source| IdentityError::File { path: path.display().to_string(), source };
    let options = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).clone();
    let mut file = options.open(path).map_err(failed)?;
    file.write_all(content).map_err(|source| {
        // Removes the incomplete file, for example when the disk is full.
        let _ = std::fs::remove_file(path);
        failed(source)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const KEYS: [&str; 6] =
        ["rsa:1024", "rsa:2048", "rsa:3072", "ecdsa:p256", "ecdsa:p384", "ed25519"];

    #[test]
    fn each_kind_of_key_is_generated_and_recognised() {
        for text in KEYS {
            let key: CertificateKey = text.parse().unwrap();
            assert_eq!(key.to_string(), text);
            let identity = Identity::generate(key).unwrap();
            let certificate = X509::from_pem(&identity.certificate_pem).unwrap();
            assert_eq!(CertificateKey::of_certificate(&certificate.to_der().unwrap()), Some(key));
            assert!(certificate.verify(&certificate.public_key().unwrap()).unwrap());
        }
    }

    #[test]
    fn certificates_of_one_kind_are_equally_long() {
        for text in ["ecdsa:p256", "ecdsa:p384", "ed25519"] {
            let length = |_| {
                let identity = Identity::generate(text.parse().unwrap()).unwrap();
                X509::from_pem(&identity.certificate_pem).unwrap().to_der().unwrap().len()
            };
            let lengths: std::collections::BTreeSet<usize> = (0..20).map(length).collect();
            assert_eq!(lengths.len(), 1, "{text}: {lengths:?}");
        }
    }

    #[test]
    fn a_certificate_is_for_the_addresses_that_it_was_asked_for() {
        let address = "10.1.1.1".parse().unwrap();
        let identity = Identity::generate_for(CertificateKey::EcdsaP256, &[address]).unwrap();
        let certificate = X509::from_pem(&identity.certificate_pem).unwrap();
        let names = certificate.subject_alt_names().unwrap();
        let found: Vec<_> = names.iter().filter_map(|name| name.ipaddress()).collect();
        let expected: [&[u8]; 3] =
            [&[127, 0, 0, 1], &std::net::Ipv6Addr::LOCALHOST.octets(), &[10, 1, 1, 1]];
        assert_eq!(found, expected);
    }

    #[test]
    fn keys_are_named_in_words() {
        let words = KEYS.map(|text| text.parse::<CertificateKey>().unwrap().words());
        let expected =
            ["RSA-1024", "RSA-2048", "RSA-3072", "ECDSA P-256", "ECDSA P-384", "Ed25519"];
        assert_eq!(words, expected);
    }

    #[test]
    fn keys_are_private_and_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
        let identity = Identity::generate(CertificateKey::EcdsaP256).unwrap();
        identity.write(&certificate, &key).unwrap();
        assert_eq!(key.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(Identity::read(&certificate, &key).is_ok());
        assert!(matches!(identity.write(&certificate, &key), Err(IdentityError::File { .. })));
    }

    #[test]
    fn wrong_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let one = Identity::generate(CertificateKey::EcdsaP256).unwrap();
        let other = Identity::generate(CertificateKey::EcdsaP256).unwrap();
        one.write(&path("1.crt"), &path("1.key")).unwrap();
        other.write(&path("2.crt"), &path("2.key")).unwrap();
        std::fs::write(path("garbage"), "-----BEGIN nothing").unwrap();

        let message =
            |c: &str, k: &str| Identity::read(&path(c), &path(k)).err().unwrap().to_string();
        assert!(message("1.crt", "2.key").contains("does not belong to"));
        assert!(message("garbage", "1.key").contains("garbage does not hold a certificate"));
        assert!(message("1.crt", "garbage").contains("garbage does not hold a private key"));
        assert!(message("missing", "1.key").contains("missing: No such file"));
    }
}
