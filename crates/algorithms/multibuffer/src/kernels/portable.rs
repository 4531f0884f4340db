//! Plain Rust: vectors of a single word.

use crate::Backend;
use crate::algorithm::{Rounds, State};
use crate::schedule::Kernel;
use crate::staging::{Run, Staged};
use crate::vector::Simd;

/// It needs no special instructions, so it always exists.
#[derive(Debug, Clone, Copy)]
pub struct Portable(());

impl Portable {
    pub(crate) const PROOF: Self = Self(());

    /// Always available.
    #[allow(clippy::unnecessary_wraps, reason = "as the other backends' proofs")]
    pub(crate) fn detect() -> Option<Self> {
        Some(Self::PROOF)
    }
}

impl<A: Rounds<Self, 1>> Kernel<A, 1> for Portable {
    const BACKEND: Backend = Backend::Portable;

    fn compress(
        self,
        state: &mut State<A::Word, 1>,
        runs: &[Run<'_, A, 1>],
        staged: &mut Staged<1>,
    ) {
        A::compress(self, state, runs, staged);
    }
}

macro_rules! scalar {
    ($word:ty, $message:expr) => {
        impl Simd<$word, 1> for Portable {
            type V = $word;

            #[inline(always)]
            fn splat(self, word: $word) -> $word {
                word
            }
            #[inline(always)]
            fn load(self, words: &[$word; 1]) -> $word {
                words[0]
            }
            #[inline(always)]
            fn store(self, vector: $word, words: &mut [$word; 1]) {
                *words = [vector];
            }
            #[inline(always)]
            fn message(self, staged: &Staged<1>) -> [$word; 16] {
                $message(&staged.0)
            }
            #[inline(always)]
            fn add(self, a: $word, b: $word) -> $word {
                a.wrapping_add(b)
            }
            #[inline(always)]
            fn ror<const N: i32>(self, a: $word) -> $word {
                a.rotate_right(N.unsigned_abs())
            }
            #[inline(always)]
            fn shr<const N: i32>(self, a: $word) -> $word {
                a >> N
            }
            #[inline(always)]
            fn xor(self, a: $word, b: $word) -> $word {
                a ^ b
            }
            #[inline(always)]
            fn xor3(self, a: $word, b: $word, c: $word) -> $word {
                a ^ b ^ c
            }
            #[inline(always)]
            fn ch(self, a: $word, b: $word, c: $word) -> $word {
                (a & (b ^ c)) ^ c
            }
            #[inline(always)]
            fn maj(self, a: $word, b: $word, c: $word) -> $word {
                ((a ^ b) & (b ^ c)) ^ b
            }
        }
    };
}

scalar!(u32, words_32);
scalar!(u64, words_64);

/// A row holds two words, the first of which has the lower address.
fn words_32(rows: &[[u64; 1]; 16]) -> [u32; 16] {
    std::array::from_fn(|i| {
        let row = rows[i / 2][0].to_ne_bytes();
        u32::from_be_bytes(row.as_chunks().0[i % 2])
    })
}

fn words_64(rows: &[[u64; 1]; 16]) -> [u64; 16] {
    rows.map(|[word]| u64::from_be_bytes(word.to_ne_bytes()))
}
