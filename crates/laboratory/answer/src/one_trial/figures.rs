//! The tables of a trial: rates, what an operation costs in CPU time, latencies, the pages of a session.

use load::Latencies;
use study::Metric;
use trial::{LatencyNs, PageFigures, TrialRecord};
use units::{decimal, places, thousands};

use super::sentence::opened_noun;
use crate::findings::Column;

/// Rate and goodput, as measured and per CPU-second of the server: what one core would do that had
/// nothing else to do.
pub(super) fn rates(line: &TrialRecord) -> Vec<Column> {
    let of = |metrics: [Metric; 2]| metrics.map(|metric| metric.value(line));
    let rates = of([Metric::Rate, Metric::RatePerServerCpu]);
    let known = ["measured", "per server core"].into_iter().zip(rates);
    let known = known.filter(|(_, rate)| rate.is_some());
    let mut columns = vec![
        Column::words("rate", known.map(|(label, _)| label.to_owned())),
        Column::numbers(&format!("{}s", line.nouns().operation), "/s", alike(rates)),
    ];
    if let Some(opened) = line.connections_opened.filter(|_| line.ends_connections()) {
        let per_core = line.cpu_ns.server.filter(|ns| *ns > 0);
        let per_core = per_core.map(|ns| opened as f64 / (ns as f64 / 1e9));
        let rates = [line.connections_per_s, per_core];
        columns.push(Column::numbers(opened_noun(line), "/s", alike(rates)));
    }
    if line.bytes.body > 0 {
        let goodputs = of([Metric::Goodput, Metric::GoodputPerServerCpu]);
        let least = goodputs.into_iter().flatten().fold(f64::INFINITY, f64::min);
        let (unit, factor) = if least >= 1e8 { ("Gb/s", 1e9) } else { ("Mb/s", 1e6) };
        let goodputs = goodputs.map(|bits| Some(bits? / factor));
        columns.push(Column::numbers("goodput", unit, alike(goodputs)));
    }
    columns
}

/// CPU time of both sides, per operation and, where there are bodies, per GB.
pub(super) fn cpu_time(line: &TrialRecord) -> Vec<Column> {
    let sides = [("server", line.cpu_ns.server), ("client", line.cpu_ns.client)];
    let known = sides.into_iter().filter(|(_, ns)| ns.is_some());
    let of = |metrics: [Metric; 2]| metrics.map(|metric| metric.value(line));
    let per_operation = of([Metric::ServerCpuPerOperation, Metric::ClientCpuPerOperation]);
    let per_operation = alike(per_operation.map(|ns| Some(ns? / 1e3)));
    let per_gigabyte = alike(of([Metric::ServerCpuPerGigabyte, Metric::ClientCpuPerGigabyte]));
    let mut columns = vec![
        Column::words("CPU time", known.map(|(side, _)| side.to_owned())),
        Column::numbers(&format!("per {}", line.nouns().operation), "µs", per_operation),
    ];
    if !per_gigabyte.is_empty() {
        columns.push(Column::numbers("per GB", "s", per_gigabyte));
    }
    columns
}

/// Those that are known, with the same decimals: those that leave the smallest one four digits, at most three.
fn alike(numbers: [Option<f64>; 2]) -> Vec<String> {
    let known = || numbers.into_iter().flatten();
    let decimals = known().map(|number| places(number, 4).clamp(0, 3)).max().unwrap_or(0);
    known().map(|number| decimal(number, decimals)).collect()
}

