//! The traffic keys of TLS 1.2 from the master secret (RFC 5246, sections 5 and 6.3).

use ring::hmac;
use tls::{Cipher, Mac, PrfHash, Suite};

use super::aead::AeadKey;
use super::cbc::CbcKeys;
use super::protection::Protection;

/// How the records of both sides are protected.
pub struct Tls12Keys {
    /// Those that the client sends.
    pub client: Protection,
    /// Those that the server sends.
    pub server: Protection,
}

/// The keys of both sides; `None` where a library refuses one, which cannot happen with keys of the
/// right length.
pub fn tls12_keys(
    suite: &Suite,
    encrypt_then_mac: bool,
    master_secret: &[u8],
    client_random: &[u8],
    server_random: &[u8],
) -> Option<Tls12Keys> {
    let mac_length = match suite.mac {
        Mac::Aead => 0,
        Mac::Sha1 => 20,
        Mac::Sha256 => 32,
        Mac::Sha384 => 48,
    };
    let (key_length, iv_length) = match suite.cipher {
        Cipher::Aes128Gcm => (16, 4),
        Cipher::Aes256Gcm => (32, 4),
        Cipher::ChaCha20Poly1305 => (32, 12),
        Cipher::Aes128Cbc => (16, 0),
        Cipher::Aes256Cbc => (32, 0),
    };
    let seed = [server_random, client_random].concat();
    let length = 2 * (mac_length + key_length + iv_length);
    let block = tls12_prf(suite.prf, master_secret, b"key expansion", &seed, length);

    let (mac_keys, rest) = block.split_at(2 * mac_length);
    let (keys, ivs) = rest.split_at(2 * key_length);
    // In each pair the client's part comes first.
    let (client_mac, server_mac) = mac_keys.split_at(mac_length);
    let (client_key, server_key) = keys.split_at(key_length);
    let (client_iv, server_iv) = ivs.split_at(iv_length);
    Some(Tls12Keys {
        client: protection(suite, encrypt_then_mac, client_mac, client_key, client_iv)?,
        server: protection(suite, encrypt_then_mac, server_mac, server_key, server_iv)?,
    })
}

fn protection(
    suite: &Suite,
    encrypt_then_mac: bool,
    mac_key: &[u8],
    key: &[u8],
    fixed_iv: &[u8],
) -> Option<Protection> {
    let mut iv = [0; 12];
    iv[..fixed_iv.len()].copy_from_slice(fixed_iv);
    Some(match suite.cipher {
        Cipher::Aes128Gcm | Cipher::Aes256Gcm => {
            Protection::Tls12Gcm(AeadKey::new(suite.cipher, key, &iv)?)
        }
        Cipher::ChaCha20Poly1305 => {
            Protection::Tls12ChaCha20(AeadKey::new(suite.cipher, key, &iv)?)
        }
        Cipher::Aes128Cbc | Cipher::Aes256Cbc => Protection::Tls12Cbc(Box::new(CbcKeys::new(
            suite.cipher,
            key,
            suite.mac,
            mac_key,
            encrypt_then_mac,
        )?)),
    })
}

/// The key of HMACs of any length.
pub(crate) fn hmac_key(hash: PrfHash, key: &[u8]) -> hmac::Key {
    let algorithm = match hash {
        PrfHash::Sha256 => hmac::HMAC_SHA256,
        PrfHash::Sha384 => hmac::HMAC_SHA384,
    };
    hmac::Key::new(algorithm, key)
}

/// The PRF of RFC 5246, section 5.
pub fn tls12_prf(
    hash: PrfHash,
    secret: &[u8],
    label: &[u8],
    seed: &[u8],
    length: usize,
) -> Vec<u8> {
    let key = hmac_key(hash, secret);
    let seed = [label, seed].concat();
    let mut a = hmac::sign(&key, &seed);
    let mut out = Vec::with_capacity(length + 48);
    while out.len() < length {
        out.extend_from_slice(hmac::sign(&key, &[a.as_ref(), &seed].concat()).as_ref());
        a = hmac::sign(&key, a.as_ref());
    }
    out.truncate(length);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::bytes;

    /// The vector for P_SHA256 that the TLS working group's list published for RFC 5246.
    #[test]
    fn prf_gives_the_published_vector() {
        let out = tls12_prf(
            PrfHash::Sha256,
            &bytes("9bbe436ba940f017b17652849a71db35"),
            b"test label",
            &bytes("a0ba9f936cda311827a6f796ffd5198c"),
            100,
        );
        assert_eq!(
            out,
            bytes(
                "e3f229ba727be17b8d122620557cd453c2aab21d07c3d495329b52d4e61edb5a
                 6b301791e90d35c9c9a46b4e14baf9af0fa022f7077def17abfd3797c0564bab
                 4fbc91666e9def9b97fce34f796789baa48082d122ee42c5a72e5a5110fff701
                 87347b66"
            )
        );
    }
}
