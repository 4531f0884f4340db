//! `toll compare`: two runs, row by row.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use answer::compare::{ComparedRun, Comparison};
use journal::Results;
use study::Metric;

use crate::gates::{self, WithGates};
use crate::outputs::Found;
use crate::{Failure, json, screen};

/// Compare two runs, cell by cell and algorithm by algorithm: B over A, with intervals.
///
/// Cells are matched by their case and swept values, algorithms by their table and lists. Differences of the machine, the servers
/// and the settings are listed. The runs were not measured side by side, so the ratios include everything
/// that changed between them.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The folder of the earlier run, such as results/2026-11-21T20-51-34Z-quick
    a: PathBuf,

    /// The folder of the later run
    b: PathBuf,

    /// Compare in this metric, such as goodput, p99 or client-cpu-per-operation; repeatable. Without
    /// it, compare what one core of the server does, and what algorithms cost
    #[arg(long = "metric", value_name = "METRIC")]
    metrics: Vec<Metric>,

    #[command(flatten)]
    gates: gates::Gates,

    /// Print one JSON object instead
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  toll compare results/monday results/tuesday
  toll compare A B --metric goodput --metric p99
  toll compare A B --gate 'ratio>=0.95'
      for CI: exits with 1 unless B reaches at least 95% of A in every cell
  toll compare A B --gate 'bulk:goodput>=10Gb/s'
      gates other than ratio apply to B";

pub(crate) fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (a, b) = (read(&arguments.a)?, read(&arguments.b)?);
    let comparison = Comparison::of(&side(&a), &side(&b), &arguments.metrics);
    let outcomes = arguments
        .gates
        .judge_by(|gate| gate.judge_later(&a.study, (&b.study, &b.analysis), &comparison))?;
    if arguments.json {
        let all = WithGates { of: &comparison, gates: outcomes.all() };
        json::print(json::COMPARISON, &all)?;
    } else {
        let width = screen::width();
        crate::print(&report::comparison(&comparison, width, screen::style()));
        if !outcomes.all().is_empty() {
            crate::print(&format!("\n{}", outcomes.in_words()));
        }
    }
    if comparison.metrics.is_empty() {
        return Err(Failure::request("the two runs have no common cell; nothing was compared"));
    }
    outcomes.failure()?;
    Ok(ExitCode::SUCCESS)
}

fn read(folder: &Path) -> Result<Found, Failure> {
    Found::read(&Results::open(folder).map_err(Failure::request)?)
}

fn side(found: &Found) -> ComparedRun<'_> {
    let Found { study, analysis, machine, hosts, targets, .. } = found;
    ComparedRun { study, analysis, machine: machine.as_ref(), hosts, targets }
}
