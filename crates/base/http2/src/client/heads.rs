//! Heads and trailers of responses (RFC 9113, section 8).
//!
//! Where a head is one that has come before (`crate::hpack`), so is what it means.

use super::breach::Breach;
use crate::ResponseHead;
use crate::hpack::{Fields, REMEMBERED, Repeats};

/// The fields of a head or of trailers.
#[derive(Debug, Clone, Copy)]
pub struct Head<'h> {
    fields: &'h Fields,
    meaning: Meaning,
}

/// `Err` says which rule the fields break.
type Meaning = Result<ResponseHead, &'static str>;

impl<'h> Head<'h> {
    /// The fields in their order, pseudo-header fields among them.
    pub fn fields(self) -> impl Iterator<Item = (&'h [u8], &'h [u8])> + Clone {
        self.fields.iter()
    }

    /// How many fields there are.
    pub fn count(self) -> usize {
        self.fields.count()
    }

    /// The bytes of all names and values.
    pub fn length(self) -> usize {
        self.fields.length()
    }

    /// `None` in trailers.
    pub fn status(self) -> Option<u16> {
        self.meaning.ok()?.status
    }

    pub fn content_length(self) -> Option<u64> {
        self.meaning.ok()?.content_length
    }

    /// The status, or which rule the fields break.
    pub(super) fn known(self) -> Result<Option<u16>, &'static str> {
        self.meaning.map(|known| known.status)
    }
}

/// The heads that a server sends.
pub(super) struct Heads {
    repeats: Repeats,
    meanings: [Meaning; REMEMBERED],
}

impl Heads {
    pub(super) fn new(longest_head: usize) -> Self {
        let meanings = [Ok(ResponseHead::default()); REMEMBERED];
        Self { repeats: Repeats::new(longest_head), meanings }
    }

    /// Reads a whole block.
    #[inline]
    pub(super) fn read(&mut self, block: &[u8]) -> Result<Head<'_>, Breach> {
        let (place, is_new) = self.repeats.read(block)?;
        let fields = self.repeats.fields(place);
        if is_new {
            self.meanings[place] = ResponseHead::of(fields.iter());
        }
        Ok(Head { fields, meaning: self.meanings[place] })
    }
}
