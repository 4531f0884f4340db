//! Rates, also per core of the server, and what an operation costs in CPU time.

use report::Column;
use study::Metric;
use trial::TrialRecord;
use units::{decimal, places};

use super::headline::opened_noun;

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

#[cfg(test)]
mod tests {
    use crate::summary::testing::{line, shown};

    #[test]
    fn rates_are_given_per_core_of_the_server_and_costs_per_side() {
        let text = shown(line(|_| {}), 80);
        let expected = "\
rate             operations  goodput
                         /s     Gb/s
measured              1,000    8.389
per server core       1,010    8.473

CPU time  per operation  per GB
                     µs       s
server            990.0   0.944
client            100.0   0.095
";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn a_server_of_unknown_cpu_time_has_no_rate_per_core() {
        let text = shown(line(|v| v["cpu_ns"]["server"] = serde_json::Value::Null), 80);
        assert!(!text.contains("per server core"), "{text}");
        assert!(text.contains("--server-pid"), "{text}");
    }

    #[test]
    fn where_connections_end_they_have_a_rate_of_their_own() {
        let text = shown(
            line(|v| {
                v["receipt"]["asked"]["requests_per_connection"] = "8".into();
                v["connections_opened"] = 75.into();
                v["connections_per_s"] = 125.0.into();
            }),
            80,
        );
        let expected = "\
rate             operations  handshakes  goodput
                         /s          /s     Gb/s
measured              1,000       125.0    8.389
";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn a_column_has_the_same_decimals() {
        assert_eq!(super::alike([Some(1234.5), Some(0.0123)]), ["1,234.500", "0.012"]);
        assert_eq!(super::alike([Some(1234.5), Some(99_999.0)]), ["1,235", "99,999"]);
        assert_eq!(super::alike([Some(65.04), Some(165.0)]), ["65.04", "165.00"]);
    }
}
