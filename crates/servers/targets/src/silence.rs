//! How long a program of toll on another machine hears nothing of toll until it ends: a connection does
//! not end where the network is cut.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde_with::{DeserializeFromStr, SerializeDisplay};
use units::Nanos;

/// The longest time without a word of toll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, DeserializeFromStr, SerializeDisplay)]
pub struct Silence(Nanos);

/// A busy machine may stand still for a good part of it.
const LEAST: Nanos = Nanos(1_000_000_000);

/// How many signs of life toll gives in that time.
const SIGNS: u32 = 5;

impl Silence {
    pub fn limit(self) -> Duration {
        self.0.into()
    }

    /// Between two signs of life of toll.
    pub fn sign_of_life(self) -> Duration {
        self.limit() / SIGNS
    }
}

impl Default for Silence {
    fn default() -> Self {
        Self(Nanos(10_000_000_000))
    }
}

impl FromStr for Silence {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let time: Nanos = text.parse().map_err(|error: units::ParseError| error.to_string())?;
        match time >= LEAST {
            true => Ok(Self(time)),
            false => Err(format!(
                "`{text}` is too short for signs of life to arrive; write {LEAST} or more"
            )),
        }
    }
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.exact())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_as_it_is_read_and_never_shorter_than_a_second() {
        for text in ["1s", "1500ms", "10s"] {
            assert_eq!(text.parse::<Silence>().unwrap().to_string(), text);
        }
        for wrong in ["999ms", "10", "", "0s"] {
            assert!(wrong.parse::<Silence>().is_err(), "{wrong}");
        }
        assert_eq!(Silence::default().sign_of_life(), Duration::from_secs(2));
    }
}
