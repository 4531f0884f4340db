//! Keeps the lanes full: when a message ends, the next one takes its lane.
//!
//! The kernel hashes as many blocks as the shortest busy lane has left. Then the finished messages
//! are returned and the lanes are filled again. Lanes idle only when no message is left. They then
//! repeat the work of a busy lane, because a vector costs the same with fewer lanes. So a batch
//! takes as long as its longest message: put long messages first.

use crate::algorithm::{Algorithm, Internals, State, pad};
use crate::backend::Backend;
use crate::known::KnownWords;
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

    /// Hashes one more block, which is the same in all lanes.
    fn compress_known(self, state: &mut State<A::Word, L>, words: &KnownWords<A::Word>);
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

impl Work {
    /// The useful share of the lanes' work, from 0 to 1; 1 where there was nothing to do.
    #[must_use]
    pub fn occupancy(&self) -> f64 {
        if self.steps == 0 {
            1.0
        } else {
            self.blocks as f64 / (self.steps * self.lanes as u64) as f64
        }
    }
}

/// Where jobs come from and go to.
pub trait Jobs<'a, A: Algorithm> {
    /// Puts the next job into the lane and its own blocks, and returns the chaining value that it
    /// starts from.
    fn next<'s>(&'s mut self, lane: &mut Lane<'a, A>, own: &mut Own<A>)
    -> Option<&'s [A::Word; 8]>;
    /// Takes the chaining value of the finished job with this number.
    fn done(&mut self, id: usize, state: Column<'_, A::Word>);
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

/// Which blocks come first.
#[derive(Clone, Copy)]
pub(crate) enum First {
    /// The lane's own: the buffered bytes of a context.
    Own,
    /// The slice, and then the lane's own: padding.
    Slice,
}

/// Blocks in a lane's own memory: the buffered bytes of a context, or padding.
pub type Own<A> = [<A as Internals>::Block; 2];

/// A lane and the job in it: a slice of blocks, before or after some of the lane's own.
///
/// Jobs are built in place, and a chaining value is read word by word. To copy what was just
/// written in smaller pieces would wait for the store buffer, for every message.
pub struct Lane<'a, A: Algorithm> {
    id: usize,
    slice: &'a [A::Block],
    own_used: usize,
    first: First,
    hashed: usize,
    /// Blocks that are left; none in an idle lane.
    left: usize,
    padding: Padding,
}

/// What is missing in a lane's own blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    /// Nothing.
    Complete,
    /// The padding of a message of this many bytes, a multiple of the block's: one block that
    /// depends only on the length.
    Of(u64),
}

impl<'a, A: Algorithm> Lane<'a, A> {
    const IDLE: Self = Self {
        id: 0,
        slice: &[],
        own_used: 0,
        first: First::Own,
        hashed: 0,
        left: 0,
        padding: Padding::Complete,
    };

    fn is_busy(&self) -> bool {
        self.left > 0
    }

    /// Takes the job with this number: a slice and this many of the lane's own blocks, at least one
    /// block in all.
    #[inline]
    pub(crate) fn take(&mut self, id: usize, first: First, own: usize, slice: &'a [A::Block]) {
        self.id = id;
        self.slice = slice;
        self.own_used = own;
        self.first = first;
        self.hashed = 0;
        self.left = own + slice.len();
        self.padding = Padding::Complete;
    }

    /// Takes the job with this number: a slice and the padding of a message of this many bytes, a
    /// multiple of the block's.
    #[inline]
    pub(crate) fn take_padded(&mut self, id: usize, slice: &'a [A::Block], message_bytes: u64) {
        self.take(id, First::Slice, 1, slice);
        self.padding = Padding::Of(message_bytes);
    }

    /// Writes the padding into the lane's own blocks, if it is still to be written.
    fn complete(&mut self, own: &mut Own<A>) {
        if let Padding::Of(message_bytes) = self.padding {
            pad::<A>(&[], message_bytes, own);
            self.padding = Padding::Complete;
        }
    }

    #[inline(always)]
    fn blocks<'s>(&self, own: &'s Own<A>, from: usize) -> &'s [A::Block]
    where
        'a: 's,
    {
        let own = &own[..self.own_used];
        let (first, second) = match self.first {
            First::Own => (own, self.slice),
            First::Slice => (self.slice, own),
        };
        match first.get(from..) {
            Some(blocks @ [_, ..]) => blocks,
            _ => &second[from - first.len()..],
        }
    }
}

