//! What an accelerator did that computes several operations at once.

use serde::{Deserialize, Serialize};

/// How many operations a batch has at most.
const MOST: usize = 8;

/// What its batches came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchCounts {
    /// How many batches had one operation, two, and so on up to eight.
    pub by_size: [u64; MOST],
    /// Operations that went back to the TLS library because a batch of them would have cost more.
    pub below_break_even: u64,
    /// Operations that went back because their results were refused or wrong.
    pub faulty: u64,
    /// CPU time of the batches.
    pub computing_ns: u64,
    /// The time from the submission of an operation to its batch, of all operations together.
    pub waited_ns: u64,
    /// Operations that were submitted, by kind.
    pub rsa_decrypt: u64,
    pub rsa_sign: u64,
}

impl BatchCounts {
    /// Operations that the TLS library did after all.
    #[must_use]
    pub fn sent_back(&self) -> u64 {
        self.below_break_even + self.faulty
    }

    /// Operations that were computed in batches, right or wrong.
    #[must_use]
    pub fn computed(&self) -> u64 {
        (1..).zip(self.by_size).map(|(size, batches): (u64, u64)| size * batches).sum()
    }

    /// Both, number by number; `None` where there are none.
    pub(crate) fn each(
        one: Option<Self>,
        other: Option<Self>,
        of: impl Fn(u64, u64) -> u64,
    ) -> Option<Self> {
        if one.is_none() && other.is_none() {
            return None;
        }
        let (one, other) = (one.unwrap_or_default().numbers(), other.unwrap_or_default().numbers());
        let numbers: Vec<_> = one.iter().zip(other).map(|(one, other)| of(*one, other)).collect();
        Some(Self::of_numbers(&numbers))
    }

    /// As they are in a row.
    pub(crate) fn numbers(&self) -> [u64; MOST + 6] {
        let Self {
            by_size,
            below_break_even,
            faulty,
            computing_ns,
            waited_ns,
            rsa_decrypt,
            rsa_sign,
        } = *self;
        let [a, b, c, d, e, f, g, h] = by_size;
        let others = [below_break_even, faulty, computing_ns, waited_ns, rsa_decrypt, rsa_sign];
        let [i, j, k, l, m, n] = others;
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n]
    }

    pub(crate) fn of_numbers(numbers: &[u64]) -> Self {
        Self {
            by_size: std::array::from_fn(|place| numbers[place]),
            below_break_even: numbers[MOST],
            faulty: numbers[MOST + 1],
            computing_ns: numbers[MOST + 2],
            waited_ns: numbers[MOST + 3],
            rsa_decrypt: numbers[MOST + 4],
            rsa_sign: numbers[MOST + 5],
        }
    }
}
