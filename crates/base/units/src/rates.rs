use std::fmt;
use std::str::FromStr;

use crate::{ParseError, number_and_unit, thousands};

/// A data rate in bits per second, with decimal prefixes as for networks.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct BitsPerSecond(pub f64);

/// Events per second.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct PerSecond(pub f64);

/// A frequency.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Hertz(pub f64);

const BITS: [(&str, f64); 4] = [("b/s", 1.0), ("kb/s", 1e3), ("Mb/s", 1e6), ("Gb/s", 1e9)];

impl FromStr for BitsPerSecond {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        rate(text, &BITS, "write a data rate such as 10Gb/s, 2.5Gb/s or 800Mb/s").map(Self)
    }
}

impl FromStr for PerSecond {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        rate(text, &[("/s", 1.0)], "write a rate such as 2000/s or 0.5/s").map(Self)
    }
}

fn rate(text: &str, units: &[(&str, f64)], form: &str) -> Result<f64, ParseError> {
    let (number, factor) = number_and_unit(text, units, &[], "has no unit of a rate", form)?;
    let number = number.replace('_', "").parse::<f64>();
    number.map(|number| number * factor).map_err(|_| ParseError::new(text, "is not a number", form))
}

impl fmt::Display for BitsPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = BITS.iter().rev().find(|(_, factor)| self.0 >= *factor);
        let (unit, factor) = fits.unwrap_or(&BITS[0]);
        f.pad(&format!("{:.2} {unit}", self.0 / factor))
    }
}

impl PerSecond {
    /// Without its unit.
    pub fn number(self) -> String {
        match self.0 >= 100.0 || self.0 == 0.0 {
            true => thousands(self.0.round() as u64),
            false => format!("{:.1}", self.0),
        }
    }
}

impl fmt::Display for PerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/s", self.number()))
    }
}

impl fmt::Display for Hertz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.2} GHz", self.0 / 1e9))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_carry_decimal_units() {
        assert_eq!(BitsPerSecond(8_724_152_320.0).to_string(), "8.72 Gb/s");
        assert_eq!(BitsPerSecond(999_000.0).to_string(), "999.00 kb/s");
        assert_eq!(PerSecond(1640.4).to_string(), "1,640/s");
        assert_eq!(PerSecond(65.04).to_string(), "65.0/s");
        assert_eq!(PerSecond(0.0).to_string(), "0/s");
        assert_eq!(Hertz(2_710_000_000.0).to_string(), "2.71 GHz");
    }

    #[test]
    fn rates_need_their_units() {
        assert_eq!("2.5Gb/s".parse(), Ok(BitsPerSecond(2.5e9)));
        assert_eq!("800 Mb/s".parse(), Ok(BitsPerSecond(800e6)));
        assert_eq!("1_640/s".parse(), Ok(PerSecond(1640.0)));
        assert_eq!("8.72 Gb/s".parse::<BitsPerSecond>().unwrap().to_string(), "8.72 Gb/s");
        let message = "10".parse::<BitsPerSecond>().unwrap_err().to_string();
        assert_eq!(
            message,
            "`10` has no unit; write a data rate such as 10Gb/s, 2.5Gb/s or 800Mb/s"
        );
        for text in ["10GB/s", "10Gbit/s", "Gb/s", "1.2.3Gb/s", "-1Gb/s", "infGb/s", ""] {
            assert!(text.parse::<BitsPerSecond>().is_err(), "{text}");
        }
        assert!("5Gb/s".parse::<PerSecond>().is_err());
    }

    #[test]
    fn a_width_pads() {
        assert_eq!(format!("{:>12}", BitsPerSecond(1e9)), "   1.00 Gb/s");
    }
}
