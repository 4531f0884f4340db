//! The rounds of SHA-1 (FIPS 180-4, section 6.1.2) over vectors.

use crate::algorithm::{Rounds, Sha1, State};
use crate::constants::K1;
use crate::staging::{Run, Staged, Walk};
use crate::unroll::unroll;
use crate::vector::Simd;

impl<S: Simd<u32, L>, const L: usize> Rounds<S, L> for Sha1 {
    #[inline(always)]
    fn compress(
        s: S,
        state: &mut State<u32, L>,
        runs: &[Run<'_, Self, L>],
        staged: &mut Staged<L>,
    ) {
        let Some(mut walk) = Walk::new(runs) else { return };
        (0..L).for_each(|lane| walk.stage(lane, staged));
        let mut v: [S::V; 5] = std::array::from_fn(|i| s.load(&state[i]));
        loop {
            let w = s.message(staged);
            let more = walk.advance();
            let before = v;
            rounds(s, &mut v, w, &walk, staged);
            for i in 0..5 {
                v[i] = s.add(v[i], before[i]);
            }
            if !more {
                break;
            }
        }
        for i in 0..5 {
            s.store(v[i], &mut state[i]);
        }
    }
}

/// The 80 rounds of one block; meanwhile `next` is staged.
#[inline(always)]
fn rounds<S: Simd<u32, L>, const L: usize>(
    s: S,
    v: &mut [S::V; 5],
    mut w: [S::V; 16],
    next: &Walk<'_, Sha1, L>,
    staged: &mut Staged<L>,
) {
    let k = K1.map(|k| s.splat(k));
    unroll!(80, T => {
        v[4] = s.add(v[4], k[T / 20]);
        round::<S, L, T>(s, v, w[T % 16]);
        if T < 64 {
            expand::<S, L, T>(s, &mut w);
        }
        if T.is_multiple_of(3) && T / 3 < L {
            v[0] = s.anchor(v[0]);
            next.stage(T / 3, staged);
        }
    });
}

/// Round `T`; `word` is that of the message schedule. The round's constant has already been added,
/// to it or to the value that the round adds it to.
#[inline(always)]
fn round<S: Simd<u32, L>, const L: usize, const T: usize>(s: S, v: &mut [S::V; 5], word: S::V) {
    let [a, b, c, d, e] = *v;
    let f = match T / 20 {
        0 => s.ch(b, c, d),
        2 => s.maj(b, c, d),
        _ => s.xor3(b, c, d),
    };
    let sum = s.add(s.add(e, word), f);
    *v = [s.add(sum, s.ror::<27>(a)), a, s.ror::<2>(b), c, d];
}

/// Replaces the word of round `T` by the one for 16 rounds later.
#[inline(always)]
fn expand<S: Simd<u32, L>, const L: usize, const T: usize>(s: S, w: &mut [S::V; 16]) {
    let far = s.xor3(w[T % 16], w[(T + 2) % 16], w[(T + 8) % 16]);
    w[T % 16] = s.ror::<31>(s.xor(far, w[(T + 13) % 16]));
}
