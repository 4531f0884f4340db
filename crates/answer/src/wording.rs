//! Figures in words: at most three digits that count, the interval in brackets, and all three
//! numbers to the same place.

use stats::Estimate;
use units::{Bytes, Quantity, Unit, decimal, places};

use crate::figure::Figure;

/// `1,640 [1,590, 1,690]`, in units of `unit`.
pub(crate) fn quantity(figure: impl Into<Estimate>, unit: f64) -> String {
    let numbers = Numbers::of(&figure.into(), 1.0 / unit);
    let places = numbers.places_of_three_digits();
    numbers.write("", |number| decimal(number, places))
}

/// A share as `61% [60, 62]`, and finer where whole percents would hide the interval.
pub(crate) fn percent(share: impl Into<Estimate>) -> String {
    let numbers = Numbers::of(&share.into(), 100.0);
    let is_fine = numbers.width() < 1.0 || numbers.largest() < 9.95;
    let places = i32::from(is_fine && numbers.largest() < 99.95);
    numbers.write("%", |number| decimal(number, places))
}

/// A ratio as `3.9x [3.8, 4.0]`, and finer where tenths would hide the interval.
pub(crate) fn times(ratio: &Figure) -> String {
    let numbers = Numbers::of(&ratio.estimate, 1.0);
    let wanted = if numbers.width() < 0.1 { 2 } else { 1 };
    let places = wanted.min(numbers.places_of_three_digits());
    numbers.write("x", |number| decimal(number, places))
}

/// A ratio of two runs as `1.31x [1.25, 1.38]`: those that matter most lie near 1.
pub(crate) fn ratio_in_words(ratio: &Estimate) -> String {
    let numbers = Numbers::of(ratio, 1.0);
    let places = 2.min(numbers.places_of_three_digits());
    numbers.write("x", |number| decimal(number, places))
}

/// A ratio without its interval: `12x`, `2.7x`, `1.04x`, `0.0064x`.
pub(crate) fn factor(ratio: f64) -> String {
    let places = match ratio {
        9.95.. => 0,
        1.95.. => 1,
        0.095.. => 2,
        _ => places(ratio, 2),
    };
    format!("{}x", decimal(ratio, places))
}

/// A figure without its interval, with three digits that count: `28.1 Gb/s`, `2,490/s`, `61.0%`.
pub(crate) fn brief(quantity: Quantity, value: f64) -> String {
    brief_beside(quantity, value, value)
}

/// The same in the unit of the first figure of its sentence, so that a reader can compare them.
pub(crate) fn brief_beside(quantity: Quantity, value: f64, first: f64) -> String {
    if quantity == Quantity::Share {
        return format!("{}%", decimal(value * 100.0, 0));
    }
    let rounded = |value: f64| {
        let rounding = 10f64.powi(places(value, 3));
        (value * rounding).round() / rounding
    };
    let unit = quantity.unit_for([rounded(first)]);
    let scaled = unit.scaled(rounded(value));
    unit.with_unit(decimal(scaled, places(scaled, 3).clamp(0, 9)))
}

/// A sentence without the intervals in brackets: `2.9x [2.8, 3.0] as fast` as `2.9x as fast`.
pub(crate) fn without_intervals(sentence: &str) -> String {
    let mut parts = sentence.split(" [");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |told, part| match part.split_once(']') {
        Some((interval, rest))
            if interval.starts_with(|c: char| c.is_ascii_digit() || c == '-') =>
        {
            told + rest
        }
        _ => told + " [" + part,
    })
}

/// A share without an interval: `75%`, `93.8%`.
pub(crate) fn plain_percent(share: f64) -> String {
    let text = units::percent(share);
    text.strip_suffix(".0%").map_or_else(|| text.clone(), |whole| format!("{whole}%"))
}

