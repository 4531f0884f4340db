//! How many requests the client sends on a connection before it ends that.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use objects::{in_percent, shares};
use random::Random;
use serde::{Deserialize, Deserializer};
use serde_with::SerializeDisplay;

use crate::schedule::ThreadPart;

/// Arrivals, objects and samples use other random streams.
const FIRST_STREAM: u64 = 1 << 48;

/// The most requests that may be asked for on a connection; one that is to carry more is kept.
const MOST: u32 = 1_000_000;

/// The longest list of counts.
const MOST_COUNTS: usize = 100;

/// Counts of requests with their shares of the connections. Written `8`, or `1 20%, 8 60%, 100 20%`; in
/// a study file, a single count may be a number. Each connection draws its count independently.
#[derive(Debug, Clone, PartialEq, Eq, SerializeDisplay)]
pub struct RequestsPerConnection(Vec<Portion>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Portion {
    count: NonZeroU32,
    /// In thousandths of a percent of the connections; not 0.
    share: u32,
}

impl RequestsPerConnection {
    /// The largest of the counts.
    pub fn most(&self) -> u32 {
        self.0.iter().map(|portion| portion.count.get()).max().unwrap_or(1)
    }

    /// The only count, where there is no other.
    pub fn only(&self) -> Option<NonZeroU32> {
        match &self.0[..] {
            [portion] => Some(portion.count),
            _ => None,
        }
    }

    fn parse(text: &str) -> Result<Vec<Portion>, String> {
        let count = |word: &str| {
            let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
            let count = is_number.then(|| word.parse::<NonZeroU32>().ok()).flatten();
            count
                .filter(|count| count.get() <= MOST)
                .ok_or_else(|| format!("has `{word}`, which is not a count from 1 to {MOST}"))
        };
        let portion = |(count, share)| Portion { count, share };
        let counts = shares(text, "counts", MOST_COUNTS, count)?;
        Ok(counts.into_iter().map(portion).collect())
    }
}

impl FromStr for RequestsPerConnection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text).map(Self).map_err(|why| {
            format!("`{text}` {why}; write a count such as 8, or 1 20%, 8 60%, 100 20%")
        })
    }
}

impl fmt::Display for RequestsPerConnection {
    /// As it is parsed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(count) = self.only() {
            return count.fmt(f);
        }
        let portion = |of: &Portion| format!("{} {}", of.count, in_percent(of.share.into()));
        f.write_str(&self.0.iter().map(portion).collect::<Vec<_>>().join(", "))
    }
}

impl<'de> Deserialize<'de> for RequestsPerConnection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::number_or_text::parse(deserializer)
    }
}

/// How many requests a connection carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) count: NonZeroU32,
    /// Whether the connection begins in the middle of its life, so that its count is what is left of it.
    pub(crate) is_rest: bool,
}

/// CountDraws the counts of one thread's connections.
#[derive(Debug)]
pub(crate) struct CountDraws {
    portions: Vec<Portion>,
    random: Random,
    /// How many of the next connections begin in the middle of their lives.
    rests: usize,
}

impl CountDraws {
    /// Where the load has a warm-up or a time, the first connection of each slot begins in the middle of
    /// its life. Otherwise all would end together, again and again.
    pub(crate) fn new(asked: &RequestsPerConnection, part: &ThreadPart, counts_all: bool) -> Self {
        Self {
            portions: asked.0.clone(),
            random: Random::stream(part.seed, FIRST_STREAM + part.thread as u64),
            rests: if counts_all { 0 } else { part.slots },
        }
    }

