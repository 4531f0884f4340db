//! Where in a record a reception is, and what it needs next.

use crate::record::{HEADER, Header, Opener};

use super::learned::Learned;
use super::stride::Stride;
use super::want::{ONE_RECORD, READ_AHEAD, Want};

/// The longest end of a body that is read with its record's header: what a head displaced from full records.
const SHORT: u64 = 2 << 10;

/// Where in a record the reception is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Header,
    /// The record's first bytes, this many, are to be decrypted for the head in them.
    Peek {
        header: Header,
        length: usize,
    },
    /// The record's body is to be read and opened.
    Open(Header),
    /// `left` bytes are to be dropped, then the tail of a record of this length read.
    Drop {
        left: usize,
        length: usize,
    },
    Tail {
        length: usize,
    },
    /// Several records are to be dropped.
    Pass(Stride),
}

/// What is still to come of a response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ahead {
    /// Whether all of it is opened.
    pub(super) is_whole: bool,
    /// Body bytes, where their number is known.
    pub(super) body: Option<u64>,
}

impl Step {
    /// Drops what follows the first `used` bytes in the body of a record of this length, and the
    /// records after it that are known to have the same length. `None` where too little follows.
    /// `body` is what is to come of the response's body, `peeked` how much of this record's
    /// plaintext is known.
    #[inline]
    pub(super) fn dropping(
        opener: &Opener,
        learned: &Learned,
        length: usize,
        used: usize,
        body: u64,
        peeked: u64,
    ) -> Option<Self> {
        if let Some(stride) = learned.stride(length, body.saturating_add(peeked)) {
            return Some(Self::Pass(stride.after(used)));
        }
        match length.checked_sub(used + opener.tail())? {
            0 if opener.tail() > 0 => Some(Self::Tail { length }),
            0 => None,
            left => Some(Self::Drop { left, length }),
        }
    }

    /// The bytes that the current records still lack, and the most plaintext that they can hold.
    #[inline]
    pub(super) fn under_way(self, opener: &Opener) -> (u64, u64) {
        let holds = |length| opener.most_plaintext(length).unwrap_or(0) as u64;
        match self {
            Self::Header => (0, 0),
            Self::Peek { header, .. } | Self::Open(header) => {
                (header.length as u64, holds(header.length))
            }
            Self::Drop { left, length } => ((left + opener.tail()) as u64, holds(length)),
            Self::Tail { length } => (opener.tail() as u64, holds(length)),
            Self::Pass(stride) => (stride.left(), stride.records() * stride.record.plaintext),
        }
    }

    /// What is needed next.
    #[inline]
    pub(super) fn want(self, opener: &Opener, learned: &Learned, ahead: Ahead) -> Want {
        let dropping = !ahead.is_whole && ahead.body.is_some_and(|left| left > 0);
        let (min, rest) = match self {
            Self::Header => (HEADER, 0),
            Self::Peek { length, .. } => return Want::Read { min: length, max: length },
            Self::Open(header) => (header.length, 0),
            Self::Drop { left, .. } => return Want::Skip(left as u64),
            Self::Tail { .. } => (opener.tail(), HEADER),
            Self::Pass(stride) => return Want::Skip(stride.left()),
        };
        // Reading ahead is harmless where everything is opened anyway.
        let max = match (dropping, ahead.is_whole) {
            (true, _) if ahead.body.is_some_and(|left| left <= SHORT || learned.is_last(left)) => {
                ONE_RECORD
            }
            (true, _) => min + rest,
            (false, true) => READ_AHEAD,
            (false, false) => match peek_length(opener, learned) {
                Some(length) if ahead.body.is_none() => min + length,
                _ => ONE_RECORD,
            },
        };
        Want::Read { min, max: max.max(min) }
    }
}

/// How many bytes of a record's body hold the head of the next response, if it begins in a long
/// record like those before it.
#[inline]
pub(super) fn peek_length(opener: &Opener, learned: &Learned) -> Option<usize> {
    Some(opener.before_plaintext()? + learned.head()?)
}
