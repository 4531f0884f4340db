//! ML-DSA (FIPS 204) in certificates (RFC 9881). OpenSSL has it from 3.5 on, so that AWS-LC makes these keys and
//! certificates, and compares them.

use std::fmt;

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::signature::{
    KeyPair, ML_DSA_44_SIGNING, ML_DSA_65_SIGNING, ML_DSA_87_SIGNING, PqdsaKeyPair,
    PqdsaSigningAlgorithm,
};
use openssl::base64::{decode_block, encode_block};
use openssl::x509::X509;

const SEQUENCE: u8 = 0x30;
const OBJECT: u8 = 0x06;
const BITS: u8 = 0x03;
/// The place of the subject's public key among the parts of a TBSCertificate (RFC 5280, section 4.1), and of the
/// algorithm of the issuer's signature.
const PUBLIC_KEY: usize = 6;
const ALGORITHM: usize = 2;
/// 2.16.840.1.101.3.4.3, to which the number of the parameters is added: 17, 18 or 19.
const ARC: [u8; 8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03];
const PRIVATE: &str = "PRIVATE KEY";

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MlDsa {
    MlDsa44,
    MlDsa65,
    MlDsa87,
}

impl MlDsa {
    pub const ALL: [Self; 3] = [Self::MlDsa44, Self::MlDsa65, Self::MlDsa87];

    /// The scheme of its signatures in TLS 1.3 (draft-ietf-tls-mldsa).
    pub fn scheme(self) -> u16 {
        match self {
            Self::MlDsa44 => 0x0904,
            Self::MlDsa65 => 0x0905,
            Self::MlDsa87 => 0x0906,
        }
    }

    /// That of a public key (SubjectPublicKeyInfo), where it is one.
    fn of_public_key(key: &[u8]) -> Option<Self> {
        let algorithm = parts(inside(SEQUENCE, inside(SEQUENCE, key)?)?)?;
        Self::ALL.into_iter().find(|of| algorithm.first() == Some(&&of.object()[..]))
    }

    /// That of the public key in a certificate in DER, where it is one.
    pub fn of_certificate(der: &[u8]) -> Option<Self> {
        Self::of_public_key(public_key(der)?)
    }

    fn object(self) -> Vec<u8> {
        let last = match self {
            Self::MlDsa44 => 17,
            Self::MlDsa65 => 18,
            Self::MlDsa87 => 19,
        };
        wrapped(OBJECT, &[&ARC[..], &[last]].concat())
    }

    fn signing(self) -> &'static PqdsaSigningAlgorithm {
        match self {
            Self::MlDsa44 => &ML_DSA_44_SIGNING,
            Self::MlDsa65 => &ML_DSA_65_SIGNING,
            Self::MlDsa87 => &ML_DSA_87_SIGNING,
        }
    }

    /// A self-signed certificate that says the same as this one of another key, and its fresh key, in PEM form. `None`
    /// where AWS-LC cannot make it.
    pub(crate) fn generate_like(self, certificate: &X509) -> Option<[Vec<u8>; 2]> {
        let key = PqdsaKeyPair::generate(self.signing()).ok()?;
        let public: PublicKeyX509Der<'_> = key.public_key().as_der().ok()?;
        let private = key.to_pkcs8v1().ok()?;
        let der = certificate.to_der().ok()?;
        let mut all = to_be_signed(&der)?;
        let algorithm = wrapped(SEQUENCE, &self.object());
        (all[ALGORITHM], all[PUBLIC_KEY]) = (&algorithm[..], public.as_ref());
        let signed = wrapped(SEQUENCE, &all.concat());
        let mut signature = vec![0; self.signing().signature_len()];
        key.sign(&signed, &mut signature).ok()?;
        let signature = wrapped(BITS, &[&[0], &signature[..]].concat());
        let certificate = wrapped(SEQUENCE, &[signed, algorithm, signature].concat());
        Some([pem("CERTIFICATE", &certificate), pem(PRIVATE, private.as_ref())])
    }

    /// Whether this private key in PEM form is that of a certificate in DER; `None` where it is none of these.
    pub(crate) fn is_key_of(self, key_pem: &[u8], certificate: &[u8]) -> Option<bool> {
        let text = std::str::from_utf8(key_pem).ok()?;
        let (_, rest) = text.split_once(&format!("-----BEGIN {PRIVATE}-----"))?;
        let (lines, _) = rest.split_once("-----END")?;
        let der = decode_block(&lines.split_whitespace().collect::<String>()).ok()?;
        let key = PqdsaKeyPair::from_pkcs8(self.signing(), &der).ok()?;
        let public: PublicKeyX509Der<'_> = key.public_key().as_der().ok()?;
        Some(public_key(certificate)? == public.as_ref())
    }
}

