//! The samples of a recording.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use serde::Deserialize;
use targets::Captured;

use super::{Maps, PerfError, start};
use crate::stack::{CallStack, Frame};

/// How long `perf` may take to read a recording; those of trials take it seconds.
const PATIENCE: Duration = Duration::from_secs(300);
/// How much of what it prints is read, from its end.
const MOST_OUTPUT: u64 = 64 << 10;

/// What `perf` recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    /// Each with its time on the monotonic clock, in ns.
    pub stacks: Vec<(u64, CallStack)>,
    /// Samples that the kernel had no room for, or could not hand over.
    pub lost: u64,
}

#[derive(Deserialize)]
struct Converted {
    samples: Vec<Sample>,
}

#[derive(Deserialize)]
struct Sample {
    timestamp: u64,
    pid: i64,
    comm: String,
    callchain: Vec<Caller>,
}

#[derive(Deserialize)]
struct Caller {
    ip: String,
    symbol: Option<String>,
    dso: Option<String>,
}

/// Reads what was recorded into `data`.
///
/// # Errors
/// `perf` cannot read it.
pub fn read(data: &Path, maps: &Maps) -> Result<Samples, PerfError> {
    let json = data.with_extension("json");
    let (json_path, data) = (json.as_os_str(), data.as_os_str());
    let convert = ["data", "convert", "--force", "--to-json"].map(OsStr::new);
    perf("data convert", &[&convert[..], &[json_path, "-i".as_ref(), data]].concat())?;
    let fail = |why: String| PerfError::File { path: json.clone(), why };
    let file = File::open(&json).map_err(|why| fail(why.to_string()))?;
    let converted: Converted =
        serde_json::from_reader(BufReader::new(file)).map_err(|why| fail(why.to_string()))?;
    // It is ten times as large as the recording, which has all of it.
    std::fs::remove_file(&json).map_err(|why| fail(why.to_string()))?;
    let report = ["report", "--stats", "--force", "-i"].map(OsStr::new);
    let stats = perf("report --stats", &[&report[..], &[data]].concat())?;
    let stacks = converted.samples.into_iter().map(|sample| (sample.timestamp, sample.stack(maps)));
    Ok(Samples { stacks: stacks.collect(), lost: lost(&stats) })
}

impl Sample {
    fn stack(self, maps: &Maps) -> CallStack {
        // The idle task has the number -1 in JSON.
        let process = u32::try_from(self.pid).unwrap_or_default();
        let frame = |caller: Caller| {
            let address = || u64::from_str_radix(caller.ip.trim_start_matches("0x"), 16).ok();
            let mapped = || maps.library(process, address()?).map(str::to_owned);
            Frame { library: caller.dso.or_else(mapped), function: caller.symbol }
        };
        let frames = self.callchain.into_iter().map(frame).collect();
        CallStack { process, thread: self.comm, frames }
    }
}

/// The events that were lost, by `perf report --stats`: `LOST_SAMPLES events:   12  ( 0.1%)`.
fn lost(stats: &str) -> u64 {
    let count = |line: &str| {
        let (name, rest) = line.trim().split_once(" events:")?;
        name.starts_with("LOST").then(|| rest.split_whitespace().next()?.parse::<u64>().ok())?
    };
    // The totals come first; after them the same for each event.
    stats
        .lines()
        .take_while(|line| !line.ends_with(" stats:") || line.starts_with("Agg"))
        .filter_map(count)
        .sum()
}

/// What it prints.
fn perf(what: &'static str, arguments: &[&OsStr]) -> Result<String, PerfError> {
    let mut perf = start(what, arguments.iter().map(OsString::from).collect())?;
    let status = end(&mut perf, PATIENCE)?;
    let printed = |file| {
        let text = targets::end_of(file, MOST_OUTPUT);
        text.map_err(|why| PerfError::Failed { what, why: why.to_string() })
    };
    if !status.success() {
        return Err(PerfError::Failed { what, why: printed(&perf.stderr)?.trim().to_owned() });
    }
    printed(&perf.stdout)
}

/// Waits until it has ended.
fn end(perf: &mut Captured, patience: Duration) -> Result<ExitStatus, PerfError> {
    let late = || PerfError::Late { what: "read its recording", seconds: patience.as_secs() };
    perf.process.wait(patience).ok_or_else(late)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpus::CpuList;

    #[test]
    fn a_perf_that_does_not_end_is_not_waited_for() {
        let cpus = CpuList::allowed().unwrap();
        let sleep = |seconds: &str| {
            Captured::start(Path::new("sleep"), vec![seconds.into()], &[], &cpus).unwrap()
        };
        let late = end(&mut sleep("600"), Duration::from_millis(20));
        assert!(matches!(late, Err(PerfError::Late { .. })), "{late:?}");
        assert!(end(&mut sleep("0"), PATIENCE).unwrap().success());
    }

    #[test]
    fn lost_events_are_counted_once() {
        let stats = "\nAggregated stats:\n           TOTAL events:       1995\n           LOST events:  \
                     3  ( 0.1%)\n   LOST_SAMPLES events:  4 ( 0.2%)\ncycles stats:\n    \
                     LOST_SAMPLES events:  4\n";
        assert_eq!(lost(stats), 7);
        // Of perf 7.2.
        let newer = "\nAggregated stats:\n               TOTAL events:        227\n              SAMPLE \
                     events:        211  (93.0%)\n        LOST_SAMPLES events:          2  ( 0.9%)\n       \
                     FINISHED_INIT events:          1  ( 0.4%)\ncpu-clock stats:\n              SAMPLE \
                     events:        211\n        LOST_SAMPLES events:          2\n";
        assert_eq!(lost(newer), 2);
        assert_eq!(lost("Aggregated stats:\n  TOTAL events:  2\ncpu-clock stats:\n"), 0);
    }
}
