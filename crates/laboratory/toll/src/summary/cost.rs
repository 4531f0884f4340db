//! Rates, also per core of the server, and what an operation costs in CPU time.

use report::Column;
use trial::TrialRecord;
use units::{decimal, places};

use super::headline::opened_noun;

/// Rate and goodput, as measured and per CPU-second of the server: what one core would do that had
/// nothing else to do.
pub(super) fn rates(line: &TrialRecord) -> Vec<Column> {
    let per_core = line.cpu_ns.server.filter(|ns| *ns > 0).map(|ns| {
        let seconds = ns as f64 / 1e9;
        let bits = line.bytes.body as f64 * 8.0;
        (line.operations.completed as f64 / seconds, bits / seconds)
    });
    let measured = line.rate_per_s.zip(line.goodput_bps.map(|bits| bits as f64));
    let (rates, goodputs): (Vec<f64>, Vec<f64>) = measured.into_iter().chain(per_core).unzip();
    let labels = ["measured", "per server core"].map(str::to_owned);
    let mut columns = vec![
        Column::words("rate", labels.into_iter().take(rates.len())),
        Column::numbers(&format!("{}s", line.nouns().operation), "/s", alike(&rates)),
    ];
    if let Some(opened) = line.connections_opened.filter(|_| line.ends_connections()) {
        let per_core = line.cpu_ns.server.filter(|ns| *ns > 0);
        let per_core = per_core.map(|ns| opened as f64 / (ns as f64 / 1e9));
        let rates: Vec<f64> = line.connections_per_s.into_iter().chain(per_core).collect();
        columns.push(Column::numbers(opened_noun(line), "/s", alike(&rates)));
    }
    if line.bytes.body > 0 {
        let least = goodputs.iter().copied().fold(f64::INFINITY, f64::min);
        let (unit, factor) = if least >= 1e8 { ("Gb/s", 1e9) } else { ("Mb/s", 1e6) };
        let goodputs: Vec<f64> = goodputs.iter().map(|bits| bits / factor).collect();
        columns.push(Column::numbers("goodput", unit, alike(&goodputs)));
    }
    columns
}

/// CPU time of both sides, per operation and, where there are bodies, per GB.
pub(super) fn cpu_time(line: &TrialRecord) -> Vec<Column> {
    let sides = [("server", line.cpu_ns.server), ("client", line.cpu_ns.client)];
    let known: Vec<(&str, u64)> =
        sides.into_iter().filter_map(|(side, ns)| Some((side, ns?))).collect();
    let per_operation: Vec<f64> =
        known.iter().filter_map(|(_, ns)| Some(line.per_operation(*ns)? / 1e3)).collect();
    let per_gigabyte: Vec<f64> =
        known.iter().filter_map(|(_, ns)| line.per_gigabyte(*ns)).collect();
    let mut columns = vec![
        Column::words("CPU time", known.iter().map(|(side, _)| (*side).to_owned())),
        Column::numbers(&format!("per {}", line.nouns().operation), "µs", alike(&per_operation)),
    ];
    if !per_gigabyte.is_empty() {
        columns.push(Column::numbers("per GB", "s", alike(&per_gigabyte)));
    }
    columns
}

/// Numbers with the same decimals: those that leave the smallest one four digits, at most three.
fn alike(numbers: &[f64]) -> Vec<String> {
    let digits = |number: &f64| places(*number, 4).clamp(0, 3);
    let decimals = numbers.iter().map(digits).max().unwrap_or(0);
    numbers.iter().map(|number| decimal(*number, decimals)).collect()
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
        assert_eq!(super::alike(&[1234.5, 0.0123]), ["1,234.500", "0.012"]);
        assert_eq!(super::alike(&[1234.5, 99_999.0]), ["1,235", "99,999"]);
        assert_eq!(super::alike(&[65.04, 165.0]), ["65.04", "165.00"]);
    }
}
