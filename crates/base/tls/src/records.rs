//! How a server puts plaintext into records.

use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};
use units::Bytes;

/// The most plaintext in a record: 512 B to 16 KiB (RFC 8446, section 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, DeserializeFromStr, SerializeDisplay)]
pub struct RecordSize(usize);

impl RecordSize {
    pub fn get(self) -> usize {
        self.0
    }
}

impl Default for RecordSize {
    fn default() -> Self {
        Self(16 << 10)
    }
}

impl fmt::Display for RecordSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Bytes(self.0 as u64).fmt(f)
    }
}

impl FromStr for RecordSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size: Bytes = text.parse().map_err(|e: units::ParseError| e.to_string())?;
        match usize::try_from(size.0) {
            Ok(bytes @ 512..=16_384) => Ok(Self(bytes)),
            _ => Err(format!("`{text}` is not a size of a TLS record; use 512B to 16KiB")),
        }
    }
}

/// How many full records go into one send: 1 to 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, DeserializeFromStr, SerializeDisplay)]
pub struct RecordsPerWrite(usize);

impl RecordsPerWrite {
    pub fn get(self) -> usize {
        self.0
    }
}

impl Default for RecordsPerWrite {
    fn default() -> Self {
        Self(16)
    }
}

impl fmt::Display for RecordsPerWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RecordsPerWrite {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(records @ 1..=64) => Ok(Self(records)),
            _ => Err(format!("`{text}` is not a number of records; use 1 to 64")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_sizes_are_those_of_the_protocol() {
        assert_eq!("16KiB".parse(), Ok(RecordSize(16_384)));
        assert_eq!("512B".parse(), Ok(RecordSize(512)));
        for text in ["511B", "17KiB", "16384", "0B", "99999TiB"] {
            assert!(text.parse::<RecordSize>().is_err(), "{text}");
        }
    }

    #[test]
    fn records_per_write_are_bounded() {
        assert_eq!("64".parse(), Ok(RecordsPerWrite(64)));
        for text in ["0", "65", "-1", "many"] {
            assert!(text.parse::<RecordsPerWrite>().is_err(), "{text}");
        }
    }
}
