//! Signatures of handshakes.
//!
//! A signature is verified once in many handshakes, so what a library looks up for one call counts too.
//! With cold caches AWS-LC verifies one of P-256 in 50 us, OpenSSL 3.0 in 64 us (AMD Zen 4). RSA is
//! OpenSSL's, whose keys may be shorter than 2048 bits.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ECDSA_P521_SHA512_ASN1, ML_DSA_44, ML_DSA_65,
    ML_DSA_87, UnparsedPublicKey, VerificationAlgorithm,
};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, PKeyRef, Public};
use openssl::rsa::{Padding, Rsa};
use openssl::sign::{RsaPssSaltlen, Verifier};
use openssl::x509::X509;
use tls::MlDsa;

/// The schemes that are offered in TLS 1.2, those of OpenSSL's client without DSA (RFC 8446, section
/// 4.2.3; RFC 5246, section 7.4.1.4.1).
pub(super) const TLS12_SCHEMES: [u16; 18] = [
    0x0403, 0x0503, 0x0603, 0x0807, 0x0808, 0x0809, 0x080a, 0x080b, 0x0804, 0x0805, 0x0806, 0x0401,
    0x0501, 0x0601, 0x0303, 0x0203, 0x0301, 0x0201,
];

/// Those that are offered beside rustls's: ECDSA with P-521 (in TLS 1.2 with any curve), Ed448, and the keys
/// that are for PSS alone.
pub(super) const OTHER_SCHEMES: [u16; 5] = [0x0603, 0x0808, 0x0809, 0x080a, 0x080b];

/// The public key of a certificate.
pub(super) struct PublicKey {
    /// As SubjectPublicKeyInfo (RFC 5280, section 4.1).
    der: Vec<u8>,
    /// `None` of a kind that OpenSSL may not have.
    parsed: Option<PKey<Public>>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rsa,
    /// RSASSA-PSS (RFC 4055), which cannot encrypt.
    RsaPss,
    /// With the curve's name.
    Ec(Option<Nid>),
    Ed25519,
    Ed448,
    MlDsa(MlDsa),
    Other,
}

impl PublicKey {
    /// That of a certificate in DER.
    pub(super) fn of(certificate: &[u8]) -> Result<Self, ErrorStack> {
        let of_ml_dsa = MlDsa::of_certificate(certificate).zip(tls::public_key(certificate));
        match of_ml_dsa {
            Some((of, der)) => {
                Ok(Self { der: der.to_owned(), parsed: None, kind: Kind::MlDsa(of) })
            }
            None => Self::new(X509::from_der(certificate)?.public_key()?),
        }
    }

    fn new(parsed: PKey<Public>) -> Result<Self, ErrorStack> {
        let kind = match parsed.id() {
            Id::RSA => Kind::Rsa,
            Id::RSA_PSS => Kind::RsaPss,
            Id::EC => Kind::Ec(parsed.ec_key()?.group().curve_name()),
            Id::ED25519 => Kind::Ed25519,
            Id::ED448 => Kind::Ed448,
            _ => Kind::Other,
        };
        Ok(Self { der: parsed.public_key_to_der()?, parsed: Some(parsed), kind })
    }

    /// Whether it signs in the suites of TLS 1.2 that are named after RSA.
    pub(super) fn is_rsa(&self) -> bool {
        matches!(self.kind, Kind::Rsa | Kind::RsaPss)
    }

    /// The key with which one can encrypt.
    pub(super) fn rsa(&self) -> Option<Rsa<Public>> {
        self.parsed.as_ref().filter(|_| self.kind == Kind::Rsa)?.rsa().ok()
    }

    /// Whether `signature` is one of `message`, by this key and in this scheme of TLS 1.3 (RFC 8446,
    /// section 4.2.3).
    pub(super) fn has_signed_tls13(&self, scheme: u16, message: &[u8], signature: &[u8]) -> bool {
        match (scheme, self.kind) {
            (0x0403, Kind::Ec(Some(Nid::X9_62_PRIME256V1)))
            | (0x0503, Kind::Ec(Some(Nid::SECP384R1)))
            | (0x0603, Kind::Ec(Some(Nid::SECP521R1)))
            | (0x0804..=0x0806, Kind::Rsa)
            | (0x0809..=0x080b, Kind::RsaPss)
            | (0x0807, Kind::Ed25519)
            | (0x0808, Kind::Ed448) => self.verifies(scheme, message, signature),
            (scheme, Kind::MlDsa(of)) if scheme == of.scheme() => {
                self.verifies(scheme, message, signature)
            }
            _ => false,
        }
    }

    /// Whether this scheme of TLS 1.2 is one of this kind of key. The hash does not decide the curve there.
    pub(super) fn signs_in_tls12(&self, scheme: u16) -> bool {
        match self.kind {
            Kind::Rsa => {
                matches!(scheme, 0x0201 | 0x0301 | 0x0401 | 0x0501 | 0x0601)
                    || matches!(scheme, 0x0804..=0x0806)
            }
            Kind::RsaPss => matches!(scheme, 0x0809..=0x080b),
            Kind::Ec(_) => matches!(scheme, 0x0203 | 0x0303 | 0x0403 | 0x0503 | 0x0603),
            Kind::Ed25519 => scheme == 0x0807,
            Kind::Ed448 => scheme == 0x0808,
            Kind::MlDsa(_) | Kind::Other => false,
        }
    }

    /// The same as [`Self::has_signed_tls13`] in TLS 1.2.
    pub(super) fn has_signed_tls12(&self, scheme: u16, message: &[u8], signature: &[u8]) -> bool {
        self.signs_in_tls12(scheme) && self.verifies(scheme, message, signature)
    }

