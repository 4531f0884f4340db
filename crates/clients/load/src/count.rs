//! `count`: how many operations a load has, or that the server's instructions are counted.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::number_or_text;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// This many operations, and then the load ends.
    Operations(NonZeroU32),
    /// The instructions of the server's processes per operation.
    Instructions(Counter),
}

/// What counts instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// valgrind's callgrind, in which the server runs: on any machine, and alike on all.
    Callgrind,
    /// perf, which reads the processor's counters: of the code that really runs, where the kernel has them.
    Perf,
}

/// Each counter as `count` names it.
const NAMES: [(Counter, &str); 2] =
    [(Counter::Callgrind, "instructions"), (Counter::Perf, "instructions-by-perf")];

impl Count {
    /// This many operations; `None` of 0.
    pub fn of(operations: u32) -> Option<Self> {
        NonZeroU32::new(operations).map(Self::Operations)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operations(count) => count.fmt(f),
            Self::Instructions(counter) => counter.fmt(f),
        }
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES[*self as usize].1)
    }
}

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((counter, _)) = NAMES.iter().find(|(_, name)| *name == text) {
            return Ok(Self::Instructions(*counter));
        }
        text.parse().map(Self::Operations).map_err(|_| {
            format!(
                "`{text}` is neither a number of operations such as 1000, nor {}, nor {}",
                NAMES[0].1, NAMES[1].1
            )
        })
    }
}

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Operations(count) => count.serialize(serializer),
            Self::Instructions(counter) => serializer.collect_str(counter),
        }
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        number_or_text::parse(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_as_they_are_written() {
        for text in ["1000", "instructions", "instructions-by-perf"] {
            let count: Count = text.parse().unwrap();
            assert_eq!(count.to_string(), text);
            let value = toml::Value::try_from(count).unwrap();
            assert_eq!(value.is_integer(), matches!(count, Count::Operations(_)), "{text}");
            assert_eq!(value.try_into::<Count>().unwrap(), count);
        }
        for wrong in ["0", "-1", "instruction", ""] {
            assert!(
                wrong.parse::<Count>().unwrap_err().contains("instructions-by-perf"),
                "{wrong}"
            );
        }
    }
}
