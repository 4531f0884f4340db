//! The transpose: from one block per message to one vector per word.
//!
//! With shuffles alone, it would take four steps of 16 instructions (16 lanes of 32-bit words) on
//! the only port that shuffles, in a loop that is bound by the vector ports. So scalar loads and
//! stores, whose ports are idle otherwise, move pieces of 8 bytes to their lane's slot one block
//! ahead. Only one step of shuffles remains ([`Simd::message`]).
//!
//! A vector load of bytes from several stores waits until they have left the store buffer.
//! Therefore the next block is staged in the first rounds of this one.
//!
//! [`Simd::message`]: crate::vector::Simd::message

use crate::algorithm::Algorithm;

/// One block of each of `L` messages. Row `r` holds bytes `8r` to `8r + 7` of every block; where
/// words have 32 bits, a row's slots are ordered for [`Simd::message`](crate::vector::Simd::message)
/// and only half of the rows are used.
#[repr(C, align(64))]
pub struct Staged<const L: usize>(pub(crate) [[u64; L]; 16]);

impl<const L: usize> Staged<L> {
    pub(crate) fn new() -> Self {
        Self([[0; L]; 16])
    }
}

/// Consecutive blocks, the same number in every lane.
pub struct Run<'a, A: Algorithm, const L: usize> {
    lanes: [&'a [A::Block]; L],
    blocks: usize,
}

impl<'a, A: Algorithm, const L: usize> Run<'a, A, L> {
    pub(crate) const EMPTY: Self = Self { lanes: [&[]; L], blocks: 0 };

    /// A run of the blocks that `blocks` gives for each lane, cut to the shortest lane.
    #[inline(always)]
    pub(crate) fn fill(&mut self, blocks: impl Fn(usize) -> &'a [A::Block]) {
        self.blocks = usize::MAX;
        for (i, lane) in self.lanes.iter_mut().enumerate() {
            *lane = blocks(i);
            self.blocks = self.blocks.min(lane.len());
        }
    }

    /// How many blocks each lane has.
    #[inline(always)]
    pub(crate) fn blocks(&self) -> usize {
        self.blocks
    }

    /// A lane's blocks, at least `blocks` of them.
    #[inline(always)]
    pub(crate) fn lane(&self, lane: usize) -> &'a [A::Block] {
        self.lanes[lane]
    }
}

/// Walks over runs, block by block, and stages the next block.
pub(crate) struct Walk<'a, A: Algorithm, const L: usize> {
    run: &'a Run<'a, A, L>,
    later: &'a [Run<'a, A, L>],
    n: usize,
}

impl<'a, A: Algorithm, const L: usize> Walk<'a, A, L> {
    /// At the first block, if there is one.
    #[inline(always)]
    pub(crate) fn new(runs: &'a [Run<'a, A, L>]) -> Option<Self> {
        let (run, later) = runs.split_first()?;
        (run.blocks > 0).then_some(Self { run, later, n: 0 })
    }

    /// Moves to the next block; returns `false` if there is none.
    #[inline(always)]
    pub(crate) fn advance(&mut self) -> bool {
        if self.n + 1 < self.run.blocks {
            self.n += 1;
            return true;
        }
        match self.later.split_first() {
            Some((run, later)) if run.blocks > 0 => {
                *self = Self { run, later, n: 0 };
                true
            }
            _ => false,
        }
    }

    /// Stages a lane's block.
    ///
    /// No branch and no arithmetic: branches would keep the compiler from placing this between two
    /// rounds, and arithmetic would take the ports that vectors need.
    #[inline(always)]
    pub(crate) fn stage(&self, lane: usize, staged: &mut Staged<L>) {
        debug_assert!(self.n < self.run.blocks);
        // SAFETY: every lane of a run has `blocks` blocks at least, and `n` stays below.
        let block = unsafe { self.run.lane(lane).get_unchecked(self.n) };
        A::stage(block, staged, lane);
    }
}

/// Stages a block of 32-bit words.
///
/// A row is read as two vectors, whose even and odd words are then separated 128 bits at a time.
/// Slots alternate between the halves in pairs, so that the lanes come out in order.
#[inline(always)]
pub(crate) fn stage_32<const L: usize>(block: &[u8; 64], staged: &mut Staged<L>, lane: usize) {
    let (pieces, _) = block.as_chunks::<8>();
    let slot = slot_32::<L>(lane);
    for (row, piece) in staged.0.iter_mut().zip(pieces) {
        row[slot] = u64::from_ne_bytes(*piece);
    }
}

/// Stages a block of 64-bit words.
#[inline(always)]
pub(crate) fn stage_64<const L: usize>(block: &[u8; 128], staged: &mut Staged<L>, lane: usize) {
    let (pieces, _) = block.as_chunks::<8>();
    for (row, piece) in staged.0.iter_mut().zip(pieces) {
        row[lane] = u64::from_ne_bytes(*piece);
    }
}

#[inline(always)]
const fn slot_32<const L: usize>(lane: usize) -> usize {
    if L < 4 { lane } else { lane % 4 / 2 * (L / 2) + lane / 4 * 2 + lane % 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_has_a_slot() {
        let mut slots: Vec<usize> = (0..16).map(slot_32::<16>).collect();
        assert_eq!(slots[..8], [0, 1, 8, 9, 2, 3, 10, 11]);
        slots.sort_unstable();
        assert_eq!(slots, (0..16).collect::<Vec<_>>());
    }
}
