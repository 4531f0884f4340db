//! The cells that one answer compares, with their figures.

use keys::full;
use std::borrow::Cow;
use std::collections::BTreeMap;

use load::Operation;

use crate::label::{label, label_in, server_words, with};
use study::metric::{Kind, words_of};
use study::{AnswerRule, Cell, Metric, Param, Params};

use super::row::AnalysedRow;
use crate::comparable::ratio;
use crate::figure::{Decided, Figure};
use crate::wording::grouped;
use stats::Decision;

/// Rows of one case that differ in the compared key alone.
#[derive(Debug)]
pub(super) struct Compared<'a> {
    pub(super) rule: &'a AnswerRule,
    /// The other swept keys, with the values that all cells have.
    pub(super) common: Params,
    /// In the study's order, that of the baseline too.
    pub(super) entries: Vec<Entry<'a>>,
    pairs: Pairs<'a>,
    /// How many comparisons were decided together with these.
    pub(super) family: usize,
    /// Whether all that the baseline was to be compared with was left out.
    pub(super) is_alone: bool,
}

/// The first over the second, by the names of their cells.
pub(super) type Pairs<'a> = BTreeMap<[&'a str; 2], Decided>;

/// Rows of a case, each with its value of the compared key.
type Valued<'a> = [(&'a AnalysedRow<'a>, &'a Param)];

/// One of the cells.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) row: &'a AnalysedRow<'a>,
    /// Of the compared key.
    pub(super) value: &'a Param,
    pub(super) is_baseline: bool,
    /// In the metric's unit; the baseline has no tax.
    pub(super) figure: Option<Figure>,
    /// Over the baseline.
    pub(super) ratio: Option<Decided>,
}

impl<'a> Compared<'a> {
    /// One for each combination of the keys that are swept beside the compared one, without the cells
    /// whose targets were left out: a report says that once.
    pub(super) fn all(rule: &'a AnswerRule, rows: &'a [AnalysedRow<'a>]) -> Vec<Self> {
        let mut all = Self::every(rule, rows);
        for of in &mut all {
            let planned = of.entries.len();
            of.entries.retain(|entry| entry.row.skipped.is_none());
            of.is_alone = of.entries.len() < planned && of.others().next().is_none();
        }
        all.retain(|of| !of.entries.is_empty());
        all
    }

    /// All of them.
    pub(super) fn every(rule: &'a AnswerRule, rows: &'a [AnalysedRow<'a>]) -> Vec<Self> {
        // A table can have algorithms of bytes beside those of operations.
        let is_of_rule = |row: &&AnalysedRow<'_>| {
            row.case == rule.case && (row.algorithm.is_none() || row.can_have(rule.metric))
        };
        let groups = grouped(rows.iter().filter(is_of_rule).filter_map(|row| {
            let mut common = row.params.clone();
            common.remove(&rule.compare);
            Some((common, (row, row.params.get(&rule.compare)?)))
        }));
        // What one answer compares is decided together, along a key at all of its values.
        let mut by_answer = Vec::new();
        for (place, (common, cells)) in groups.iter().enumerate() {
            let is_compared = rule.is_compared_at(common);
            let mut common = common.clone();
            rule.along.as_ref().map(|along| common.remove(along));
            let ratios = if is_compared { decided(rule, cells) } else { Vec::new() }.into_iter();
            by_answer.extend(ratios.map(|(pair, ratio)| (common.clone(), ((place, pair), ratio))));
        }
        let mut decided = vec![(Pairs::new(), 0); groups.len()];
        for (_, family) in grouped(by_answer) {
            let count = family.len();
            for ((place, pair), difference) in Decided::decide(family, 1.0) {
                decided[place].0.insert(pair, difference);
                decided[place].1 = count;
            }
        }
        let groups = groups.into_iter().zip(decided);
        groups.map(|((common, cells), of)| Self::of(rule, common, &cells, of)).collect()
    }

    fn of(
        rule: &'a AnswerRule,
        common: Params,
        cells: &Valued<'a>,
        (pairs, family): (Pairs<'a>, usize),
    ) -> Self {
        let baseline = baseline(rule, cells);
        let entry = |&(row, value): &(&'a AnalysedRow<'a>, &'a Param)| {
            let pair = |of: &'a AnalysedRow<'a>| [row, of].map(|of| of.name.as_str());
            let ratio = baseline.and_then(|of| pairs.get(&pair(of))).cloned();
            let figure = match rule.metric.row().kind {
                Kind::Tax => ratio.as_ref().and_then(Decided::taken).map(|tax| tax.figure),
                _ => row.whole_figure(rule.metric),
            };
            let is_baseline = baseline.is_some_and(|of| std::ptr::eq(of, row));
            Entry { row, value, is_baseline, figure, ratio }
        };
        let entries = cells.iter().map(entry).collect();
        Self { rule, common, entries, pairs, family, is_alone: false }
    }

    /// One over another.
    pub(super) fn ratio(&self, one: &AnalysedRow<'_>, other: &AnalysedRow<'_>) -> Option<Decided> {
        of_pair(&self.pairs, one, other)
    }

    /// All that was decided.
    pub(super) fn ratios(&self) -> impl Iterator<Item = &Decided> {
        self.pairs.values()
    }

    /// Whether what is compared with the baseline, or to be chosen, has too few trials.
    pub(super) fn has_too_few(&self) -> bool {
        self.pairs.values().any(|pair| pair.decision == Decision::TooFew)
    }

    pub(super) fn baseline(&self) -> Option<&Entry<'a>> {
        self.entries.iter().find(|entry| entry.is_baseline)
    }

    /// All but the baseline.
    pub(super) fn others(&self) -> impl Iterator<Item = &Entry<'a>> {
        self.entries.iter().filter(|entry| !entry.is_baseline)
    }

