//! What a run found, from its journal: a summary of each cell, the answers, and what to know before
//! believing them. It is a function of the study and the journal, so that it can be had again.

mod along;
mod answer;
mod bill;
mod bounds;
mod caveats;
mod compared;
mod comparison;
mod cpu_use;
mod cross_check;
mod crossover;
mod figure;
mod findings;
mod gates;
mod hit_rate;
mod library;
mod limits;
mod mark;
mod prediction;
mod projection;
mod purity;
mod remedy;
mod search;
mod sentence;
mod summary;
mod trials;

#[cfg(test)]
pub(crate) mod scene;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use bill::{Bill, CellBill, Parts};
pub use bounds::Bounds;
pub use cpu_use::CpuUse;
pub use cross_check::{Agreement, CrossCheck};
pub use figure::Figures;
use load::Operation;
use observe::Machine;
use serde::Serialize;
use stats::Estimate;

use crate::gate::GateOutcome;
use crate::primitive::Costs;
use journal::{Entries, TargetRecord, TrialLine};
use study::Published;
use study::{Metric, Study};
use trial::Limit;
use trial::Warning;

pub use prediction::Prediction;
pub use projection::{AtCores, Projection};
pub use search::{Search, SearchEnd, SearchStep};

use compared::Compared;
use trials::CellTrials;

/// What a run found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// The study's name.
    pub study: String,
    /// What it asked.
    pub question: String,
    /// How many trials there are, by what became of them.
    pub trials: TrialCounts,
    /// In the order of the study's answers, and of its cells within each.
    pub answers: Vec<Answer>,
    /// What more cores would do, where the study asks.
    pub projections: Vec<Projection>,
    /// Each pair of cells that differ in the program that makes the load.
    pub cross_checks: Vec<CrossCheck>,
    /// All cells of the study, also those that were not measured, in the study's order.
    pub cells: Vec<CellSummary>,
    /// Each kind of warning once, most frequent first.
    pub warnings: Vec<Repeated>,
    /// Each trial that is not valid, in the order in which they ran.
    pub invalid: Vec<Invalid>,
    /// What was cut from the study as it was written, a clause each.
    pub cut: Vec<String>,
    /// What became of the gates of the study's answers; `toll` prints them with those of `--gate`.
    #[serde(skip)]
    pub gates: Vec<GateOutcome>,
}

/// How many trials there are, by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TrialCounts {
    /// How many a whole run has, without those of skipped targets.
    pub planned: usize,
    /// In the journal.
    pub done: usize,
    /// Of those, valid ones.
    pub valid: usize,
}

/// One answer: a sentence, and the figures that it is made of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The answer in one or two sentences, with intervals and units.
    pub sentence: String,
    /// What proves that handshakes were measured, in one sentence; only of connections over TLS.
    pub purity: Option<String>,
    /// What to change, where the figures say so.
    pub remedy: Option<String>,
    /// Why the answer is weaker than it looks: marks of its cells, trials that are lacking.
    pub caveats: Vec<String>,
    pub case: String,
    /// Which figure.
    pub metric: Metric,
    /// The swept key whose values are compared.
    pub compare: String,
    /// What one operation of the compared cells is.
    #[serde(skip)]
    pub operation: Operation,
    /// What the compared cells have in common, by swept key: `target.server` = `nginx`.
    pub common: BTreeMap<String, String>,
    /// A bar for each value of `compare`, in the study's order; those without valid trials too. A tax
    /// has none for its baseline, which is not taxed.
    pub bars: Vec<Bar>,
    pub published: Vec<Published>,
    /// What the cost of the cipher predicts of the bars, where the servers report it.
    pub predictions: Vec<Prediction>,
    /// The predictions in words, beside what was measured.
    pub predicted: Option<String>,
    /// What its handshakes are made of, where the study asks for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bill: Option<Bill>,
    /// The bars along another swept key, where the study asks for that.
    pub curve: Option<Curve>,
}

/// The bars of an answer along a swept key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// The key: `target.object`.
    pub along: String,
    /// In the study's order.
    pub points: Vec<Point>,
    /// What Little's law allows, for each value of the compared key, where the points are numbers of
    /// users of a closed loop.
    pub bounds: Vec<Bounds>,
    /// For each compared value where it gets ahead of the baseline, where the study asks for that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crossovers: Vec<Crossover>,
}

/// Where one compared value is ahead of the baseline: where the whole interval of the paired ratio lies
/// above 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Crossover {
    /// The compared value in words: `kTLS sendfile`.
    pub label: String,
    /// The point from which on it is ahead, for good, in words; `None` where there is none.
    pub from: Option<String>,
    /// `kTLS sendfile is ahead of user TLS from 64 KiB objects on`.
    pub sentence: String,
}

/// The bars at one value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The value in words: `1 MiB objects`.
    pub label: String,
    /// A bar for each value of the compared key.
    pub bars: Vec<Bar>,
    /// For each bar, the share of its CPUs that the server used meanwhile.
    pub busy: Vec<Option<Figure>>,
}

