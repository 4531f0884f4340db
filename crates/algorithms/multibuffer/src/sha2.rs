//! The rounds of SHA-256 and SHA-512 (FIPS 180-4, sections 6.2.2 and 6.4.2) over vectors. They
//! differ only in the width of a word, the number of rounds and the distances of the rotations.

use crate::algorithm::{Rounds, Sha256, Sha512, State};
use crate::constants::{K256, K512};
use crate::staging::{Run, Staged, Walk};
use crate::unroll::unroll;
use crate::vector::Simd;

/// What distinguishes SHA-256 from SHA-512, on vectors of `S`.
pub(crate) trait Sha2<S: Simd<Self::Word, L>, const L: usize>:
    crate::algorithm::Algorithm
{
    /// The round constants.
    const K: &[[Self::Word; 16]];
    /// Σ0 of FIPS 180-4.
    fn big_sigma0(s: S, x: S::V) -> S::V;
    /// Σ1 of FIPS 180-4.
    fn big_sigma1(s: S, x: S::V) -> S::V;
    /// σ0 of FIPS 180-4.
    fn small_sigma0(s: S, x: S::V) -> S::V;
    /// σ1 of FIPS 180-4.
    fn small_sigma1(s: S, x: S::V) -> S::V;
}

macro_rules! sigmas {
    ($name:ident: $a:literal $b:literal $c:literal) => {
        #[inline(always)]
        fn $name(s: S, x: S::V) -> S::V {
            s.xor3(s.ror::<$a>(x), s.ror::<$b>(x), s.ror::<$c>(x))
        }
    };
    ($name:ident: $a:literal $b:literal >> $c:literal) => {
        #[inline(always)]
        fn $name(s: S, x: S::V) -> S::V {
            s.xor3(s.ror::<$a>(x), s.ror::<$b>(x), s.shr::<$c>(x))
        }
    };
}

impl<S: Simd<u32, L>, const L: usize> Sha2<S, L> for Sha256 {
    const K: &[[u32; 16]] = K256.as_chunks().0;
    sigmas!(big_sigma0: 2 13 22);
    sigmas!(big_sigma1: 6 11 25);
    sigmas!(small_sigma0: 7 18 >> 3);
    sigmas!(small_sigma1: 17 19 >> 10);
}

impl<S: Simd<u64, L>, const L: usize> Sha2<S, L> for Sha512 {
    const K: &[[u64; 16]] = K512.as_chunks().0;
    sigmas!(big_sigma0: 28 34 39);
    sigmas!(big_sigma1: 14 18 41);
    sigmas!(small_sigma0: 1 8 >> 7);
    sigmas!(small_sigma1: 19 61 >> 6);
}

impl<S: Simd<u32, L>, const L: usize> Rounds<S, L> for Sha256 {
    #[inline(always)]
    fn compress(
        s: S,
        state: &mut State<u32, L>,
        runs: &[Run<'_, Self, L>],
        staged: &mut Staged<L>,
    ) {
        compress(s, state, runs, staged);
    }
}

impl<S: Simd<u64, L>, const L: usize> Rounds<S, L> for Sha512 {
    #[inline(always)]
    fn compress(
        s: S,
        state: &mut State<u64, L>,
        runs: &[Run<'_, Self, L>],
        staged: &mut Staged<L>,
    ) {
        compress(s, state, runs, staged);
    }
}

#[inline(always)]
fn compress<A: Sha2<S, L>, S: Simd<A::Word, L>, const L: usize>(
    s: S,
    state: &mut State<A::Word, L>,
    runs: &[Run<'_, A, L>],
    staged: &mut Staged<L>,
) {
    let Some(mut walk) = Walk::new(runs) else { return };
    (0..L).for_each(|lane| walk.stage(lane, staged));
    let mut v: [S::V; 8] = std::array::from_fn(|i| s.load(&state[i]));
    loop {
        let w = s.message(staged);
        let more = walk.advance();
        let before = v;
        rounds::<A, S, L>(s, &mut v, w, &walk, staged);
        for i in 0..8 {
            v[i] = s.add(v[i], before[i]);
        }
        if !more {
            break;
        }
    }
    for i in 0..8 {
        s.store(v[i], &mut state[i]);
    }
}

/// The rounds of one block, 16 at a time; meanwhile `next` is staged.
#[inline(always)]
fn rounds<A: Sha2<S, L>, S: Simd<A::Word, L>, const L: usize>(
    s: S,
    v: &mut [S::V; 8],
    mut w: [S::V; 16],
    next: &Walk<'_, A, L>,
    staged: &mut Staged<L>,
) {
    let [early @ .., last] = A::K else { return };
    let (staging, late) = early.split_at(1);
    for k in staging {
        unroll!(16, T => {
            round::<A, S, L>(s, v, s.add(w[T], s.splat(k[T])));
            expand::<A, S, L, T>(s, &mut w);
            if T < L {
                v[0] = s.anchor(v[0]);
                next.stage(T, staged);
            }
        });
    }
    for k in late {
        unroll!(16, T => {
            round::<A, S, L>(s, v, s.add(w[T], s.splat(k[T])));
            expand::<A, S, L, T>(s, &mut w);
        });
    }
    unroll!(16, T => {
        round::<A, S, L>(s, v, s.add(w[T], s.splat(last[T])));
    });
}

/// A round; `word` is that of the message schedule, with the round's constant added.
#[inline(always)]
fn round<A: Sha2<S, L>, S: Simd<A::Word, L>, const L: usize>(s: S, v: &mut [S::V; 8], word: S::V) {
    let [a, b, c, d, e, f, g, h] = *v;
    let known = s.add(word, h);
    let t1 = s.add(s.add(known, s.ch(e, f, g)), A::big_sigma1(s, e));
    let t2 = s.add(A::big_sigma0(s, a), s.maj(a, b, c));
    *v = [s.add(t1, t2), a, b, c, s.add(d, t1), e, f, g];
}

/// Replaces word `T` of the message schedule by the one for 16 rounds later.
#[inline(always)]
fn expand<A: Sha2<S, L>, S: Simd<A::Word, L>, const L: usize, const T: usize>(
    s: S,
    w: &mut [S::V; 16],
) {
    let near = A::small_sigma1(s, w[(T + 14) % 16]);
    let far = A::small_sigma0(s, w[(T + 1) % 16]);
    w[T] = s.add(s.add(w[T], w[(T + 9) % 16]), s.add(near, far));
}
