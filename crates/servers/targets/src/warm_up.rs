//! The load that a server gets once after it starts, before its first trial.

use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};
use units::{Nanos, ParseError};

/// How long a server is loaded before its first trial. A server with a just-in-time compiler runs
/// at a fraction of its speed until its hot code is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, DeserializeFromStr, SerializeDisplay)]
pub enum WarmUp {
    /// For this long.
    For(Nanos),
    /// Until it is steady: see [`SteadyRule`].
    UntilSteady,
}

/// When a server is steady: its speeds in the last `slices` slices lie within `spread` of their median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyRule {
    /// The length of a slice.
    pub slice: Nanos,
    /// How many are looked at.
    pub slices: usize,
    /// The largest less the smallest, as a share of the median.
    pub spread: f64,
    /// After this long a server that is still not steady is measured all the same, and said to be
    /// not steady.
    pub most: Nanos,
}

impl WarmUp {
    /// The longest that it takes.
    pub fn most(self) -> Nanos {
        match self {
            Self::For(time) => time,
            Self::UntilSteady => SteadyRule::USUAL.most,
        }
    }
}

impl SteadyRule {
    /// Five slices of 2 s within 3%, 90 s at most.
    pub const USUAL: Self =
        Self { slice: Nanos(2_000_000_000), slices: 5, spread: 0.03, most: Nanos(90_000_000_000) };

    /// How far the last of these speeds lie apart, as a share of their median; `None` where there
    /// are too few, or most of them are zero.
    pub fn spread_of(&self, speeds: &[f64]) -> Option<f64> {
        let mut last = speeds.get(speeds.len().checked_sub(self.slices)?..)?.to_vec();
        last.sort_unstable_by(f64::total_cmp);
        let median = last[self.slices / 2];
        (median > 0.0).then(|| (last[self.slices - 1] - last[0]) / median)
    }
}

impl FromStr for WarmUp {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text {
            "steady" => Ok(Self::UntilSteady),
            _ => text.parse().map(Self::For),
        }
    }
}

impl fmt::Display for WarmUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::For(time) => f.write_str(&time.exact()),
            Self::UntilSteady => f.write_str("steady"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_time_or_steady() {
        assert_eq!("20s".parse(), Ok(WarmUp::For(Nanos(20_000_000_000))));
        assert_eq!("steady".parse(), Ok(WarmUp::UntilSteady));
        for text in ["20s", "steady"] {
            assert_eq!(text.parse::<WarmUp>().unwrap().to_string(), text);
        }
        assert!("20".parse::<WarmUp>().unwrap_err().to_string().contains("unit"));
    }

    #[test]
    fn the_spread_is_that_of_the_last_slices() {
        let spread = |speeds: &[f64]| SteadyRule::USUAL.spread_of(speeds);
        assert_eq!(spread(&[100.0; 4]), None);
        assert_eq!(spread(&[1.0, 100.0, 101.0, 102.0, 100.0, 98.0]), Some(0.04));
        assert_eq!(spread(&[1.0, 100.0, 101.0, 100.0, 101.0, 99.0]), Some(0.02));
        assert_eq!(spread(&[0.0, 0.0, 0.0, 0.0, 5.0]), None);
    }
}
