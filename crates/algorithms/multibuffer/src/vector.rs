//! The vector operations that a kernel needs: one trait, implemented by the backends' proofs.
//!
//! A vector holds the same word of `L` messages, one in each lane. The algorithms are written once
//! against this trait, and every backend compiles them with its own instructions.
//!
//! The type that implements [`Simd`] is a *proof*: a value of it exists only where the processor
//! was found to have the instructions, so calling them through it is sound.

use crate::staging::Staged;

/// The operations of one backend on vectors of `L` words `W`.
pub(crate) trait Simd<W, const L: usize>: Copy {
    /// A vector of `L` words.
    type V: Copy;

    /// The same word in every lane.
    fn splat(self, word: W) -> Self::V;
    /// One word per lane.
    fn load(self, words: &[W; L]) -> Self::V;
    /// The reverse of [`load`](Self::load).
    fn store(self, vector: Self::V, words: &mut [W; L]);
    /// The 16 words of the staged block, in the processor's byte order.
    fn message(self, staged: &Staged<L>) -> [Self::V; 16];

    /// The same vector. The compiler must not move it before earlier stores or after later ones.
    ///
    /// Otherwise the compiler would gather all stores of the rounds in one place.
    #[inline(always)]
    fn anchor(self, a: Self::V) -> Self::V {
        a
    }

    /// Addition modulo the word.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Rotation to the right by `N` bits, between 0 and the word's width.
    fn ror<const N: i32>(self, a: Self::V) -> Self::V;
    /// Shift to the right by `N` bits.
    fn shr<const N: i32>(self, a: Self::V) -> Self::V;
    /// Exclusive or of two.
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;
    /// Exclusive or of three (FIPS 180-4: Parity).
    fn xor3(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// Each bit of `b` where `a` is set, else of `c` (FIPS 180-4: Ch).
    fn ch(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// In each bit the majority of the three (FIPS 180-4: Maj).
    fn maj(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
}
