//! The failed operations of a load.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wire::{ErrorKind, Failure};

/// The longest description that is kept, in characters. It may quote the peer.
const LONGEST: usize = 240;

/// The text as one line of limited length without control characters, so that it is safe to print
/// on a terminal.
fn printable(seen: &str) -> String {
    let mut shown = seen.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let mut text: String = shown.by_ref().take(LONGEST).collect();
    if shown.next().is_some() {
        text.push_str("...");
    }
    text
}

/// How many operations failed, by kind, with a description of the first of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// By the kinds' places among all.
    of: BTreeMap<usize, (u64, String)>,
}

impl Failures {
    pub(crate) fn add(&mut self, failure: Failure) {
        self.add_all(failure.kind, 1, &failure.seen);
    }

    /// Adds operations that failed in the same way, and what was seen of the first.
    pub fn add_all(&mut self, kind: ErrorKind, count: u64, seen: &str) {
        self.of.entry(kind as usize).or_insert_with(|| (0, printable(seen))).0 += count;
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (kind, (count, seen)) in other.of {
            self.of.entry(kind).or_insert((0, seen)).0 += count;
        }
    }

    /// How many operations failed in this way.
    pub fn count(&self, kind: ErrorKind) -> u64 {
        self.of.get(&(kind as usize)).map_or(0, |(count, _)| *count)
    }

    /// How many operations failed.
    pub fn total(&self) -> u64 {
        self.of.values().map(|(count, _)| count).sum()
    }

    /// The kinds that occurred, each with its count and the description of its first occurrence.
    pub fn iter(&self) -> impl Iterator<Item = (ErrorKind, u64, &str)> {
        self.of.iter().map(|(kind, (count, seen))| (ErrorKind::ALL[*kind], *count, &**seen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peers_text_is_cut_and_stripped_of_control_characters() {
        let mut failures = Failures::default();
        failures.add(Failure::new(ErrorKind::Status, format!("404 {}", "x".repeat(100_000))));
        failures.add(Failure::new(ErrorKind::Alert, "\x1b[2Jone\ntwo\u{9b}"));
        let kept: Vec<&str> = failures.iter().map(|(_, _, seen)| seen).collect();
        let shortened = format!("404 {}...", "x".repeat(LONGEST - 4));
        assert_eq!(kept, ["\u{fffd}[2Jone\u{fffd}two\u{fffd}", &shortened]);
    }

    #[test]
    fn merging_adds_counts_and_keeps_the_first_description() {
        let mut one = Failures::default();
        let mut two = Failures::default();
        one.add(Failure::new(ErrorKind::Reset, "first"));
        two.add(Failure::new(ErrorKind::Reset, "second"));
        two.add(Failure::new(ErrorKind::Stall, "third"));
        one.merge(two);
        one.add_all(ErrorKind::Reset, 5, "fourth");
        assert_eq!(one.total(), 8);
        assert_eq!(
            one.iter().collect::<Vec<_>>(),
            [(ErrorKind::Reset, 7, "first"), (ErrorKind::Stall, 1, "third")]
        );
    }
}
