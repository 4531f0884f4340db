//! What an accelerator did that computes several operations at once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, VariantArray};

/// How many operations a batch has at most.
const MOST: usize = 8;

/// What a private key is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, Display, EnumString, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum KeyUse {
    /// The premaster secret of static RSA (RFC 5246, section 7.4.7.1).
    RsaDecrypt,
    /// The server's signature with RSA.
    RsaSign,
    /// The server's signature with P-256 or P-384.
    EcdsaSign,
    /// A key for one handshake with X25519.
    X25519Key,
    /// The secret that such a key shares with the client's.
    X25519Derive,
    /// A key for one handshake with P-256 or P-384.
    EcdhKey,
    /// The secret that such a key shares with the client's.
    EcdhDerive,
}

const USES: usize = KeyUse::VARIANTS.len();

/// What the operations of one use came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UseCounts {
    /// Operations that were asked for.
    pub submitted: u64,
    /// Those whose result was used.
    pub completed: u64,
    /// Operations that went back to the TLS library because a batch of them would have cost more.
    pub below_break_even: u64,
    /// Operations that went back because their results were refused or wrong.
    pub faulty: u64,
    /// How many operations cost as much in a batch as one by one in the TLS library, by measurement when the
    /// server started; 9 where no batch is worth it.
    pub break_even: u64,
}

/// The same by use; uses that were never asked for are left out of its JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<KeyUse, UseCounts>", into = "BTreeMap<KeyUse, UseCounts>")]
pub struct Uses([UseCounts; USES]);

/// What its batches came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchCounts {
    /// How many batches had one operation, two, and so on up to eight.
    pub by_size: [u64; MOST],
    /// CPU time of the batches.
    pub computing_ns: u64,
    /// The time from the submission of an operation to its batch, of all operations together.
    pub waited_ns: u64,
    /// CPU time that a pause of a handshake costs beside its batch, by measurement when the server started; 0 where
    /// the server polls.
    #[serde(default)]
    pub pause_ns: u64,
    #[serde(default)]
    pub uses: Uses,
}

impl UseCounts {
    /// A use whose operations all went back to the TLS library, because no batch of it is ever worth it.
    pub fn never_pays(&self) -> bool {
        self.submitted > 0 && self.break_even > MOST as u64
    }
}

impl Uses {
    /// Those that were asked for.
    pub fn used(&self) -> impl Iterator<Item = (KeyUse, &UseCounts)> {
        KeyUse::VARIANTS.iter().copied().zip(&self.0).filter(|(_, counts)| counts.submitted > 0)
    }

    /// Operations whose result was used.
    pub fn completed(&self) -> u64 {
        self.sum(|counts| counts.completed)
    }

    /// The sum of one number.
    fn sum(&self, of: impl Fn(&UseCounts) -> u64) -> u64 {
        self.0.iter().map(of).sum()
    }
}

impl std::ops::Index<KeyUse> for Uses {
    type Output = UseCounts;

    fn index(&self, of: KeyUse) -> &UseCounts {
        &self.0[of as usize]
    }
}

impl std::ops::IndexMut<KeyUse> for Uses {
    fn index_mut(&mut self, of: KeyUse) -> &mut UseCounts {
        &mut self.0[of as usize]
    }
}

impl From<BTreeMap<KeyUse, UseCounts>> for Uses {
    fn from(by_use: BTreeMap<KeyUse, UseCounts>) -> Self {
        let mut uses = Self::default();
        by_use.into_iter().for_each(|(of, counts)| uses[of] = counts);
        uses
    }
}

impl From<Uses> for BTreeMap<KeyUse, UseCounts> {
    fn from(uses: Uses) -> Self {
        uses.used().map(|(of, counts)| (of, *counts)).collect()
    }
}

impl BatchCounts {
    /// How many numbers of a row it has.
    pub(crate) const NUMBERS: usize = Self::PAUSE + 1;
    /// The first of those that are measured and not counted: a break-even for each use, and the pause.
    pub(crate) const MEASURED: usize = MOST + 2 + 4 * USES;
    pub(crate) const PAUSE: usize = Self::MEASURED + USES;

