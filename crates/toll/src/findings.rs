//! What a result folder says: read from its journal, written as `cells.csv` and `report.html`,
//! printed for a person.

use std::path::PathBuf;

use answer::analysis::Analysis;
use answer::primitive::Costs;
use journal::{Results, TargetRecord};
use observe::Machine;
use report::Run;
use study::Study;
use trial::Line;

use crate::{Failure, screen};

/// All that a report is made of.
pub(crate) struct Findings {
    pub(crate) analysis: Analysis,
    findings: Vec<answer::findings::Findings>,
    lines: Vec<Line>,
    pub(crate) machine: Option<Machine>,
    pub(crate) targets: Vec<TargetRecord>,
}

impl Findings {
    /// Reads a result folder; nothing in it is changed.
    pub(crate) fn read(results: &Results) -> Result<Self, Failure> {
        let study = study(results)?;
        let targets = results.targets().map_err(Failure::request)?;
        let machine = results.machine().map_err(Failure::request)?;
        let entries = results.entries().map_err(Failure::request)?;
        let entries =
            entries.of_cells(study.cell_names(), machine.as_ref().and_then(Machine::cpus));
        for sentence in entries.left_out.sentences() {
            eprintln!("toll: warning: {}: {sentence}", results.folder().display());
        }
        let analysis = Analysis::of_all(&study, &entries, &targets, machine.as_ref());
        let cells = (!study.cells.is_empty()).then(|| analysis.findings(&entries.trials));
        let primitives = analysis.primitives.as_ref().map(Costs::findings);
        let findings = cells.into_iter().chain(primitives).collect();
        Ok(Self { analysis, findings, lines: entries.trials, machine, targets })
    }

    /// Writes `cells.csv` and `report.html`; the path of the latter.
    pub(crate) fn write(&self, results: &Results) -> Result<PathBuf, Failure> {
        let html = report::html(&self.run()).map_err(Failure::measurement)?;
        results
            .write_derived("cells.csv", &report::cells_csv(&self.analysis))
            .and_then(|_| results.write_derived("report.html", &html))
            .map_err(Failure::measurement)
    }

    /// The answers and the tables, as wide and as colourful as stdout allows.
    pub(crate) fn in_words(&self) -> String {
        report::terminal(&self.run(), screen::width(), screen::style())
    }

    /// Whether every cell has all its trials, all of them valid, and every table all its rounds.
    pub(crate) fn is_whole(&self) -> bool {
        self.findings.iter().all(|found| found.is_whole)
    }

    /// The figures for Prometheus.
    pub(crate) fn openmetrics(&self) -> String {
        report::openmetrics(&self.run(), &self.analysis)
    }

    fn run(&self) -> Run<'_> {
        Run {
            study: &self.analysis.study,
            question: &self.analysis.question,
            cut: &self.analysis.cut,
            findings: &self.findings,
            lines: &self.lines,
            machine: self.machine.as_ref(),
            targets: &self.targets,
        }
    }
}

/// The study of a result folder. Its CPUs need not be there on this machine: only to measure needs
/// them.
pub(crate) fn study(results: &Results) -> Result<Study, Failure> {
    results.study().map_err(Failure::request)
}
