use std::path::PathBuf;
use std::process::ExitCode;

use journal::Results;

use crate::gates::{self, WithGates};
use crate::outputs::Found;
use crate::{Failure, json};

/// Make the report of an earlier run again, from its journal.
///
/// Writes cells.csv and report.html into the folder and prints the answers; with --json or
/// --openmetrics the folder stays as it is. Nothing is measured.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The folder of a run, such as results/2026-11-21T20-51-34Z-quick
    folder: PathBuf,

    /// Print what was found as one JSON object instead
    #[arg(long)]
    json: bool,

    /// Print the figures of all cells in the OpenMetrics text format instead, for Prometheus
    #[arg(long, conflicts_with = "json")]
    openmetrics: bool,

    #[command(flatten)]
    gates: gates::Gates,
}

const EXAMPLES: &str = "\
Examples:
  toll report results/2026-11-21T20-51-34Z-quick
  toll report results/2026-11-21T20-51-34Z-quick --json | jq -r '.answers[].headline.sentence // empty'
  toll report results/2026-11-21T20-51-34Z-quick --gate 'objects:goodput>=5Gb/s'
  toll report results/2026-11-21T20-51-34Z-quick --openmetrics > /srv/www/metrics";

pub(crate) fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let results = Results::open(&arguments.folder).map_err(Failure::request)?;
    let findings = Found::read(&results)?;
    let outcomes = arguments.gates.judge(&findings)?;
    // Printed first: a folder that cannot be written still has its answers.
    if arguments.json {
        let all = WithGates { of: &findings.analysis, gates: outcomes.all() };
        json::print(json::REPORT, &all)?;
    } else if arguments.openmetrics {
        crate::print(&findings.openmetrics());
    } else {
        crate::print(&findings.in_words());
    }
    if !arguments.json && !arguments.openmetrics {
        let report = findings.write(&results)?;
        crate::print(&format!("\n{}Report: {}\n", outcomes.in_words(), report.display()));
    }
    outcomes.failure()?;
    Ok(ExitCode::SUCCESS)
}
