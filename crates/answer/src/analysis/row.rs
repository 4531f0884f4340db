//! What is compared: rows, which are parameters with samples by round. The trials of a cell are one, and so are the
//! rounds of a timed algorithm.

use keys::full;
use std::collections::{BTreeMap, BTreeSet};

use journal::{Role, TargetRecord, TrialLine};
use load::Operation;
use profile::Profile;
use serde::{Deserialize, Serialize};
use study::metric::words_of;
use study::{Cell, Metric, Param, Params, Study};
use trial::{Limit, TrialRecord};

use super::remeasured::{Remeasured, quieter};
use super::search::SearchPath;
use crate::costs::AlgorithmRow;
use crate::figure::Figure;
use crate::label::{label_in, server_words};
use crate::mark::Mark;

/// A median whose interval is wider than this part of it is of little use: on a quiet machine the interval
/// is a few percent wide.
const MOST_SPREAD: f64 = 0.25;

/// How many trials there are, or rounds of an algorithm, by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialCounts {
    /// How many a whole run has, without those of skipped targets.
    pub planned: usize,
    /// In the journal.
    pub done: usize,
    /// Of those, valid ones.
    pub valid: usize,
}

#[derive(Debug)]
pub(super) struct Row<'a> {
    /// Its case, or its table.
    pub(super) case: &'a str,
    /// Unique in the study.
    pub(super) name: &'a str,
    /// What tells it from the others of its case.
    pub(super) params: &'a Params,
    /// What was measured, where that is a server under load.
    pub(super) cell: Option<&'a Cell>,
    /// What was measured of anything else, which has no trials.
    timed: Option<Timed<'a>>,
    /// The same, where it is an algorithm.
    pub(super) algorithm: Option<&'a AlgorithmRow>,
    /// How many trials it should have; none where its target was left out.
    planned: usize,
    /// Why there is nothing to measure, where that is so.
    pub(super) skipped: Option<&'a str>,
    /// In the order in which they ran; where the load is searched for, those at the load that was
    /// found.
    pub(super) lines: Vec<&'a TrialLine>,
    /// Of the valid trials that were made to know where the server's CPU time goes.
    pub(super) profiles: Vec<&'a Profile>,
    /// Of those that were measured again, the lines have the quieter one.
    pub(super) again: Remeasured,
    /// How the load was found.
    pub(super) search: Option<SearchPath>,
}

/// What was measured in rounds without a server.
#[derive(Debug, Default)]
pub(crate) struct Timed<'a> {
    /// Rounds that are in the journal, whatever came of them.
    pub(crate) done: usize,
    /// Of each metric that it can have, by round.
    pub(crate) samples: BTreeMap<Metric, Vec<(u32, f64)>>,
    pub(crate) why_invalid: Option<&'a str>,
    /// Whether other work used the core meanwhile.
    pub(crate) is_disturbed: bool,
}

/// What is the server's maximum: with all of its CPUs used, or with the limit that a search keeps.
pub(crate) const IS_A_MAXIMUM: [Limit; 2] = [Limit::ServerCpu, Limit::LatencyLimit];

/// All cells and then all rows of tables, in the study's order.
pub(super) fn rows<'a>(
    study: &'a Study,
    lines: &'a [TrialLine],
    targets: &'a [TargetRecord],
    algorithms: &'a [AlgorithmRow],
) -> Vec<Row<'a>> {
    let mut rows = of_cells(study, lines, targets);
    rows.extend(algorithms.iter().map(Row::of_algorithm));
    rows
}

