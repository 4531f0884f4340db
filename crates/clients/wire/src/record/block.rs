use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes256, Block};
use tls::Cipher;

/// AES's block.
pub(super) const BLOCK: usize = 16;

/// How many blocks the cipher computes in parallel.
const AT_ONCE: usize = 8;

/// AES with a key, block by block.
pub(super) enum BlockCipher {
    Aes128(Aes128),
    Aes256(Aes256),
}

impl BlockCipher {
    /// `None` where the cipher is not AES or the key is of a wrong length.
    pub(super) fn new(cipher: Cipher, key: &[u8]) -> Option<Self> {
        match cipher {
            Cipher::Aes128Gcm | Cipher::Aes128Cbc => {
                Aes128::new_from_slice(key).ok().map(Self::Aes128)
            }
            Cipher::Aes256Gcm | Cipher::Aes256Cbc => {
                Aes256::new_from_slice(key).ok().map(Self::Aes256)
            }
            Cipher::ChaCha20Poly1305 => None,
        }
    }

    pub(super) fn decrypt(&self, blocks: &mut [Block]) {
        match self {
            Self::Aes128(aes) => aes.decrypt_blocks(blocks),
            Self::Aes256(aes) => aes.decrypt_blocks(blocks),
        }
    }

    /// The beginning of a record of GCM, unauthenticated: counter mode from counter 2 on, since
    /// counter 1 is for the tag (NIST SP 800-38D, section 7.1).
    pub(super) fn peek_gcm(&self, nonce: [u8; 12], sealed: &[u8]) -> Vec<u8> {
        let mut opened = sealed.to_vec();
        let mut counter = 2u32;
        for piece in opened.chunks_mut(AT_ONCE * BLOCK) {
            let mut stream = [Block::default(); AT_ONCE];
            for block in &mut stream {
                block[..12].copy_from_slice(&nonce);
                block[12..].copy_from_slice(&counter.to_be_bytes());
                counter = counter.wrapping_add(1);
            }
            match self {
                Self::Aes128(aes) => aes.encrypt_blocks(&mut stream),
                Self::Aes256(aes) => aes.encrypt_blocks(&mut stream),
            }
            let (blocks, rest) = piece.as_chunks_mut::<BLOCK>();
            let (keys, last) = stream.split_at(blocks.len());
            for (block, key) in blocks.iter_mut().zip(keys) {
                let key = u128::from_ne_bytes((*key).into());
                *block = (u128::from_ne_bytes(*block) ^ key).to_ne_bytes();
            }
            for (byte, key) in rest.iter_mut().zip(last.iter().flatten()) {
                *byte ^= key;
            }
        }
        opened
    }

    /// The beginning of a record of CBC, unauthenticated: `sealed` is its IV and whole blocks.
    pub(super) fn peek_cbc(&self, sealed: &[u8]) -> Vec<u8> {
        let Some((_, blocks)) = sealed.split_at_checked(BLOCK) else { return Vec::new() };
        let mut opened = blocks[..blocks.len() / BLOCK * BLOCK].to_vec();
        for piece in opened.chunks_mut(AT_ONCE * BLOCK) {
            let mut together = [Block::default(); AT_ONCE];
            let together = &mut together[..piece.len() / BLOCK];
            for (block, sealed) in together.iter_mut().zip(piece.chunks_exact(BLOCK)) {
                block.copy_from_slice(sealed);
            }
            self.decrypt(together);
            for (opened, block) in piece.chunks_exact_mut(BLOCK).zip(together) {
                opened.copy_from_slice(block);
            }
        }
        for (byte, previous) in opened.iter_mut().zip(sealed) {
            *byte ^= previous;
        }
        opened
    }
}
