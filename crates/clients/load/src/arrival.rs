//! When operations are meant to start, as a user writes it.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};
use units::Nanos;

use crate::Pace;

/// When operations are meant to start. Written `closed`, `closed, think 5ms`, `poisson 2000/s`,
/// `uniform 2000/s`, `paced 4s` or `paced 2Gb/s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, DeserializeFromStr, SerializeDisplay)]
pub enum Arrival {
    /// A closed loop: each connection is one user, who waits for the answer, thinks, and asks
    /// again. A slow server is asked less often.
    Closed {
        /// From the end of an operation to the start of the next; 0 is none. With think time, the
        /// users' first operations are spread evenly over one think time.
        think: Nanos,
    },
    /// An open loop: operations arrive at a rate, whether or not earlier ones were answered. The
    /// plan's connections are the most that are used at a time; an arrival that finds none free
    /// waits, and its latency counts from its arrival.
    Open {
        /// Of all connections together.
        rate: Rate,
        /// How the arrivals are spread over time.
        distribution: Distribution,
    },
    /// Each connection sends a request at each of its own ticks, as a video player does for its
    /// next segment. The phases of the connections are spread evenly. A response that is not
    /// complete by its connection's next tick has missed its deadline; that tick's request starts
    /// as soon as the connection is free, and later ticks stay where they are.
    Paced {
        /// How far apart the ticks of a connection are.
        pace: Pace,
    },
}

/// How the arrivals of an open loop are spread over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// At equal intervals.
    Uniform,
    /// A Poisson process, with exponential gaps: the sum of many independent users.
    Poisson,
}

/// Operations per second, exact to a thousandth; at most ten million. Written `2000/s` or `0.5/s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate {
    thousandths: NonZeroU64,
}

/// The highest rate, in thousandths; no machine starts that many operations.
const HIGHEST_RATE: u64 = 10_000_000_000;

impl Arrival {
    /// A closed loop without think time.
    pub const CLOSED: Self = Self::Closed { think: Nanos(0) };

    /// Whether operations are meant to start at times that do not depend on answers, so that the
    /// latency from there and the service time differ.
    pub fn is_scheduled(&self) -> bool {
        !matches!(self, Self::Closed { .. })
    }

    /// Whether each operation has a deadline, the next tick of its connection.
    pub fn is_paced(&self) -> bool {
        matches!(self, Self::Paced { .. })
    }
}

impl Default for Arrival {
    fn default() -> Self {
        Self::CLOSED
    }
}

impl Rate {
    /// A rate in thousandths of an operation per second; `None` for 0 and for more than ten million
    /// operations per second.
    pub fn from_thousandths(thousandths: u64) -> Option<Self> {
        let thousandths = NonZeroU64::new(thousandths)?;
        (thousandths.get() <= HIGHEST_RATE).then_some(Self { thousandths })
    }

    /// Operations in a thousand seconds.
    pub fn thousandths(self) -> u64 {
        self.thousandths.get()
    }

    /// Operations per second.
    pub fn per_second(self) -> f64 {
        self.thousandths() as f64 / 1e3
    }
}

impl FromStr for Arrival {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: String| {
            format!(
                "`{text}` {why}; write `closed`, `closed, think 5ms`, `poisson 2000/s`, `uniform 2000/s`, \
                 `paced 4s` or `paced 2Gb/s`"
            )
        };
        let (word, rest) = text.split_once([' ', ',']).unwrap_or((text, ""));
        let rest = rest.trim();
        let open = |distribution| match rest.parse() {
            Ok(rate) => Ok(Self::Open { rate, distribution }),
            Err(why) => Err(wrong(format!("needs a rate: {why}"))),
        };
        let time = |text: &str| {
            text.trim().parse::<Nanos>().map_err(|error| wrong(format!("needs a time: {error}")))
        };
        Ok(match word {
            "closed" if rest.is_empty() => Self::CLOSED,
            "closed" => match rest.strip_prefix("think ") {
                Some(think) => Self::Closed { think: time(think)? },
                None => return Err(wrong("has something other than a think time".into())),
            },
            "poisson" => open(Distribution::Poisson)?,
            "uniform" => open(Distribution::Uniform)?,
            "paced" => Self::Paced { pace: rest.parse().map_err(wrong)? },
            _ => return Err(wrong("is not an arrival".into())),
        })
    }
}

