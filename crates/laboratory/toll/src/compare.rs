//! `toll compare`: two runs, row by row.

use std::path::{Path, PathBuf};

use answer::analysis::Analysis;
use answer::compare::{ComparedRun, Comparison};
use answer::summary::Summary;
use answer::tracked::TrackedFigure;
use clap::ValueHint;
use journal::{PrintedError, Results};
use study::Metric;

use crate::exit::Lacking;
use crate::exports::{Exported, Exports};
use crate::gates::{self, WithGates};
use crate::outputs::Found;
use crate::{Exit, Failure, OUTPUT, json, screen};

/// Compare two runs, cell by cell and algorithm by algorithm: B over A, with intervals.
///
/// Cells are matched by their case and swept values, algorithms by their table and lists. Differences of the machine, the servers
/// and the settings are listed. The runs were not measured side by side, so the ratios include everything
/// that changed between them.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The earlier run: its folder, such as results/monday, its summary (toll report --summary DIR), or a file of
    /// what toll load --json printed
    a: PathBuf,

    /// The later run, likewise
    b: PathBuf,

    /// Compare in this metric, such as goodput, p99 or client-cpu-per-operation; repeatable. Without
    /// it, compare what one core of the server does, and what algorithms cost
    #[arg(long = "metric", value_name = "METRIC")]
    metrics: Vec<Metric>,

    #[command(flatten)]
    gates: gates::Gates,

    /// Write both runs side by side as a page, with what changed first
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    html: Option<PathBuf>,

    #[command(flatten)]
    exports: Exports,

    /// Print one JSON object instead
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  toll compare results/monday results/tuesday
  toll compare A B --metric goodput --metric p99
  toll compare A B --gate 'regression<=5%'
      for CI: exits with 1 if B is worse than A by more than 5% in a cell
  toll compare A B --gate 'regression<=5%' --junit gates.xml --markdown summary.md
      the same, with files for CI
  toll compare A B --gate 'bulk:goodput>=10Gb/s'
      gates other than regression and ratio apply to B
  toll load https://localhost/ --operation handshakes --json >> before.json
      several times, and again into after.json; then toll compare before.json after.json
  toll compare docs/reproductions/primitives-amd-epyc.json results/2026-11-21T20-51-34Z-primitives
      this machine beside a run of which only the summary is at hand";

/// The metrics of a page beside those that are compared.
const BESIDE: [Metric; 3] = [Metric::Rate, Metric::P50, Metric::P99];

pub(crate) fn main(arguments: &Arguments) -> Result<Exit, Failure> {
    arguments.exports.check(arguments.json.then_some("--json"))?;
    if let (Some(a), Some(b)) =
        (crate::watch::bill(&arguments.a)?, crate::watch::bill(&arguments.b)?)
    {
        return crate::watch::compare(&a, &b);
    }
    let (a, b) = (read(&arguments.a)?, read(&arguments.b)?);
    let comparison = Comparison::of(&a, &b, &arguments.metrics);
    if !comparison.metrics.is_empty() {
        arguments.exports.check_compared(&comparison, !arguments.gates.is_empty())?;
    }
    let outcomes = arguments.gates.judge_by(|gate| match &b.study {
        Some(study) => gate.judge_later((study, &b.analysis), &comparison),
        None => gate.judge_runs(&comparison),
    })?;
    if arguments.json {
        let all = WithGates { of: &comparison, gates: outcomes.all() };
        json::print(json::COMPARISON, &all)?;
    } else if !arguments.exports.take_stdout() {
        let width = screen::width();
        crate::print(&report::comparison(&comparison, width, screen::style()));
        if !outcomes.all().is_empty() {
            crate::print(&format!("\n{}", outcomes.in_words()));
        }
    }
    if let Some(file) = &arguments.html {
        let names = [&arguments.a, &arguments.b].map(|path| path.display().to_string());
        // What a page has room for.
        let beside = Comparison::of(&a, &b, &BESIDE);
        let mut all = comparison.clone();
        all.metrics.extend(beside.metrics.into_iter().filter(|of| {
            let is_there = comparison.metrics.iter().any(|metric| metric.metric == of.metric);
            !is_there && of.cells.iter().any(|pair| pair.a.is_some() || pair.b.is_some())
        }));
        let page = report::comparison_html(&all, [&names[0], &names[1]]);
        let written = journal::write_whole(file, page.map_err(Failure::measurement)?.as_bytes());
        written.map_err(|error| {
            Failure::measurement(format!("--html: {}: {error}", file.display()))
        })?;
        crate::note(format_args!("the page is in {}", file.display()));
    }
    if comparison.metrics.is_empty() {
        return Err(Failure::request("the two runs have no common cell; nothing was compared"));
    }
    let lacking: Vec<Lacking> = [("A", &a), ("B", &b)].into_iter().filter_map(lacking).collect();
    arguments.exports.write(&Exported {
        study: &b.analysis.study,
        gates: outcomes.all(),
        lacking: (!lacking.is_empty()).then(|| {
            lacking.iter().map(|of| format!("{}.", of.words)).collect::<Vec<_>>().join(" ")
        }),
        figures: TrackedFigure::of_later(&comparison),
        markdown: &|| report::comparison_markdown(&comparison, outcomes.all()),
    })?;
    outcomes.end(false, &lacking)
}

/// One of the two, from its folder or its file.
pub(crate) fn read(path: &Path) -> Result<ComparedRun, Failure> {
    if path.is_file() {
        return of_file(path);
    }
    let found = Found::read(&Results::open(path).map_err(Failure::request)?)?;
    if !found.study().include.is_empty() {
        return Err(Failure::request(format!(
            "{}: this run is of several studies ({}); give the folder of one within it",
            path.display(),
            found.study().include.join(", ")
        )));
    }
    Ok(found.run)
}

/// From a summary, or from trials that were printed.
fn of_file(path: &Path) -> Result<ComparedRun, Failure> {
    let failed =
        |why: &dyn std::fmt::Display| Failure::request(format!("{}: {why}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| failed(&error))?;
    let text = String::from_utf8_lossy(&bytes);
    if Summary::is_begun(&text) {
        return Summary::read(&text).map(ComparedRun::from).map_err(|error| failed(&error));
    }
    if let Some(folder) = path.parent().filter(|of| of.join("journal.jsonl").is_file()) {
        let why = format!("a file of a result folder; give the folder {}", folder.display());
        return Err(failed(&why));
    }
    let trials = journal::printed_trials(&text).map_err(|why| match why {
        PrintedError::NotJson(_) | PrintedError::Other(_) => failed(&format!(
            "{why}; give a result folder, its summary (toll report --summary DIR), or what toll load --json \
             printed"
        )),
        why => failed(&why),
    })?;
    Ok(ComparedRun { analysis: Analysis::of_printed(trials), ..ComparedRun::default() })
}

/// What is missing of it or not valid.
fn lacking((name, run): (&str, &ComparedRun)) -> Option<Lacking> {
    let shortfall = run.analysis.shortfall()?;
    Some(Lacking { shortfall, words: format!("{name}: {shortfall}") })
}
