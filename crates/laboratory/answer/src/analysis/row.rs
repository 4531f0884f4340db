//! What is compared: the trials of each cell, and the rounds of each timed algorithm.

use keys::full;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use journal::{Entries, Role, TargetRecord, TrialLine};
use load::Operation;
use profile::Profile;
use serde_json::Value;
use study::metric::words_of;
use study::{AnswerRule, Cell, Metric, Param, Params, Study};
use trial::{Limit, OFFERED_SERVED, TrialRecord, Verdict};

use super::remeasured::{Remeasured, quieter};
use super::search::SearchPath;
use crate::circumstance::Circumstance;
use crate::costs::{AlgorithmRow, Cost, PublishedCost};
use crate::figure::Figure;
use crate::label::{label_in, server_words, words_of_server};
use crate::mark::Mark;
use crate::measured::{MeasuredRow, TrialCounts};
use crate::wording::grouped;

/// A median whose interval is wider than this part of it is of little use: on a quiet machine the interval
/// is a few percent wide.
const MOST_SPREAD: f64 = 0.25;

/// A measured row with what it was measured from: the trials of a cell, the rounds of an algorithm, or nothing more
/// where it comes from a summary.
#[derive(Debug, Clone, Default, PartialEq, derive_more::Deref)]
pub struct Row {
    #[deref]
    pub measured: MeasuredRow,
    /// What was measured, where that is a server under load.
    cell: Option<Cell>,
    /// The same, where it is an algorithm, which has no trials.
    algorithm: Option<AlgorithmRow>,
    /// Why there is nothing to measure, where that is so.
    pub skipped: Option<String>,
    /// In the order in which they ran; where the load is searched for, those at the load that was
    /// found.
    pub lines: Vec<TrialLine>,
    /// Of the valid trials that were made to know where the server's CPU time goes.
    pub profiles: Vec<Profile>,
    /// Of those that were measured again, the lines have the quieter one.
    pub again: Remeasured,
    /// How the load was found, where the study searches for it.
    pub search: Option<SearchPath>,
}

/// All cells and then all rows of tables, in the study's order.
pub(super) fn rows(
    study: &Study,
    entries: &Entries,
    targets: &[TargetRecord],
    algorithms: &[AlgorithmRow],
) -> Vec<Arc<Row>> {
    let mut rows = of_cells(study, entries, targets);
    rows.extend(algorithms.iter().map(|of| Arc::new(Row::of_algorithm(of))));
    rows
}

/// The trials of all cells, in the study's order of cells. Trials of a search, of cells that the
/// study does not have, and those that were interrupted are left out: the last are shorter than
/// planned, and a resumed run does them again.
pub(super) fn of_cells(
    study: &Study,
    entries: &Entries,
    targets: &[TargetRecord],
) -> Vec<Arc<Row>> {
    let lines = &entries.trials;
    let mut of_cell: BTreeMap<&str, Vec<&TrialLine>> = BTreeMap::new();
    for trial in lines.iter().filter(|trial| !trial.line.interrupted) {
        of_cell.entry(&trial.place.cell).or_default().push(trial);
    }
    // A run that measures until its intervals are narrow has more than the fewest.
    let begun = lines.iter().filter(|trial| trial.place.role == Role::Measure);
    let begun = begun.map(|trial| trial.place.round + 1).max().filter(|_| study.until.is_some());
    let rounds = begun.map_or(study.trials, |begun| begun.max(study.trials));
    let mut trials = Vec::new();
    for cell in &study.cells {
        let mut lines = of_cell.remove(cell.name.as_str()).unwrap_or_default();
        let has_lines = !lines.is_empty();
        lines.sort_by_key(|trial| (trial.place.order, trial.line.started_unix_ms));
        let search = SearchPath::of(cell, &lines, &entries.impossible);
        let is_of_profile = |trial: &&&TrialLine| trial.place.role == Role::Profile;
        // One of another cell says nothing of this one.
        let is_valid = |trial: &&&TrialLine| trial.line.valid && trial.place.params == cell.params;
        let profiled = lines.iter().filter(is_of_profile).filter(is_valid);
        let profiles = profiled.filter_map(|trial| trial.line.profile.clone()).collect();
        lines.retain(|trial| {
            trial.place.role == Role::Measure
                && search.as_ref().is_none_or(|search| search.has(trial))
        });
        let again = quieter(&mut lines);
        // A server that was there in an earlier part of the run was not left out.
        let skipped = targets
            .iter()
            .filter(|target| !has_lines && target.cells.contains(&cell.name))
            .find_map(|target| target.skipped.as_deref());
        let is_infeasible = search.as_ref().is_some_and(|search| search.end.infeasible().is_some());
        let planned = if skipped.is_some() || is_infeasible { 0 } else { rounds as usize };
        let skipped = skipped.map(str::to_owned);
        let lines = lines.into_iter().cloned().collect();
        let found = Row { skipped, again, profiles, search, ..Row::default() };
        trials.push(Arc::new(Row::of_cell(cell.clone(), planned, lines, found)));
    }
    trials
}

