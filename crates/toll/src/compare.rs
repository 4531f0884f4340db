//! `toll compare`: two runs, cell by cell.

use std::path::PathBuf;
use std::process::ExitCode;

use answer::compare::{Comparison, Side};
use journal::Results;
use study::Metric;
use study::Study;

use crate::findings::{self, Findings};
use crate::gates::{self, WithGates};
use crate::{Failure, screen};

/// Compare two runs, cell by cell: B over A, with intervals.
///
/// Cells are matched by their case and swept values. Differences of the machine, the servers
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
    /// it, compare what one core of the server does
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
    let (a, b) = (Run::read(&arguments.a)?, Run::read(&arguments.b)?);
    let comparison = Comparison::of(&a.side(), &b.side(), &arguments.metrics);
    let outcomes = arguments.gates.judge_by(|gate| {
        gate.judge_later(&a.study, (&b.study, &b.findings.analysis), &comparison)
    })?;
    if arguments.json {
        let all = WithGates { of: &comparison, gates: outcomes.all() };
        crate::print_json(&all)?;
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

struct Run {
    study: Study,
    findings: Findings,
}

impl Run {
    fn read(folder: &std::path::Path) -> Result<Self, Failure> {
        let results = Results::open(folder).map_err(Failure::request)?;
        Ok(Self { study: findings::study(&results)?, findings: Findings::read(&results)? })
    }

    fn side(&self) -> Side<'_> {
        let Findings { analysis, machine, targets, .. } = &self.findings;
        Side { study: &self.study, analysis, machine: machine.as_ref(), targets }
    }
}
