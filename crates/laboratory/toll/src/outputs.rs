//! What a result folder says: read from its journal, written as `cells.csv` and `report.html`,
//! printed for a person.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use answer::Shortfall;
use answer::analysis::Analysis;
use answer::compare::ComparedRun;
use answer::findings::{Findings, Headline, ShownAnswer};
use answer::gate::GateOutcome;
use answer::summary::Summary;
use answer::tracked::TrackedFigure;
use journal::{Results, TrialLine};
use report::Run;
use study::Study;

use crate::exit::Lacking;
use crate::exports::{Exported, Exports};
use crate::{Failure, screen};

/// All that a report is made of.
pub(crate) struct Found {
    /// What was asked and found, for gates, comparisons and programs.
    pub(crate) run: ComparedRun,
    findings: Findings,
    lines: Vec<TrialLine>,
    /// The stacks that were sampled, by cell.
    stacks: Vec<(String, String)>,
}

impl Found {
    /// Reads a result folder; nothing in it is changed.
    pub(crate) fn read(results: &Results) -> Result<Self, Failure> {
        let study = study(results)?;
        let targets = results.targets().map_err(Failure::request)?;
        let machine = results.machine().map_err(Failure::request)?;
        let entries = results.entries().map_err(Failure::request)?;
        let cpus = results.most_cpus().map_err(Failure::request)?;
        let entries = entries.of_cells(study.cell_names(), cpus);
        for sentence in entries.left_out.sentences() {
            crate::note(format_args!("warning: {}: {sentence}", results.folder().display()));
        }
        let analysis = Analysis::of(&study, &entries, &targets, machine.as_ref());
        let findings = analysis.findings();
        let stacks =
            |cell: &str| Some(results.stacks(cell).transpose()?.map(|of| (cell.to_owned(), of)));
        let stacks = study.cell_names().filter_map(stacks).collect::<Result<_, _>>();
        let stacks = stacks.map_err(Failure::request)?;
        let hosts = results.hosts().map_err(Failure::request)?;
        let lines = entries.trials;
        let run = ComparedRun { study: Some(study), analysis, machine, hosts, targets };
        Ok(Self { run, findings, lines, stacks })
    }

    /// What was asked.
    pub(crate) fn study(&self) -> &Study {
        self.run.study.as_ref().expect("a folder is read with its study")
    }

    /// Puts an answer before those of the study, whose figures are only what it was worked out from.
    pub(crate) fn lead_with(&mut self, answer: ShownAnswer) {
        self.findings.answers.iter_mut().for_each(|of| of.headline = None);
        self.findings.answers.insert(0, answer);
    }

    /// Writes `cells.csv` and `report.html`; the path of the latter.
    pub(crate) fn write(&self, results: &Results) -> Result<PathBuf, Failure> {
        let html = self.html()?;
        results
            .write_derived("cells.csv", &report::cells_csv(&self.run.analysis))
            .and_then(|_| results.write_derived("report.html", &html))
            .map_err(Failure::measurement)
    }

    /// All of it as a page.
    pub(crate) fn html(&self) -> Result<String, Failure> {
        report::html(&self.shown()).map_err(Failure::measurement)
    }

    /// The answers and the tables, as wide and as colourful as stdout allows.
    pub(crate) fn in_words(&self) -> String {
        report::terminal(&self.shown(), screen::width(), screen::style())
    }

    /// What files for CI are made of.
    pub(crate) fn export(&self, to: &Exports, gates: &[GateOutcome]) -> Result<(), Failure> {
        to.write(&Exported {
            study: &self.study().name,
            gates,
            lacking: self
                .shortfall()
                .map(|shortfall| format!("This run is not whole: {shortfall}.")),
            figures: TrackedFigure::of_run(self.study(), &self.run.analysis),
            markdown: &|| report::markdown(&self.shown(), gates),
        })
    }

    /// It in some kilobytes.
    pub(crate) fn summary(&self) -> Summary {
        Summary::of(&self.run, self.findings.started_unix_ms, build_identity::own())
    }

    /// What its answers say first.
    pub(crate) fn headlines(&self) -> impl Iterator<Item = &Headline> {
        self.findings.answers.iter().filter_map(|answer| answer.headline.as_ref())
    }

    /// Whether nothing was measured.
    pub(crate) fn is_empty(&self) -> bool {
        self.findings.is_empty
    }

    /// What is missing or not valid; `None` where every part that was planned is there and can be used.
    pub(crate) fn shortfall(&self) -> Option<Shortfall> {
        self.run.analysis.shortfall().or(self.is_empty().then_some(Shortfall::ALL))
    }

    /// The same with what to do, of the run in this folder.
    pub(crate) fn lacking(&self, folder: &Path) -> Option<Lacking> {
        let shortfall = self.shortfall()?;
        let folder = folder.display();
        let words =
            format!("{folder}: {shortfall}; toll run --continue {folder} measures the rest");
        Some(Lacking { shortfall, words })
    }

    /// The figures for Prometheus.
    pub(crate) fn openmetrics(&self) -> String {
        report::openmetrics(&self.shown(), &self.run.analysis)
    }

    fn shown(&self) -> Run<'_> {
        let Study { name, question, cut, .. } = self.study();
        Run {
            study: name,
            question,
            cut,
            findings: &self.findings,
            lines: &self.lines,
            stacks: &self.stacks,
            machine: self.run.machine.as_ref(),
            hosts: &self.run.hosts,
            targets: &self.run.targets,
        }
    }
}

/// Makes the folder of a new run where `--out` says, and reports what became of an earlier one of that name.
pub(crate) fn folder(out: Option<&Path>, study: &str) -> Result<Results, Failure> {
    let now = SystemTime::now();
    let results = match out {
        Some(place) => Results::at(place, study, now),
        None => Results::create(Path::new(RESULTS), study, now),
    };
    let results = results.map_err(Failure::request)?;
    if let Some(earlier) = results.earlier() {
        let (folder, earlier) = (results.folder().display(), earlier.display());
        crate::note(format_args!("the earlier run in {folder} is kept as {earlier}"));
    }
    Ok(results)
}

/// Where the folder of a new run would be.
pub(crate) fn planned_folder(out: Option<&Path>, study: &str) -> PathBuf {
    match out {
        Some(place) if !Results::keeps_runs(place) => place.to_owned(),
        _ => out.unwrap_or(Path::new(RESULTS)).join(format!("TIME-{study}")),
    }
}

/// Where runs go that have no name.
const RESULTS: &str = "results";

/// The study of a result folder. Its CPUs need not be there on this machine: only to measure needs
/// them.
pub(crate) fn study(results: &Results) -> Result<Study, Failure> {
    results.study().map_err(Failure::request)
}
