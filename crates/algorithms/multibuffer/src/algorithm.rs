//! The three hash functions: their sizes, initial values, padding and digests.

use std::fmt::Debug;

use crate::backend::Kernels;
use crate::constants::{INITIAL1, INITIAL256, INITIAL512};
use crate::kernels::{Kernel32, Kernel64};
use crate::schedule::{Column, Work};
use crate::staging::{Run, Staged, stage_32, stage_64};

/// A hash function of FIPS 180-4: [`Sha1`], [`Sha256`] or [`Sha512`].
pub trait Algorithm: Internals {
    /// Its name in FIPS 180-4, such as `SHA-256`.
    const NAME: &'static str;
    const BLOCK_BYTES: usize;
    /// An array for a digest.
    type Digest: AsRef<[u8]> + Copy + Debug + Eq + Send + Sync + 'static;
    /// A digest of zeros, to be overwritten.
    const ZEROS: Self::Digest;
}

/// SHA-1: blocks of 64 bytes, digests of 20. Broken for signatures; HMAC-SHA1 is still in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sha1 {}

/// SHA-256: blocks of 64 bytes, digests of 32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sha256 {}

/// SHA-512: blocks of 128 bytes, digests of 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sha512 {}

/// The chaining values of `L` messages, word by word. SHA-1 uses the first five words.
pub type State<W, const L: usize> = [[W; L]; 8];

/// The parts of an algorithm that only this crate uses.
pub trait Internals: Copy + Eq + Debug + Send + Sync + 'static {
    type Word: Copy + Default + Send + Sync + Debug + 'static;
    type Block: AsRef<[u8]> + AsMut<[u8]> + Copy + Send + Sync + Debug + 'static;
    type Kernels: Kernels;

    const INITIAL: &'static [Self::Word; 8];
    const ZERO_BLOCK: Self::Block;
    /// Bytes of the length field at the end of the padding.
    const LENGTH_BYTES: usize;
    /// The backends, from the fastest to the slowest, for many equal messages on Sapphire Rapids.
    const PREFERENCE: &'static [crate::Backend];

    /// The whole blocks, and the bytes that are left.
    fn blocks(bytes: &[u8]) -> (&[Self::Block], &[u8]);
    /// Puts a block into a lane.
    fn stage<const L: usize>(block: &Self::Block, staged: &mut Staged<L>, lane: usize);
    /// Hashes as many messages as there are digests with this kernel.
    ///
    /// Not generic, so that the kernels are compiled once and with this crate.
    fn run<'a>(
        kernel: Self::Kernels,
        message: &dyn Fn(usize) -> &'a [u8],
        digests: &mut [Self::Digest],
    ) -> Work
    where
        Self: Algorithm;
    /// Hashes one more block after each chaining value with this kernel; as many of both.
    fn step(kernel: Self::Kernels, states: &mut [[Self::Word; 8]], blocks: &[&Self::Block]) -> Work
    where
        Self: Algorithm;
    /// The digest of a chaining value.
    fn digest(state: &Column<'_, Self::Word>) -> Self::Digest
    where
        Self: Algorithm;
}

/// An algorithm on the vectors of a backend.
pub trait Rounds<S, const L: usize>: Algorithm {
    /// Hashes the blocks of the runs, one run after the other.
    fn compress(
        s: S,
        state: &mut State<Self::Word, L>,
        runs: &[Run<'_, Self, L>],
        staged: &mut Staged<L>,
    );
}

/// Pads the end of a message (FIPS 180-4, section 5.1): a one, zeros, and the length in bits.
/// Returns how many of the blocks are used: one or two.
///
/// `rest` are the bytes after the last full block of a message of `message_bytes` bytes.
pub(crate) fn pad<A: Algorithm>(
    rest: &[u8],
    message_bytes: u64,
    blocks: &mut [A::Block; 2],
) -> usize {
    let bits = (u128::from(message_bytes) * 8).to_be_bytes();
    let used = if rest.len() + 1 + A::LENGTH_BYTES <= A::BLOCK_BYTES { 1 } else { 2 };
    blocks[0] = A::ZERO_BLOCK;
    if used == 2 {
        blocks[1] = A::ZERO_BLOCK;
    }
    let start = blocks[0].as_mut();
    if !rest.is_empty() {
        start[..rest.len()].copy_from_slice(rest);
    }
    start[rest.len()] = 0x80;
    let end = blocks[used - 1].as_mut();
    let at = A::BLOCK_BYTES - A::LENGTH_BYTES;
    end[at..].copy_from_slice(&bits[bits.len() - A::LENGTH_BYTES..]);
    used
}

macro_rules! algorithm {
    ($algorithm:ident, $name:literal, $word:ty, $kernels:ident, $block:literal, $digest:literal,
     $length:literal, $initial:ident, $stage:ident, $preference:expr) => {
        impl Algorithm for $algorithm {
            const NAME: &'static str = $name;
            const BLOCK_BYTES: usize = $block;
            type Digest = [u8; $digest];
            const ZEROS: Self::Digest = [0; $digest];
        }

        impl Internals for $algorithm {
            type Word = $word;
            type Block = [u8; $block];
            type Kernels = $kernels;

            const INITIAL: &'static [$word; 8] = &$initial;
            const ZERO_BLOCK: Self::Block = [0; $block];
            const LENGTH_BYTES: usize = $length;
            const PREFERENCE: &'static [crate::Backend] = {
                use crate::Backend::*;
                &$preference
            };

            fn blocks(bytes: &[u8]) -> (&[Self::Block], &[u8]) {
                bytes.as_chunks()
            }

            #[inline(always)]
            fn stage<const L: usize>(block: &Self::Block, staged: &mut Staged<L>, lane: usize) {
                $stage(block, staged, lane);
            }

            fn run<'a>(
                kernel: $kernels,
                message: &dyn Fn(usize) -> &'a [u8],
                digests: &mut [[u8; $digest]],
            ) -> Work {
                kernel.run::<Self>(message, digests)
            }

            fn step(kernel: $kernels, states: &mut [[$word; 8]], blocks: &[&[u8; $block]]) -> Work {
                kernel.step::<Self>(states, blocks)
            }

            #[inline]
            fn digest(state: &Column<'_, $word>) -> [u8; $digest] {
                let mut digest = [0; $digest];
                let (words, _) = digest.as_chunks_mut();
                for (i, bytes) in words.iter_mut().enumerate() {
                    *bytes = state.word(i).to_be_bytes();
                }
                digest
            }
        }
    };
}

algorithm!(
    Sha1,
    "SHA-1",
    u32,
    Kernel32,
    64,
    20,
    8,
    INITIAL1,
    stage_32,
    [Avx512, Avx512Vl, Avx2, ShaNi, Portable]
);
algorithm!(
    Sha256,
    "SHA-256",
    u32,
    Kernel32,
    64,
    32,
    8,
    INITIAL256,
    stage_32,
    [Avx512, Avx512Vl, ShaNi, Avx2, Portable]
);
algorithm!(
    Sha512,
    "SHA-512",
    u64,
    Kernel64,
    128,
    64,
    16,
    INITIAL512,
    stage_64,
    [Avx512, Avx512Vl, Avx2, Portable]
);
