//! AVX-512: vectors of 512 bits.
//!
//! With ternary logic Ch, Maj and Parity are one instruction each. Two ports execute such vectors;
//! only one of them rotates, and only the other shuffles. So a block of 16 (8) messages, 1,024
//! bytes, takes at least half as many cycles as it has vector instructions:
//!
//! | | rounds | schedule | staged words | chaining value | sum | cycles/byte |
//! |---|---|---|---|---|---|---|
//! | SHA-1 | 80 x 7 | 64 x 3 | 32 | 5 | 789 | 0.385 |
//! | SHA-256 | 64 x 17 | 48 x 11 | 32 | 8 | 1,656 | 0.809 |
//! | SHA-512 | 80 x 17 | 64 x 11 | 16 | 8 | 2,088 | 1.020 |

use std::arch::asm;
use std::arch::x86_64::*;

use super::{proof, proven, vector_kernel};
use crate::staging::Staged;
use crate::unroll::unroll;
use crate::vector::Simd;

proof!(Avx512: "avx512f" "avx512bw");
vector_kernel!(Avx512, "avx512f,avx512bw");

impl Simd<u32, 16> for Avx512 {
    type V = __m512i;

    proven! {
        fn splat(word: u32) -> __m512i = _mm512_set1_epi32(word.cast_signed());
        fn load(words: &[u32; 16]) -> __m512i = _mm512_loadu_si512(words.as_ptr().cast());
        fn store(a: __m512i, words: &mut [u32; 16]) =
            _mm512_storeu_si512(words.as_mut_ptr().cast(), a);
        fn message(staged: &Staged<16>) -> [__m512i; 16] = words_32(staged);
        fn anchor(a: __m512i) -> __m512i = anchor(a);
        fn add(a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi32(a, b);
        fn ror<const N>(a: __m512i) -> __m512i = _mm512_ror_epi32::<N>(a);
        fn shr<const N>(a: __m512i) -> __m512i =
            _mm512_srlv_epi32(a, _mm512_set1_epi32(N));
        fn xor(a: __m512i, b: __m512i) -> __m512i = _mm512_xor_si512(a, b);
        fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i =
            _mm512_ternarylogic_epi32::<0x96>(a, b, c);
        fn ch(a: __m512i, b: __m512i, c: __m512i) -> __m512i =
            _mm512_ternarylogic_epi32::<0xca>(a, b, c);
        fn maj(a: __m512i, b: __m512i, c: __m512i) -> __m512i =
            _mm512_ternarylogic_epi32::<0xe8>(a, b, c);
    }
}

impl Simd<u64, 8> for Avx512 {
    type V = __m512i;

    proven! {
        fn splat(word: u64) -> __m512i = _mm512_set1_epi64(word.cast_signed());
        fn load(words: &[u64; 8]) -> __m512i = _mm512_loadu_si512(words.as_ptr().cast());
        fn store(a: __m512i, words: &mut [u64; 8]) =
            _mm512_storeu_si512(words.as_mut_ptr().cast(), a);
        fn message(staged: &Staged<8>) -> [__m512i; 16] = words_64(staged);
        fn anchor(a: __m512i) -> __m512i = anchor(a);
        fn add(a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi64(a, b);
        fn ror<const N>(a: __m512i) -> __m512i = _mm512_ror_epi64::<N>(a);
        fn shr<const N>(a: __m512i) -> __m512i =
            _mm512_srlv_epi64(a, _mm512_set1_epi64(N.into()));
        fn xor(a: __m512i, b: __m512i) -> __m512i = _mm512_xor_si512(a, b);
        fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i =
            _mm512_ternarylogic_epi32::<0x96>(a, b, c);
        fn ch(a: __m512i, b: __m512i, c: __m512i) -> __m512i =
            _mm512_ternarylogic_epi32::<0xca>(a, b, c);
        fn maj(a: __m512i, b: __m512i, c: __m512i) -> __m512i =
            _mm512_ternarylogic_epi32::<0xe8>(a, b, c);
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn anchor(a: __m512i) -> __m512i {
    if cfg!(miri) {
        // Miri does not support assembly.
        return a;
    }
    let anchored;
    // SAFETY: the assembly is empty.
    unsafe {
        asm!("/* {0} */", inout(zmm_reg) a => anchored, options(nostack, preserves_flags));
    }
    anchored
}

/// Separates the even and the odd words of each row.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn words_32(staged: &Staged<16>) -> [__m512i; 16] {
    // Reverses the bytes of each 32-bit word.
    let swap = _mm512_set4_epi32(0x0c0d_0e0f, 0x0809_0a0b, 0x0405_0607, 0x0001_0203);
    let mut words = [_mm512_setzero_si512(); 16];
    unroll!(8, R => {
        let row = staged.0[R].as_ptr();
        // SAFETY: a row has 128 bytes.
        let (low, high) =
            unsafe { (_mm512_loadu_si512(row.cast()), _mm512_loadu_si512(row.add(8).cast())) };
        let low = _mm512_castsi512_ps(_mm512_shuffle_epi8(low, swap));
        let high = _mm512_castsi512_ps(_mm512_shuffle_epi8(high, swap));
        words[2 * R] = _mm512_castps_si512(_mm512_shuffle_ps::<0b10_00_10_00>(low, high));
        words[2 * R + 1] = _mm512_castps_si512(_mm512_shuffle_ps::<0b11_01_11_01>(low, high));
    });
    words
}

/// Each row is a vector of words.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn words_64(staged: &Staged<8>) -> [__m512i; 16] {
    // Reverses the bytes of each 64-bit word.
    let swap = _mm512_set4_epi32(0x0809_0a0b, 0x0c0d_0e0f, 0x0001_0203, 0x0405_0607);
    let mut words = [_mm512_setzero_si512(); 16];
    unroll!(16, R => {
        // SAFETY: a row has 64 bytes.
        let row = unsafe { _mm512_loadu_si512(staged.0[R].as_ptr().cast()) };
        words[R] = _mm512_shuffle_epi8(row, swap);
    });
    words
}
