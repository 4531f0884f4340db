//! An answer along a swept key: the same comparison at each of its values, as one answer and one curve.

use study::{Metric, Param, Params, Show};

use super::accelerator;
use super::answer::Answer;
use super::bar::AnswerFigure;
use super::bounds::LittlesLawBounds;
use super::caveats::{caveats, said_once};
use super::compared::{Compared, Entry};
use super::crossover::{Crossover, RatioAt};
use super::curve::{AnswerCurve, AnswerPoint};
use super::derived::Derived;
use super::prediction::{self, Prediction};
use crate::caveat::Caveat;
use crate::wording::{grouped, list_of};

/// The same comparison at the values of one key.
pub(super) struct Along<'a> {
    pub(super) key: &'a str,
    /// The other swept keys, with the values that all points have.
    common: Params,
    /// In the study's order, none of them without a cell.
    points: Vec<Compared<'a>>,
}

impl<'a> Along<'a> {
    /// One for each combination of the keys that are neither compared nor gone along.
    pub(super) fn all(key: &'a str, compared: Vec<Compared<'a>>) -> Vec<Self> {
        let by_common = compared.into_iter().map(|point| {
            let mut common = point.common.clone();
            common.remove(key);
            (common, point)
        });
        let groups = grouped(by_common).into_iter();
        groups.map(|(common, points)| Self { key, common, points }).collect()
    }

    pub(super) fn answer(&self) -> Option<Answer> {
        let rule = self.points.first()?.rule;
        let curve = self.curve();
        let bar = |(point, bar): (&AnswerPoint, &AnswerFigure)| AnswerFigure {
            label: list_of([&point.label, &bar.label]),
            ..bar.clone()
        };
        let predictions: Vec<Prediction> = self
            .points
            .iter()
            .flat_map(|point| Prediction::all(point, Some(&self.label(point))))
            .collect();
        let all = || curve.points.iter().flat_map(|p| p.bars.iter().map(move |bar| (p, bar)));
        Some(Answer {
            question: rule.question.clone(),
            headline: None,
            rule: 0,
            notes: curve.crossovers.iter().map(Crossover::note).collect(),
            derived: self.derived(),
            purity: None,
            caveats: prediction::doubt(&predictions)
                .map(Caveat::from)
                .into_iter()
                .chain(self.caveats())
                .collect(),
            case: rule.case.clone(),
            metric: rule.metric,
            compare: rule.compare.clone(),
            operation: self.points.first()?.operation(),
            common: self.common.clone(),
            common_in_words: self.common_in_words(),
            bars: all().map(bar).collect(),
            published: rule.published.clone(),
            bill: None,
            loopback: None,
            predictions,
            curve: Some(curve),
        })
    }

    /// What follows from the last point, which is named.
    fn derived(&self) -> Vec<Derived> {
        let Some(last) = self.points.last() else { return Vec::new() };
        let derived = accelerator::derived(last).into_iter();
        derived.map(|of| of.at(&self.label(last))).collect()
    }

    /// What all points have in common, in words.
    pub(super) fn common_in_words(&self) -> Vec<String> {
        let first = self.points.first();
        let words = |(key, value): (&String, &Param)| Some(first?.label(key, value));
        self.common.iter().filter_map(words).collect()
    }

    fn curve(&self) -> AnswerCurve {
        let point = |compared: &Compared<'_>| AnswerPoint {
            label: self.label(compared),
            bars: compared.shown().map(|entry| entry.bar.clone()).collect(),
            is_compared: compared.rule.is_compared_at(&compared.common),
            busy: compared.shown().map(|entry| entry.row.figure(Metric::ServerBusy)).collect(),
        };
        AnswerCurve {
            along: self.key.to_owned(),
            points: self.points.iter().map(point).collect(),
            bounds: LittlesLawBounds::all(self.key, &self.points),
            least: self.least(),
            crossovers: self.crossovers(),
        }
    }

    /// What the instructions allow, where that is the same for all that is compared.
    fn least(&self) -> Option<(String, f64)> {
        let rows = self.points.iter().flat_map(|point| &point.entries);
        let bound = |entry: &Entry<'_>| {
            let row = entry.row.algorithm()?;
            let cost = row.cost.as_ref()?.cycles.median() / row.times_the_bound?;
            Some((row.bound?, cost))
        };
        let bounds: Vec<_> = rows.filter_map(bound).collect();
        let (of, cost) = *bounds.first()?;
        let words = format!("{} of {of}: {cost:.3} cycles/byte", of.word());
        bounds.iter().all(|(other, _)| *other == of).then_some((words, cost))
    }

    /// One for each value that is compared, where the study asks for it.
    pub(super) fn crossovers(&self) -> Vec<Crossover> {
        let Some(first) = self.points.first().filter(|first| first.rule.shows(Show::Crossover))
        else {
            return Vec::new();
        };
        let Some(baseline) = first.baseline() else { return Vec::new() };
        let of = |entry: &Entry<'_>| {
            let points: Vec<RatioAt<'_>> = self
                .points
                .iter()
                .enumerate()
                .filter_map(|(place, point)| {
                    let ratio = point.entry(entry.value)?.ratio.as_ref()?;
                    Some((place, self.label(point), ratio))
                })
                .collect();
            Crossover::of(entry.value, &entry.label, &baseline.label, &points)
        };
        first.others().filter_map(of).collect()
    }

    pub(super) fn label(&self, compared: &Compared<'_>) -> String {
        compared.label_at(self.key)
    }

    /// Those of all points that are compared; what holds for several is said once.
    fn caveats(&self) -> Vec<Caveat> {
        let caveats_at = |point| caveats(point).into_iter().map(|of| (of, self.label(point)));
        let compared: Vec<_> = self.compared().collect();
        said_once(compared.iter().copied().flat_map(caveats_at), compared.len())
    }

    /// The points at which rows are compared.
    pub(super) fn compared(&self) -> impl Iterator<Item = &Compared<'a>> {
        self.points.iter().filter(|point| point.rule.is_compared_at(&point.common))
    }
}