    /// For a scheme of this kind of key.
    fn verifies(&self, scheme: u16, message: &[u8], signature: &[u8]) -> bool {
        let with_aws_lc = |algorithm: &'static dyn VerificationAlgorithm| {
            UnparsedPublicKey::new(algorithm, &self.der).verify(message, signature).is_ok()
        };
        if let Kind::MlDsa(of) = self.kind {
            return with_aws_lc(match of {
                MlDsa::MlDsa44 => &ML_DSA_44,
                MlDsa::MlDsa65 => &ML_DSA_65,
                MlDsa::MlDsa87 => &ML_DSA_87,
            });
        }
        let Some(parsed) = &self.parsed else { return false };
        let pss = |digest| has_signed_rsa(parsed, digest, Padding::PKCS1_PSS, message, signature);
        match (scheme, self.kind) {
            (0x0403, Kind::Ec(Some(Nid::X9_62_PRIME256V1))) => with_aws_lc(&ECDSA_P256_SHA256_ASN1),
            (0x0503, Kind::Ec(Some(Nid::SECP384R1))) => with_aws_lc(&ECDSA_P384_SHA384_ASN1),
            (0x0603, Kind::Ec(Some(Nid::SECP521R1))) => with_aws_lc(&ECDSA_P521_SHA512_ASN1),
            (0x0807 | 0x0808, _) => Verifier::new_without_digest(parsed)
                .and_then(|mut verifier| verifier.verify_oneshot(signature, message))
                .unwrap_or(false),
            (0x0804 | 0x0809, _) => pss(MessageDigest::sha256()),
            (0x0805 | 0x080a, _) => pss(MessageDigest::sha384()),
            (0x0806 | 0x080b, _) => pss(MessageDigest::sha512()),
            _ => {
                let digest = match scheme >> 8 {
                    2 => MessageDigest::sha1(),
                    3 => MessageDigest::sha224(),
                    4 => MessageDigest::sha256(),
                    5 => MessageDigest::sha384(),
                    _ => MessageDigest::sha512(),
                };
                Verifier::new(digest, parsed)
                    .and_then(|mut verifier| verifier.verify_oneshot(signature, message))
                    .unwrap_or(false)
            }
        }
    }
}

/// Whether `signature` is one of `message` by an RSA key; the salt of PSS is as long as the digest.
pub(super) fn has_signed_rsa(
    key: &PKeyRef<Public>,
    digest: MessageDigest,
    padding: Padding,
    message: &[u8],
    signature: &[u8],
) -> bool {
    let verified = || -> Result<bool, ErrorStack> {
        let mut verifier = Verifier::new(digest, key)?;
        verifier.set_rsa_padding(padding)?;
        if padding == Padding::PKCS1_PSS {
            verifier.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH)?;
        }
        verifier.verify_oneshot(signature, message)
    };
    matches!(key.id(), Id::RSA | Id::RSA_PSS) && verified().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use openssl::ec::{EcGroup, EcKey};
    use openssl::pkey::Private;
    use openssl::sign::Signer;

    use super::*;

    fn ec(curve: Nid) -> PKey<Private> {
        let group = EcGroup::from_curve_name(curve).unwrap();
        PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
    }

    fn public(key: &PKey<Private>) -> PublicKey {
        let der = key.public_key_to_der().unwrap();
        PublicKey::new(PKey::public_key_from_der(&der).unwrap()).unwrap()
    }

    fn sign(key: &PKey<Private>, digest: Option<MessageDigest>, message: &[u8]) -> Vec<u8> {
        let mut signer = match digest {
            Some(digest) => Signer::new(digest, key).unwrap(),
            None => Signer::new_without_digest(key).unwrap(),
        };
        if key.id() == Id::RSA {
            signer.set_rsa_padding(Padding::PKCS1_PSS).unwrap();
            signer.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH).unwrap();
        }
        signer.sign_oneshot_to_vec(message).unwrap()
    }

    #[test]
    fn a_signature_is_valid_only_for_its_key_scheme_and_message() {
        let rsa = || PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
        let (sha256, sha384) = (MessageDigest::sha256(), MessageDigest::sha384());
        let cases = [
            (0x0403, ec(Nid::X9_62_PRIME256V1), Some(sha256)),
            (0x0503, ec(Nid::SECP384R1), Some(sha384)),
            (0x0603, ec(Nid::SECP521R1), Some(MessageDigest::sha512())),
            (0x0804, rsa(), Some(sha256)),
            (0x0805, rsa(), Some(sha384)),
            (0x0806, rsa(), Some(MessageDigest::sha512())),
            (0x0807, PKey::generate_ed25519().unwrap(), None),
            (0x0808, PKey::generate_ed448().unwrap(), None),
        ];
        for (scheme, key, digest) in &cases {
            let signature = sign(key, *digest, b"message");
            for (other, other_key, _) in &cases {
                let public = public(other_key);
                let is_same = scheme == other;
                assert_eq!(
                    public.has_signed_tls13(*scheme, b"message", &signature),
                    is_same,
                    "{other}"
                );
                assert!(!public.has_signed_tls13(*scheme, b"another", &signature));
                if !is_same {
                    assert!(!public.has_signed_tls13(*other, b"message", &signature));
                }
            }
        }
        // The curve of another scheme with the same hash; and PKCS #1, which RFC 8446 allows only
        // in certificates.
        let key = ec(Nid::SECP384R1);
        let public = public(&key);
        assert!(!public.has_signed_tls13(
            0x0403,
            b"message",
            &sign(&key, Some(sha256), b"message")
        ));
        assert!(!public.has_signed_tls13(0x0401, b"message", b""));
    }
}
