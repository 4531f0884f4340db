//! Loops that are written out before the compiler sees them.
//!
//! A kernel's vectors stay in registers only if every index is a constant. The compiler itself
//! unrolls such long loops or not, depending on its version's thresholds.

/// `unroll!(COUNT, I => { ... })` repeats the block with the constant `I` from 0 to `COUNT - 1`.
macro_rules! unroll {
    (2, $i:ident => $body:block) => { unroll!(@ $i $body 0 1) };
    (5, $i:ident => $body:block) => { unroll!(@ $i $body 0 1 2 3 4) };
    (8, $i:ident => $body:block) => { unroll!(@ $i $body 0 1 2 3 4 5 6 7) };
    (16, $i:ident => $body:block) => {
        unroll!(@ $i $body 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (20, $i:ident => $body:block) => {
        unroll!(@ $i $body 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19)
    };
    (80, $i:ident => $body:block) => {
        unroll!(@ $i $body
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19
            20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39
            40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59
            60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79)
    };
    (@ $i:ident $body:block $($n:literal)*) => { $({ const $i: usize = $n; $body })* };
}

pub(crate) use unroll;
