//! Figures in words: at most three digits that count, the interval in brackets, and all three
//! numbers to the same place.

use stats::{Decision, Estimate};
use units::{Quantity, Unit, decimal, places};

/// A figure with its unit and its interval: `1,640/s [1,590, 1,690]`.
pub(crate) fn with_interval(quantity: Quantity, figure: impl Into<Estimate>) -> String {
    let estimate = figure.into();
    let unit = quantity.unit_for([estimate.median]);
    joined(&unit.text(estimate.median), &interval(estimate, &unit))
}

/// A ratio as `1.31x [1.25, 1.38]`, or near 1 the difference, `+0.50% [+0.31, +0.72]`.
pub(crate) fn times(ratio: impl Into<Estimate>) -> String {
    let estimate = ratio.into();
    joined(&ratio_alone(estimate), &ratio_interval(estimate))
}

/// The same before a noun, `1.31x [1.25, 1.38] A`, or near 1 `0.50% [0.31, 0.72] above A`, of which the words for more and
/// less are these.
pub(crate) fn times_of(ratio: impl Into<Estimate>, far: &str, [more, less]: [&str; 2]) -> String {
    let estimate = ratio.into();
    let Some((percent, places)) = near_1(&estimate) else {
        return format!("{} {far}", times(estimate));
    };
    let (way, share) = match percent.median < 0.0 {
        true => (less, percent.map(|share| -share)),
        false => (more, percent),
    };
    let [low, median, high] =
        [share.interval.low, share.median, share.interval.high].map(|share| decimal(share, places));
    format!("{median}% [{low}, {high}] {way}")
}

/// What is said where a comparison does not show one.
pub const NO_DIFFERENCE: &str = "no significant difference";

/// What stands before a ratio that is not shown to differ from 1.
pub(crate) fn sign(decision: Decision) -> &'static str {
    match decision {
        Decision::Sure(_) => "",
        Decision::NoDifference => "≈ ",
        Decision::TooFew => "? ",
    }
}

/// `1.31x` of a ratio, to the same place as its interval; near 1 `+0.50%`.
pub fn ratio_alone(ratio: impl Into<Estimate>) -> String {
    let estimate = ratio.into();
    match near_1(&estimate) {
        Some((percent, places)) => format!("{}%", signed(percent.median, places)),
        None => format!("{}x", decimal(estimate.median, ratio_places(&estimate))),
    }
}

/// `[1.25, 1.38]` of a ratio, near 1 `[+0.31, +0.72]`; empty where there is no interval.
pub fn ratio_interval(ratio: impl Into<Estimate>) -> String {
    let estimate = ratio.into();
    let ends = |of: &Estimate| [of.interval.low, of.interval.high];
    let [low, high] = match near_1(&estimate) {
        Some((percent, places)) => ends(&percent).map(|end| signed(end, places)),
        None => ends(&estimate).map(|end| decimal(end, ratio_places(&estimate))),
    };
    if estimate.n > 1 { format!("[{low}, {high}]") } else { String::new() }
}

/// A ratio in short: as [`factor`], or near 1 as [`ratio_alone`].
pub(crate) fn ratio_in_short(ratio: impl Into<Estimate>) -> String {
    let estimate = ratio.into();
    near_1(&estimate).map_or_else(|| factor(estimate.median), |_| ratio_alone(estimate))
}

/// The difference from 1 in percent, and to how many places, of a ratio that would be 1.00x: where all of its interval is
/// within 1%, or its median is and 1 is not in the interval. What is 1 exactly has no difference.
fn near_1(ratio: &Estimate) -> Option<(Estimate, i32)> {
    let percent = ratio.map(|ratio| 100.0 * (ratio - 1.0));
    let ends = [percent.interval.low, percent.interval.high];
    let [low, high] = ends.map(f64::abs);
    let is_on_one_side = ends[0] * ends[1] > 0.0;
    let (counts, far) = match is_on_one_side {
        true => (low.min(high), percent.median.abs()),
        false => (low.max(high), low.max(high)),
    };
    (ratio.n > 1 && 0.0 < far && far < 1.0).then(|| (percent, places(counts, 2).clamp(1, 6)))
}

/// With its sign, which 0 has not.
fn signed(number: f64, places: i32) -> String {
    let text = decimal(number, places);
    let is_above = number > 0.0 && text.contains(|c| matches!(c, '1'..='9'));
    if is_above { format!("+{text}") } else { text }
}

/// Two decimals, fewer where they would be more than three digits, and more of what is smaller than a tenth.
fn ratio_places(ratio: &Estimate) -> i32 {
    match ratio.median.abs() {
        median if median < 0.1 => places(median, 2),
        median => 2.min(places(median.max(ratio.interval.high.abs()), 3)),
    }
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

/// The same of a ratio that surely differs from 1, which it does not read as: `1.003x`.
pub(crate) fn sure_factor(ratio: f64) -> String {
    let difference = (ratio - 1.0).abs();
    match difference > 0.0 && difference < 0.005 {
        true => format!("{}x", decimal(ratio, places(difference, 1).min(6))),
        false => factor(ratio),
    }
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
        let rounded = (value * rounding).round() / rounding;
        // The largest numbers can only be rounded down.
        if rounded.is_finite() { rounded } else { value }
    };
    let unit = quantity.unit_for([rounded(first)]);
    let scaled = unit.scaled(rounded(value));
    unit.with_unit(decimal(scaled, places(scaled, 3).clamp(0, 9)))
}