/// Such as `ml-dsa:65`.
impl fmt::Display for MlDsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = match self {
            Self::MlDsa44 => 44,
            Self::MlDsa65 => 65,
            Self::MlDsa87 => 87,
        };
        write!(f, "ml-dsa:{number}")
    }
}

/// The subject's public key (SubjectPublicKeyInfo) of a certificate in DER.
pub fn public_key(certificate: &[u8]) -> Option<&[u8]> {
    to_be_signed(certificate)?.get(PUBLIC_KEY).copied()
}

/// The parts of the TBSCertificate of a certificate of version 3, whole.
fn to_be_signed(certificate: &[u8]) -> Option<Vec<&[u8]>> {
    let all = parts(inside(SEQUENCE, inside(SEQUENCE, certificate)?)?)?;
    // Without its version everything would be elsewhere.
    (all.len() > PUBLIC_KEY && all[0].first() == Some(&0xa0)).then_some(all)
}

/// The content of the first element, where it is of this type.
fn inside(tag: u8, der: &[u8]) -> Option<&[u8]> {
    let (head, length) = header(der)?;
    (der[0] == tag).then(|| &der[head..head + length])
}

/// The elements, each with its header.
fn parts(mut der: &[u8]) -> Option<Vec<&[u8]>> {
    let mut all = Vec::new();
    while !der.is_empty() {
        let (head, length) = header(der)?;
        let (part, rest) = der.split_at(head + length);
        all.push(part);
        der = rest;
    }
    Some(all)
}

/// The lengths of the first element's header and content (ITU-T X.690, section 8.1), where all of it is there.
fn header(der: &[u8]) -> Option<(usize, usize)> {
    let first = usize::from(*der.get(1)?);
    let (head, length) = match first {
        0..=0x7f => (2, first),
        0x81..=0x83 => {
            let head = 2 + (first & 0x7f);
            let bytes = der.get(2..head)?;
            (head, bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)))
        }
        _ => return None,
    };
    (der.len() >= head + length).then_some((head, length))
}

fn wrapped(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let length = &length[length.iter().position(|byte| *byte > 0).unwrap_or(7)..];
    let mut out = vec![tag];
    match length {
        [short @ ..=0x7f] => out.push(*short),
        long => {
            out.push(0x80 | long.len() as u8);
            out.extend_from_slice(long);
        }
    }
    out.extend_from_slice(content);
    out
}

fn pem(label: &str, der: &[u8]) -> Vec<u8> {
    let text = encode_block(der);
    let lines: Vec<_> = text.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n")).into_bytes()
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{ML_DSA_65, UnparsedPublicKey};

    use super::*;
    use crate::{CertificateKey, Identity};

    #[test]
    fn a_certificate_is_signed_by_its_own_key_and_says_what_others_do() {
        let of = MlDsa::MlDsa65;
        let identity = Identity::generate(CertificateKey::MlDsa(of)).unwrap();
        let certificate = X509::from_pem(&identity.certificate_pem).unwrap();
        let der = certificate.to_der().unwrap();
        assert_eq!(MlDsa::of_certificate(&der), Some(of));
        let names = certificate.subject_alt_names().unwrap();
        assert!(names.iter().any(|name| name.dnsname() == Some("localhost")));
        let all = parts(inside(SEQUENCE, &der).unwrap()).unwrap();
        let [signed, _, signature] = all[..] else { panic!("{} parts", all.len()) };
        let key = UnparsedPublicKey::new(&ML_DSA_65, public_key(&der).unwrap());
        let signature = &inside(BITS, signature).unwrap()[1..];
        assert_eq!(signature.len(), 3309);
        key.verify(signed, signature).unwrap();
        assert!(key.verify(&signed[1..], signature).is_err());
        assert_eq!(of.is_key_of(&identity.key_pem, &der), Some(true));
        let other = Identity::generate(CertificateKey::MlDsa(of)).unwrap();
        assert_eq!(of.is_key_of(&other.key_pem, &der), Some(false));
        assert_eq!(MlDsa::MlDsa44.is_key_of(&identity.key_pem, &der), None);
        assert_eq!(of.is_key_of(b"-----BEGIN PRIVATE KEY-----\nAA", &der), None);
    }

    #[test]
    fn others_and_damaged_certificates_have_none() {
        let identity = Identity::generate(CertificateKey::EcdsaP256).unwrap();
        let der = X509::from_pem(&identity.certificate_pem).unwrap().to_der().unwrap();
        assert_eq!(MlDsa::of_certificate(&der), None);
        for end in 0..der.len() {
            assert_eq!(public_key(&der[..end]), None, "{end}");
        }
        for length in [0, 1, 127, 128, 255, 256, 70_000] {
            let content = vec![7; length];
            assert_eq!(inside(BITS, &wrapped(BITS, &content)), Some(&content[..]));
        }
    }
}