/// The trials of all cells, in the study's order of cells. Trials of a search, of cells that the
/// study does not have, and those that were interrupted are left out: the last are shorter than
/// planned, and a resumed run does them again.
pub(super) fn of_cells<'a>(
    study: &'a Study,
    lines: &'a [TrialLine],
    targets: &'a [TargetRecord],
) -> Vec<Row<'a>> {
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
        let search = SearchPath::of(cell, &lines);
        let is_of_profile = |trial: &&&TrialLine| trial.place.role == Role::Profile;
        // One of another cell says nothing of this one.
        let is_valid = |trial: &&&TrialLine| {
            trial.line.valid && Params::from(trial.place.params.clone()) == cell.params
        };
        let profiled = lines.iter().filter(is_of_profile).filter(is_valid);
        let profiles = profiled.filter_map(|trial| trial.line.profile.as_ref()).collect();
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
        trials.push(Row {
            case: &cell.case,
            name: &cell.name,
            params: &cell.params,
            cell: Some(cell),
            timed: None,
            algorithm: None,
            planned,
            skipped,
            lines,
            again,
            profiles,
            search,
        });
    }
    trials
}

/// Whether some of the trials are enough to count for a median. A tenth of them moves it by a twentieth of
/// the trials at most, which is well within its interval.
pub(crate) fn is_more_than_a_tenth(some: usize, all: usize) -> bool {
    some * 10 > all
}

impl<'a> Row<'a> {
    fn of_algorithm(of: &'a AlgorithmRow) -> Self {
        let skipped = of.unavailable();
        let planned = if skipped.is_some() { 0 } else { of.planned };
        let named = [of.table.as_str(), of.name.as_str()];
        let row = Self::of_timed(named, &of.params, planned, of.timed());
        Self { algorithm: Some(of), skipped, ..row }
    }

    /// Of something in a case or a table that has no trials.
    fn of_timed(
        [case, name]: [&'a str; 2],
        params: &'a Params,
        planned: usize,
        timed: Timed<'a>,
    ) -> Self {
        Self {
            case,
            name,
            params,
            cell: None,
            timed: Some(timed),
            algorithm: None,
            planned,
            skipped: None,
            lines: Vec::new(),
            profiles: Vec::new(),
            again: Remeasured::default(),
            search: None,
        }
    }
}

impl Row<'_> {
    pub(super) fn valid(&self) -> impl Iterator<Item = &TrialRecord> {
        self.lines.iter().map(|trial| &trial.line).filter(|line| line.valid)
    }

    /// What one operation of it is; requests where nothing is asked for.
    pub(super) fn operation(&self) -> Operation {
        self.cell.map_or(Operation::Requests, |cell| cell.load.operation)
    }

