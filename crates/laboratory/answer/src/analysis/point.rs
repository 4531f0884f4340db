//! Rows of one case that differ in the compared key alone, with their figures: an answer, or along a key one of its
//! points.

use keys::full;
use std::borrow::Cow;
use std::sync::Arc;

use load::Operation;

use crate::label::{label, label_in, server_words, with};
use study::metric::{Kind, words_of};
use study::{AnswerRule, Cell, Metric, Param, Params, Study};
use units::Bytes;

use super::decisions::{Decisions, RowRatio};
use super::row::{Row, groups, operation};
use super::row_figure::RowFigure;
use crate::figure::{Decided, Figure};
use stats::Decision;

/// The rows, beside each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    pub rule: Arc<AnswerRule>,
    /// The place of the rule in the study.
    pub place: usize,
    /// The other swept keys, with the values that all rows have.
    pub common: Params,
    /// In the study's order, that of the baseline too.
    pub figures: Vec<RowFigure>,
    pub decisions: Arc<Decisions>,
}

impl Point {
    /// Those of each answer of a study: one for each combination of the keys that are swept beside the compared one,
    /// without the rows whose targets were left out, which a report says once. A baseline of which all was left out
    /// that it is compared with answers nothing where others do.
    pub(super) fn all(
        study: &Study,
        rows: &[Arc<Row>],
        decisions: &Arc<Decisions>,
    ) -> Vec<Vec<Self>> {
        let of_rule = |(place, rule): (usize, &AnswerRule)| {
            let shared = Arc::new(rule.clone());
            let of = |(common, mut rows): (Params, Vec<&Arc<Row>>)| {
                let planned = rows.len();
                rows.retain(|row| row.skipped.is_none());
                let of =
                    |row: &&Arc<Row>| RowFigure::of((place, rule), &common, row, &rows, decisions);
                let figures: Vec<RowFigure> = rows.iter().map(of).collect();
                let is_alone =
                    figures.len() < planned && figures.iter().all(|figure| figure.is_baseline);
                let (rule, decisions) = (shared.clone(), decisions.clone());
                (is_alone, Self { rule, place, common, figures, decisions })
            };
            let all = groups(rule, rows).into_iter().map(of);
            all.filter(|(_, of)| !of.figures.is_empty()).collect::<Vec<_>>()
        };
        let mut all: Vec<Vec<(bool, Self)>> =
            study.answers.iter().enumerate().map(of_rule).collect();
        if all.iter().flatten().any(|(is_alone, _)| !is_alone) {
            all.iter_mut().for_each(|of_rule| of_rule.retain(|(is_alone, _)| !is_alone));
        }
        all.into_iter().map(|of_rule| of_rule.into_iter().map(|(_, of)| of).collect()).collect()
    }

    /// One over another.
    pub(super) fn ratio(&self, one: &Row, other: &Row) -> Option<Decided> {
        self.between(self.rule.metric, [one, other])
    }

    /// The same in a metric that an author's sentence has.
    pub(super) fn between(&self, metric: Metric, rows: [&Row; 2]) -> Option<Decided> {
        self.decisions.ratio(self.place, metric, rows)
    }

    /// How many comparisons were decided together with these.
    pub(super) fn family(&self) -> usize {
        self.decisions.family(self.place, &self.figures[0].row).count()
    }

    /// Whether what is compared with the baseline, or to be chosen, has too few trials.
    pub(super) fn has_too_few(&self) -> bool {
        let is_own = |of: &&RowRatio| self.figures.iter().any(|entry| entry.row.name == of.row);
        let mut own = self.decisions.family(self.place, &self.figures[0].row).filter(is_own);
        own.any(|of| of.ratio.as_ref().is_ok_and(|of| of.decision == Decision::TooFew))
    }

    pub(super) fn baseline(&self) -> Option<&RowFigure> {
        self.figures.iter().find(|entry| entry.is_baseline)
    }

    /// All but the baseline.
    pub(super) fn others(&self) -> impl Iterator<Item = &RowFigure> {
        self.figures.iter().filter(|entry| !entry.is_baseline)
    }

    /// That of the row with this value.
    pub(super) fn figure_of(&self, value: &Param) -> Option<&RowFigure> {
        self.figures.iter().find(|entry| entry.value == *value)
    }

    /// The cells that have a bar: all, but a tax has none for what it is taken against.
    pub fn shown(&self) -> impl Iterator<Item = &RowFigure> {
        let is_tax = self.kind() == Kind::Tax;
        self.figures.iter().filter(move |entry| !(is_tax && entry.is_baseline))
    }