    /// Operations that the TLS library did because a batch of them would have cost more.
    pub fn below_break_even(&self) -> u64 {
        self.uses.sum(|counts| counts.below_break_even)
    }

    /// Operations that the TLS library did because the results were refused or wrong.
    pub fn faulty(&self) -> u64 {
        self.uses.sum(|counts| counts.faulty)
    }

    /// Operations that the TLS library did after all.
    pub fn sent_back(&self) -> u64 {
        self.below_break_even() + self.faulty()
    }

    /// Operations that were computed in batches, right or wrong.
    pub fn computed(&self) -> u64 {
        (1..).zip(self.by_size).map(|(size, batches): (u64, u64)| size * batches).sum()
    }

    /// Both, number by number; `None` where there are none. Of what is measured it has the larger one.
    pub(crate) fn each(
        one: Option<Self>,
        other: Option<Self>,
        of: impl Fn(u64, u64) -> u64,
    ) -> Option<Self> {
        if one.is_none() && other.is_none() {
            return None;
        }
        let (one, other) = (one.unwrap_or_default().numbers(), other.unwrap_or_default().numbers());
        Some(Self::of_numbers(&std::array::from_fn(|place| match place {
            ..Self::MEASURED => of(one[place], other[place]),
            _ => one[place].max(other[place]),
        })))
    }

    /// As they are in a row, by their places: what is measured comes last. Whoever counts may have little stack.
    pub(crate) fn each_number(&self, mut visit: impl FnMut(usize, u64)) {
        for place in 0..MOST {
            visit(place, self.by_size[place]);
        }
        visit(MOST, self.computing_ns);
        visit(MOST + 1, self.waited_ns);
        for of in 0..USES {
            let (counts, first) = (&self.uses.0[of], MOST + 2 + 4 * of);
            visit(first, counts.submitted);
            visit(first + 1, counts.completed);
            visit(first + 2, counts.below_break_even);
            visit(first + 3, counts.faulty);
            visit(Self::MEASURED + of, counts.break_even);
        }
        visit(Self::PAUSE, self.pause_ns);
    }

    fn numbers(&self) -> [u64; Self::NUMBERS] {
        let mut numbers = [0; Self::NUMBERS];
        self.each_number(|place, number| numbers[place] = number);
        numbers
    }

    pub(crate) fn of_numbers(numbers: &[u64; Self::NUMBERS]) -> Self {
        let counts = |of: usize| {
            let four = &numbers[MOST + 2 + 4 * of..];
            UseCounts {
                submitted: four[0],
                completed: four[1],
                below_break_even: four[2],
                faulty: four[3],
                break_even: numbers[Self::MEASURED + of],
            }
        };
        Self {
            by_size: std::array::from_fn(|place| numbers[place]),
            computing_ns: numbers[MOST],
            waited_ns: numbers[MOST + 1],
            pause_ns: numbers[Self::PAUSE],
            uses: Uses(std::array::from_fn(counts)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_place_of_its_own() {
        let numbers = std::array::from_fn(|place| place as u64 + 1);
        assert_eq!(BatchCounts::of_numbers(&numbers).numbers(), numbers);
    }

    #[test]
    fn uses_are_named_in_json_where_they_were_asked_for() {
        let mut uses = Uses::default();
        uses[KeyUse::X25519Derive] =
            UseCounts { submitted: 3, break_even: 9, ..UseCounts::default() };
        uses[KeyUse::RsaSign].break_even = 5;
        let json = serde_json::to_value(uses).unwrap();
        let expected = serde_json::json!({ "x25519-derive": {
            "submitted": 3, "completed": 0, "below_break_even": 0, "faulty": 0, "break_even": 9
        }});
        assert_eq!(json, expected);
        let read: Uses = serde_json::from_value(json).unwrap();
        assert_eq!(read[KeyUse::X25519Derive], uses[KeyUse::X25519Derive]);
        assert!(uses[KeyUse::X25519Derive].never_pays() && !uses[KeyUse::RsaSign].never_pays());
    }
}
