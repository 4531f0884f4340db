//! HMAC (RFC 2104) for the key schedule, with its short keys and messages.
//!
//! Several values are derived from each secret, so a key is kept as the hash states after its two
//! padded blocks. For a message of a block or two, the buffers of a general, incremental
//! implementation would cost as much as the hash itself.

use sha2::digest::generic_array::GenericArray;
use sha2::{compress256, compress512};
use tls::PrfHash;

use crate::handshake::transcript::{Hashed, LONGEST};

/// The block of the longest hash here.
const LONGEST_BLOCK: usize = 128;

/// The key of an HMAC.
#[derive(Clone, Copy)]
pub(super) enum MacKey {
    Sha256(Padded<[u32; 8]>),
    Sha384(Padded<[u64; 8]>),
}

impl MacKey {
    pub(super) fn new(hash: PrfHash, key: &Hashed) -> Self {
        match hash {
            PrfHash::Sha256 => Self::Sha256(Padded::new(key)),
            PrfHash::Sha384 => Self::Sha384(Padded::new(key)),
        }
    }

    pub(super) fn hash(&self) -> PrfHash {
        match self {
            Self::Sha256(_) => PrfHash::Sha256,
            Self::Sha384(_) => PrfHash::Sha384,
        }
    }

    pub(super) fn sign(&self, message: &[u8]) -> Hashed {
        match self {
            Self::Sha256(key) => key.sign(message),
            Self::Sha384(key) => key.sign(message),
        }
    }
}

/// The states of a hash after the key's block, padded for the inner and for the outer hash.
#[derive(Clone, Copy)]
pub(super) struct Padded<S> {
    inner: S,
    outer: S,
}

impl<S: State> Padded<S> {
    fn new(key: &Hashed) -> Self {
        let padded = |padding: u8| {
            let mut block = [padding; LONGEST_BLOCK];
            for (byte, key) in block.iter_mut().zip(key.as_ref()) {
                *byte ^= key;
            }
            let mut state = S::INITIAL;
            state.compress(&block[..S::BLOCK]);
            state
        };
        Self { inner: padded(0x36), outer: padded(0x5c) }
    }

    fn sign(&self, message: &[u8]) -> Hashed {
        self.outer.end(self.inner.end(message).as_ref())
    }
}

/// The state of a hash between two blocks (FIPS 180-4, section 6).
pub(super) trait State: Copy {
    const INITIAL: Self;
    /// Length of a block.
    const BLOCK: usize;
    /// Bytes of the message's length at the end of its padding.
    const COUNT: usize;

    /// Takes whole blocks.
    fn compress(&mut self, blocks: &[u8]);

    fn output(&self) -> Hashed;

    /// The hash of a block that left this state, followed by `message`.
    fn end(mut self, message: &[u8]) -> Hashed {
        let (whole, rest) = message.split_at(message.len() - message.len() % Self::BLOCK);
        self.compress(whole);
        let mut blocks = [0; 2 * LONGEST_BLOCK];
        blocks[..rest.len()].copy_from_slice(rest);
        blocks[rest.len()] = 0x80;
        let end = (rest.len() + 1 + Self::COUNT).next_multiple_of(Self::BLOCK);
        let bits = 8 * (Self::BLOCK + message.len()) as u64;
        blocks[end - 8..end].copy_from_slice(&bits.to_be_bytes());
        self.compress(&blocks[..end]);
        self.output()
    }
}

impl State for [u32; 8] {
    /// FIPS 180-4, section 5.3.3.
    const INITIAL: Self = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];
    const BLOCK: usize = 64;
    const COUNT: usize = 8;

    fn compress(&mut self, blocks: &[u8]) {
        for block in blocks.chunks_exact(Self::BLOCK) {
            compress256(self, std::slice::from_ref(GenericArray::from_slice(block)));
        }
    }

    fn output(&self) -> Hashed {
        let mut bytes = [0; LONGEST];
        for (bytes, word) in bytes.chunks_exact_mut(4).zip(self) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        Hashed { bytes, length: 32 }
    }
}

impl State for [u64; 8] {
    /// Of SHA-384: FIPS 180-4, section 5.3.4.
    const INITIAL: Self = [
        0xcbbb_9d5d_c105_9ed8,
        0x629a_292a_367c_d507,
        0x9159_015a_3070_dd17,
        0x152f_ecd8_f70e_5939,
        0x6733_2667_ffc0_0b31,
        0x8eb4_4a87_6858_1511,
        0xdb0c_2e0d_64f9_8fa7,
        0x47b5_481d_befa_4fa4,
    ];
    const BLOCK: usize = 128;
    const COUNT: usize = 16;

    fn compress(&mut self, blocks: &[u8]) {
        for block in blocks.chunks_exact(Self::BLOCK) {
            compress512(self, std::slice::from_ref(GenericArray::from_slice(block)));
        }
    }

    /// SHA-384 leaves the last two words out.
    fn output(&self) -> Hashed {
        let mut bytes = [0; LONGEST];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(self) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        Hashed { bytes, length: LONGEST }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ring::hmac;

    use super::*;

    proptest! {
        #[test]
        fn another_library_signs_alike(
            key in proptest::collection::vec(any::<u8>(), 0..=LONGEST),
            message in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            for (hash, algorithm) in
                [(PrfHash::Sha256, hmac::HMAC_SHA256), (PrfHash::Sha384, hmac::HMAC_SHA384)]
            {
                let expected = hmac::sign(&hmac::Key::new(algorithm, &key), &message);
                let signed = MacKey::new(hash, &Hashed::from(&key[..])).sign(&message);
                prop_assert_eq!(signed.as_ref(), expected.as_ref());
            }
        }
    }
}
