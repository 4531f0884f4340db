//! How often the connections of a paced load ask.

use std::fmt;
use std::str::FromStr;

use units::{BitsPerSecond, Nanos};

/// How often the connections of a paced load ask. Written `4s` or `2Gb/s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// From one tick of a connection to its next; at least 1 ms.
    Every(Nanos),
    /// What all connections together ask for, in bits of bodies per second; not 0. A connection's
    /// period is connections x mean object / rate.
    Rate(u64),
}

/// The shortest period; for more requests than that an open loop is the right load.
const LEAST_PERIOD: Nanos = Nanos(1_000_000);

/// The highest rate, a thousand Tb/s.
const HIGHEST_RATE: f64 = 1e15;

impl Pace {
    /// From one tick of a connection to its next. `object` is the mean size of what is asked for,
    /// in bytes.
    ///
    /// # Errors
    /// The period is too short.
    pub(crate) fn period(self, connections: usize, object: f64) -> Result<Nanos, String> {
        let (period, advice) = match self {
            Self::Every(period) => (period, "give a longer one or a rate such as uniform 2000/s"),
            Self::Rate(rate) => {
                let seconds = connections as f64 * object * 8.0 / rate as f64;
                let advice = "give a lower rate or more connections";
                (Nanos((seconds * 1e9).round() as u64), advice)
            }
        };
        match period < LEAST_PERIOD {
            true => Err(format!("a pace of {period} is shorter than {LEAST_PERIOD}; {advice}")),
            false => Ok(period),
        }
    }
}

impl FromStr for Pace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // No unit of time has a b.
        if !text.contains('b') {
            let time = text.parse().map_err(|error| format!("needs a time or a rate: {error}"))?;
            return Ok(Self::Every(time));
        }
        let BitsPerSecond(rate) = text.parse().map_err(|error| format!("needs a rate: {error}"))?;
        match (1.0..=HIGHEST_RATE).contains(&rate) {
            true => Ok(Self::Rate(rate.round() as u64)),
            false => Err("has a rate below 1b/s or above 1000000Gb/s".to_owned()),
        }
    }
}

impl fmt::Display for Pace {
    /// Exactly as it is parsed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] =
            [(1_000_000_000, "Gb/s"), (1_000_000, "Mb/s"), (1_000, "kb/s"), (1, "b/s")];
        match self {
            Self::Every(period) => f.write_str(&period.exact()),
            Self::Rate(rate) => {
                let fits = UNITS.iter().find(|(factor, _)| rate.is_multiple_of(*factor));
                let (factor, unit) = fits.unwrap_or(&UNITS[3]);
                write!(f, "{}{unit}", rate / factor)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_period_of_each_connection() {
        let rate: Pace = "2Gb/s".parse().unwrap();
        assert_eq!(rate.period(5_000, 1_048_576.0), Ok(Nanos(20_971_520_000)));
        assert_eq!("4s".parse::<Pace>().unwrap().period(5_000, 1.0), Ok(Nanos(4_000_000_000)));
        assert!(rate.period(1, 131_072.0).is_err());
        assert!("10us".parse::<Pace>().unwrap().period(1, 1.0).is_err());
    }
}
