//! AVX-512VL: vectors of 256 bits as in AVX2, with rotations and ternary logic.
//!
//! Three ports execute such vectors, two of them rotate.

use std::arch::x86_64::*;

use super::avx2::{anchor, words_32, words_64};
use super::{proof, proven, vector_kernel};
use crate::staging::Staged;
use crate::vector::Simd;

proof!(Avx512Vl: "avx2" "avx512f" "avx512vl");
vector_kernel!(Avx512Vl, "avx2,avx512f,avx512vl");

impl Simd<u32, 8> for Avx512Vl {
    type V = __m256i;

    proven! {
        fn splat(word: u32) -> __m256i = _mm256_set1_epi32(word.cast_signed());
        fn load(words: &[u32; 8]) -> __m256i = _mm256_loadu_si256(words.as_ptr().cast());
        fn store(a: __m256i, words: &mut [u32; 8]) =
            _mm256_storeu_si256(words.as_mut_ptr().cast(), a);
        fn message(staged: &Staged<8>) -> [__m256i; 16] = words_32(staged);
        fn anchor(a: __m256i) -> __m256i = anchor(a);
        fn add(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi32(a, b);
        fn ror<const N>(a: __m256i) -> __m256i = _mm256_ror_epi32::<N>(a);
        fn shr<const N>(a: __m256i) -> __m256i = _mm256_srl_epi32(a, _mm_cvtsi32_si128(N));
        fn xor(a: __m256i, b: __m256i) -> __m256i = _mm256_xor_si256(a, b);
        fn xor3(a: __m256i, b: __m256i, c: __m256i) -> __m256i =
            _mm256_ternarylogic_epi32::<0x96>(a, b, c);
        fn ch(a: __m256i, b: __m256i, c: __m256i) -> __m256i =
            _mm256_ternarylogic_epi32::<0xca>(a, b, c);
        fn maj(a: __m256i, b: __m256i, c: __m256i) -> __m256i =
            _mm256_ternarylogic_epi32::<0xe8>(a, b, c);
    }
}

impl Simd<u64, 4> for Avx512Vl {
    type V = __m256i;

    proven! {
        fn splat(word: u64) -> __m256i = _mm256_set1_epi64x(word.cast_signed());
        fn load(words: &[u64; 4]) -> __m256i = _mm256_loadu_si256(words.as_ptr().cast());
        fn store(a: __m256i, words: &mut [u64; 4]) =
            _mm256_storeu_si256(words.as_mut_ptr().cast(), a);
        fn message(staged: &Staged<4>) -> [__m256i; 16] = words_64(staged);
        fn anchor(a: __m256i) -> __m256i = anchor(a);
        fn add(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi64(a, b);
        fn ror<const N>(a: __m256i) -> __m256i = _mm256_ror_epi64::<N>(a);
        fn shr<const N>(a: __m256i) -> __m256i = _mm256_srl_epi64(a, _mm_cvtsi32_si128(N));
        fn xor(a: __m256i, b: __m256i) -> __m256i = _mm256_xor_si256(a, b);
        fn xor3(a: __m256i, b: __m256i, c: __m256i) -> __m256i =
            _mm256_ternarylogic_epi32::<0x96>(a, b, c);
        fn ch(a: __m256i, b: __m256i, c: __m256i) -> __m256i =
            _mm256_ternarylogic_epi32::<0xca>(a, b, c);
        fn maj(a: __m256i, b: __m256i, c: __m256i) -> __m256i =
            _mm256_ternarylogic_epi32::<0xe8>(a, b, c);
    }
}