impl fmt::Display for Arrival {
    /// Exactly as it is parsed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed { think: Nanos(0) } => f.write_str("closed"),
            Self::Closed { think } => write!(f, "closed, think {}", think.exact()),
            Self::Open { rate, distribution: Distribution::Poisson } => write!(f, "poisson {rate}"),
            Self::Open { rate, distribution: Distribution::Uniform } => write!(f, "uniform {rate}"),
            Self::Paced { pace } => write!(f, "paced {pace}"),
        }
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("`{text}` {why}; write a rate such as 2000/s or 0.5/s");
        let number = text.strip_suffix("/s").ok_or_else(|| wrong("does not end with /s"))?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.len() > 3 {
            return Err(wrong("is finer than thousandths"));
        }
        let is_number = format!("{whole}{fraction}").bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_number || number.ends_with('.') {
            return Err(wrong("has no number"));
        }
        format!("{whole}{fraction:0<3}")
            .parse()
            .ok()
            .and_then(Self::from_thousandths)
            .ok_or_else(|| wrong("is 0, or more than 10000000/s"))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.thousandths() / 1_000, self.thousandths() % 1_000) {
            (whole, 0) => write!(f, "{whole}/s"),
            (whole, rest) => write!(f, "{whole}.{}/s", format!("{rest:03}").trim_end_matches('0')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_documented_forms_parse() {
        let rate = Rate::from_thousandths(2_000_000).unwrap();
        for (text, arrival) in [
            ("closed", Arrival::CLOSED),
            ("closed, think 5ms", Arrival::Closed { think: Nanos(5_000_000) }),
            ("poisson 2000/s", Arrival::Open { rate, distribution: Distribution::Poisson }),
            ("uniform 2000/s", Arrival::Open { rate, distribution: Distribution::Uniform }),
            ("paced 4s", Arrival::Paced { pace: Pace::Every(Nanos(4_000_000_000)) }),
            ("paced 2Gb/s", Arrival::Paced { pace: Pace::Rate(2_000_000_000) }),
            ("paced 2500Mb/s", Arrival::Paced { pace: Pace::Rate(2_500_000_000) }),
        ] {
            assert_eq!(text.parse(), Ok(arrival));
            assert_eq!(arrival.to_string(), text);
        }
        assert_eq!("paced 2.5Gb/s".parse(), "paced 2500Mb/s".parse::<Arrival>());
        assert_eq!("0.5/s".parse::<Rate>().unwrap().thousandths(), 500);
        assert_eq!("12.050/s".parse::<Rate>().unwrap().to_string(), "12.05/s");
    }

    #[test]
    fn a_wrong_arrival_is_refused_with_the_forms_to_write() {
        for (text, why) in [
            ("", "is not an arrival"),
            ("open 5/s", "is not an arrival"),
            ("closed 5ms", "has something other than a think time"),
            ("closed, think", "has something other than a think time"),
            ("closed, think 5", "has no unit"),
            ("poisson", "does not end with /s"),
            ("poisson 2000", "does not end with /s"),
            ("uniform 0/s", "is 0"),
            ("uniform 0.0001/s", "finer than thousandths"),
            ("uniform 1./s", "has no number"),
            ("uniform -1/s", "has no number"),
            ("uniform 20000000/s", "more than 10000000/s"),
            ("uniform 99999999999999999999/s", "more than 10000000/s"),
            ("paced 4", "has no unit"),
            ("paced", "needs a time or a rate"),
            ("paced 2Gb", "`2Gb` has no unit of a rate; write a data rate such as 10Gb/s"),
            ("paced 2GB/s", "is not a time with a unit"),
            ("paced 0Mb/s", "below 1b/s"),
            ("paced 9999999Gb/s", "above 1000000Gb/s"),
        ] {
            let message = text.parse::<Arrival>().unwrap_err();
            assert!(message.contains(why) && !message.contains('\n'), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn every_arrival_survives_writing_and_parsing(
            nanos in 1_000_000u64..10_000_000_000_000,
            thousandths in 1..=HIGHEST_RATE,
            kind in 0..5,
        ) {
            let rate = Rate::from_thousandths(thousandths).unwrap();
            let arrival = match kind {
                0 => Arrival::Closed { think: Nanos(nanos) },
                1 => Arrival::Open { rate, distribution: Distribution::Uniform },
                2 => Arrival::Open { rate, distribution: Distribution::Poisson },
                3 => Arrival::Paced { pace: Pace::Every(Nanos(nanos)) },
                _ => Arrival::Paced { pace: Pace::Rate(nanos) },
            };
            prop_assert_eq!(arrival.to_string().parse(), Ok(arrival));
        }
    }
}
