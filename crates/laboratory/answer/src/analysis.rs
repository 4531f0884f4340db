//! What a run found, from its journal: a summary of each cell, the answers, and what to know before
//! believing them. It is a function of the study and the journal, so that it can be had again.

mod accelerator;
mod alike;
mod answer;
mod answers;
mod authored;
mod best;
mod bill;
mod bounds;
mod caveats;
mod cipher;
mod cores_of_device;
mod cpu_use;
mod cross_check;
mod crossover;
mod cycles;
pub(crate) mod decisions;
mod derived;
mod findings;
mod hit_rate;
mod json;
mod left_out;
mod library;
mod loopback;
mod offered;
mod point;
mod prediction;
mod printed;
mod profile_change;
mod projection;
mod purity;
mod quality;
mod remeasured;
pub(crate) mod row;
mod row_figure;
mod search;
mod servers;
pub(crate) mod warnings;
mod written;

#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;

use journal::{Entries, TargetRecord, TrialLine};
use observe::Machine;
use serde::Serialize;
use study::Study;

pub use answer::Answer;
pub use bill::{Bill, CellBill, Parts, Sampled};
pub use bounds::LittlesLawBounds;
pub use cipher::CipherCost;
pub use cpu_use::CpuUse;
pub use cross_check::{Agreement, CrossCheck};
pub use crossover::Crossover;
pub use cycles::Cycles;
pub use decisions::Decisions;
pub use derived::Derived;
pub use left_out::{LeftOut, WhyLeftOut};
pub use loopback::{Loopback, LoopbackOfCell};
pub use point::Point;
pub use prediction::Prediction;
pub use profile_change::{ProfileChange, Shares};
pub use projection::{AtCores, Projection};
pub use quality::widest_interval;
pub use remeasured::{Remeasured, quieter};
pub use row::Row;
pub use row_figure::{Projected, RowFigure};
pub use search::{ImpossibleLoad, SearchEnd, SearchPath, SearchStep};
pub use servers::{ServerFigure, ServerRow, Servers};
pub use warnings::Repeated;

use crate::claims::{self, JudgedClaim};
use crate::costs::Costs;
pub use crate::figure::Figure;
use crate::findings::Quality;
use crate::gate::family;
use crate::gate::outcome::GateOutcome;
use crate::measured::{MeasuredRow, Shortfall, TrialCounts};
use warnings::warnings;

/// What a run found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Analysis {
    /// The study's name.
    pub study: String,
    /// What it asked.
    pub question: String,
    /// How many trials there are, by what became of them.
    pub trials: TrialCounts,
    /// Those that were disturbed and measured again.
    pub remeasured: Remeasured,
    /// In the order of the study's answers, and of its cells within each.
    pub answers: Vec<Answer>,
    /// How well the figures of the answers hold; `None` where there are none.
    pub quality: Option<Quality>,
    /// Servers beside each other, where answers are of several.
    pub servers: Vec<Servers>,
    /// What more cores would do, where the study asks.
    pub projections: Vec<Projection>,
    /// Each pair of cells that differ in the program that makes the load.
    pub cross_checks: Vec<CrossCheck>,
    /// How the servers' work differs between cells that answers compare, where it was sampled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profile_changes: Vec<ProfileChange>,
    /// All cells of the study and all rows of its tables, also those that were not measured, in its order.
    #[serde(serialize_with = "json::cells")]
    pub cells: Vec<Arc<Row>>,
    /// Each kind of warning once, most frequent first.
    pub warnings: Vec<Repeated>,
    /// Each trial that is not valid, in the order in which they ran.
    pub invalid: Vec<Invalid>,
    /// What was cut from the study as it was written, a clause each.
    pub cut: Vec<String>,
    /// What the timed algorithms cost, in all that is known of it.
    #[serde(rename = "primitives", skip_serializing_if = "is_empty")]
    pub costs: Costs,
    /// What was published, and whether it holds here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<JudgedClaim>,
    /// Where that was published.
    #[serde(skip)]
    pub source: String,
    /// When its first trial began, in milliseconds since 1970-01-01 UTC.
    #[serde(skip)]
    pub started_unix_ms: Option<u64>,
    /// How they compare, by the answers.
    #[serde(skip)]
    pub decisions: Arc<Decisions>,
    /// What became of the gates of the study's answers; `toll` prints them with those of `--gate`.
    #[serde(skip)]
    pub gates: Vec<GateOutcome>,
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
    pub fn of(
        study: &Study,
        entries: &Entries,
        targets: &[TargetRecord],
        machine: Option<&Machine>,
    ) -> Self {
        let costs = Costs::of(study, entries);
        let rows = row::rows(study, entries, targets, &costs.rows);
        let mut in_order: Vec<&TrialLine> = rows.iter().flat_map(|of| &of.lines).collect();
        in_order.sort_by_key(|trial| trial.place.order);
        let of_cells = || rows.iter().filter(|row| row.cell().is_some());
        let measured: Vec<&MeasuredRow> = rows.iter().map(|row| &row.measured).collect();
        let decisions = Arc::new(Decisions::of(&study.answers, &rows));
        let points = Point::all(study, &rows, &decisions);
        Self {
            projections: points.iter().flat_map(|of| projection::projections(of)).collect(),
            study: study.name.clone(),
            question: study.question.clone(),
            trials: of_cells().map(|row| row.trials).sum(),
            quality: quality::quality(&points, &rows),
            servers: Servers::all(&points),
            remeasured: rows.iter().map(|row| row.again).sum(),
            profile_changes: ProfileChange::all(&points),
            answers: answers::answers(points, &rows, &costs.rows, targets, machine),
            cross_checks: cross_check::all(&rows),
            warnings: warnings(&in_order),
            invalid: all_invalid(&in_order, &rows),
            cut: study.cut.iter().map(|of| of.what.clone()).collect(),
            claims: claims::judge(&study.claims, &measured, &study.cut),
            source: source(study),
            gates: family::of_answers(&study.answers, &decisions, &rows),
            started_unix_ms: entries.trials.first().map(|trial| trial.line.started_unix_ms),
            decisions,
            costs,
            cells: rows,
        }
    }
}

impl Analysis {
    /// What is missing or not valid of all that was planned; `None` where the run is whole.
    pub fn shortfall(&self) -> Option<Shortfall> {
        Shortfall::of(self.cells.iter().map(|cell| cell.trials))
    }
}

fn source(study: &Study) -> String {
    study.claims.first().map(|claim| claim.published.source.clone()).unwrap_or_default()
}

fn is_empty(costs: &Costs) -> bool {
    costs.rows.is_empty()
}

/// Trials of the rows, and steps of searches that say nothing, in the order in which they ran.
fn all_invalid(trials: &[&TrialLine], rows: &[Arc<Row>]) -> Vec<Invalid> {
    let of_trial = |TrialLine { place, line }: &TrialLine| {
        Some(Invalid { cell: place.cell.clone(), order: place.order, why: line.why_invalid()? })
    };
    let of_search = |row: &Row| {
        let steps = row.search.iter().flat_map(|search| &search.path).filter(|step| !step.is_held);
        let of = |step: &SearchStep| {
            Some(Invalid {
                cell: row.name.to_owned(),
                order: step.order,
                why: step.invalid.clone()?,
            })
        };
        steps.filter_map(of).collect::<Vec<_>>()
    };
    let trials = trials.iter().filter_map(|trial| of_trial(trial));
    let mut all: Vec<Invalid> = trials.chain(rows.iter().flat_map(|row| of_search(row))).collect();
    all.sort_by_key(|trial| trial.order);
    all
}
