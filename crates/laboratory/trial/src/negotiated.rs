//! The handshakes of a load, counted by what they negotiated.

use std::collections::BTreeMap;

use load::{Negotiated, Outcome};
use units::counted;

/// How many were so.
pub(crate) fn count_handshakes(outcome: &Outcome, is: fn(&Negotiated) -> bool) -> u64 {
    outcome.negotiated.iter().filter(|(kind, _)| is(kind)).map(|(_, count)| count).sum()
}

/// How many had each name; those without one are left out.
pub(crate) fn by_name(
    outcome: &Outcome,
    name: fn(&Negotiated) -> Option<String>,
) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for (name, count) in
        outcome.negotiated.iter().filter_map(|(kind, count)| Some((name(kind)?, count)))
    {
        *counts.entry(name).or_default() += count;
    }
    counts
}

pub(crate) fn handshakes_in_words(count: u64) -> String {
    counted(count, "handshake")
}
