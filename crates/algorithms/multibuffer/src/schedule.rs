//! Keeps the lanes full: when a message ends, the next one takes its lane.
//!
//! The kernel hashes as many blocks as the shortest busy lane has left. Then the finished messages
//! are returned and the lanes are filled again. Lanes idle only when no message is left. They then
//! repeat the work of a busy lane, because a vector costs the same with fewer lanes. So a batch
//! takes as long as its longest message: put long messages first.

use crate::algorithm::{Algorithm, Internals, State, pad};
use crate::backend::Backend;
use crate::staging::{Run, Staged};

/// One backend's way to hash `L` messages at once.
pub trait Kernel<A: Algorithm, const L: usize>: Copy {
    /// Its name.
    const BACKEND: Backend;

    /// Hashes the blocks of the runs, one run after the other.
    fn compress(
        self,
        state: &mut State<A::Word, L>,
        runs: &[Run<'_, A, L>],
        staged: &mut Staged<L>,
    );
}

/// What a batch did: with which backend, and how full its lanes were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// The backend whose kernel ran.
    pub backend: Backend,
    /// How many messages its kernel hashes at once.
    pub lanes: usize,
    /// Blocks that were hashed, padding included.
    pub blocks: u64,
    /// Times that the kernel hashed one block in every lane.
    pub steps: u64,
}

/// A lane's words of a [`State`].
pub struct Column<'s, W> {
    /// All words from the lane's first one on.
    words: &'s [W],
    lanes: usize,
}

impl<W: Copy> Column<'_, W> {
    /// The word of that number, up to 7.
    #[inline]
    pub(crate) fn word(&self, i: usize) -> W {
        self.words[i * self.lanes]
    }
}

/// The padding of a lane's message.
type Padding<A> = [<A as Internals>::Block; 2];

/// A lane and the message in it: whole blocks where the message lies, and its padding.
///
/// Messages are taken in place, and a chaining value is read word by word. To copy what was just
/// written in smaller pieces would wait for the store buffer, for every message.
struct Lane<'a, A: Algorithm> {
    id: usize,
    slice: &'a [A::Block],
    /// Blocks of padding.
    padded: usize,
    hashed: usize,
    /// Blocks that are left; none in an idle lane.
    left: usize,
}

impl<'a, A: Algorithm> Lane<'a, A> {
    const IDLE: Self = Self { id: 0, slice: &[], padded: 0, hashed: 0, left: 0 };

    fn is_busy(&self) -> bool {
        self.left > 0
    }

    /// Takes the message of this number.
    #[inline]
    fn take(&mut self, id: usize, message: &'a [u8], padding: &mut Padding<A>) {
        let (slice, rest) = A::blocks(message);
        let padded = pad::<A>(rest, message.len() as u64, padding);
        *self = Self { id, slice, padded, hashed: 0, left: slice.len() + padded };
    }

    #[inline(always)]
    fn blocks<'s>(&self, padding: &'s Padding<A>, from: usize) -> &'s [A::Block]
    where
        'a: 's,
    {
        match self.slice.get(from..) {
            Some(blocks @ [_, ..]) => blocks,
            _ => &padding[from - self.slice.len()..self.padded],
        }
    }
}

/// Aligned to a cache line: a vector across two lines is read and written half as fast, and what
/// was just written cannot be read before it has left the store buffer.
#[repr(align(64))]
struct Aligned<T>(T);

/// Runs of one call of the kernel: with equal lengths a message's whole blocks and its padding.
const RUNS: usize = 2;

/// Hashes as many messages as there are digests with this kernel.
pub(crate) fn run<'a, A, K, const L: usize>(
    kernel: K,
    message: &dyn Fn(usize) -> &'a [u8],
    digests: &mut [A::Digest],
) -> Work
where
    A: Algorithm,
    K: Kernel<A, L>,
{
    let mut lanes: [Lane<'a, A>; L] = [const { Lane::IDLE }; L];
    let mut paddings = [[A::ZERO_BLOCK; 2]; L];
    let Aligned(state) = &mut Aligned::<State<A::Word, L>>([[A::Word::default(); L]; 8]);
    let mut staged = Staged::new();
    let mut work = Work { backend: K::BACKEND, lanes: L, blocks: 0, steps: 0 };
    let mut waiting = 0..digests.len();
    loop {
        for (i, lane) in lanes.iter_mut().enumerate().filter(|(_, lane)| !lane.is_busy()) {
            let Some(id) = waiting.next() else { break };
            lane.take(id, message(id), &mut paddings[i]);
            (0..8).for_each(|word| state[word][i] = A::INITIAL[word]);
        }
        let Some(steps) = hash(kernel, &lanes, &paddings, state, &mut staged) else {
            return work;
        };
        work.steps += steps as u64;
        for (i, lane) in lanes.iter_mut().enumerate().filter(|(_, lane)| lane.is_busy()) {
            lane.hashed += steps;
            lane.left -= steps;
            work.blocks += steps as u64;
            if !lane.is_busy() {
                let words = &state.as_flattened()[i..];
                digests[lane.id] = A::digest(&Column { words, lanes: L });
            }
        }
    }
}

/// Hashes one more block after each chaining value, as many at once as there are lanes.
pub(crate) fn step<A: Algorithm, K: Kernel<A, L>, const L: usize>(
    kernel: K,
    states: &mut [[A::Word; 8]],
    blocks: &[&A::Block],
) -> Work {
    let mut staged = Staged::new();
    let steps = blocks.len().div_ceil(L) as u64;
    for (states, blocks) in states.chunks_mut(L).zip(blocks.chunks(L)) {
        // Idle lanes repeat the first.
        let of = |lane: usize| if lane < states.len() { lane } else { 0 };
        let columns = std::array::from_fn(|word| std::array::from_fn(|i| states[of(i)][word]));
        let mut state = Aligned::<State<A::Word, L>>(columns);
        let mut run = Run::EMPTY;
        run.fill(|lane| std::slice::from_ref(blocks[of(lane)]));
        kernel.compress(&mut state.0, &[run], &mut staged);
        for (i, words) in states.iter_mut().enumerate() {
            *words = std::array::from_fn(|word| state.0[word][i]);
        }
    }
    Work { backend: K::BACKEND, lanes: L, blocks: blocks.len() as u64, steps }
}

/// Hashes until a message ends, or less. Returns how many blocks of each lane; `None` if no lane is
/// busy.
fn hash<A: Algorithm, K: Kernel<A, L>, const L: usize>(
    kernel: K,
    lanes: &[Lane<'_, A>; L],
    paddings: &[Padding<A>; L],
    state: &mut State<A::Word, L>,
    staged: &mut Staged<L>,
) -> Option<usize> {
    let busy = (0..L).filter(|&i| lanes[i].is_busy());
    let shortest = busy.min_by_key(|&i| lanes[i].left)?;
    let mut runs = [const { Run::EMPTY }; RUNS];
    let mut steps = 0;
    for run in &mut runs {
        run.fill(|i| {
            // Idle lanes repeat the shortest.
            let i = if lanes[i].is_busy() { i } else { shortest };
            lanes[i].blocks(&paddings[i], lanes[i].hashed + steps)
        });
        steps += run.blocks();
    }
    kernel.compress(state, &runs, staged);
    Some(steps)
}