/// One figure of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    /// The value of the compared key in words: `AES-128-GCM`.
    pub label: String,
    pub cell: String,
    /// The cell's values of swept keys.
    #[serde(skip)]
    pub params: BTreeMap<String, String>,
    /// Whether the others are compared with this one.
    pub is_baseline: bool,
    /// The figure in the metric's unit (operations or bits per second; a share for the tax); `None`
    /// where no trial is valid.
    pub figure: Option<Figure>,
    /// This cell's figure over the baseline's, from pairs of trials of one round (for a tax, of the
    /// goodput per server CPU-second that it is taken from); the baseline has none.
    pub ratio: Option<Figure>,
    /// What is to be marked: the cell's mark, or that there is no figure.
    pub mark: Option<Mark>,
    /// `infeasible (best 3.2s)`, where no load of the cell keeps within the study's limit.
    pub infeasible: Option<String>,
}

/// A median with its interval and what it was taken from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Median and interval.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// The samples in the order in which they were taken.
    pub samples: Vec<f64>,
}

/// What the trials of one cell say together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellSummary {
    /// The cell's name.
    pub cell: String,
    /// The case's name.
    pub case: String,
    /// What distinguishes it from the other cells of its case, in words: `nginx, AES-128-GCM`.
    pub label: String,
    /// The swept keys with their values.
    pub params: BTreeMap<String, String>,
    /// What one operation of its load is.
    #[serde(skip)]
    pub operation: Operation,
    /// How many trials it should have, has, and has that are valid.
    pub trials: TrialCounts,
    /// Its figures, each metric a field with its unit in the name.
    #[serde(flatten)]
    pub figures: Figures,
    /// What limited the valid trials, and how many of them.
    pub limits: BTreeMap<Limit, usize>,
    /// What is to be marked.
    pub mark: Option<Mark>,
    /// How its load was found, where the study searches for it.
    pub search: Option<Search>,
    /// What used each CPU of the machine, where the server's are known.
    pub cpus: Vec<CpuUse>,
}

/// Why a figure is not to be read as the server's maximum. The order is that of weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// No load keeps within the limit that the study sets.
    Infeasible,
    /// No trial is valid, or none was done. Of a bar also: valid trials lack what the figure takes.
    NotMeasured,
    /// In some trials the client was the limit.
    ClientBound,
    /// In some trials something else than the server's CPU was the limit.
    NotServerBound,
    /// The trials' rates differ widely: something else than the cell decided them.
    Spread,
    /// Some trials are not valid; the figure is of the others.
    SomeInvalid,
    /// There are fewer trials than the study asks for.
    Incomplete,
}

/// A kind of warning with the number of trials that gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repeated {
    /// The first of its kind.
    #[serde(flatten)]
    pub warning: Warning,
    /// How many trials gave one of this kind.
    pub trials: usize,
}

/// A trial that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Invalid {
    pub cell: String,
    /// Its place in the order of trials.
    pub order: u32,
    /// Why, in words.
    pub why: String,
}

impl Analysis {
    /// What a run found, from its study, its journal, what became of its targets, and the machine
    /// where that is known. Trials that were interrupted, or made for a search or at a load that did
    /// not hold, and those of cells that the study does not have, are left out.
    #[must_use]
    pub fn of(
        study: &Study,
        entries: &Entries,
        targets: &[TargetRecord],
        machine: Option<&Machine>,
    ) -> Self {
        let trials = trials::by_cell(study, &entries.trials, targets);
        let mut in_order: Vec<&TrialLine> = trials.iter().flat_map(|of| of.lines.clone()).collect();
        in_order.sort_by_key(|trial| trial.place.order);
        let costs = Costs::of(study, entries);
        let projected = study.answers.iter().filter(|rule| !rule.project.is_empty());
        Self {
            projections: projected
                .flat_map(|rule| projection::projections(&Compared::all(rule, &trials)))
                .collect(),
            study: study.name.clone(),
            question: study.question.clone(),
            trials: trials.iter().map(CellTrials::counts).fold(TrialCounts::default(), sum),
            answers: answer::answers(&study.answers, &trials, &costs.rows, targets, machine),
            cross_checks: cross_check::all(&trials),
            cells: trials.iter().map(CellSummary::of).collect(),
            warnings: warnings(&in_order),
            invalid: in_order.iter().filter_map(|trial| invalid(trial)).collect(),
            cut: study.cut.clone(),
            gates: gates::all(&study.answers, &trials),
        }
    }
}

fn sum(a: TrialCounts, b: TrialCounts) -> TrialCounts {
    TrialCounts { planned: a.planned + b.planned, done: a.done + b.done, valid: a.valid + b.valid }
}

/// Each kind of warning once, most frequent first; of equally frequent ones the first seen.
fn warnings(trials: &[&TrialLine]) -> Vec<Repeated> {
    let mut repeated: Vec<Repeated> = Vec::new();
    for TrialLine { line, .. } in trials {
        for (place, warning) in line.warnings.iter().enumerate() {
            if line.warnings[..place].iter().any(|before| before.kind == warning.kind) {
                continue;
            }
            match repeated.iter_mut().find(|other| other.warning.kind == warning.kind) {
                Some(other) => other.trials += 1,
                None => repeated.push(Repeated { warning: warning.clone(), trials: 1 }),
            }
        }
    }
    repeated.sort_by_key(|repeated| std::cmp::Reverse(repeated.trials));
    repeated
}

fn invalid(TrialLine { place, line }: &TrialLine) -> Option<Invalid> {
    Some(Invalid { cell: place.cell.clone(), order: place.order, why: line.why_invalid()? })
}