/// What the trials of a cell say.
fn of_trials(cell: &Cell, planned: usize, lines: &[TrialLine]) -> MeasuredRow {
    let valid: Vec<&TrialLine> = lines.iter().filter(|trial| trial.line.valid).collect();
    // A trial that was not valid and was made again is one.
    let done = lines.iter().map(|trial| trial.place.round).collect::<BTreeSet<_>>().len();
    let mut limits = BTreeMap::new();
    for trial in &valid {
        if let Some(limit) = trial.line.limit() {
            *limits.entry(limit).or_default() += 1;
        }
    }
    let mut negotiated: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (what, values) in valid.iter().flat_map(|trial| trial.line.receipt.negotiated()) {
        negotiated.entry(what.to_owned()).or_default().extend(values);
    }
    let is_served = |trial: &&TrialLine| {
        let served = trial.line.evidence().and_then(|evidence| evidence.offered_served);
        trial.line.limit() == Some(Limit::OfferedLoad) || served >= Some(OFFERED_SERVED)
    };
    let is_scheduled = cell.load.arrival.is_scheduled();
    let samples = Metric::of_cells().chain([Metric::TlsTax]).filter(|metric| metric.is_of(cell));
    let samples = samples.map(|metric| (metric, samples_of(&valid, metric)));
    MeasuredRow {
        case: cell.case.clone(),
        name: cell.name.clone(),
        params: cell.params.clone(),
        trials: TrialCounts { planned, done, valid: valid.len() },
        limits,
        served: is_scheduled.then(|| valid.iter().all(is_served)),
        circumstances: Circumstance::all(
            &valid.iter().map(|trial| &trial.line).collect::<Vec<_>>(),
        ),
        negotiated,
        asked: valid.first().map(|trial| asked(&trial.line)).unwrap_or_default(),
        asked_congestion: cell.target.congestion.as_ref().map(ToString::to_string),
        samples: samples.filter(|(_, samples)| !samples.is_empty()).collect(),
        ..MeasuredRow::default()
    }
}