    /// The cell with this value.
    pub(super) fn entry(&self, value: &Param) -> Option<&Entry<'a>> {
        self.entries.iter().find(|entry| entry.value == value)
    }

    /// The cells that have a bar: all, but a tax has none for what it is taken against.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Entry<'a>> {
        let is_tax = self.kind() == Kind::Tax;
        self.entries.iter().filter(move |entry| !(is_tax && entry.is_baseline))
    }

    /// Those that have a figure too.
    pub(super) fn measured(&self) -> Vec<(&Entry<'a>, &Figure)> {
        self.shown().filter_map(|entry| Some((entry, entry.figure.as_ref()?))).collect()
    }

    /// What all cells have alike, if they do; what are no cells have nothing.
    pub(super) fn shared<T: PartialEq>(&self, of: impl Fn(&Cell) -> T) -> Option<T> {
        let mut values = self.entries.iter().map(|entry| entry.row.cell.map(&of));
        let first = values.next()?;
        values.all(|value| value == first).then_some(first)?
    }

    /// What one operation is; requests where the cells differ.
    pub(super) fn operation(&self) -> Operation {
        self.shared(|cell| cell.load.operation).unwrap_or(Operation::Requests)
    }

    /// What the metric says of the server.
    pub(super) fn kind(&self) -> Kind {
        self.rule.metric.row().kind
    }

    /// What its samples are called.
    pub(super) fn samples(&self) -> &'static str {
        if self.kind() == Kind::Cycles { "rounds" } else { "trials" }
    }

    /// Whether the metric is what one CPU-second of the server gives.
    pub(super) fn is_per_cpu(&self) -> bool {
        matches!(self.kind(), Kind::PerCpu | Kind::Tax)
    }

    /// What a trial without the figure lacks.
    pub(super) fn unknown(&self) -> String {
        match self.is_per_cpu() {
            true => "the server's CPU time is not known".to_owned(),
            false => format!("the {} is not known", self.metric()),
        }
    }

    /// Whether the metric counts bits of bodies.
    pub(super) fn is_of_bodies(&self) -> bool {
        self.rule.metric.row().is_of_bodies
    }

    /// What all have in common, in words.
    pub(super) fn common_in_words(&self) -> Vec<String> {
        self.common.iter().map(|(key, value)| self.label(key, value)).collect()
    }

    /// The value that all of it has of a key, in words; empty where it has none.
    pub(super) fn label_at(&self, key: &str) -> String {
        self.common.get(key).map_or_else(String::new, |value| self.label(key, value))
    }

    /// A value of a key in the words of what the rows do: `16 connections`, `16 users`.
    pub(super) fn label(&self, key: &str, value: &Param) -> String {
        let has = |row: &&AnalysedRow<'_>| row.params.get(key).is_some_and(|own| own == value);
        let rows = self.entries.iter().map(|entry| entry.row);
        // The first that was measured knows the version of its library.
        let mut rows: Vec<&AnalysedRow<'_>> = rows.filter(has).collect();
        rows.sort_by_key(|row| row.trials.valid == 0);
        match rows.first() {
            Some(row) if row.algorithm.is_some() => row.label(key),
            _ => label_in(self.operation(), key, value),
        }
    }

    /// The metric as these cells have it: `server CPU per page`.
    pub(super) fn metric(&self) -> Cow<'static, str> {
        words_of(self.operation(), self.rule.metric.row().words)
    }

    /// A cell after its figure: `with AES-128-GCM`.
    pub(super) fn with(&self, entry: &Entry<'_>) -> String {
        with(entry.value, &self.name(entry))
    }

    /// A cell that others are compared with: `AES-128-GCM`.
    pub(super) fn name(&self, entry: &Entry<'_>) -> String {
        self.label(&self.rule.compare, entry.value)
    }

    /// What the cells have in common, in brackets after a space: ` (nginx, 1 MiB objects)`. The
    /// server and what a request is are named also where the case does not sweep them.
    pub(super) fn context(&self) -> String {
        let is_swept = |name: &str| {
            let mut keys = self.common.keys().chain([&self.rule.compare]);
            keys.any(|key| full::name(key) == name)
        };
        let mut parts = Vec::new();
        if self.rule.compare != full::SERVER {
            let server = self.shared(|cell| cell.target.server);
            parts.extend(server.map(server_words));
        }
        if self.operation() != Operation::Handshakes && !is_swept("object") {
            let asked = self.shared(|cell| match &cell.target.url {
                Some(url) => url.to_string(),
                None => match &cell.load.session {
                    Some(session) => {
                        label(full::SESSION, &Param::Text(session.display().to_string()))
                    }
                    None => label(full::OBJECT, &Param::Object(cell.target.object.clone())),
                },
            });
            parts.extend(asked);
        }
        if self.operation() == Operation::OneRequestPerConnection && !is_swept("operation") {
            parts.push(label(full::OPERATION, &Param::Operation(self.operation())));
        }
        if !is_swept("requests-per-connection") {
            let asked = self.shared(|cell| cell.load.requests_per_connection.clone()).flatten();
            parts.extend(asked.map(|asked| {
                label(full::REQUESTS_PER_CONNECTION, &Param::Text(asked.to_string()))
            }));
        }
        let others = self.common.iter().filter(|(key, _)| *key != full::SERVER);
        parts.extend(others.map(|(key, value)| self.label(key, value)));
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
    }

    /// Why a cell has no figure.
    pub(super) fn lacking(&self, entry: &Entry<'_>) -> String {
        let row = entry.row;
        let counts = row.trials;
        if let (Some(search), Some(infeasible)) = (&row.search, row.infeasible()) {
            return format!("no load meets {}: {infeasible}", search.limit);
        }
        if let Some(behind) = row.fell_behind(self.rule.metric) {
            return behind.in_words();
        }
        if counts.valid > 0 {
            return if !row.can_have(self.rule.metric) {
                "its operations have no bodies".to_owned()
            } else if row.samples(self.rule.metric).is_empty() {
                self.unknown()
            } else {
                let why = self.baseline().and_then(|other| self.why_unpaired(entry, other));
                why.unwrap_or_else(|| {
                    format!("there is no {}", label(&self.rule.compare, &self.rule.baseline()))
                })
            };
        }
        let first = row.why_invalid().unwrap_or_else(|| "no reason is recorded".to_owned());
        match counts.done {
            _ if row.algorithm.is_some() && counts.done > 0 => first,
            0 if row.algorithm.is_some() => "no round was measured".to_owned(),
            0 if row.search.as_ref().is_some_and(|search| search.end.invalid().is_some()) => {
                format!("its search ended with trials that are not valid; the last: {first}")
            }
            0 => "no trial was run".to_owned(),
            1 => format!("its only trial is not valid: {first}"),
            done => format!("none of its {done} trials is valid; the first: {first}"),
        }
    }

    /// Why a cell has no ratio to the baseline; `None` where it has one.
    pub(super) fn why_unpaired(&self, entry: &Entry<'_>, baseline: &Entry<'_>) -> Option<String> {
        let why = ratio(entry.row, baseline.row, self.rule.metric).err()?;
        Some(why.in_words([&self.with(entry), &self.with(baseline)]))
    }
}

