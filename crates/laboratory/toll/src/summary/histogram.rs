//! The latencies of whole operations as bars.

use load::Latencies;
use report::Column;

use super::latency::in_ms;
use crate::screen::Screen;

/// About how many bars there are up to the 99th percentile; what is above has one.
const BARS: u64 = 10;

/// What a line has beside its bar.
const BESIDE: usize = 36;

/// Operations that took from `from` to `to`, in ns.
#[derive(Debug, PartialEq, Eq)]
struct Bar {
    from: u64,
    to: u64,
    count: u64,
}

/// A row for each bar, the longest of which takes the room that there is.
pub(super) fn columns(latencies: &Latencies, screen: Screen) -> Vec<Column> {
    let bars = bars(latencies);
    let all: u64 = bars.iter().map(|bar| bar.count).sum();
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(0);
    let room = screen.width.saturating_sub(BESIDE).clamp(4, 40) as f64;
    let block = if screen.is_utf8 { "█" } else { "#" };
    let drawn = |bar: &Bar| {
        let length = (bar.count as f64 / most as f64 * room).round() as usize;
        block.repeat(length)
    };
    let share = |bar: &Bar| format!("{:.1}", bar.count as f64 / all as f64 * 100.0);
    vec![
        Column::numbers("from", "ms", bars.iter().map(|bar| in_ms(bar.from))),
        Column::numbers("to", "ms", bars.iter().map(|bar| in_ms(bar.to))),
        Column::numbers("operations", "%", bars.iter().map(share)),
        Column::words("", bars.iter().map(drawn)),
    ]
}

/// Bars of the same width, a round number, up to the 99th percentile; then one up to the maximum.
fn bars(latencies: &Latencies) -> Vec<Bar> {
    let times = &latencies.whole;
    let Some(first) = times.iter_recorded().next() else { return Vec::new() };
    let (least, most) = (first.value_iterated_to(), times.value_at_quantile(0.99));
    let width = round_up((most - least) / BARS);
    let first = least / width;
    let last = most / width;
    let edges = (first..=last).map(|number| (number * width, (number + 1) * width));
    let mut bars: Vec<Bar> = edges.map(|(from, to)| Bar { from, to, count: 0 }).collect();
    let above = (last + 1) * width;
    if times.max() >= above {
        bars.push(Bar { from: above, to: times.max(), count: 0 });
    }
    let last = bars.len() - 1;
    for step in times.iter_recorded() {
        let bar = (step.value_iterated_to() / width - first) as usize;
        bars[bar.min(last)].count += step.count_at_value();
    }
    bars
}

/// 1, 2 or 5 times a power of ten that is no less, and at least a microsecond, to which times are
/// shown.
fn round_up(ns: u64) -> u64 {
    let mut power = 1_000;
    loop {
        for factor in [1, 2, 5] {
            if factor * power >= ns {
                return factor * power;
            }
        }
        power *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::testing::{line, shown};

    fn latencies(times: impl IntoIterator<Item = u64>) -> Latencies {
        let mut latencies = Latencies::default();
        times.into_iter().for_each(|ns| latencies.whole.record(ns).unwrap());
        latencies
    }

    #[test]
    fn every_operation_is_in_one_bar() {
        for times in [
            vec![310_000],
            (1..=1000).map(|micros| micros * 1_000).collect(),
            (0..1000).map(|n| 300_000 + n * 7).chain([90_000_000]).collect(),
            vec![3_600_000_000_000, 1_000],
        ] {
            let bars = bars(&latencies(times.iter().copied()));
            let count: u64 = bars.iter().map(|bar| bar.count).sum();
            assert_eq!(count, times.len() as u64, "{bars:?}");
            assert!(bars.len() <= 13, "{bars:?}");
            assert!(bars.windows(2).all(|pair| pair[0].to == pair[1].from), "{bars:?}");
            let least = times.iter().min().unwrap();
            assert!((bars[0].from..bars[0].to).contains(least), "{bars:?}");
        }
        assert_eq!(bars(&Latencies::default()), []);
    }

    #[test]
    fn bars_are_as_long_as_their_counts() {
        let mut trial = line(|_| {});
        let times = [vec![300_000; 600], vec![301_500; 300], vec![303_000; 100]].concat();
        trial.outcome.latencies = latencies(times);
        let expected = "
 from     to  operations
   ms     ms           %
0.300  0.301        60.0  ████████████████████████
0.301  0.302        30.0  ████████████
0.302  0.303         0.0
0.303  0.304        10.0  ████
";
        let text = shown(trial.clone(), 60);
        assert!(text.contains(expected), "{text}");
        let ascii = Screen { width: 60, style: report::Style::Plain, is_utf8: false };
        let text = crate::summary::of_trial(&trial, crate::summary::Detail::Usual, ascii);
        assert!(text.contains("60.0  ########################\n"), "{text}");
    }
}
