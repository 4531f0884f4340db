//! The limit that must hold while a search goes for more, and whether it does.

use std::fmt;
use std::str::FromStr;

use hdrhistogram::Histogram;
use load::Latencies;
use strum::{IntoStaticStr, VariantArray};
use units::Nanos;

use keys::did_you_mean;
use trial::Measured;

/// What must hold: `first-byte-max <= 2s`, `errors <= 0.1%`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(serde_with::DeserializeFromStr, serde_with::SerializeDisplay)]
pub struct Ceiling {
    pub watched: Watched,
    /// The most that it may be: nanoseconds, or millionths where a share is watched.
    most: u64,
}

/// What a limit is on. Where it is a time, operations that were still under way when the window ended
/// count with the time that they had taken by then, if that is over the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Watched {
    /// The 99th percentile of TCP and TLS together.
    ConnectP99,
    /// The longest of them.
    ConnectMax,
    /// The 99th percentile until the first byte of a response.
    FirstByteP99,
    /// The longest of them.
    FirstByteMax,
    /// The 99th percentile of whole operations.
    WholeP99,
    /// The longest of them.
    WholeMax,
    /// Failed operations over all that ended.
    Errors,
    /// Operations that were not over by their connection's next tick, over all that were meant to
    /// start.
    DeadlineMisses,
}

const MILLION: f64 = 1e6;

type Clock = fn(&Latencies) -> &Histogram<u64>;

impl Watched {
    /// All that a limit can be on.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The name in study files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The times that it is a quantile of; `None` where it is a share of operations.
    fn clock(self) -> Option<(Clock, f64)> {
        Some(match self {
            Self::ConnectP99 => (|times| &times.connect, 0.99),
            Self::ConnectMax => (|times| &times.connect, 1.0),
            Self::FirstByteP99 => (|times| &times.first_byte, 0.99),
            Self::FirstByteMax => (|times| &times.first_byte, 1.0),
            Self::WholeP99 => (|times| &times.whole, 0.99),
            Self::WholeMax => (|times| &times.whole, 1.0),
            Self::Errors | Self::DeadlineMisses => return None,
        })
    }

    /// Whether it is a share of operations, and not a time.
    pub fn is_share(self) -> bool {
        self.clock().is_none()
    }

    /// A value in words: `3.2s`, `0.5%`.
    pub fn in_words(self, value: f64) -> String {
        match self.is_share() {
            true => units::percent(value),
            false => Nanos(value.round() as u64).to_string(),
        }
    }
}

impl Ceiling {
    /// The most that it may be, in nanoseconds or as a share of 1.
    pub fn most(&self) -> f64 {
        match self.watched.is_share() {
            true => self.most as f64 / MILLION,
            false => self.most as f64,
        }
    }

    /// What the limit is on, in a trial; `None` where there was nothing to time.
    pub fn seen(&self, measured: &Measured) -> Option<f64> {
        let Measured { line, outcome } = measured;
        match self.watched.clock() {
            Some((clock, quantile)) => {
                self.at_quantile(clock(&outcome.latencies), clock(&outcome.under_way), quantile)
            }
            None if self.watched == Watched::Errors => line.evidence()?.failed_share,
            None => line.operations.arrivals.and_then(|arrivals| {
                let misses = arrivals.deadline_misses? as f64;
                let deadlines = arrivals.deadlines.filter(|deadlines| *deadlines > 0)?;
                Some(misses / deadlines as f64)
            }),
        }
    }

    /// Whether operations were timed of which none has ended and none was under way for longer than
    /// the limit.
    pub fn is_none_late(&self, measured: &Measured) -> bool {
        let Some((clock, _)) = self.watched.clock() else { return false };
        let ages = clock(&measured.outcome.under_way);
        !ages.is_empty() && ages.max() as f64 <= self.most()
    }

    /// Of what ended, and of what was under way for longer than the limit: what was under way for
    /// less may still end in time.
    fn at_quantile(
        &self,
        ended: &Histogram<u64>,
        under_way: &Histogram<u64>,
        quantile: f64,
    ) -> Option<f64> {
        let mut all = ended.clone();
        for value in under_way.iter_recorded() {
            let age = value.value_iterated_to();
            if age as f64 > self.most() {
                all.saturating_record_n(age, value.count_at_value());
            }
        }
        (!all.is_empty()).then(|| all.value_at_quantile(quantile) as f64)
    }
}

impl FromStr for Ceiling {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write a limit such as first-byte-max <= 2s or errors <= 0.1%";
        let (name, most) =
            text.split_once("<=").ok_or_else(|| format!("`{text}` is not a limit; {FORM}"))?;
        let (name, most) = (name.trim(), most.trim());
        let watched = Watched::ALL.iter().copied().find(|watched| watched.name() == name);
        let Some(watched) = watched else {
            let names = Watched::ALL.iter().map(|watched| watched.name());
            let hint = did_you_mean(name, "a limit is on one of:", names);
            return Err(format!("`{name}` cannot have a limit{hint}"));
        };
        let most = match watched.is_share() {
            true => millionths(most)
                .ok_or_else(|| format!("`{most}` is not a share; write one such as 0.1%"))?,
            false => most.parse::<Nanos>().map_err(|error| error.to_string())?.0,
        };
        Ok(Self { watched, most })
    }
}

/// Of a percentage with at most four decimals.
fn millionths(text: &str) -> Option<u64> {
    let number = text.strip_suffix('%')?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_number = format!("{whole}{fraction}").bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number || fraction.len() > 4 || number.ends_with('.') {
        return None;
    }
    format!("{whole}{fraction:0<4}").parse().ok().filter(|share| *share <= 1_000_000)
}

impl fmt::Display for Ceiling {
    /// As it is read, exactly.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <= ", self.watched.name())?;
        match self.watched.is_share() {
            false => write!(f, "{}", Nanos(self.most).exact()),
            true => match (self.most / 10_000, self.most % 10_000) {
                (whole, 0) => write!(f, "{whole}%"),
                (whole, rest) => {
                    write!(f, "{whole}.{}%", format!("{rest:04}").trim_end_matches('0'))
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_written_as_they_are_read() {
        for text in ["first-byte-max <= 2s", "connect-p99 <= 1500us", "errors <= 0.1%"] {
            assert_eq!(text.parse::<Ceiling>().unwrap().to_string(), text);
        }
        let loose: Ceiling = "deadline-misses<=12.50%".parse().unwrap();
        assert_eq!((loose.to_string().as_str(), loose.most()), ("deadline-misses <= 12.5%", 0.125));
        assert_eq!("whole-max <= 2min".parse::<Ceiling>().unwrap().most(), 120e9);
    }

    #[test]
    fn what_is_no_limit_is_refused_with_what_to_write() {
        for (text, expected) in [
            ("2s", "`2s` is not a limit; write a limit such as first-byte-max <= 2s"),
            ("first-byte-max < 2s", "is not a limit"),
            ("frist-byte-max <= 2s", "did you mean first-byte-max?"),
            ("first-byte-max <= 2", "has no unit"),
            ("errors <= 0.1", "`0.1` is not a share; write one such as 0.1%"),
            ("errors <= 101%", "is not a share"),
            ("errors <= 0.00001%", "is not a share"),
            ("errors <= 2s", "is not a share"),
        ] {
            let message = text.parse::<Ceiling>().unwrap_err();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