/// What the others are compared with.
fn baseline<'a>(rule: &AnswerRule, cells: &Valued<'a>) -> Option<&'a AnalysedRow<'a>> {
    let baseline = rule.baseline();
    cells.iter().find(|(_, value)| **value == baseline).map(|(row, _)| *row)
}

/// What is compared of these cells: each with the baseline, and where one may be chosen, each with each.
/// Along a key no cell is chosen.
fn decided<'a>(rule: &AnswerRule, cells: &Valued<'a>) -> Vec<([&'a str; 2], Figure)> {
    let baseline = baseline(rule, cells);
    let rows: Vec<&AnalysedRow<'a>> = cells.iter().map(|(row, _)| *row).collect();
    let mut ratios = ratios(rule.metric, &rows, baseline);
    if rule.along.is_some() {
        ratios.retain(|([_, other], _)| baseline.is_some_and(|of| of.name == *other));
    }
    ratios
}

/// Of these rows each over those after it, and all over the baseline.
pub(super) fn ratios<'a>(
    metric: Metric,
    rows: &[&'a AnalysedRow<'a>],
    baseline: Option<&AnalysedRow<'_>>,
) -> Vec<([&'a str; 2], Figure)> {
    let is_baseline = |of: &AnalysedRow<'_>| baseline.is_some_and(|other| other.name == of.name);
    let mut ratios = Vec::new();
    for (place, one) in rows.iter().enumerate() {
        for other in &rows[place + 1..] {
            let (one, other) = if is_baseline(one) { (other, one) } else { (one, other) };
            let pair = [one, other].map(|of| of.name.as_str());
            ratios.extend(ratio(one, other, metric).map(|ratio| (pair, ratio)));
        }
    }
    ratios
}

/// One over another, as that was decided or as its inverse was.
pub(super) fn of_pair(
    pairs: &Pairs<'_>,
    one: &AnalysedRow<'_>,
    other: &AnalysedRow<'_>,
) -> Option<Decided> {
    let [one, other] = [one, other].map(|of| of.name.as_str());
    let inverse = || pairs.get(&[other, one])?.inverse();
    pairs.get(&[one, other]).cloned().or_else(inverse)
}