/// `a, b and c`.
pub(crate) fn list<S: Into<String>>(items: impl IntoIterator<Item = S>) -> String {
    let items: Vec<String> = items.into_iter().map(Into::into).collect();
    match &items[..] {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The same; `None` where there are no items.
pub(crate) fn listed(items: impl IntoIterator<Item = String>) -> Option<String> {
    Some(list(items)).filter(|list| !list.is_empty())
}

/// Clauses with `between` them; `None` where there are none.
pub(crate) fn all_of(clauses: impl IntoIterator<Item = String>, between: &str) -> Option<String> {
    let clauses: Vec<String> = clauses.into_iter().collect();
    (!clauses.is_empty()).then(|| clauses.join(between))
}

/// Items by their keys, in the order in which the keys come first.
#[must_use]
pub fn grouped<K: PartialEq, T>(items: impl IntoIterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for (key, item) in items {
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, items)) => items.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

/// Each item once, in the order in which they come first.
#[must_use]
pub fn unique<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    grouped(items.into_iter().map(|item| (item, ()))).into_iter().map(|(item, _)| item).collect()
}

/// `1 MiB`.
pub(crate) fn size(bytes: Bytes) -> String {
    let text = bytes.to_string();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    format!("{} {}", &text[..digits], &text[digits..])
}

/// `[7.05, 7.31]` in this unit; empty where there is no interval.
#[must_use]
pub fn interval(figure: &Figure, unit: &Unit) -> String {
    let interval = figure.estimate.interval;
    match figure.has_interval() {
        true => format!("[{}, {}]", unit.number(interval.low), unit.number(interval.high)),
        false => String::new(),
    }
}

/// `[0.96, 1.02]` of a ratio; empty where there is no interval.
pub(crate) fn ratio_interval(ratio: &Figure) -> String {
    let text = times(ratio);
    text.split_once(' ').map(|(_, interval)| interval.to_owned()).unwrap_or_default()
}

/// Two words with a space between, or the first alone.
#[must_use]
pub fn joined(first: &str, second: &str) -> String {
    let space = if second.is_empty() { "" } else { " " };
    format!("{first}{space}{second}")
}

/// With a capital at its beginning.
#[must_use]
pub fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

/// A median and the ends of its interval, where it has one.
struct Numbers {
    median: f64,
    interval: Option<(f64, f64)>,
}

impl Numbers {
    fn of(estimate: &Estimate, factor: f64) -> Self {
        let Estimate { median, interval, n } = *estimate;
        Self {
            median: median * factor,
            interval: (n > 1).then_some((interval.low * factor, interval.high * factor)),
        }
    }

    fn largest(&self) -> f64 {
        let (low, high) = self.interval.unwrap_or((self.median, self.median));
        low.abs().max(high.abs()).max(self.median.abs())
    }

    fn width(&self) -> f64 {
        self.interval.map_or(f64::INFINITY, |(low, high)| high - low)
    }

    /// The decimal places that leave the largest number three digits.
    fn places_of_three_digits(&self) -> i32 {
        places(self.largest(), 3).min(9)
    }

    fn write(&self, unit: &str, number: impl Fn(f64) -> String) -> String {
        let median = number(self.median);
        match self.interval {
            Some((low, high)) => format!("{median}{unit} [{}, {}]", number(low), number(high)),
            None => format!("{median}{unit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A figure of six trials with this median and these ends of the interval.
    fn figure(low: f64, median: f64, high: f64) -> Figure {
        Figure::of(vec![low, median, median, median, median, high]).unwrap()
    }

    #[test]
    fn value_and_interval_have_the_same_place_and_three_digits_at_most() {
        for (low, median, high, text) in [
            (1588.0, 1641.0, 1693.0, "1,640 [1,590, 1,690]"),
            (12_345.0, 12_355.0, 12_449.0, "12,400 [12,300, 12,400]"),
            (8.401, 8.519, 8.6, "8.52 [8.40, 8.60]"),
            (9.8, 9.94, 10.12, "9.9 [9.8, 10.1]"),
            (9.98, 9.99, 9.996, "10.0 [10.0, 10.0]"),
            (999.0, 999.2, 999.6, "1,000 [1,000, 1,000]"),
            (0.0, 0.0, 0.0, "0 [0, 0]"),
            (0.0, 0.0123, 0.0234, "0.0123 [0.0000, 0.0234]"),
            (1_640_000.0, 1_649_000.0, 1_651_000.0, "1,650,000 [1,640,000, 1,650,000]"),
        ] {
            assert_eq!(quantity(&figure(low, median, high), 1.0), text);
        }
        assert_eq!(quantity(&figure(8.4e9, 8.52e9, 8.6e9), 1e9), "8.52 [8.40, 8.60]");
        assert_eq!(quantity(&Figure::of(vec![1641.0]).unwrap(), 1.0), "1,640");
    }

    #[test]
    fn shares_and_ratios_are_as_fine_as_their_intervals() {
        assert_eq!(percent(&figure(0.60, 0.612, 0.62)), "61% [60, 62]");
        assert_eq!(percent(&figure(0.611, 0.612, 0.613)), "61.2% [61.1, 61.3]");
        assert_eq!(percent(&figure(-0.02, 0.01, 0.03)), "1.0% [-2.0, 3.0]");
        assert_eq!(percent(&figure(-0.0001, 0.0, 0.5)), "0% [0, 50]");
        assert_eq!(percent(&figure(0.9999, 1.0, 1.0)), "100% [100, 100]");
        assert_eq!(times(&figure(3.81, 3.92, 4.01)), "3.9x [3.8, 4.0]");
        assert_eq!(times(&figure(3.91, 3.92, 3.94)), "3.92x [3.91, 3.94]");
        assert_eq!(times(&figure(220.0, 230.0, 1640.0)), "230x [220, 1,640]");
        assert_eq!(
            without_intervals("A is 2.9x [2.8, 3.0] as fast [as B], 3.1x [3.0, 3.2]."),
            "A is 2.9x as fast [as B], 3.1x."
        );
        assert_eq!(
            [12.3, 2.71, 1.04, 0.8, 0.0064].map(factor),
            ["12x", "2.7x", "1.04x", "0.80x", "0.0064x"]
        );
        let brief = |quantity, value| brief(quantity, value);
        assert_eq!(brief(Quantity::PerSecond, 2_493.0), "2,490/s");
        assert_eq!(brief(Quantity::BitsPerSecond, 28.13e9), "28.1 Gb/s");
        assert_eq!(brief(Quantity::Share, 0.558), "56%");
        assert_eq!(plain_percent(0.9375), "93.8%");
        assert_eq!(plain_percent(0.75), "75%");
    }

    #[test]
    fn lists_and_capitals() {
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(list(&items), "a, b and c");
        assert_eq!(list(&items[..2]), "a and b");
        assert_eq!(list(&items[..1]), "a");
        assert_eq!(capitalized("no difference"), "No difference");
    }
}
