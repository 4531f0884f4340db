//! Blocks that come again: a server's heads are nearly the same bytes each time.
//!
//! What was read from one of the last few blocks is handed out again where it must mean the same: the table is as it
//! was then, or has no part in it. Fields that such a block enters into the table are entered again, until the table
//! holds nothing else and would not change.

use super::decoder::{Decoded, Decoder};
use super::dynamic_table::{OVERHEAD, TABLE_SIZE};
use super::error::HpackError;
use super::fields::Fields;

/// How many blocks are remembered.
pub(crate) const REMEMBERED: usize = 4;

/// See the module.
pub(crate) struct Repeats {
    decoder: Decoder,
    remembered: [Remembered; REMEMBERED],
    /// Where the next block is remembered.
    next: usize,
    /// The block whose fields alone have entered the table lately, and how much of it they took, evicted ones too.
    run: (usize, usize),
}

#[derive(Default)]
struct Remembered {
    block: Vec<u8>,
    decoded: Decoded,
    holds: Holds,
    /// How much of the table its fields take that it enters.
    entered: usize,
}

/// When a block means the same again.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Holds {
    #[default]
    Never,
    /// While the table has this version.
    At(u64),
    Always,
}

impl Repeats {
    pub(crate) fn new(longest_head: usize) -> Self {
        let remembered = std::array::from_fn(|_| Remembered::default());
        Self { decoder: Decoder::new(longest_head), remembered, next: 0, run: (0, 0) }
    }

    /// Reads a whole block. Returns its place among those that are remembered, and whether it was not there.
    #[inline]
    pub(crate) fn read(&mut self, block: &[u8]) -> Result<(usize, bool), HpackError> {
        let now = Holds::At(self.decoder.version());
        let is_it = |one: &Remembered| {
            (one.holds == now || one.holds == Holds::Always) && one.block == block
        };
        if let Some(place) = self.remembered.iter().position(is_it) {
            self.enter_again(place);
            return Ok((place, false));
        }
        self.decode(block).map(|place| (place, true))
    }

    /// What was read last at this place.
    pub(crate) fn fields(&self, place: usize) -> &Fields {
        &self.remembered[place].decoded.fields
    }

    fn decode(&mut self, block: &[u8]) -> Result<usize, HpackError> {
        let (place, before) = (self.next, self.decoder.version());
        self.next = (place + 1) % REMEMBERED;
        let one = &mut self.remembered[place];
        one.holds = Holds::Never;
        self.decoder.decode(block, &mut one.decoded)?;
        let after = self.decoder.version();
        if !one.decoded.needs_table {
            one.holds = Holds::Always;
        } else if after == before {
            one.holds = Holds::At(after);
        }
        if one.holds != Holds::Never {
            one.block.clear();
            one.block.extend_from_slice(block);
        }
        let size = |(name, value): (&[u8], &[u8])| name.len() + value.len() + OVERHEAD;
        one.entered = one.decoded.entered().map(size).sum();
        if after != before {
            self.run = (place, one.entered);
        }
        Ok(place)
    }

    /// The table holds the last fields that fit into it. So once those of one block, entered again and again, fill it,
    /// entering them once more leaves it as it is.
    fn enter_again(&mut self, place: usize) {
        let one = &self.remembered[place];
        if one.entered == 0 {
            return;
        }
        if self.run.0 != place {
            self.run = (place, 0);
        }
        if self.run.1 < TABLE_SIZE {
            self.run.1 += one.entered;
            self.decoder.enter_again(&one.decoded);
        }
    }
}