    /// What its value of a key is called; empty where it has none.
    pub(super) fn label(&self, key: &str) -> String {
        let own = |value: &Param| match self.algorithm {
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
        match self.cell.filter(|_| parts.is_empty()) {
            Some(cell) => vec![server_words(cell.target.server)],
            None => parts,
        }
    }

    /// What a metric counts of it, in a few words.
    pub(super) fn counted(&self, metric: Metric) -> String {
        words_of(self.operation(), metric.row().words).into_owned()
    }

    /// Whether it can have a figure of this metric.
    pub(super) fn can_have(&self, metric: Metric) -> bool {
        match &self.timed {
            Some(of) => of.samples.contains_key(&metric),
            None => self.cell.is_some_and(|cell| metric.is_of(cell)),
        }
    }

    /// Whether other work used the core while an algorithm was timed.
    pub(super) fn is_disturbed(&self) -> bool {
        self.timed.as_ref().is_some_and(|of| of.is_disturbed)
    }

    /// Why the first that is not valid is not.
    pub(super) fn why_invalid(&self) -> Option<String> {
        let of_timed = || Some(self.timed.as_ref()?.why_invalid?.to_owned());
        self.lines.iter().find_map(|trial| trial.line.why_invalid()).or_else(of_timed)
    }

    /// A trial that was not valid and was made again is one.
    pub(super) fn counts(&self) -> TrialCounts {
        if let Some(of) = &self.timed {
            let valid = of.samples.values().map(Vec::len).max().unwrap_or(0);
            return TrialCounts { planned: self.planned, done: of.done, valid };
        }
        let done = self.lines.iter().map(|trial| trial.place.round).collect::<BTreeSet<_>>().len();
        let valid = self.valid().count();
        TrialCounts { planned: self.planned, done, valid }
    }

    /// What limited the valid trials, and how many of them.
    pub(super) fn limits(&self) -> BTreeMap<Limit, usize> {
        let mut limits = BTreeMap::new();
        for line in self.valid() {
            *limits.entry(line.verdict.limit).or_default() += 1;
        }
        limits
    }

    /// Whether something else than the server's maximum was the limit in trials that count.
    pub(super) fn is_limited_by_others(&self) -> bool {
        let limits = self.limits().into_iter();
        let others = limits.filter(|(limit, _)| !IS_A_MAXIMUM.contains(limit));
        is_more_than_a_tenth(others.map(|(_, count)| count).sum(), self.counts().valid)
    }

    /// That no load keeps within the limit, in words.
    pub(super) fn infeasible(&self) -> Option<String> {
        self.search.as_ref()?.end.infeasible()
    }

    pub(super) fn mark(&self) -> Option<Mark> {
        let TrialCounts { planned, done, valid } = self.counts();
        if self.infeasible().is_some() {
            Some(Mark::Infeasible)
        } else if valid == 0 {
            Some(Mark::NotMeasured)
        } else if self.is_limited_by_others() {
            let is_the_client = self.limits().contains_key(&Limit::ClientCpu);
            Some(if is_the_client { Mark::ClientBound } else { Mark::NotServerBound })
        } else if self.is_disturbed() {
            Some(Mark::Disturbed)
        } else if self.is_spread() {
            Some(Mark::Spread)
        } else if valid < done {
            Some(Mark::SomeInvalid)
        } else {
            (done < planned).then_some(Mark::Incomplete)
        }
    }

    /// How the client of the valid trials received what was sent: `walk`, `decrypt`, or by which
    /// other program. Empty where nothing is received, or nothing is recorded of it.
    pub(super) fn received(&self) -> BTreeSet<String> {
        let of = |line: &TrialRecord| {
            let receipt = &line.receipt;
            let other = receipt.obtained.client.as_ref().map(|client| format!("by {client}"));
            other.or_else(|| receipt.asked.receive.map(|receive| receive.to_string()))
        };
        self.valid().filter_map(of).collect()
    }

    /// Whether both were received in one way, so that what differs is the server's doing.
    pub(super) fn is_received_as(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.received(), other.received());
        ours.is_empty() || theirs.is_empty() || (ours == theirs && ours.len() == 1)
    }

    /// The congestion control of the server's connections in the valid trials; empty where none is
    /// recorded.
    pub(super) fn congestion(&self) -> BTreeSet<String> {
        let names = |line: &TrialRecord| {
            line.receipt.obtained.server_congestion.keys().cloned().collect::<Vec<_>>()
        };
        self.valid().flat_map(names).collect()
    }

    /// Whether both servers sent under one congestion control, or were asked for different ones: such as
    /// pace cost a sender on loopback more than the sending.
    pub(super) fn has_congestion_of(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.congestion(), other.congestion());
        let asked = |of: &Self| of.cell.map(|cell| cell.target.congestion.clone());
        let are_asked_apart = asked(self) != asked(other);
        ours.is_empty() || theirs.is_empty() || ours == theirs || are_asked_apart
    }

    /// Whether the trials' rates differ so much that something other than the cell decided them.
    fn is_spread(&self) -> bool {
        let rate = self.figure(Metric::Rate);
        rate.is_some_and(|Figure { estimate, .. }| {
            estimate.interval.high - estimate.interval.low > MOST_SPREAD * estimate.median
        })
    }

    /// A metric of the valid trials that have it.
    pub(super) fn figure(&self, metric: Metric) -> Option<Figure> {
        Figure::of(self.samples(metric).into_iter().map(|(_, sample)| sample).collect())
    }

    /// The round and the figure of each valid trial that has one. Of the tax it is the goodput that
    /// the tax is taken from.
    pub(super) fn samples(&self, metric: Metric) -> Vec<(u32, f64)> {
        if let Some(of) = &self.timed {
            return of.samples.get(&metric).cloned().unwrap_or_default();
        }
        let valid = self.lines.iter().filter(|trial| trial.line.valid && self.can_have(metric));
        valid.filter_map(|trial| Some((trial.place.round, metric.value(&trial.line)?))).collect()
    }
}
