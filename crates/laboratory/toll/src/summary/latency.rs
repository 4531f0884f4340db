//! Percentiles of what was timed.

use report::Column;
use trial::LatencyNs;
use units::decimal;

/// A row for each of what was timed, all in ms to the microsecond.
pub(super) fn columns(latency: &LatencyNs) -> Vec<Column> {
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
pub(super) fn in_ms(ns: u64) -> String {
    decimal(ns as f64 / 1e6, 3)
}

#[cfg(test)]
mod tests {
    use crate::summary::testing::{line, shown};

    #[test]
    fn percentiles_have_one_unit_and_the_same_decimals() {
        let text = shown(line(|v| v["latency_ns"]["connect_p50"] = 12_345_678.into()), 80);
        let expected = "\
latency     p50    p90    p99  p99.9    max
             ms     ms     ms     ms     ms
connect  12.346
whole     0.310  0.400  1.500  1.900  2.000
";
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("first byte") && !text.contains("coalescing"), "{text}");
        let text = shown(line(|v| v["latency_ns"]["coalescing_max"] = 9_700.into()), 80);
        assert!(text.contains("coalescing") && text.contains("9.7µs"), "{text}");
        let stopped = shown(
            line(|v| {
                v["latency_ns"]["coalescing_max"] = 70_000_000.into();
                v["verdict"]["evidence"]["client_quota"] =
                    serde_json::json!({ "cpus": 0.3, "throttled": 0.7 });
            }),
            80,
        );
        assert!(!stopped.contains("coalescing"), "{stopped}");
    }

    #[test]
    fn where_nothing_was_timed_there_is_no_table() {
        let text = shown(line(|v| v["latency_ns"] = serde_json::json!({})), 80);
        assert!(!text.contains("latency"), "{text}");
    }
}
