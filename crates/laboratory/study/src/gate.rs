//! `gate = "ratio >= 4"`: what the ratios of an answer must reach.

use std::str::FromStr;

/// What the ratio of every compared value to the baseline must be.
#[derive(
    Debug,
    Clone,
    PartialEq,
    serde_with::DeserializeFromStr,
    serde_with::SerializeDisplay,
    derive_more::Display
)]
#[display("{text}")]
pub struct RatioGate {
    text: String,
    pub comparator: Comparator,
    pub limit: f64,
}

/// How a figure is held against a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparator {
    AtLeast,
    AtMost,
    Above,
    Below,
}

/// The longer ones first.
const COMPARATORS: [(&str, Comparator); 4] = [
    (">=", Comparator::AtLeast),
    ("<=", Comparator::AtMost),
    (">", Comparator::Above),
    ("<", Comparator::Below),
];

/// What a ratio is called in gates.
pub const RATIO: &str = "ratio";

impl Comparator {
    /// The parts of `what >= limit`.
    ///
    /// # Errors
    /// There is no comparator.
    pub fn split(text: &str) -> Result<(&str, Self, &str), String> {
        let found = COMPARATORS.into_iter().find_map(|(sign, comparator)| {
            let (what, limit) = text.split_once(sign)?;
            Some((what.trim(), comparator, limit.trim()))
        });
        found.ok_or_else(|| "there is no >=, <=, > or <".to_owned())
    }

    /// Whether the limit is the least that is allowed.
    pub fn is_from_below(self) -> bool {
        matches!(self, Self::AtLeast | Self::Above)
    }

    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::AtLeast => value >= limit,
            Self::AtMost => value <= limit,
            Self::Above => value > limit,
            Self::Below => value < limit,
        }
    }
}

/// The limit of a ratio: `0.95`, `4x`.
///
/// # Errors
/// It is no number above 0.
pub fn ratio(text: &str) -> Result<f64, String> {
    let ratio = text.trim_end_matches('x').parse::<f64>().ok();
    let ratio = ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0);
    ratio.ok_or_else(|| format!("`{text}` is not a ratio such as 0.95"))
}

impl FromStr for RatioGate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: String| format!("`{text}`: {why}; write a gate such as ratio >= 4");
        let (what, comparator, limit) = Comparator::split(text).map_err(wrong)?;
        if what != RATIO {
            return Err(wrong(format!("an answer is gated by its ratio, not by `{what}`")));
        }
        let limit = ratio(limit).map_err(wrong)?;
        Ok(Self { text: text.to_owned(), comparator, limit })
    }
}
