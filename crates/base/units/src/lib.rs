//! Sizes, times and rates that are never written without their unit.
//!
//! Sizes are binary (`KiB`, `MiB`), rates are decimal (`Gb/s`), after IEC 80000-13. A bare number
//! without its unit is an error with an example of the right form. To guess whether "10" means
//! seconds or milliseconds could silently spoil a measurement.

mod bytes;
mod nanos;
mod numbers;
mod quantity;
mod rates;

pub use bytes::Bytes;
pub use nanos::Nanos;
pub use numbers::{counted, decimal, percent, places, significant, thousands};
pub use quantity::{Quantity, Unit};
pub use rates::{BitsPerSecond, Hertz, PerSecond};

/// A text that is not a quantity of the expected kind.
///
/// The message is one line: the text, what is wrong with it, how to write it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(String);

impl ParseError {
    fn new(text: &str, wrong: &str, fix: &str) -> Self {
        Self(format!("`{text}` {wrong}; {fix}"))
    }

    /// Of a number with a unit of people, for which these may be meant.
    fn of_unit(number: &str, unit: &str, meant: &[&str]) -> Self {
        let wrong = if meant.len() > 1 { "may mean several things" } else { "is not binary" };
        let meant: Vec<String> = meant.iter().map(|unit| format!("{number}{unit}")).collect();
        Self::new(&format!("{number}{unit}"), wrong, &format!("write {}", meant.join(" or ")))
    }
}

/// Splits `12.5ms` into its number and what its unit stands for. `loose` has units as people write them, in lower
/// case, each with those that may be meant.
fn number_and_unit<'a, T: Copy>(
    text: &'a str,
    units: &[(&str, T)],
    loose: &[(&str, &[&str])],
    wrong: &str,
    form: &str,
) -> Result<(&'a str, T), ParseError> {
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (text[..end].trim(), text[end..].trim());
    let wrong = if unit.is_empty() && !number.is_empty() { "has no unit" } else { wrong };
    if let Some((_, value)) = units.iter().find(|(name, _)| *name == unit) {
        return Ok((number, *value));
    }
    let meant = loose.iter().find(|(name, _)| *name == unit.to_lowercase() && !number.is_empty());
    Err(match meant {
        Some((_, meant)) => ParseError::of_unit(number, unit, meant),
        None => ParseError::new(text, wrong, form),
    })
}

/// `number` × `factor` as an exact integer, or `None` where it is not a number, negative, a
/// fraction of the base unit, or too large.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let denominator = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let product = digits.checked_mul(u128::from(factor))?;
    (product % denominator == 0)
        .then(|| product / denominator)
        .and_then(|value| u64::try_from(value).ok())
}
