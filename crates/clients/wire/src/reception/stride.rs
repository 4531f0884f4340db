//! Records of equal length, passed several at a time.
//!
//! To read each header costs a system call, and to drop the rest of the record another. If a server
//! sent the middle of its last responses in records of one length, it is assumed to continue so,
//! and one header is read for several records. Where that proves wrong, the response fails as
//! unverifiable, and from then on the thread reads each header again.

use crate::record::HEADER;

/// A dropped record: the length of its protected body, and of the plaintext in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Dropped {
    pub(super) length: usize,
    pub(super) plaintext: u64,
}

impl Dropped {
    #[inline]
    fn on_the_wire(self) -> u64 {
        (HEADER + self.length) as u64
    }
}

/// The dropped records of one response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Middle {
    #[default]
    Empty,
    Equal(Dropped),
    Mixed,
}

impl Middle {
    #[inline]
    pub(super) fn add(&mut self, record: Dropped) {
        *self = match *self {
            Self::Empty => Self::Equal(record),
            Self::Equal(other) if other == record => Self::Equal(other),
            Self::Equal(_) | Self::Mixed => Self::Mixed,
        };
    }
}

/// Records that are being dropped; the header of the first has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stride {
    pub(super) record: Dropped,
    /// Bytes on the wire that are still to be dropped; more than 0.
    left: u64,
}

impl Stride {
    /// Records like this one, the first of which has a header in hand, where `left` bytes of the body are
    /// to come. `None` where there are not several before the one that can hold the last byte.
    #[inline]
    pub(super) fn before_last(record: Dropped, left: u64) -> Option<Self> {
        let records = left.saturating_sub(1).checked_div(record.plaintext)?;
        // A peer may promise more than a u64 can count.
        let wire = records.checked_mul(record.on_the_wire())?.checked_sub(HEADER as u64)?;
        (records > 1).then_some(Self { record, left: wire })
    }

    #[inline]
    pub(super) fn left(self) -> u64 {
        self.left
    }

    /// The same, after the first `used` bytes of the first record's body, which is longer.
    #[inline]
    pub(super) fn after(self, used: usize) -> Self {
        Self { left: self.left.saturating_sub(used as u64).max(1), ..self }
    }

    /// Records that have not been dropped whole.
    #[inline]
    pub(super) fn records(self) -> u64 {
        self.left.div_ceil(self.record.on_the_wire())
    }

    /// Takes dropped bytes; returns how many records are complete with them, and what is left.
    #[inline]
    pub(super) fn pass(self, count: u64) -> (u64, Option<Self>) {
        let rest = Self { left: self.left.saturating_sub(count), ..self };
        (self.records() - rest.records(), (rest.left > 0).then_some(rest))
    }

    /// Only to the end of the record under way; `None` where that is here.
    pub(super) fn cut(self) -> Option<Self> {
        let under_way = self.left - (self.records() - 1) * self.record.on_the_wire();
        (under_way < self.record.on_the_wire()).then_some(Self { left: under_way, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RECORD: Dropped = Dropped { length: 1017, plaintext: 1000 };

    #[test]
    fn the_last_byte_of_a_body_is_never_passed() {
        let records = |left| Stride::before_last(RECORD, left).map(Stride::records);
        assert_eq!(records(0), None);
        assert_eq!(records(2000), None);
        assert_eq!(records(2001), Some(2));
        assert_eq!(records(3000), Some(2));
        assert_eq!(records(3_000_001), Some(3000));
        assert_eq!(records(u64::MAX), None);
        assert_eq!(Stride::before_last(Dropped { plaintext: 0, ..RECORD }, 1 << 20), None);
    }

    proptest! {
        #[test]
        fn records_pass_when_their_last_byte_does(counts in proptest::collection::vec(1u64..3000, 0..40)) {
            let mut stride = Stride::before_last(RECORD, 1 << 30);
            let (mut passed, mut bytes) = (0, 0);
            for count in counts {
                let Some(under_way) = stride else { break };
                let count = count.min(under_way.left());
                bytes += count;
                let (records, rest) = under_way.pass(count);
                passed += records;
                stride = rest;
                prop_assert_eq!(passed, (bytes + 5) / 1022);
                if let Some(cut) = rest.and_then(Stride::cut) {
                    prop_assert_eq!(cut.records(), 1);
                    prop_assert_eq!((bytes + cut.left() + 5) % 1022, 0);
                } else if rest.is_some() {
                    prop_assert_eq!((bytes + 5) % 1022, 0);
                }
            }
        }
    }
}
