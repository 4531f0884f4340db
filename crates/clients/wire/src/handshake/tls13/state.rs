//! The states of SHA-256 and SHA-384 between two blocks (FIPS 180-4, section 6).
//!
//! The key schedule hashes some sixty blocks per handshake, most of which do not wait for each
//! other. SHA-384 has no instructions of its own, so several of its blocks are hashed at once in the
//! lanes of vectors; and those of SHA-256 where the processor lacks the SHA extensions.

use std::sync::LazyLock;

use multibuffer::{Algorithm, Backend, Hasher, Sha256, Sha512};
use sha2::block_api::{compress256, compress512};

use crate::handshake::transcript::{Hashed, LONGEST};

/// A state of SHA-256 or SHA-384.
pub(super) trait State: Copy + Send + Sync + 'static {
    const INITIAL: Self;
    type Block: AsRef<[u8]> + AsMut<[u8]> + Copy + Send + Sync;
    const ZEROS: Self::Block;
    /// Length of a block.
    const BLOCK: usize;
    /// Bytes of the message's length at the end of its padding.
    const COUNT: usize;
    /// Length of the hash.
    const OUTPUT: usize;

    /// Takes a block.
    fn compress(&mut self, block: &Self::Block);

    /// Takes one block into each state.
    fn compress_all(states: &mut [Self], blocks: &[&Self::Block]);

    fn output(&self) -> Hashed;
}

/// The fastest vectors for a few blocks; `None` where one block after the other is faster. Vectors of
/// 512 bits are left out: some processors lower their frequency for them.
fn lanes<A: Algorithm>() -> Option<Hasher<A>> {
    let has_own = Hasher::<A>::with(Backend::ShaNi).is_ok();
    let backends = [Backend::Avx512Vl, Backend::Avx2];
    backends.into_iter().filter(|_| !has_own).find_map(|backend| Hasher::with(backend).ok())
}

fn compress_each<S: State>(states: &mut [S], blocks: &[&S::Block]) {
    for (state, block) in states.iter_mut().zip(blocks) {
        state.compress(block);
    }
}

/// What is the same for words of any length.
macro_rules! of_words {
    ($algorithm:ty, $length:literal) => {
        fn compress_all(states: &mut [Self], blocks: &[&Self::Block]) {
            static LANES: LazyLock<Option<Hasher<$algorithm>>> = LazyLock::new(lanes);
            match &*LANES {
                Some(lanes) if states.len() > 1 => {
                    let work = lanes.compress(states, blocks);
                    debug_assert!(work.is_ok(), "as many states as blocks");
                }
                _ => compress_each(states, blocks),
            }
        }

        fn output(&self) -> Hashed {
            let mut bytes = [0; LONGEST];
            for (bytes, word) in bytes.chunks_exact_mut($length).zip(self) {
                bytes.copy_from_slice(&word.to_be_bytes());
            }
            Hashed { bytes, length: Self::OUTPUT }
        }
    };
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
    type Block = [u8; 64];
    const ZEROS: Self::Block = [0; 64];
    const BLOCK: usize = 64;
    const COUNT: usize = 8;
    const OUTPUT: usize = 32;

    fn compress(&mut self, block: &Self::Block) {
        compress256(self, std::slice::from_ref(block));
    }

    of_words!(Sha256, 4);
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
    type Block = [u8; 128];
    const ZEROS: Self::Block = [0; 128];
    const BLOCK: usize = 128;
    const COUNT: usize = 16;
    const OUTPUT: usize = LONGEST;

    fn compress(&mut self, block: &Self::Block) {
        compress512(self, std::slice::from_ref(block));
    }

    // SHA-384 differs from SHA-512 in its first state, and leaves the last two words out.
    of_words!(Sha512, 8);
}
