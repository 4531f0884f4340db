//! Signatures of TLS 1.3 handshakes through OpenSSL, so that a parsed key is kept from one to the
//! next.

use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::pkey::{Id, PKeyRef, Public};
use openssl::rsa::Padding;
use openssl::sign::{RsaPssSaltlen, Verifier};

/// Whether `signature` is one of `message`, by this key and in this scheme (RFC 8446, section 4.2.3).
pub(super) fn is_signed(
    key: &PKeyRef<Public>,
    scheme: u16,
    message: &[u8],
    signature: &[u8],
) -> bool {
    let (id, bits, digest) = match scheme {
        0x0403 => (Id::EC, Some(256), Some(MessageDigest::sha256())),
        0x0503 => (Id::EC, Some(384), Some(MessageDigest::sha384())),
        0x0603 => (Id::EC, Some(521), Some(MessageDigest::sha512())),
        0x0804 => (Id::RSA, None, Some(MessageDigest::sha256())),
        0x0805 => (Id::RSA, None, Some(MessageDigest::sha384())),
        0x0806 => (Id::RSA, None, Some(MessageDigest::sha512())),
        0x0807 => (Id::ED25519, None, None),
        _ => return false,
    };
    if key.id() != id || bits.is_some_and(|bits| key.bits() != bits) {
        return false;
    }
    let verified = || -> Result<bool, ErrorStack> {
        let mut verifier = match digest {
            Some(digest) => Verifier::new(digest, key)?,
            None => Verifier::new_without_digest(key)?,
        };
        if id == Id::RSA {
            verifier.set_rsa_padding(Padding::PKCS1_PSS)?;
            verifier.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH)?;
        }
        verifier.verify_oneshot(signature, message)
    };
    verified().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use openssl::ec::{EcGroup, EcKey};
    use openssl::nid::Nid;
    use openssl::pkey::{PKey, Private};
    use openssl::rsa::Rsa;
    use openssl::sign::Signer;

    use super::*;

    fn ec(curve: Nid) -> PKey<Private> {
        let group = EcGroup::from_curve_name(curve).unwrap();
        PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
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
        ];
        for (scheme, key, digest) in &cases {
            let signature = sign(key, *digest, b"message");
            for (other, other_key, _) in &cases {
                let der = other_key.public_key_to_der().unwrap();
                let public = PKey::public_key_from_der(&der).unwrap();
                let is_same = scheme == other;
                assert_eq!(is_signed(&public, *scheme, b"message", &signature), is_same, "{other}");
                assert!(!is_signed(&public, *scheme, b"another", &signature));
                if !is_same {
                    assert!(!is_signed(&public, *other, b"message", &signature));
                }
            }
        }
        // The curve of another scheme with the same hash; and PKCS #1, which RFC 8446 allows only
        // in certificates.
        let key = ec(Nid::SECP384R1);
        let public = PKey::public_key_from_der(&key.public_key_to_der().unwrap()).unwrap();
        assert!(!is_signed(&public, 0x0403, b"message", &sign(&key, Some(sha256), b"message")));
        assert!(!is_signed(&public, 0x0401, b"message", b""));
    }
}