/// A row for each of what was timed, all in ms to the microsecond.
pub(super) fn latencies(latency: &LatencyNs) -> Vec<Column> {
    let LatencyNs { connect, first_byte, whole, service, .. } = latency;
    let rows =
        [("connect", connect), ("first byte", first_byte), ("whole", whole), ("service", service)];
    let rows = rows.map(|(name, of)| (name, of.all()));
    let timed: Vec<_> = rows.into_iter().filter(|(_, values)| values[0].is_some()).collect();
    let names = Column::words("latency", timed.iter().map(|(name, _)| (*name).to_owned()));
    // Where there is no room, the median and the tail stay.
    let percentiles = [("p50", 0), ("p90", 4), ("p99", 0), ("p99.9", 2), ("max", 3)];
    let columns = percentiles.into_iter().enumerate().map(|(at, (name, yields_to))| {
        let cells = timed.iter().map(|(_, values)| values[at].map_or_else(String::new, in_ms));
        Column::numbers(name, "ms", cells).yields_to(yields_to)
    });
    std::iter::once(names).chain(columns).collect()
}

/// A time in ms, to the microsecond.
fn in_ms(ns: u64) -> String {
    decimal(ns as f64 / 1e6, 3)
}

/// About how many bars there are up to the 99th percentile; what is above has one.
const BARS: u64 = 10;

/// Operations that took from `from` to `to`, in ns.
#[derive(Debug, PartialEq, Eq)]
struct Bar {
    from: u64,
    to: u64,
    count: u64,
}

/// The latencies of whole operations, a row for each bar.
pub(super) fn histogram(latencies: &Latencies) -> Vec<Column> {
    let bars = bars(latencies);
    let all: u64 = bars.iter().map(|bar| bar.count).sum();
    let share = |bar: &Bar| bar.count as f64 / all as f64 * 100.0;
    vec![
        Column::numbers("from", "ms", bars.iter().map(|bar| in_ms(bar.from))),
        Column::numbers("to", "ms", bars.iter().map(|bar| in_ms(bar.to))),
        Column::numbers("operations", "%", bars.iter().map(|bar| format!("{:.1}", share(bar)))),
        Column::bars(bars.iter().map(share)),
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

/// The pages of a session, a row each.
pub(super) fn pages(line: &TrialRecord) -> Vec<Column> {
    let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), in_ms);
    let errors = |page: &PageFigures| {
        let kinds = page.errors.iter().map(|(kind, n)| format!("{} {kind}", thousands(*n)));
        let kinds: Vec<String> = kinds.collect();
        if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") }
    };
    let pages = || line.pages.iter();
    vec![
        Column::words("page", pages().map(|page| page.name.clone())),
        Column::numbers("completed", "", pages().map(|page| thousands(page.completed))),
        Column::numbers("p50", "ms", pages().map(|page| time(page.p50_ns))),
        Column::numbers("p99", "ms", pages().map(|page| time(page.p99_ns))),
        Column::words("errors", pages().map(errors)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_the_same_decimals() {
        assert_eq!(alike([Some(1234.5), Some(0.0123)]), ["1,234.500", "0.012"]);
        assert_eq!(alike([Some(1234.5), Some(99_999.0)]), ["1,235", "99,999"]);
        assert_eq!(alike([Some(65.04), Some(165.0)]), ["65.04", "165.00"]);
    }

    #[test]
    fn every_operation_is_in_one_bar() {
        for times in [
            vec![310_000],
            (1..=1000).map(|micros| micros * 1_000).collect(),
            (0..1000).map(|n| 300_000 + n * 7).chain([90_000_000]).collect(),
            vec![3_600_000_000_000, 1_000],
        ] {
            let mut latencies = Latencies::default();
            times.iter().for_each(|ns| latencies.whole.record(*ns).unwrap());
            let bars = bars(&latencies);
            let count: u64 = bars.iter().map(|bar| bar.count).sum();
            assert_eq!(count, times.len() as u64, "{bars:?}");
            assert!(bars.len() <= 13, "{bars:?}");
            assert!(bars.windows(2).all(|pair| pair[0].to == pair[1].from), "{bars:?}");
            let least = times.iter().min().unwrap();
            assert!((bars[0].from..bars[0].to).contains(least), "{bars:?}");
        }
        assert_eq!(bars(&Latencies::default()), []);
    }
}
