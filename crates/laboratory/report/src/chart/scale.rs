//! An axis from zero, or through it, with ticks at 1, 2 or 5 times a power of ten.

use serde::Serialize;

/// A mark of an axis.
#[derive(Debug, Serialize)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

/// Of a label, in pixels.
const CHARACTER: f64 = 7.0;
/// Between two labels.
const GAP: f64 = 10.0;

/// Leaves out the labels for which an axis of so many pixels has no room; those at its ends stay.
pub(super) fn spaced(mut ticks: Vec<Tick>, pixels: f64) -> Vec<Tick> {
    let spaces = ticks.len().saturating_sub(1).max(1);
    let longest = ticks.iter().map(|tick| tick.label.chars().count()).max().unwrap_or(0);
    let least = longest as f64 * CHARACTER + GAP;
    let fits = |every: &usize| {
        spaces.is_multiple_of(*every) && pixels / spaces as f64 * *every as f64 >= least
    };
    let every = (1..spaces).find(fits).unwrap_or(spaces);
    let spare = ticks.iter_mut().enumerate().filter(|(place, _)| place % every != 0);
    spare.for_each(|(_, tick)| tick.label.clear());
    ticks
}

/// To a hundredth: less than a thousandth of a pixel would only make the page longer.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// An axis: which value lies where.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AxisScale {
    /// In steps: the axis runs from `first * step` to `last * step`.
    first: f64,
    last: f64,
    pub(crate) step: f64,
}

/// Spaces between ticks that fit a phone with labels such as `1,500`.
const SPACES: f64 = 5.0;

/// Beyond this, differences and sums of values are no numbers any more. What is so large is not
/// drawn.
const MOST: f64 = 1e300;
/// Below this, a step is no number with all its digits any more: as good as zero.
const LEAST: f64 = 1e-290;

impl AxisScale {
    /// An axis with room for zero and all of `values`.
    pub(crate) fn around(values: impl IntoIterator<Item = f64>) -> Self {
        let drawable = values.into_iter().filter(|value| is_drawable(*value));
        let (low, high) =
            drawable.fold((0.0, 0.0), |(low, high): (f64, f64), v| (low.min(v), high.max(v)));
        if high - low < LEAST {
            return Self { first: 0.0, last: 1.0, step: 1.0 };
        }
        let step = step((high - low) / SPACES);
        // A value that is a tick but for rounding needs no further one.
        let steps = |value: f64| (value / step * 1e9).round() / 1e9;
        Self { first: steps(low).floor(), last: steps(high).ceil(), step }
    }
    /// The values of the ticks, ascending, those of both ends included.
    pub(crate) fn ticks(&self) -> impl Iterator<Item = f64> {
        let count = (self.last - self.first).round() as u32;
        (0..=count).map(|i| (self.first + f64::from(i)) * self.step)
    }

    /// Where a value lies, in percent of the axis; `None` where it cannot be drawn.
    pub(crate) fn percent(&self, value: f64) -> Option<f64> {
        let share = (value / self.step - self.first) / (self.last - self.first);
        (is_drawable(value) && share.is_finite()).then(|| rounded(share * 100.0))
    }
}

fn is_drawable(value: f64) -> bool {
    value.is_finite() && value.abs() < MOST
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `least`.
fn step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ticks(values: &[f64]) -> Vec<f64> {
        AxisScale::around(values.iter().copied()).ticks().collect()
    }

    #[test]
    fn labels_that_would_touch_are_left_out_and_both_ends_stay() {
        let labels = |count: u32, label: &str, pixels| {
            let tick = |at: u32| Tick { at: f64::from(at), label: label.to_owned() };
            let ticks = spaced((0..count).map(tick).collect(), pixels);
            ticks.iter().map(|tick| !tick.label.is_empty()).collect::<Vec<_>>()
        };
        assert_eq!(labels(5, "1,500", 240.0), [true; 5]);
        assert_eq!(labels(5, "1,500,000", 240.0), [true, false, true, false, true]);
        // Of six spaces each second would not do, of five only the ends are left.
        let third = [true, false, false, true, false, false, true];
        assert_eq!(labels(7, "1,500,000", 200.0), third);
        assert_eq!(labels(6, "1,500", 100.0), [true, false, false, false, false, true]);
        assert_eq!(labels(1, "1,500", 0.0), [true]);
    }

    #[test]
    fn ticks_are_at_ones_twos_and_fives() {
        assert_eq!(ticks(&[1_640.0]), [0.0, 500.0, 1000.0, 1500.0, 2000.0]);
        assert_eq!(ticks(&[36.9]), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(ticks(&[1.0]), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(&[-0.1, 0.3]), [-0.1, 0.0, 0.1, 0.2, 0.30000000000000004]);
    }

    #[test]
    fn nothing_and_too_much_still_make_an_axis() {
        assert_eq!(ticks(&[]), [0.0, 1.0]);
        assert_eq!(ticks(&[0.0, f64::NAN, f64::INFINITY, f64::MAX]), [0.0, 1.0]);
        assert_eq!(ticks(&[f64::MIN_POSITIVE]), [0.0, 1.0]);
        let scale = AxisScale::around([1.0]);
        assert_eq!((scale.percent(f64::NAN), scale.percent(f64::MAX)), (None, None));
    }

    proptest! {
        #[test]
        fn every_value_lies_on_the_axis_in_proportion(
            values in prop::collection::vec(
                prop_oneof![-1e3..1e3f64, 0.0..1e12f64, 1e-12..1e-6f64, -1e299..1e299f64],
                1..9,
            )
        ) {
            let scale = AxisScale::around(values.iter().copied());
            let ticks: Vec<f64> = scale.ticks().collect();
            prop_assert!((2..=8).contains(&ticks.len()), "{ticks:?}");
            let (zero, unit) = (scale.percent(0.0).unwrap(), scale.percent(scale.step).unwrap());
            for value in values {
                let x = scale.percent(value).unwrap();
                prop_assert!((-0.01..=100.01).contains(&x), "{value} at {x}%");
                let expected = zero + value / scale.step * (unit - zero);
                // Each place is rounded to a hundredth, and the step has at most seven lengths.
                prop_assert!((x - expected).abs() <= 0.1, "{value} at {x}%, not {expected}%");
            }
        }
    }
}
