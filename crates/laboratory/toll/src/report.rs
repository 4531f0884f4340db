use std::path::{Path, PathBuf};

use answer::summary::Summary;
use journal::Results;

use crate::exports::Exports;
use crate::gates::{self, Outcomes, WithGates};
use crate::outputs::{self, Found};
use crate::parts::Parts;
use crate::{Exit, Failure, json, print};

/// Make the report of an earlier run again, from its journal.
///
/// Writes cells.csv and report.html into the folder and prints the answers; with --json or
/// --openmetrics the folder stays as it is. Nothing is measured.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The folder of a run, such as results/2026-11-21T20-51-34Z-quick, or of toll watch --out
    folder: PathBuf,

    /// Print what was found as one JSON object instead
    #[arg(long)]
    json: bool,

    /// Print the figures of all cells in the OpenMetrics text format instead, for Prometheus
    #[arg(long, conflicts_with = "json")]
    openmetrics: bool,

    /// Write a summary into this folder instead: a file of some kilobytes, which toll compare takes
    ///
    /// It has the samples of each trial in the metrics of the study's answers, the machine, the versions
    /// and the date, but neither the journal nor the latencies. Its name is that of the study and the
    /// processor; a file of that name is replaced only if it is an earlier summary of the same run.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["json", "openmetrics"])]
    summary: Option<PathBuf>,

    #[command(flatten)]
    gates: gates::Gates,

    #[command(flatten)]
    exports: Exports,
}

const EXAMPLES: &str = "\
Examples:
  toll report results/2026-11-21T20-51-34Z-quick
  toll report results/2026-11-21T20-51-34Z-quick --json | jq -r '.answers[].headline.sentence // empty'
  toll report results/2026-11-21T20-51-34Z-quick --gate 'objects:goodput>=5Gb/s'
  toll report results/2026-11-21T20-51-34Z-quick --openmetrics > /srv/www/metrics
  toll report results/2026-11-21T20-51-34Z-quick --summary .";

pub(crate) fn main(arguments: &Arguments) -> Result<Exit, Failure> {
    let printed = [
        ("--json", arguments.json),
        ("--openmetrics", arguments.openmetrics),
        ("--summary", arguments.summary.is_some()),
    ];
    let printed = printed.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option);
    arguments.exports.check(printed)?;
    if let Some(bill) = crate::watch::bill(&arguments.folder)? {
        return crate::watch::report(&bill, arguments.json);
    }
    let results = Results::open(&arguments.folder).map_err(Failure::request)?;
    let study = outputs::study(&results)?;
    if !study.include.is_empty() {
        return of_parts(arguments, &results, Parts::read(&results, &study)?);
    }
    let findings = Found::read(&results)?;
    arguments.exports.check_of(findings.study(), !arguments.gates.is_empty())?;
    let outcomes = arguments.gates.judge(&findings)?;
    // Printed first: a folder that cannot be written still has its answers.
    if arguments.json {
        let all = WithGates { of: &findings.run.analysis, gates: outcomes.all() };
        json::print(json::REPORT, &all)?;
    } else if arguments.openmetrics {
        print(&findings.openmetrics());
    } else if let Some(folder) = &arguments.summary {
        write(folder, &findings.summary())?;
    } else if !arguments.exports.take_stdout() {
        print(&findings.in_words());
        let report = findings.write(&results)?;
        print(&format!("\n{}Report: {}\n", outcomes.in_words(), report.display()));
    }
    findings.export(&arguments.exports, outcomes.all())?;
    outcomes.end(false, findings.lacking(&arguments.folder).as_slice())
}

/// The same of a study that includes others.
fn of_parts(arguments: &Arguments, results: &Results, parts: Parts) -> Result<Exit, Failure> {
    if arguments.openmetrics || !arguments.gates.is_empty() || !arguments.exports.is_empty() {
        return Err(Failure::request(
            "--openmetrics, --gate and files for CI are for the run of one study; give the folder of one of those \
             within this one",
        ));
    }
    if arguments.json {
        json::print(json::REPORTS, &parts.data())?;
    } else if let Some(folder) = &arguments.summary {
        parts.summaries().try_for_each(|summary| write(folder, &summary))?;
    } else {
        print(&parts.in_words());
        print(&format!("\nReport: {}\n", parts.write(results)?.display()));
    }
    let lacking = parts.lacking(&arguments.folder);
    parts.broken.map_or_else(|| Outcomes::default().end(false, &lacking), Err)
}

/// Writes a summary, and prints where it is. It takes the place of an earlier summary of the same run, and of
/// nothing else.
fn write(folder: &Path, summary: &Summary) -> Result<(), Failure> {
    let path = folder.join(format!("{}.json", summary.file_name()));
    let is_earlier_one = || {
        let text = std::fs::read_to_string(&path).ok()?;
        Some(Summary::read(&text).ok()?.is_of_run_of(summary))
    };
    if path.exists() && is_earlier_one() != Some(true) {
        return Err(Failure::request(format!(
            "{}: it is there already and is not of this run; give another folder, or move it away",
            path.display()
        )));
    }
    let text = summary.text().map_err(Failure::measurement)?;
    let written =
        std::fs::create_dir_all(folder).and_then(|()| journal::write_whole(&path, text.as_bytes()));
    written.map_err(|why| {
        Failure::request(format!("{}: {why}; give a folder that can be written", path.display()))
    })?;
    print(&format!("Summary: {}\n", path.display()));
    Ok(())
}
