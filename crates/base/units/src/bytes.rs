use std::fmt;
use std::str::FromStr;

use crate::{ParseError, number_and_unit, scaled};

/// A size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[derive(serde_with::DeserializeFromStr, serde_with::SerializeDisplay)]
pub struct Bytes(pub u64);

const UNITS: [(&str, u64); 5] =
    [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// Units as people write them, with what may be meant.
const LOOSE: [(&str, &[&str]); 8] = [
    ("k", &["KiB"]),
    ("kb", &["KiB"]),
    ("m", &["MiB"]),
    ("mb", &["MiB"]),
    ("g", &["GiB"]),
    ("gb", &["GiB"]),
    ("t", &["TiB"]),
    ("tb", &["TiB"]),
];

impl FromStr for Bytes {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        const FORM: &str = "write a size such as 512B, 16KiB, 1MiB or 4GiB";
        let (number, factor) =
            number_and_unit(text, &UNITS, &LOOSE, "is not a size with a binary unit", FORM)?;
        scaled(number, factor)
            .map(Self)
            .ok_or_else(|| ParseError::new(text, "is not a whole number of bytes", FORM))
    }
}

impl Bytes {
    /// How many of the largest unit that divides the size exactly, so that parsing gives the same value back.
    fn in_unit(self) -> (u64, &'static str) {
        let fits = |factor: u64| self.0.is_multiple_of(factor) && self.0 >= factor;
        let (name, factor) =
            UNITS.into_iter().rev().find(|(_, factor)| fits(*factor)).unwrap_or(UNITS[0]);
        (self.0 / factor, name)
    }

    /// `1 MiB`.
    pub fn in_words(self) -> String {
        let (number, unit) = self.in_unit();
        format!("{number} {unit}")
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, unit) = self.in_unit();
        write!(f, "{number}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn binary_units_are_exact() {
        assert_eq!("16MiB".parse(), Ok(Bytes(16 << 20)));
        assert_eq!("1.5KiB".parse(), Ok(Bytes(1536)));
        assert_eq!("1 B".parse(), Ok(Bytes(1)));
        assert_eq!(Bytes(1536).to_string(), "1536B");
        assert_eq!(Bytes(0).to_string(), "0B");
    }

    #[test]
    fn a_bare_number_is_refused_with_examples() {
        let message = "16".parse::<Bytes>().unwrap_err().to_string();
        assert_eq!(message, "`16` has no unit; write a size such as 512B, 16KiB, 1MiB or 4GiB");
    }

    #[test]
    fn units_as_people_write_them_are_refused_with_the_binary_one() {
        let message = |text: &str| text.parse::<Bytes>().unwrap_err().to_string();
        assert_eq!(message("16k"), "`16k` is not binary; write 16KiB");
        assert_eq!(message("1.5MB"), "`1.5MB` is not binary; write 1.5MiB");
    }

    #[test]
    fn decimal_units_byte_fractions_and_overflow_are_refused() {
        for text in ["16MB", "1.5B", "20000000TiB", "", "MiB", "-1B", "1e3B", "1.2.3KiB"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn printing_then_parsing_is_identity(size: u64) {
            prop_assert_eq!(Bytes(size).to_string().parse(), Ok(Bytes(size)));
        }
    }
}
