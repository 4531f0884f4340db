//! The latency logs of a run, opened by another reader of the HdrHistogram family: Python's.

use std::path::{Path, PathBuf};
use std::process::Command;

use journal::{Journal, TrialLine};
use support::{Desk, run};
use trial::{LatencyNs, Percentiles};

const STUDY: &str = r#"
schema = 1
question = "Are latencies kept?"
trials = 1
[target]
server = "embedded"
object = "4KiB"
[load]
connections = 4
warmup = "50ms"
duration = "200ms"
[[case]]
name = "plain"
load.tls = "none"
[[case]]
name = "each"
load.operation = "one-request-per-connection"
"#;

/// Prints tag, count, and of each histogram of a log between what its median, its 99th percentile and
/// its maximum lie: a rank is rounded in as many ways as there are libraries.
const READER: &str = r#"
import sys
from hdrh.log import HistogramLogReader
from hdrh.histogram import HdrHistogram
for path in sys.argv[1:]:
    reader = HistogramLogReader(path, HdrHistogram(1, 3600 * 10**9, 3))
    while True:
        histogram = reader.get_next_interval_histogram()
        if histogram is None:
            break
        count = histogram.get_total_count()
        rank = 150 / count
        bounds = []
        for percentile in (50, 99):
            bounds.append(histogram.get_value_at_percentile(max(0, percentile - rank)))
            bounds.append(histogram.get_value_at_percentile(min(100, percentile + rank)))
        greatest = histogram.get_max_value()
        print(histogram.get_tag(), count, *bounds, greatest, greatest)
"#;

/// A Python that has the reader, kept for the next time.
fn python() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hdrhistogram");
    let python = folder.join("bin/python");
    if !folder.join("complete").exists() {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder));
        run(Command::new(&python).args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "hdrhistogram==0.10.3",
        ]));
        std::fs::write(folder.join("complete"), "").unwrap();
    }
    python
}

#[test]
fn another_reader_finds_what_the_journal_says() {
    let desk = Desk::new(STUDY);
    run(&mut desk.run(&["--quiet"]));
    let python = python();
    for TrialLine { line, .. } in Journal::read(&desk.journal()).unwrap().trials {
        let latency = &line.latency_ns;
        let log = desk.results().join(latency.file.as_ref().unwrap());
        let read = run(Command::new(&python).args(["-c", READER]).arg(&log));
        let mut whole = 0;
        for histogram in read.lines() {
            let fields: Vec<&str> = histogram.split(' ').collect();
            let [tag, count, values @ ..] = &fields[..] else { panic!("{read}") };
            let expected = expected(latency, tag);
            let values: Vec<f64> = values.iter().map(|value| value.parse().unwrap()).collect();
            assert_eq!(values.len(), 2 * expected.len());
            for (bounds, expected) in values.chunks(2).zip(expected) {
                let expected = expected.unwrap() as f64;
                // Both round to three digits, up or down.
                let is_between = bounds[0] * 0.998 <= expected && expected <= bounds[1] * 1.002;
                assert!(is_between, "{tag}: {expected} in {bounds:?}, {latency:?}");
            }
            if *tag == "whole" {
                whole = count.parse().unwrap();
            }
        }
        assert_eq!(whole, line.operations.completed, "{read}");
        let connections_are_timed = read.contains("connect ");
        assert_eq!(connections_are_timed, latency.connect.p50.is_some(), "{read}");
    }
}

fn expected(latency: &LatencyNs, tag: &str) -> [Option<u64>; 3] {
    let of = |times: Percentiles| [times.p50, times.p99, times.max];
    match tag {
        "connect" => of(latency.connect),
        "first-byte" => of(latency.first_byte),
        "whole" => of(latency.whole),
        _ => panic!("{tag} is no tag of a latency log"),
    }
}