/// Aligned to a cache line: a vector across two lines is read and written half as fast, and what
/// was just written cannot be read before it has left the store buffer.
#[repr(align(64))]
struct Aligned<T>(T);

/// Runs of one call of the kernel: with equal lengths a message's own blocks and its slice.
const RUNS: usize = 2;

/// Does all jobs with this kernel.
pub(crate) fn run<'a, A, K, const L: usize>(kernel: K, jobs: &mut dyn Jobs<'a, A>) -> Work
where
    A: Algorithm,
    K: Kernel<A, L>,
{
    let mut lanes: [Lane<'a, A>; L] = [const { Lane::IDLE }; L];
    let mut own = [[A::ZERO_BLOCK; 2]; L];
    let Aligned(state) = &mut Aligned::<State<A::Word, L>>([[A::Word::default(); L]; 8]);
    let mut staged = Staged::new();
    let mut work = Work { backend: K::BACKEND, lanes: L, blocks: 0, steps: 0 };
    let mut exhausted = false;
    loop {
        for (i, lane) in lanes.iter_mut().enumerate().filter(|(_, lane)| !lane.is_busy()) {
            if exhausted {
                break;
            }
            match jobs.next(lane, &mut own[i]) {
                Some(words) => (0..8).for_each(|w| state[w][i] = words[w]),
                None => exhausted = true,
            }
        }
        let Some(steps) = hash(kernel, &mut lanes, &mut own, state, &mut staged) else {
            return work;
        };
        work.steps += steps as u64;
        for (i, lane) in lanes.iter_mut().enumerate().filter(|(_, lane)| lane.is_busy()) {
            lane.hashed += steps;
            lane.left -= steps;
            work.blocks += steps as u64;
            if !lane.is_busy() {
                let words = &state.as_flattened()[i..];
                jobs.done(lane.id, Column { words, lanes: L });
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
    lanes: &mut [Lane<'_, A>; L],
    own: &mut [Own<A>; L],
    state: &mut State<A::Word, L>,
    staged: &mut Staged<L>,
) -> Option<usize> {
    let busy = (0..L).filter(|&i| lanes[i].is_busy());
    let shortest = busy.min_by_key(|&i| lanes[i].left)?;
    A::with_known_end(|end| {
        let words = common_padding(lanes, shortest).and_then(|bytes| end.of(bytes));
        if words.is_none() {
            lanes.iter_mut().zip(&mut *own).for_each(|(lane, own)| lane.complete(own));
        }
        let (lanes, own) = (&*lanes, &*own);
        let mut runs = [const { Run::EMPTY }; RUNS];
        let Some(words) = words else {
            let mut steps = 0;
            for run in &mut runs {
                fill(run, lanes, own, shortest, steps);
                steps += run.blocks();
            }
            kernel.compress(state, &runs, staged);
            return Some(steps);
        };
        // The rest of the slices, if any, and then the padding, which is not written anywhere.
        let steps = lanes[shortest].left;
        if steps > 1 {
            fill(&mut runs[0], lanes, own, shortest, 0);
            kernel.compress(state, &runs[..1], staged);
        }
        kernel.compress_known(state, words);
        Some(steps)
    })
}

/// The blocks that each lane has after the next `from` ones; idle lanes repeat those of the
/// shortest.
#[inline(always)]
fn fill<'r, A: Algorithm, const L: usize>(
    run: &mut Run<'r, A, L>,
    lanes: &'r [Lane<'_, A>; L],
    own: &'r [Own<A>; L],
    shortest: usize,
    from: usize,
) {
    run.fill(|i| {
        let i = if lanes[i].is_busy() { i } else { shortest };
        lanes[i].blocks(&own[i], lanes[i].hashed + from)
    });
}

/// The length of all messages, if they end together with the same block.
fn common_padding<A: Algorithm>(lanes: &[Lane<'_, A>], shortest: usize) -> Option<u64> {
    let Lane { left, padding: Padding::Of(message_bytes), .. } = lanes[shortest] else {
        return None;
    };
    let is_like =
        |lane: &Lane<'_, A>| lane.left == left && lane.padding == Padding::Of(message_bytes);
    lanes.iter().all(|lane| !lane.is_busy() || is_like(lane)).then_some(message_bytes)
}
