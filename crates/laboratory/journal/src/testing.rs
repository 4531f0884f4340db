//! A line for tests to change.

use trial::testing::EXAMPLE;

use crate::TrialLine;

/// A trial of nginx in a study.
pub fn example() -> TrialLine {
    serde_json::from_str(EXAMPLE).unwrap()
}