/// A share without an interval: `75%`, `93.8%`.
pub(crate) fn plain_percent(share: f64) -> String {
    format!("{}%", (share * 1e3).round() / 10.0)
}

/// `a, b and c`.
pub fn list<S: Into<String>>(items: impl IntoIterator<Item = S>) -> String {
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

/// `a, b`, without what is empty.
pub(crate) fn list_of<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> String {
    let items: Vec<S> = items.into_iter().filter(|item| !item.as_ref().is_empty()).collect();
    items.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

/// Items by their keys, in the order in which the keys come first.
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
pub fn unique<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    grouped(items.into_iter().map(|item| (item, ()))).into_iter().map(|(item, _)| item).collect()
}

/// `[7.05, 7.31]` in this unit; empty where there is no interval.
pub fn interval(figure: impl Into<Estimate>, unit: &Unit) -> String {
    let Estimate { interval, n, .. } = figure.into();
    match n > 1 {
        true => format!("[{}, {}]", unit.number(interval.low), unit.number(interval.high)),
        false => String::new(),
    }
}

/// Two words with a space between, or the first alone.
pub fn joined(first: &str, second: &str) -> String {
    let space = if second.is_empty() { "" } else { " " };
    format!("{first}{space}{second}")
}

/// With a capital at its beginning.
pub fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figure;

    /// A figure of six trials with this median and these ends of the interval.
    fn figure(low: f64, median: f64, high: f64) -> Figure {
        Figure::of(vec![low, median, median, median, median, high]).unwrap()
    }

    #[test]
    fn value_and_interval_have_the_same_place() {
        let rate = with_interval(Quantity::BitsPerSecond, &figure(8.401e9, 8.519e9, 8.6e9));
        assert_eq!(rate, "8.52 Gb/s [8.40, 8.60]");
        let share = with_interval(Quantity::Share, &figure(0.60, 0.612, 0.62));
        assert_eq!(share, "61.2% [60.0, 62.0]");
        assert_eq!(
            with_interval(Quantity::PerSecond, &Figure::of(vec![1641.0]).unwrap()),
            "1,641/s"
        );
        assert_eq!(times(&figure(3.81, 3.92, 4.01)), "3.92x [3.81, 4.01]");
        assert_eq!(times(&figure(220.0, 230.0, 1640.0)), "230x [220, 1,640]");
        assert_eq!(times(&figure(0.97, 1.00, 1.02)), "1.00x [0.97, 1.02]");
    }

    #[test]
    fn a_ratio_near_1_is_a_difference() {
        assert_eq!(times(&figure(1.000_4, 1.000_68, 1.001)), "+0.068% [+0.040, +0.100]");
        assert_eq!(times(&figure(0.999_9, 1.000_68, 1.001)), "+0.07% [-0.01, +0.10]");
        assert_eq!(times(&figure(1.002, 1.004, 1.03)), "+0.40% [+0.20, +3.00]");
        assert_eq!(times(&figure(1.0, 1.0, 1.0)), "1.00x [1.00, 1.00]");
        assert_eq!(times(&Figure::of(vec![1.001]).unwrap()), "1.00x");
        assert_eq!(ratio_in_short(&figure(0.991, 0.995, 0.997)), "-0.50%");
        let said = |figure: &Figure| times_of(figure, "A", ["above A", "below A"]);
        assert_eq!(said(&figure(0.991, 0.995, 0.997)), "0.50% [0.30, 0.90] below A");
        assert_eq!(said(&figure(1.25, 1.31, 1.38)), "1.31x [1.25, 1.38] A");
    }

    #[test]
    fn a_figure_alone_has_three_digits() {
        assert_eq!(
            [12.3, 2.71, 1.04, 0.8, 0.0064].map(factor),
            ["12x", "2.7x", "1.04x", "0.80x", "0.0064x"]
        );
        assert_eq!(
            [1.003, 0.999_96, 1.006, 1.0].map(sure_factor),
            ["1.003x", "0.99996x", "1.01x", "1.00x"]
        );
        let brief = |quantity, value| brief(quantity, value);
        assert_eq!(brief(Quantity::PerSecond, 2_493.0), "2,490/s");
        assert_eq!(brief(Quantity::BitsPerSecond, 28.13e9), "28.1 Gb/s");
        assert_eq!(brief(Quantity::Share, 0.558), "56%");
        assert_eq!(plain_percent(0.9375), "93.8%");
        assert_eq!(plain_percent(0.75), "75%");
        // It would round up to more than a number can be.
        assert!(!brief(Quantity::PerSecond, 1.797e308).contains("inf"));
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
