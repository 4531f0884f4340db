//! The SHA extensions: four rounds of SHA-1 or two of SHA-256 per instruction.
//!
//! One message cannot use them fully, because each such instruction waits several cycles for the
//! one before. Two messages, interleaved, fill the gaps.

use std::arch::x86_64::*;

use super::proof;
use crate::Backend;
use crate::algorithm::{Sha1, Sha256, State};
use crate::constants::K256;
use crate::schedule::Kernel;
use crate::staging::{Run, Staged};
use crate::unroll::unroll;

proof!(ShaNi: "sha" "ssse3" "sse4.1");

impl Kernel<Sha1, 2> for ShaNi {
    const BACKEND: Backend = Backend::ShaNi;

    fn compress(
        self,
        state: &mut State<u32, 2>,
        runs: &[Run<'_, Sha1, 2>],
        _staged: &mut Staged<2>,
    ) {
        // SAFETY: `self` proves the features.
        unsafe { sha1(state, runs) }
    }
}

impl Kernel<Sha256, 2> for ShaNi {
    const BACKEND: Backend = Backend::ShaNi;

    fn compress(
        self,
        state: &mut State<u32, 2>,
        runs: &[Run<'_, Sha256, 2>],
        _staged: &mut Staged<2>,
    ) {
        // SAFETY: `self` proves the features.
        unsafe { sha256(state, runs) }
    }
}

#[target_feature(enable = "sha,ssse3,sse4.1")]
fn sha1(state: &mut State<u32, 2>, runs: &[Run<'_, Sha1, 2>]) {
    // The first word is the highest, also in the block's words.
    let swap = _mm_set_epi64x(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f);
    let mut abcd = [words(state, [0, 1, 2, 3], 0), words(state, [0, 1, 2, 3], 1)];
    let mut e = [0, 1].map(|lane| _mm_set_epi32(state[4][lane].cast_signed(), 0, 0, 0));
    for (run, n) in runs.iter().flat_map(|run| (0..run.blocks()).map(move |n| (run, n))) {
        let before = (abcd, e);
        let mut w = [load(&run.lane(0)[n], swap), load(&run.lane(1)[n], swap)];
        // What `abcd` was four rounds ago: its `a`, rotated, is the next `e`.
        let mut previous = abcd;
        unroll!(20, G => {
            unroll!(2, I => {
                let ew = if G == 0 {
                    _mm_add_epi32(e[I], w[I][0])
                } else {
                    _mm_sha1nexte_epu32(previous[I], w[I][G % 4])
                };
                previous[I] = abcd[I];
                abcd[I] = _mm_sha1rnds4_epu32::<{ (G / 5) as i32 }>(abcd[I], ew);
                if G < 16 {
                    expand_sha1::<G>(&mut w[I]);
                }
            });
        });
        unroll!(2, I => {
            e[I] = _mm_sha1nexte_epu32(previous[I], before.1[I]);
            abcd[I] = _mm_add_epi32(abcd[I], before.0[I]);
        });
    }
    for lane in 0..2 {
        set_words(state, [0, 1, 2, 3], lane, abcd[lane]);
        state[4][lane] = _mm_extract_epi32::<3>(e[lane]).cast_unsigned();
    }
}

#[target_feature(enable = "sha,ssse3,sse4.1")]
fn sha256(state: &mut State<u32, 2>, runs: &[Run<'_, Sha256, 2>]) {
    let swap = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
    let (constants, _) = K256.as_chunks::<4>();
    let mut abef = [words(state, [0, 1, 4, 5], 0), words(state, [0, 1, 4, 5], 1)];
    let mut cdgh = [words(state, [2, 3, 6, 7], 0), words(state, [2, 3, 6, 7], 1)];
    for (run, n) in runs.iter().flat_map(|run| (0..run.blocks()).map(move |n| (run, n))) {
        let before = (abef, cdgh);
        let mut w = [load(&run.lane(0)[n], swap), load(&run.lane(1)[n], swap)];
        unroll!(16, G => {
            let [k0, k1, k2, k3] = constants[G].map(u32::cast_signed);
            let k = _mm_setr_epi32(k0, k1, k2, k3);
            unroll!(2, I => {
                let kw = _mm_add_epi32(k, w[I][G % 4]);
                rounds_sha256(&mut abef[I], &mut cdgh[I], kw);
                if G < 12 {
                    expand_sha256::<G>(&mut w[I]);
                }
            });
        });
        unroll!(2, I => {
            abef[I] = _mm_add_epi32(abef[I], before.0[I]);
            cdgh[I] = _mm_add_epi32(cdgh[I], before.1[I]);
        });
    }
    for lane in 0..2 {
        set_words(state, [0, 1, 4, 5], lane, abef[lane]);
        set_words(state, [2, 3, 6, 7], lane, cdgh[lane]);
    }
}

/// Four rounds with these words of the message schedule, their constants added.
#[target_feature(enable = "sha")]
#[inline]
fn rounds_sha256(abef: &mut __m128i, cdgh: &mut __m128i, kw: __m128i) {
    *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, kw);
    *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32::<0x0e>(kw));
}

/// Replaces the four words of group `G` by those for four groups later.
#[target_feature(enable = "sha")]
#[inline]
fn expand_sha1<const G: usize>(w: &mut [__m128i; 4]) {
    let sum = _mm_sha1msg1_epu32(w[G % 4], w[(G + 1) % 4]);
    let sum = _mm_xor_si128(sum, w[(G + 2) % 4]);
    w[G % 4] = _mm_sha1msg2_epu32(sum, w[(G + 3) % 4]);
}

/// Replaces the four words of group `G` by those for four groups later.
#[target_feature(enable = "sha,ssse3")]
#[inline]
fn expand_sha256<const G: usize>(w: &mut [__m128i; 4]) {
    let late = _mm_alignr_epi8::<4>(w[(G + 3) % 4], w[(G + 2) % 4]);
    let sum = _mm_sha256msg1_epu32(w[G % 4], w[(G + 1) % 4]);
    let sum = _mm_add_epi32(sum, late);
    w[G % 4] = _mm_sha256msg2_epu32(sum, w[(G + 3) % 4]);
}

/// Some words of a lane's chaining value, the first highest.
#[target_feature(enable = "sse4.1")]
#[inline]
fn words(state: &State<u32, 2>, which: [usize; 4], lane: usize) -> __m128i {
    let [a, b, c, d] = which.map(|i| state[i][lane].cast_signed());
    _mm_set_epi32(a, b, c, d)
}

/// The reverse of [`words`].
#[target_feature(enable = "sse4.1")]
#[inline]
fn set_words(state: &mut State<u32, 2>, which: [usize; 4], lane: usize, values: __m128i) {
    let [a, b, c, d] = which;
    state[a][lane] = _mm_extract_epi32::<3>(values).cast_unsigned();
    state[b][lane] = _mm_extract_epi32::<2>(values).cast_unsigned();
    state[c][lane] = _mm_extract_epi32::<1>(values).cast_unsigned();
    state[d][lane] = _mm_extract_epi32::<0>(values).cast_unsigned();
}

/// A block's 16 words, four per vector.
#[target_feature(enable = "ssse3")]
#[inline]
fn load(block: &[u8; 64], swap: __m128i) -> [__m128i; 4] {
    let (quarters, _) = block.as_chunks::<16>();
    [0, 1, 2, 3].map(|i| {
        // SAFETY: a quarter has 16 bytes.
        let quarter = unsafe { _mm_loadu_si128(quarters[i].as_ptr().cast()) };
        _mm_shuffle_epi8(quarter, swap)
    })
}