    /// Those that have a figure too.
    pub(super) fn measured(&self) -> Vec<(&RowFigure, &Figure)> {
        self.shown().filter_map(|entry| Some((entry, entry.figure.as_ref()?))).collect()
    }

    /// What all cells have alike, if they do; what are no cells have nothing.
    pub(super) fn shared<T: PartialEq>(&self, of: impl Fn(&Cell) -> T) -> Option<T> {
        let mut values = self.figures.iter().map(|entry| entry.row.cell().map(&of));
        let first = values.next()?;
        values.all(|value| value == first).then_some(first)?
    }

    /// What one operation is; requests where the cells differ.
    pub(super) fn operation(&self) -> Operation {
        operation(self.figures.iter().map(|entry| &*entry.row))
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

    /// Whether its rows are compared: of an algorithm only some sizes are.
    pub(super) fn is_compared(&self) -> bool {
        self.rule.is_compared_at(&self.common)
    }

    /// Its value of a key in words, without a noun after a size.
    pub(super) fn short_label(&self, key: &str) -> String {
        match self.common.get(key).and_then(Param::only_size) {
            Some(only) => only.in_words(),
            None => self.label_at(key),
        }
    }

    /// Its value of a key as a number: bytes, or a count.
    pub(super) fn number(&self, key: &str) -> Option<f64> {
        let param = self.common.get(key)?;
        let number = param.count().or_else(|| param.only_size().map(|Bytes(only)| only));
        number.map(|number| number as f64)
    }

    /// Its value of the key that its answer goes along, in words, where it goes along one.
    pub(super) fn value_along(&self) -> Option<String> {
        self.rule.along.as_ref().map(|along| self.label_at(along))
    }

    /// What it has in common with the other points of its answer.
    pub(super) fn common_along(&self) -> Params {
        self.common.without(self.rule.along.as_deref())
    }

    /// The same in words.
    pub(super) fn common_in_words(&self) -> Vec<String> {
        let words = |(key, value): (&String, &Param)| self.label(key, value);
        self.common_along().iter().map(words).collect()
    }

    /// Its case with what it has in common with the other points, under the title of a chart.
    pub(super) fn subtitle(&self) -> String {
        let words = std::iter::once(self.rule.case.clone()).chain(self.common_in_words());
        words.collect::<Vec<_>>().join(", ")
    }

    /// The value that all of it has of a key, in words; empty where it has none.
    pub(super) fn label_at(&self, key: &str) -> String {
        self.common.get(key).map_or_else(String::new, |value| self.label(key, value))
    }

    /// A value of a key in the words of what the rows do: `16 connections`, `16 users`.
    pub(super) fn label(&self, key: &str, value: &Param) -> String {
        let has = |row: &&Row| row.params.get(key).is_some_and(|own| own == value);
        let rows = self.figures.iter().map(|entry| &*entry.row);
        // The first that was measured knows the version of its library.
        let mut rows: Vec<&Row> = rows.filter(has).collect();
        rows.sort_by_key(|row| row.trials.valid == 0);
        match rows.first() {
            Some(row) if row.algorithm().is_some() => row.label(key),
            _ => label_in(self.operation(), key, value),
        }
    }

    /// The metric as these cells have it: `server CPU per page`.
    pub(super) fn metric(&self) -> Cow<'static, str> {
        words_of(self.operation(), self.rule.metric.row().words)
    }

    /// A cell after its figure: `with AES-128-GCM`.
    pub(super) fn with(&self, entry: &RowFigure) -> String {
        with(&entry.value, &entry.label)
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
    pub(super) fn lacking(&self, entry: &RowFigure) -> String {
        let row = &entry.row;
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
            _ if row.algorithm().is_some() && counts.done > 0 => first,
            0 if row.algorithm().is_some() => "no round was measured".to_owned(),
            0 if row.search.as_ref().is_some_and(|search| search.end.invalid().is_some()) => {
                format!("its search ended with trials that are not valid; the last: {first}")
            }
            0 => "no trial was run".to_owned(),
            1 => format!("its only trial is not valid: {first}"),
            done => format!("none of its {done} trials is valid; the first: {first}"),
        }
    }

    /// Why a cell has no ratio to the baseline; `None` where it has one.
    pub(super) fn why_unpaired(&self, entry: &RowFigure, baseline: &RowFigure) -> Option<String> {
        let mut beside = self.decisions.beside_baseline(self.place);
        let why = beside.find(|of| of.row == entry.row.name)?.ratio.as_ref().err()?;
        Some(why.in_words([&self.with(entry), &self.with(baseline)]))
    }
}
