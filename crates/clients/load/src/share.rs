//! Shares of a whole, as users write them.

use std::num::NonZeroU32;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

/// Hundredths, from `0%` to `100%`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[derive(DeserializeFromStr, SerializeDisplay, derive_more::Display)]
#[display("{_0}%")]
pub struct Percent(u8);

/// One in `K`, written `1/64`; `1/1` is all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(DeserializeFromStr, SerializeDisplay, derive_more::Display)]
#[display("1/{_0}")]
pub struct OneIn(pub NonZeroU32);

impl Percent {
    /// `None` for more than 100.
    pub fn new(hundredths: u8) -> Option<Self> {
        (hundredths <= 100).then_some(Self(hundredths))
    }

    /// The hundredths.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.strip_suffix('%')
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|digits| digits.parse().ok())
            .and_then(Self::new)
            .ok_or_else(|| format!("`{text}` is not a share; write a whole percentage such as 70%"))
    }
}

impl FromStr for OneIn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.strip_prefix("1/")
            .and_then(|k| k.parse().ok())
            .map(Self)
            .ok_or_else(|| format!("`{text}` is not a sampling rate; write 1/64, or 1/1 for all"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_k() {
        assert_eq!("1/64".parse::<OneIn>().unwrap().to_string(), "1/64");
        for text in ["64", "1/0", "2/3", "1/-1", ""] {
            assert!(text.parse::<OneIn>().is_err(), "{text}");
        }
    }

    #[test]
    fn percentages() {
        for text in ["0%", "70%", "100%"] {
            assert_eq!(text.parse::<Percent>().unwrap().to_string(), text);
        }
        for text in ["", "%", "70", "101%", "-1%", "+1%", "0.5%", "70 %"] {
            assert!(text.parse::<Percent>().unwrap_err().contains("such as 70%"), "{text}");
        }
    }
}
