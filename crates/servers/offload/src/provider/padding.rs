//! The paddings of RSA that TLS has (RFC 8017), for an accelerator that only raises to powers.

use openssl::error::ErrorStack;
use openssl::hash::{Hasher, MessageDigest, hash};
use openssl::nid::Nid;
use openssl::rand::rand_bytes;
use zeroize::Zeroizing;

use crate::device::Premaster;

/// EMSA-PKCS1-v1_5 (section 9.2): the digest, encoded in `bytes` bytes. `None` for hash functions that TLS does
/// not sign with, and for keys that are too short.
pub(super) fn pkcs1(function: MessageDigest, digest: &[u8], bytes: usize) -> Option<Vec<u8>> {
    // The DER of a DigestInfo up to the digest, without the last byte of the object's identifier.
    const SHA_2: [u8; 13] =
        [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x00, 0x05, 0x00, 0x04, 0x00];
    let last = match function.type_() {
        Nid::SHA256 => 1,
        Nid::SHA384 => 2,
        Nid::SHA512 => 3,
        _ => return None,
    };
    let length = u8::try_from(digest.len()).ok()?;
    let mut info = vec![0x30, length + 17, 0x30, 0x0d, 0x06, 0x09];
    info.extend(SHA_2);
    (info[14], info[18]) = (last, length);
    info.extend(digest);
    // Eight bytes of padding at least.
    let padding = bytes.checked_sub(info.len() + 3).filter(|padding| *padding >= 8)?;
    let mut encoded = vec![0, 1];
    encoded.resize(2 + padding, 0xff);
    encoded.push(0);
    encoded.extend(info);
    Some(encoded)
}

/// EMSA-PSS (section 9.1): the digest, encoded in `bytes` bytes with a salt as long as the digest. The modulus has
/// that many bytes, and its highest bit is set.
///
/// # Errors
/// OpenSSL's.
pub(super) fn pss(
    function: MessageDigest,
    digest: &[u8],
    bytes: usize,
) -> Result<Option<Vec<u8>>, ErrorStack> {
    let length = digest.len();
    let Some(masked) = bytes.checked_sub(length + 1).filter(|masked| *masked > length) else {
        return Ok(None);
    };
    let mut salt = vec![0; length];
    rand_bytes(&mut salt)?;
    let mut hasher = Hasher::new(function)?;
    for part in [&[0; 8][..], digest, &salt] {
        hasher.update(part)?;
    }
    let hashed = hasher.finish()?;
    let mut encoded = vec![0; masked];
    encoded[masked - length - 1] = 1;
    encoded[masked - length..].copy_from_slice(&salt);
    // MGF1 (appendix B.2.1).
    for (counter, block) in (0u32..).zip(encoded.chunks_mut(length)) {
        let mask = hash(function, &[&hashed[..], &counter.to_be_bytes()].concat())?;
        block.iter_mut().zip(mask.iter()).for_each(|(byte, mask)| *byte ^= mask);
    }
    encoded[0] &= 0x7f;
    encoded.extend_from_slice(&hashed);
    encoded.push(0xbc);
    Ok(Some(encoded))
}

/// The premaster secret in what was decrypted, or random bytes where anything is wrong with it (RFC 5246,
/// section 7.4.7.1): in the same steps and the same memory, so that time says nothing of which.
/// `versions` are the client's and, where the server takes another one too, that.
///
/// # Errors
/// There are no random numbers.
pub(super) fn premaster(decrypted: &[u8], versions: [u16; 2]) -> Result<Premaster, ErrorStack> {
    let mut random = Zeroizing::new([0; size_of::<Premaster>()]);
    rand_bytes(&mut *random)?;
    let (padding, secret) = decrypted.split_at(decrypted.len() - random.len());
    let mut wrong = padding[0] | (padding[1] ^ 2) | padding[padding.len() - 1];
    for byte in &padding[2..padding.len() - 1] {
        wrong |= 1 ^ is_not_zero(*byte);
    }
    let differs = |version: u16| {
        let [high, low] = version.to_be_bytes();
        is_not_zero((secret[0] ^ high) | (secret[1] ^ low))
    };
    wrong |= differs(versions[0]) & differs(versions[1]);
    let replaced = std::hint::black_box(0u8.wrapping_sub(is_not_zero(wrong)));
    Ok(std::array::from_fn(|i| (secret[i] & !replaced) | (random[i] & replaced)))
}

/// 1 or 0, without a branch.
fn is_not_zero(byte: u8) -> u8 {
    (byte | byte.wrapping_neg()) >> 7
}

#[cfg(test)]
mod tests {
    use openssl::pkey::PKey;
    use openssl::rsa::{Padding, Rsa};
    use openssl::sign::{RsaPssSaltlen, Verifier};

    use super::*;

    #[test]
    fn encodings_are_those_that_openssl_verifies() {
        let rsa = Rsa::generate(2048).unwrap();
        let key = PKey::from_rsa(rsa.clone()).unwrap();
        let functions = [MessageDigest::sha256(), MessageDigest::sha384(), MessageDigest::sha512()];
        for function in functions {
            let digest = hash(function, b"message").unwrap();
            for is_pss in [false, true] {
                let encoded = match is_pss {
                    true => pss(function, &digest, 256).unwrap(),
                    false => pkcs1(function, &digest, 256),
                };
                let mut signature = vec![0; 256];
                rsa.private_encrypt(&encoded.unwrap(), &mut signature, Padding::NONE).unwrap();
                let mut verifier = Verifier::new(function, &key).unwrap();
                if is_pss {
                    verifier.set_rsa_padding(Padding::PKCS1_PSS).unwrap();
                    verifier.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH).unwrap();
                }
                verifier.update(b"message").unwrap();
                assert!(verifier.verify(&signature).unwrap());
            }
        }
        assert_eq!(pkcs1(MessageDigest::md5(), &[0; 16], 256), None);
        assert_eq!(pkcs1(MessageDigest::sha512(), &[0; 64], 93), None);
        assert_eq!(pss(MessageDigest::sha512(), &[0; 64], 128).unwrap(), None);
    }

    #[test]
    fn a_premaster_secret_is_given_back_and_anything_else_is_replaced() {
        let secret: Premaster = std::array::from_fn(|i| if i < 2 { 3 } else { i as u8 });
        let mut right = vec![0, 2];
        right.resize(256 - 49, 0xaa);
        right.push(0);
        right.extend(secret);
        let tls12 = 0x0303;
        assert_eq!(premaster(&right, [tls12; 2]).unwrap(), secret);
        assert_eq!(premaster(&right, [0x0301, tls12]).unwrap(), secret);
        let of_other_version = premaster(&right, [0x0302, 0x0301]).unwrap();
        let mut seen = vec![secret, of_other_version];
        for (place, value) in
            [(0, 1), (1, 1), (2, 0), (100, 0), (206, 0), (207, 1), (208, 2), (209, 1)]
        {
            let mut wrong = right.clone();
            wrong[place] = value;
            let made = premaster(&wrong, [tls12; 2]).unwrap();
            assert!(!seen.contains(&made), "byte {place}");
            seen.push(made);
        }
    }
}
