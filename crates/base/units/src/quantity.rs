//! Numbers as a person reads them: in one unit and with the same decimals for all in one
//! column or on one axis, so that they can be compared by eye.

use crate::{BitsPerSecond, Bytes, Nanos, PerSecond, decimal, places};

/// What a figure is of, in the unit in which it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Operations per second.
    PerSecond,
    /// Bits per second.
    BitsPerSecond,
    /// A share of one.
    Share,
    /// Nanoseconds.
    Nanos,
    /// Seconds per GB (10^9 bytes).
    SecondsPerGigabyte,
    /// CPUs that are fully used.
    Cpus,
    /// Core cycles per second.
    CyclesPerSecond,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Bytes for each byte of something else.
    BytesPerByte,
    /// Packets.
    Packets,
    /// Round trips.
    RoundTrips,
    /// Core cycles.
    Cycles,
    /// Core cycles per byte.
    CyclesPerByte,
    /// Instructions of a processor.
    Instructions,
    /// Instructions per KiB.
    InstructionsPerKib,
    /// Joules.
    Joules,
    /// Joules per GB (10^9 bytes).
    JoulesPerGigabyte,
}

/// A unit with its number of decimals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// As it is written after a number; `%` and `/s` without a space between.
    pub name: &'static str,
    /// How many of the kept unit one of this is.
    pub factor: f64,
    decimals: i32,
}

impl Quantity {
    /// The value of a text with its unit.
    ///
    /// # Errors
    /// The text has no such unit; the sentence says how to write it.
    pub fn parse(self, text: &str) -> Result<f64, String> {
        let number = |unit: &str, form: &str| {
            let number = text.strip_suffix(unit).and_then(|number| number.trim().parse().ok());
            let number = number.filter(|number: &f64| number.is_finite());
            number.ok_or_else(|| format!("`{text}` is {form}"))
        };
        let in_words = |error: crate::ParseError| error.to_string();
        match self {
            Self::PerSecond => text.parse().map(|PerSecond(value)| value).map_err(in_words),
            Self::BitsPerSecond => text.parse().map(|BitsPerSecond(value)| value).map_err(in_words),
            Self::Share => number("%", "not a share such as 95%").map(|percent| percent / 100.0),
            Self::Nanos => text.parse().map(|Nanos(value)| value as f64).map_err(in_words),
            Self::SecondsPerGigabyte => number("s/GB", "not a time per GB such as 0.35s/GB"),
            Self::Cpus => number("CPUs", "not a number of CPUs such as 1.5CPUs"),
            Self::CyclesPerSecond => {
                number("Gcycles/s", "not a rate of cycles such as 1.5Gcycles/s")
                    .map(|cycles| cycles * 1e9)
            }
            Self::Bytes => text.parse().map(|Bytes(value)| value as f64).map_err(in_words),
            Self::BytesPerSecond => {
                number("GB/s", "not a rate such as 12.5GB/s").map(|rate| rate * 1e9)
            }
            Self::BytesPerByte => number("B/B", "not a number of bytes per byte such as 2.5B/B"),
            Self::Packets => number("packets", "not a number of packets such as 9 packets"),
            Self::RoundTrips => number("round trips", "not a number such as 2 round trips"),
            Self::Cycles => number("cycles", "not a number of cycles such as 900 cycles"),
            Self::CyclesPerByte => number("cycles/byte", "not a cost such as 0.5 cycles/byte"),
            Self::Instructions => {
                number("instructions", "not a number of instructions such as 900000 instructions")
            }
            Self::InstructionsPerKib => {
                number("instructions/KiB", "not a cost such as 900 instructions/KiB")
            }
            Self::Joules => number("J", "not an energy such as 0.02J"),
            Self::JoulesPerGigabyte => number("J/GB", "not an energy per GB such as 1.5J/GB"),
        }
    }

