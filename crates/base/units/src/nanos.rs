use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::{ParseError, number_and_unit, places, scaled};

/// A length of time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[derive(serde_with::DeserializeFromStr)]
pub struct Nanos(pub u64);

const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Units as people write them, with what may be meant.
const LOOSE: [(&str, &[&str]); 1] = [("m", &["min", "ms"])];

impl Nanos {
    /// A time, or a number of seconds: how command lines of other tools say it.
    ///
    /// # Errors
    /// As [`FromStr`]'s.
    pub fn or_seconds(text: &str) -> Result<Self, ParseError> {
        let is_number = text.contains(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_digit() || c == '.');
        if is_number { format!("{text}s").parse() } else { text.parse() }
    }

    /// As fractional seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// In the largest unit up to seconds in which it is a whole number, where [`Display`](fmt::Display)
    /// rounds for people.
    pub fn exact(self) -> String {
        const EXACT: [(u64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
        let (factor, unit) = EXACT
            .into_iter()
            .find(|(factor, _)| self.0.is_multiple_of(*factor))
            .unwrap_or((1, "ns"));
        format!("{}{unit}", self.0 / factor)
    }
}

impl serde::Serialize for Nanos {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.exact())
    }
}

impl From<Nanos> for Duration {
    fn from(time: Nanos) -> Self {
        Duration::from_nanos(time.0)
    }
}

impl FromStr for Nanos {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        const FORM: &str = "write a time such as 500us, 150ms, 10s or 2min";
        let (number, factor) =
            number_and_unit(text, &UNITS, &LOOSE, "is not a time with a unit", FORM)?;
        scaled(number, factor)
            .map(Self)
            .ok_or_else(|| ParseError::new(text, "is not a whole number of nanoseconds", FORM))
    }
}

impl fmt::Display for Nanos {
    /// Three significant digits in a readable unit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            0 => return f.write_str("0s"),
            1..1_000 => return write!(f, "{}ns", self.0),
            1_000..1_000_000 => (self.0 as f64 / 1e3, "µs"),
            1_000_000..1_000_000_000 => (self.0 as f64 / 1e6, "ms"),
            1_000_000_000..120_000_000_000 => (self.0 as f64 / 1e9, "s"),
            _ => (self.0 as f64 / 60e9, "min"),
        };
        f.write_str(&significant(value))?;
        f.write_str(unit)
    }
}

/// Three significant digits, without trailing zeros after the point.
fn significant(value: f64) -> String {
    let text = format!("{value:.*}", places(value, 3).max(0) as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_written_in_the_largest_whole_unit() {
        for text in ["0s", "1ns", "1500us", "600ms", "10s", "7200s"] {
            assert_eq!(text.parse::<Nanos>().unwrap().exact(), text);
        }
        assert_eq!("2min".parse::<Nanos>().unwrap().exact(), "120s");
    }

    #[test]
    fn units_are_exact() {
        assert_eq!("150ms".parse(), Ok(Nanos(150_000_000)));
        assert_eq!("0.5us".parse(), Ok(Nanos(500)));
        assert_eq!("2min".parse(), Ok(Nanos(120_000_000_000)));
    }

    #[test]
    fn a_bare_number_is_refused_with_examples() {
        let message = "10".parse::<Nanos>().unwrap_err().to_string();
        assert_eq!(message, "`10` has no unit; write a time such as 500us, 150ms, 10s or 2min");
    }

    #[test]
    fn a_command_line_takes_seconds_and_a_loose_unit_is_refused_with_what_may_be_meant() {
        assert_eq!(Nanos::or_seconds("3"), Ok(Nanos(3_000_000_000)));
        assert_eq!(Nanos::or_seconds("0.5"), Ok(Nanos(500_000_000)));
        assert_eq!(Nanos::or_seconds("150ms"), Ok(Nanos(150_000_000)));
        assert!(["", ".", "-3", "3x"].iter().all(|text| Nanos::or_seconds(text).is_err()));
        let message = Nanos::or_seconds("1m").unwrap_err().to_string();
        assert_eq!(message, "`1m` may mean several things; write 1min or 1ms");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "s", "0.5ns", "-1s", "10 sec", "1e3s", "999999999h"] {
            assert!(text.parse::<Nanos>().is_err(), "{text}");
        }
    }

    #[test]
    fn printed_as_a_person_would() {
        for (nanos, text) in [
            (0, "0s"),
            (999, "999ns"),
            (1_500, "1.5µs"),
            (310_000, "310µs"),
            (10_000_000, "10ms"),
            (970_400_000, "970ms"),
            (10_000_000_000, "10s"),
            (7_200_000_000_000, "120min"),
        ] {
            assert_eq!(Nanos(nanos).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn an_exact_time_is_read_back_exactly(nanos: u64) {
            prop_assert_eq!(Nanos(nanos).exact().parse(), Ok(Nanos(nanos)));
        }

        #[test]
        fn printing_keeps_three_digits(nanos in 1u64..3_600_000_000_000) {
            let shown: Nanos = Nanos(nanos).to_string().parse().unwrap();
            prop_assert!((shown.0 as f64 / nanos as f64 - 1.0).abs() <= 0.005 + 1e-9);
        }
    }
}
