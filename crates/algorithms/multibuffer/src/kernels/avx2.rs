//! AVX2: vectors of 256 bits, without rotations and ternary logic.
//!
//! Three ports execute such vectors, two of them shift. A rotation is two shifts and an or;
//! rotations by whole bytes and shifts by one bit become shuffles and additions. As compiled, a
//! block of 8 (4) messages, 512 bytes, has 1,457 vector instructions with SHA-1, 3,308 with SHA-256
//! and 4,044 with SHA-512, so it takes at least 0.95, 2.15 and 2.63 cycles per byte.

use std::arch::asm;
use std::arch::x86_64::*;

use super::{proof, proven, vector_kernel};
use crate::staging::Staged;
use crate::unroll::unroll;
use crate::vector::Simd;

proof!(Avx2: "avx2");
vector_kernel!(Avx2, "avx2");

impl Simd<u32, 8> for Avx2 {
    type V = __m256i;

    proven! {
        fn splat(word: u32) -> __m256i = _mm256_set1_epi32(word.cast_signed());
        fn load(words: &[u32; 8]) -> __m256i = _mm256_loadu_si256(words.as_ptr().cast());
        fn store(a: __m256i, words: &mut [u32; 8]) =
            _mm256_storeu_si256(words.as_mut_ptr().cast(), a);
        fn message(staged: &Staged<8>) -> [__m256i; 16] = words_32(staged);
        fn anchor(a: __m256i) -> __m256i = anchor(a);
        fn add(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi32(a, b);
        fn ror<const N>(a: __m256i) -> __m256i = _mm256_or_si256(
            _mm256_srl_epi32(a, _mm_cvtsi32_si128(N)),
            _mm256_sll_epi32(a, _mm_cvtsi32_si128(32 - N)),
        );
        fn shr<const N>(a: __m256i) -> __m256i = _mm256_srl_epi32(a, _mm_cvtsi32_si128(N));
        fn xor(a: __m256i, b: __m256i) -> __m256i = _mm256_xor_si256(a, b);
        fn xor3(a: __m256i, b: __m256i, c: __m256i) -> __m256i = xor3(a, b, c);
        fn ch(a: __m256i, b: __m256i, c: __m256i) -> __m256i = ch(a, b, c);
        fn maj(a: __m256i, b: __m256i, c: __m256i) -> __m256i = maj(a, b, c);
    }
}

impl Simd<u64, 4> for Avx2 {
    type V = __m256i;

    proven! {
        fn splat(word: u64) -> __m256i = _mm256_set1_epi64x(word.cast_signed());
        fn load(words: &[u64; 4]) -> __m256i = _mm256_loadu_si256(words.as_ptr().cast());
        fn store(a: __m256i, words: &mut [u64; 4]) =
            _mm256_storeu_si256(words.as_mut_ptr().cast(), a);
        fn message(staged: &Staged<4>) -> [__m256i; 16] = words_64(staged);
        fn anchor(a: __m256i) -> __m256i = anchor(a);
        fn add(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi64(a, b);
        fn ror<const N>(a: __m256i) -> __m256i = _mm256_or_si256(
            _mm256_srl_epi64(a, _mm_cvtsi32_si128(N)),
            _mm256_sll_epi64(a, _mm_cvtsi32_si128(64 - N)),
        );
        fn shr<const N>(a: __m256i) -> __m256i = _mm256_srl_epi64(a, _mm_cvtsi32_si128(N));
        fn xor(a: __m256i, b: __m256i) -> __m256i = _mm256_xor_si256(a, b);
        fn xor3(a: __m256i, b: __m256i, c: __m256i) -> __m256i = xor3(a, b, c);
        fn ch(a: __m256i, b: __m256i, c: __m256i) -> __m256i = ch(a, b, c);
        fn maj(a: __m256i, b: __m256i, c: __m256i) -> __m256i = maj(a, b, c);
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn xor3(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    _mm256_xor_si256(_mm256_xor_si256(a, b), c)
}

#[target_feature(enable = "avx2")]
#[inline]
fn ch(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    _mm256_xor_si256(_mm256_and_si256(a, _mm256_xor_si256(b, c)), c)
}

/// In the next round `b` and `c` are this round's `a` and `b`, so one of the two inner
/// exclusive-ors is already computed: three instructions.
#[target_feature(enable = "avx2")]
#[inline]
fn maj(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    let differ = _mm256_and_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(b, c));
    _mm256_xor_si256(differ, b)
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn anchor(a: __m256i) -> __m256i {
    if cfg!(miri) {
        // Miri does not support assembly.
        return a;
    }
    let anchored;
    // SAFETY: the assembly is empty.
    unsafe {
        asm!("/* {0} */", inout(ymm_reg) a => anchored, options(nostack, preserves_flags));
    }
    anchored
}

/// Separates the even and the odd words of each row.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn words_32(staged: &Staged<8>) -> [__m256i; 16] {
    // Reverses the bytes of each 32-bit word.
    let swap =
        _mm256_broadcastsi128_si256(_mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203));
    let mut words = [_mm256_setzero_si256(); 16];
    unroll!(8, R => {
        let row = staged.0[R].as_ptr();
        // SAFETY: a row has 64 bytes.
        let (low, high) =
            unsafe { (_mm256_loadu_si256(row.cast()), _mm256_loadu_si256(row.add(4).cast())) };
        let low = _mm256_castsi256_ps(_mm256_shuffle_epi8(low, swap));
        let high = _mm256_castsi256_ps(_mm256_shuffle_epi8(high, swap));
        words[2 * R] = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(low, high));
        words[2 * R + 1] = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(low, high));
    });
    words
}

/// Each row is a vector of words.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn words_64(staged: &Staged<4>) -> [__m256i; 16] {
    // Reverses the bytes of each 64-bit word.
    let swap =
        _mm256_broadcastsi128_si256(_mm_set_epi64x(0x0809_0a0b_0c0d_0e0f, 0x0001_0203_0405_0607));
    let mut words = [_mm256_setzero_si256(); 16];
    unroll!(16, R => {
        // SAFETY: a row has 32 bytes.
        let row = unsafe { _mm256_loadu_si256(staged.0[R].as_ptr().cast()) };
        words[R] = _mm256_shuffle_epi8(row, swap);
    });
    words
}