    /// That of the next connection.
    pub(crate) fn next(&mut self) -> Planned {
        let is_rest = self.rests > 0;
        self.rests = self.rests.saturating_sub(1);
        // At any time, connections with more requests are found more often, and each of their requests
        // is equally likely to be the next one.
        let weight = |portion: &Portion| match is_rest {
            true => u64::from(portion.share) * u64::from(portion.count.get()),
            false => portion.share.into(),
        };
        let mut drawn = self.random.below(self.portions.iter().map(weight).sum());
        for portion in &self.portions {
            if drawn < weight(portion) {
                let rest = (drawn / u64::from(portion.share)) as u32 + 1;
                let count = if is_rest { NonZeroU32::new(rest) } else { None };
                return Planned { count: count.unwrap_or(portion.count), is_rest };
            }
            drawn -= weight(portion);
        }
        unreachable!("the number drawn is below the sum of the weights")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::{IntoDeserializer, value};
    use units::Nanos;

    use super::*;
    use crate::schedule::Ramp;

    fn asked(text: &str) -> RequestsPerConnection {
        text.parse().unwrap()
    }

    fn draws(text: &str, seed: u64, thread: usize, slots: usize) -> CountDraws {
        let part = ThreadPart {
            thread,
            threads: 2,
            slots,
            connections: 2 * slots,
            window_start: 0,
            seed,
            ramp: Ramp::new(0, None),
            period: Nanos(0),
        };
        CountDraws::new(&asked(text), &part, slots == 0)
    }

    fn drawn(text: &str, seed: u64, thread: usize, slots: usize, count: usize) -> Vec<u32> {
        let mut draws = draws(text, seed, thread, slots);
        (0..count).map(|_| draws.next().count.get()).collect()
    }

    /// As it is read from a file that has a number.
    fn number(count: u64) -> Result<RequestsPerConnection, value::Error> {
        RequestsPerConnection::deserialize(count.into_deserializer())
    }

    #[test]
    fn a_list_is_written_as_it_is_parsed() {
        for text in ["1", "8", "1 20%, 8 60%, 100 20%", "1 0.5%, 1000 99.5%"] {
            assert_eq!(asked(text).to_string(), text);
        }
        assert_eq!(number(8), Ok(asked("8")));
        assert_eq!((asked("8 100%").only(), asked("8 100%").most()), (NonZeroU32::new(8), 8));
        assert_eq!((asked("1 20%, 100 80%").only(), asked("1 20%, 100 80%").most()), (None, 100));
    }

    #[test]
    fn what_is_no_list_of_counts_says_why() {
        let wrong = [
            "",
            "0",
            "-1",
            "+1",
            "1.5",
            "8 x",
            "1000001",
            "99999999999",
            "8, 9",
            "8 50%, 9 49%",
            "8 50%, 8 50%",
            "8 100%, 9 0%",
            "8 101%",
            "8%",
        ];
        support::assert_golden!(
            wrong.map(|text| { (text, text.parse::<RequestsPerConnection>().unwrap_err()) })
        );
        assert!(number(0).is_err());
    }

    #[test]
    fn connections_draw_their_counts_by_their_shares() {
        let all = drawn("1 20%, 8 60%, 100 20%", 1, 0, 0, 100_000);
        for (count, share) in [(1, 0.2), (8, 0.6), (100, 0.2)] {
            let seen = all.iter().filter(|drawn| **drawn == count).count() as f64;
            assert!((seen / 100_000.0 - share).abs() < 0.01, "{seen} of {count}");
        }
        assert_eq!(drawn("8", 1, 0, 0, 5), [8; 5]);
    }

    #[test]
    fn the_first_connections_of_a_lasting_load_are_found_in_the_middle_of_their_lives() {
        let count = 100_000;
        let rests = drawn("1 50%, 9 50%", 1, 0, count, count + 3);
        // Of connections that are open, 9 in 10 have 9 requests, and any number of these is left.
        for rest in 1..=9 {
            let seen = rests[..count].iter().filter(|drawn| **drawn == rest).count() as f64;
            let share = if rest == 1 { 0.2 } else { 0.1 };
            assert!((seen / count as f64 - share).abs() < 0.01, "{seen} of {rest}");
        }
        assert!(rests[count..].iter().all(|drawn| [1, 9].contains(drawn)));
    }

    #[test]
    fn draws_follow_from_the_seed_and_the_thread() {
        let of = |seed, thread| drawn("1 50%, 9 50%", seed, thread, 10, 100);
        assert_eq!(of(7, 0), of(7, 0));
        assert_ne!(of(7, 0), of(8, 0));
        assert_ne!(of(7, 0), of(7, 1));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[ -~]{0,40}") {
            if let Ok(list) = text.parse::<RequestsPerConnection>() {
                prop_assert_eq!(list.to_string().parse::<RequestsPerConnection>(), Ok(list));
            }
        }
    }
}