    /// The largest unit first.
    fn units(self) -> &'static [(&'static str, f64)] {
        match self {
            Self::PerSecond => &[("/s", 1.0)],
            Self::BitsPerSecond => &[("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3), ("b/s", 1.0)],
            Self::Share => &[("%", 0.01)],
            Self::Nanos => &[("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)],
            Self::SecondsPerGigabyte => &[("s/GB", 1.0), ("ms/GB", 1e-3), ("µs/GB", 1e-6)],
            Self::Cpus => &[("CPUs", 1.0)],
            Self::CyclesPerSecond => &[("Gcycles/s", 1e9), ("Mcycles/s", 1e6), ("cycles/s", 1.0)],
            Self::Bytes => &[("B", 1.0)],
            Self::BytesPerSecond => &[("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3), ("B/s", 1.0)],
            Self::BytesPerByte => &[("B/B", 1.0)],
            Self::Packets => &[("packets", 1.0)],
            Self::RoundTrips => &[("round trips", 1.0)],
            Self::Cycles => &[("kilocycles", 1e3), ("cycles", 1.0)],
            Self::CyclesPerByte => &[("cycles/byte", 1.0)],
            Self::Instructions => &[("instructions", 1.0)],
            Self::InstructionsPerKib => &[("instructions/KiB", 1.0)],
            Self::Joules => &[("J", 1.0), ("mJ", 1e-3), ("µJ", 1e-6)],
            Self::JoulesPerGigabyte => &[("J/GB", 1.0), ("mJ/GB", 1e-3)],
        }
    }

    /// The smallest unit, for figures that are compared whatever their size.
    pub fn least_unit(self) -> Unit {
        let (name, factor) = self.units().last().copied().unwrap_or(("", 1.0));
        Unit { name, factor, decimals: 0 }
    }

    /// The unit in which all of `values` are to be written: the largest that leaves the largest
    /// value at 1 or more, with decimals that leave the smallest three digits.
    pub fn unit_for(self, values: impl IntoIterator<Item = f64>) -> Unit {
        let sizes = values.into_iter().map(f64::abs).filter(|v| v.is_finite() && *v > 0.0);
        let (least, most) =
            sizes.fold((f64::INFINITY, 0.0), |(least, most), v| (v.min(least), v.max(most)));
        let units = self.units();
        // Nine tenths: 0.98 s/GB is better read so than as 980 ms/GB.
        let fits = units.iter().find(|(_, factor)| most >= 0.9 * factor);
        let none_fits = if most == 0.0 { units.first() } else { units.last() };
        let &(name, factor) = fits.or(none_fits).unwrap_or(&("", 1.0));
        let decimals = match self {
            Self::Share => 1,
            _ => decimals(least / factor, most / factor),
        };
        Unit { name, factor, decimals }
    }
}

/// Decimals with which `least` has three digits; none beside numbers of four digits.
fn decimals(least: f64, most: f64) -> i32 {
    if most == 0.0 || most >= 1000.0 {
        return 0;
    }
    places(least, 3).clamp(0, MOST_DECIMALS)
}

/// More make a column hard to read; a smaller number has its own.
const MOST_DECIMALS: i32 = 3;

/// Of numbers that have no unit.
impl Default for Unit {
    fn default() -> Self {
        Self { name: "", factor: 1.0, decimals: 0 }
    }
}

impl Unit {
    /// The number alone: `36.92`, `1,640`.
    /// One that is small beside the others of its column keeps two digits that count: `0.0064`.
    pub fn number(&self, value: f64) -> String {
        let value = self.scaled(value);
        let decimals = if self.decimals < MOST_DECIMALS { self.decimals } else { places(value, 2) };
        decimal(value, decimals.clamp(self.decimals, 2 * MOST_DECIMALS))
    }

    /// The number with its unit: `36.92 Gb/s`, `1,640/s`, `81.0%`.
    pub fn text(&self, value: f64) -> String {
        self.with_unit(self.number(value))
    }

    /// The number of an axis, which has its own decimals: none that are zero for all of a scale.
    pub fn tick(&self, value: f64, step: f64) -> String {
        // Longer numbers run into each other.
        let (factor, short) = match self.scaled(step) {
            100_000.0.. => (1e6, "M"),
            10_000.0.. => (1e3, "k"),
            _ => (1.0, ""),
        };
        let decimals = places(self.scaled(step) / factor, 1).clamp(0, 9);
        let number = decimal(self.scaled(value) / factor, decimals);
        if value == 0.0 { number } else { number + short }
    }

    /// The value in this unit.
    pub fn scaled(&self, value: f64) -> f64 {
        value / self.factor
    }

    /// A number of it with its unit.
    pub fn with_unit(&self, number: String) -> String {
        match self.name {
            "/s" | "%" => number + self.name,
            name => format!("{number} {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_number_beside_large_ones_keeps_digits_that_count() {
        let unit = Quantity::SecondsPerGigabyte.unit_for([1.2, 0.0064]);
        assert_eq!((unit.number(1.2), unit.number(0.0064)), ("1.200".into(), "0.0064".into()));
        assert_eq!((unit.number(0.006_12), unit.number(0.0)), ("0.0061".into(), "0.000".into()));
    }

    #[test]
    fn a_column_has_one_unit_and_its_smallest_number_three_digits() {
        let unit = Quantity::BitsPerSecond.unit_for([36.918e9, 2.9e9]);
        assert_eq!(unit.text(36.918e9), "36.92 Gb/s");
        assert_eq!(unit.number(2.9e9), "2.90");
        let unit = Quantity::PerSecond.unit_for([1_640.4, 44.2]);
        assert_eq!((unit.text(1_640.4), unit.text(44.2)), ("1,640/s".into(), "44/s".into()));
        let unit = Quantity::Nanos.unit_for([640_000.0, 92_100.0]);
        assert_eq!(
            (unit.text(640_000.0), unit.text(92_100.0)),
            ("640.0 µs".into(), "92.1 µs".into())
        );
        let unit = Quantity::SecondsPerGigabyte.unit_for([2.8, 0.067]);
        assert_eq!((unit.number(2.8), unit.number(0.067)), ("2.800".into(), "0.067".into()));
        assert_eq!(Quantity::Share.unit_for([0.81]).text(0.81), "81.0%");
    }

    #[test]
    fn nothing_and_less_than_nothing_are_written_as_such() {
        let unit = Quantity::BitsPerSecond.unit_for([]);
        assert_eq!(unit.text(0.0), "0 Gb/s");
        let unit = Quantity::Share.unit_for([-0.034]);
        assert_eq!((unit.text(-0.034), unit.text(-0.0001)), ("-3.4%".into(), "0.0%".into()));
        assert_eq!(Quantity::Nanos.unit_for([0.2]).text(0.2), "0.200 ns");
    }

    #[test]
    fn values_are_read_with_their_units() {
        assert_eq!(Quantity::Share.parse("95%"), Ok(0.95));
        assert_eq!(Quantity::SecondsPerGigabyte.parse("0.35s/GB"), Ok(0.35));
        assert_eq!(Quantity::Nanos.parse("5ms"), Ok(5e6));
        assert_eq!(Quantity::Bytes.parse("1KiB"), Ok(1024.0));
        assert_eq!(Quantity::CyclesPerSecond.parse("1.5Gcycles/s"), Ok(1.5e9));
        assert_eq!(Quantity::Packets.parse("9 packets"), Ok(9.0));
        for text in ["95", "much%", "inf%"] {
            let message = Quantity::Share.parse(text).unwrap_err();
            assert_eq!(message, format!("`{text}` is not a share such as 95%"));
        }
    }

    #[test]
    fn ticks_have_the_decimals_of_their_step() {
        let unit = Quantity::BitsPerSecond.unit_for([7.2e9]);
        assert_eq!(unit.tick(2e9, 2e9), "2");
        assert_eq!(unit.tick(0.5e9, 0.5e9), "0.5");
        assert_eq!(Quantity::PerSecond.unit_for([2e3]).tick(1_500.0, 500.0), "1,500");
        let instructions = Quantity::Instructions.unit_for([2.4e6]);
        let ticks = [0.0, 5e5, 1e6].map(|value| instructions.tick(value, 5e5));
        assert_eq!(ticks, ["0.0", "0.5M", "1.0M"]);
        assert_eq!(instructions.tick(40_000.0, 20_000.0), "40k");
    }
}