/// What was asked of a trial, by its name in the receipt.
fn asked(line: &TrialRecord) -> BTreeMap<String, String> {
    let asked = serde_json::to_value(&line.receipt.asked).unwrap_or_default();
    let words = |(name, value): (&String, &Value)| {
        (name.replace('_', " "), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    asked.as_object().into_iter().flatten().map(words).collect()
}

/// Its samples, by round. What a process runs for an operation is the same each time but for what its start made of it,
/// so that of instructions a process is one sample, in its first round, however often it was counted.
fn samples_of(valid: &[&TrialLine], metric: Metric) -> Vec<(u32, f64)> {
    let value = |trial: &&TrialLine| Some((trial.place.round, metric.value(&trial.line)?));
    if !metric.is_of_instructions() {
        return valid.iter().filter_map(value).collect();
    }
    let process = |trial: &&TrialLine| (trial.place.target.clone(), trial.place.process);
    let by_process = grouped(valid.iter().filter_map(|of| Some((process(of), value(of)?))));
    let sample = |(_, counts): (_, Vec<(u32, f64)>)| {
        let mean = counts.iter().map(|(_, count)| count).sum::<f64>() / counts.len() as f64;
        (counts[0].0, mean)
    };
    by_process.into_iter().map(sample).collect()
}

/// The rows that a rule compares, by the values that they have in common.
pub(super) fn groups<'a>(
    rule: &AnswerRule,
    rows: &'a [Arc<Row>],
) -> Vec<(Params, Vec<&'a Arc<Row>>)> {
    // A table can have algorithms of bytes beside those of operations.
    let is_of_rule = |row: &&Arc<Row>| {
        rule.is_about(&row.case, &row.params)
            && (row.algorithm.is_none() || row.can_have(rule.metric))
    };
    grouped(rows.iter().filter(is_of_rule).filter_map(|row| {
        let mut common = row.params.clone();
        common.remove(&rule.compare)?;
        Some((common, row))
    }))
}

/// What one operation of these rows is; requests where they differ.
pub(super) fn operation<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Operation {
    let mut operations = rows.into_iter().map(Row::operation);
    let first = operations.next().unwrap_or(Operation::Requests);
    if operations.all(|other| other == first) { first } else { Operation::Requests }
}

impl Row {
    /// The row of a timed algorithm.
    pub fn of_algorithm(of: &AlgorithmRow) -> Self {
        let skipped = of.unavailable();
        let samples = of.samples();
        let trials = TrialCounts {
            planned: if skipped.is_some() { 0 } else { of.planned },
            done: of.done,
            valid: samples.values().map(Vec::len).max().unwrap_or(0),
        };
        let measured = MeasuredRow {
            case: of.table.clone(),
            name: of.name.clone(),
            params: of.params.clone(),
            library: Some(of.library_title.clone()),
            core_hz: of.cost.as_ref().map(|cost| cost.core_hz.round()),
            trials,
            samples,
            ..MeasuredRow::default()
        };
        let skipped = skipped.map(str::to_owned);
        Self { measured, algorithm: Some(of.clone()), skipped, ..Self::default() }.concluded()
    }

    /// The row of a cell with these trials, and with what else is known of it.
    pub fn of_cell(cell: Cell, planned: usize, lines: Vec<TrialLine>, known: Self) -> Self {
        let measured = of_trials(&cell, planned, &lines);
        Self { measured, cell: Some(cell), lines, ..known }.concluded()
    }

    /// With what follows from all of it.
    fn concluded(mut self) -> Self {
        let skipped = self.skipped.clone();
        let lacking = skipped.or_else(|| self.infeasible()).or_else(|| self.why_invalid());
        self.measured.lacking = lacking.filter(|_| self.trials.valid == 0);
        self.measured.label = self.label_parts().join(", ");
        self.measured.mark = self.mark();
        self
    }

    /// Whether it has this value of a key.
    pub(super) fn has(&self, key: &str, value: &Param) -> bool {
        self.params.get(key) == Some(value)
    }

    pub(super) fn cell(&self) -> Option<&Cell> {
        self.cell.as_ref()
    }

    pub(super) fn algorithm(&self) -> Option<&AlgorithmRow> {
        self.algorithm.as_ref()
    }

    /// Published costs of the same algorithm.
    pub(super) fn published(&self) -> &[PublishedCost] {
        self.algorithm.as_ref().map_or(&[], |of| &of.published)
    }

    /// Whether its target was left out, so that there is nothing to show of it.
    pub fn is_left_out(&self) -> bool {
        self.trials == TrialCounts::default()
            && self.search.as_ref().is_none_or(|search| search.path.is_empty())
    }

    pub(super) fn valid(&self) -> impl Iterator<Item = &TrialRecord> {
        self.lines.iter().map(|trial| &trial.line).filter(|line| line.valid)
    }

    /// What one operation of it is; requests where nothing is asked for.
    pub(super) fn operation(&self) -> Operation {
        self.cell.as_ref().map_or(Operation::Requests, |cell| cell.load.operation)
    }

    /// What its value of a key is called; empty where it has none.
    pub(super) fn label(&self, key: &str) -> String {
        let own = |value: &Param| match &self.algorithm {
            Some(of) => of.label(key).unwrap_or_default(),
            None => label_in(self.operation(), key, value),
        };
        self.params.get(key).map(own).unwrap_or_default()
    }

    /// What distinguishes it from the others of its case, the server first; the server alone where the case
    /// sweeps nothing.
    pub(super) fn label_parts(&self) -> Vec<String> {
        let (server, others): (Vec<_>, Vec<_>) =
            self.params.keys().partition(|key| *key == full::SERVER);
        let parts: Vec<String> =
            server.into_iter().chain(others).map(|key| self.label(key)).collect();
        match self.cell.as_ref().filter(|_| parts.is_empty()) {
            Some(cell) => vec![self.server_name(cell)],
            None => parts,
        }
    }

    /// What its server is called: one that toll did not start by the process that was found.
    fn server_name(&self, cell: &Cell) -> String {
        let process = |trial: &TrialLine| trial.line.server_process.clone()?.known().cloned();
        let names: BTreeSet<String> =
            self.lines.iter().filter_map(process).map(|process| process.name).collect();
        match names.len() {
            1 => names.iter().map(|name| words_of_server(name)).collect(),
            _ => server_words(cell.target.server),
        }
    }

    /// What a metric counts of it, in a few words.
    pub(super) fn counted(&self, metric: Metric) -> String {
        words_of(self.operation(), metric.row().words).into_owned()
    }

    /// Whether it can have a figure of this metric.
    pub(super) fn can_have(&self, metric: Metric) -> bool {
        let is_of =
            |of: &AlgorithmRow| Metric::of_algorithm(of.key.algorithm.unit()).contains(&metric);
        self.cell.as_ref().is_some_and(|cell| metric.is_of(cell))
            || self.algorithm.as_ref().is_some_and(is_of)
    }

    /// Whether other work used the core while an algorithm was timed.
    pub(super) fn is_disturbed(&self) -> bool {
        let cost = self.algorithm.as_ref().and_then(|of| of.cost.as_ref());
        cost.is_some_and(Cost::is_disturbed)
    }

    /// Why the first that is not valid is not.
    pub(super) fn why_invalid(&self) -> Option<String> {
        let of_algorithm = || Some(self.algorithm.as_ref()?.no_figure.as_ref()?.why.clone());
        let of_search = || Some(self.search.as_ref()?.end.invalid()?.to_owned());
        let of_trial = self.lines.iter().find_map(|trial| trial.line.why_invalid());
        of_trial.or_else(of_algorithm).or_else(of_search)
    }

    /// That no load keeps within the limit, in words.
    pub(super) fn infeasible(&self) -> Option<String> {
        self.search.as_ref()?.end.infeasible()
    }

    fn mark(&self) -> Option<Mark> {
        let TrialCounts { planned, done, valid } = self.trials;
        if self.infeasible().is_some() {
            Some(Mark::Infeasible)
        } else if valid == 0 {
            Some(Mark::NotMeasured)
        } else if self.is_limited_by_others() {
            Some(if self.is_limited_by_client() { Mark::ClientBound } else { Mark::NotServerBound })
        } else if self.is_disturbed() {
            Some(Mark::Disturbed)
        } else if self.is_spread() {
            Some(Mark::Spread)
        } else if self.valid().any(|line| line.latency_ns.stood_still.is_some()) {
            Some(Mark::StoodStill)
        } else if valid < done {
            Some(Mark::SomeInvalid)
        } else {
            (done < planned).then_some(Mark::Incomplete)
        }
    }

    /// Whether the client was the limit of some trial.
    pub(super) fn is_limited_by_client(&self) -> bool {
        self.valid().any(|line| line.verdict.as_ref().is_some_and(Verdict::is_of_client))
    }

    /// Whether the trials' rates differ so much that something other than the cell decided them.
    fn is_spread(&self) -> bool {
        let rate = self.figure(Metric::Rate);
        rate.is_some_and(|Figure { estimate, .. }| {
            estimate.interval.high - estimate.interval.low > MOST_SPREAD * estimate.median
        })
    }
}

/// Without what it was measured from.
impl From<MeasuredRow> for Row {
    fn from(measured: MeasuredRow) -> Self {
        Self { measured, ..Self::default() }
    }
}
