//! An answer along a swept key: the same comparison at each of its values, as one answer and one curve.

use std::collections::BTreeMap;

use crate::label::label;
use study::Metric;
use study::metric::Kind;

use super::accelerator;
use super::answer::Answer;
use super::bar::{Bar, Curve, Point};
use super::bounds::Bounds;
use super::caveats::caveats;
use super::compared::{Compared, Entry};
use super::crossover::Crossover;
use super::prediction::{self, Prediction};
use super::purity::purity;
use super::sentence::{published, subject, unit, verb};
use crate::figure::{Decided, Figure};
use crate::wording::{all_of, capitalized, grouped, joined, list, listed, quantity, times};
use stats::Decision;

/// The same comparison at the values of one key.
pub(super) struct Along<'a> {
    pub(super) key: &'a str,
    /// The other swept keys, with the values that all points have.
    common: BTreeMap<String, String>,
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

    pub(super) fn points(&self) -> &[Compared<'a>] {
        &self.points
    }

    pub(super) fn answer(&self) -> Option<Answer> {
        let rule = self.points.first()?.rule;
        let curve = self.curve();
        let bar = |(point, bar): (&Point, &Bar)| Bar {
            label: format!("{}, {}", point.label, bar.label),
            ..bar.clone()
        };
        let predictions: Vec<Prediction> = self
            .points
            .iter()
            .flat_map(|point| Prediction::all(point, Some(&self.label(point))))
            .collect();
        let all = || curve.points.iter().flat_map(|p| p.bars.iter().map(move |bar| (p, bar)));
        Some(Answer {
            headline: None,
            sentence: joined(&(self.sentence()? + &in_words(&curve.crossovers)), &self.used()),
            purity: purity(self.points.iter().flat_map(|point| &point.entries)),
            remedy: None,
            caveats: self.caveats(),
            case: rule.case.clone(),
            metric: rule.metric,
            compare: rule.compare.clone(),
            operation: self.points.first()?.operation(),
            common: self.common.clone(),
            bars: all().map(bar).collect(),
            published: rule.published.clone(),
            bill: None,
            loopback: None,
            predicted: prediction::sentence(&predictions, self.points.first()?),
            predictions,
            curve: Some(curve),
        })
    }

    fn curve(&self) -> Curve {
        let point = |compared: &Compared<'_>| Point {
            label: self.label(compared),
            bars: compared.shown().map(|entry| Bar::of(compared, entry)).collect(),
            busy: compared.shown().map(|entry| entry.trials.figure(Metric::ServerBusy)).collect(),
        };
        Curve {
            along: self.key.to_owned(),
            points: self.points.iter().map(point).collect(),
            bounds: Bounds::all(self.key, &self.points),
            crossovers: self.crossovers(),
        }
    }

    /// One for each value that is compared, where the study asks for it.
    pub(super) fn crossovers(&self) -> Vec<Crossover> {
        let Some(first) = self.points.first().filter(|first| first.rule.crossover) else {
            return Vec::new();
        };
        let Some(baseline) = first.baseline() else { return Vec::new() };
        let of = |entry: &Entry<'_>| {
            let points: Vec<(String, &Decided)> = self
                .points
                .iter()
                .filter_map(|point| {
                    Some((self.label(point), point.entry(entry.value)?.ratio.as_ref()?))
                })
                .collect();
            let label = label(&first.rule.compare, entry.value);
            Crossover::of((&label, &first.name(entry)), &first.name(baseline), &points)
        };
        first.others().filter_map(of).collect()
    }

    pub(super) fn label(&self, compared: &Compared<'_>) -> String {
        compared.label_at(self.key)
    }

    /// `The server (on CPU 0) sends 2.6x [2.5, 2.7] (1 MiB objects) to 2.9x [2.8, 3.0] (16 MiB objects)
    /// as much with AES-128-GCM as with AES-128-CBC-SHA, at most 8.01 Gb/s [7.90, 8.10] (16 MiB
    /// objects) (nginx); Intel's Xeon E5 v3 had 2 to 2.4x.`
    fn sentence(&self) -> Option<String> {
        let first = self.points.first()?;
        let clauses: Vec<String> =
            first.others().filter_map(|entry| self.clause(entry.value)).collect();
        let context = first.context_of(&self.common, self.key);
        if clauses.is_empty() {
            return Some(format!("Not measured{context}: no pair of trials can be compared."));
        }
        let told = format!("{} {}", subject(first), list(clauses));
        Some(format!("{}{context}{}.", capitalized(&told), published(first.rule, &self.common)))
    }

    /// What was used of an accelerator's rate at the last point.
    fn used(&self) -> String {
        let last = self.points.last();
        last.and_then(|last| accelerator::used(last, Some(self.label(last)))).unwrap_or_default()
    }

    fn clause(&self, value: &str) -> Option<String> {
        let entries = self.points.iter().filter_map(|point| Some((point, point.entry(value)?)));
        let entries: Vec<(&Compared<'_>, &Entry<'_>)> = entries.collect();
        let (first, _) = entries.first()?;
        let baseline = first.baseline()?;
        let ratios: Vec<(&Compared<'_>, &Decided)> =
            entries.iter().filter_map(|(p, entry)| Some((*p, entry.ratio.as_ref()?))).collect();
        let at = |(point, ratio): &(&Compared<'_>, &Decided)| {
            format!("{} ({})", times(ratio), self.label(point))
        };
        let with = first.label(&first.rule.compare, value);
        let undecided = |decision: Decision, words: &str| {
            let such = ratios.iter().filter(|(_, ratio)| ratio.decision == decision);
            listed(such.map(at)).map(|items| format!("{words} {}: {items}", first.name(baseline)))
        };
        let undecided = [
            undecided(Decision::NoDifference, "no significant difference from"),
            undecided(Decision::TooFew, "too few trials to show a difference from"),
        ];
        let undecided = all_of(undecided.into_iter().flatten(), "; ");
        let verb = verb(first);
        let (much, best) = match first.kind() {
            Kind::Cost => ("as high", "at least"),
            _ => ("as much", "at most"),
        };
        let figures = entries.iter().filter_map(|(point, e)| Some((point, e.figure.as_ref()?)));
        let by_median = |a: &(_, &Figure), b: &(_, &Figure)| a.1.median().total_cmp(&b.1.median());
        let extreme = match first.kind() {
            Kind::Cost => figures.min_by(by_median),
            _ => figures.max_by(by_median),
        };
        let extreme = extreme.map_or_else(String::new, |(point, figure)| {
            let (divisor, name) = unit(first, figure.median());
            format!("{best} {} {name} ({})", quantity(figure, divisor), self.label(point))
        });
        let by_ratio =
            |a: &&(_, &Decided), b: &&(_, &Decided)| a.1.median().total_cmp(&b.1.median());
        let sure = || ratios.iter().filter(|(_, ratio)| ratio.decision.is_sure());
        let undecided = undecided.map_or_else(String::new, |undecided| format!("; {undecided}"));
        let (Some(least), Some(most)) = (sure().min_by(by_ratio), sure().max_by(by_ratio)) else {
            // Where nothing can be compared, the figures are shown all the same.
            let figures = (!extreme.is_empty()).then(|| format!("{verb} {extreme} with {with}"));
            return figures.map(|figures| figures + &undecided);
        };
        let ratio = match sure().count() {
            1 => at(least),
            _ => format!("{} to {}", at(least), at(most)),
        };
        let baseline = first.name(baseline);
        Some(format!("{verb} {ratio} {much} with {with} as with {baseline}, {extreme}{undecided}"))
    }

    /// Those of all points; what holds for several is said once.
    fn caveats(&self) -> Vec<String> {
        let caveats_at = |point| caveats(point).into_iter().map(|of| (of, self.label(point)));
        let told = grouped(self.points.iter().flat_map(caveats_at));
        let all = self.points.len();
        told.into_iter()
            .map(|(caveat, at)| match at.len() == all {
                true => caveat,
                false => format!("{}: {caveat}", capitalized(&list(&at))),
            })
            .collect()
    }
}

/// In a sentence after a space.
fn in_words(crossovers: &[Crossover]) -> String {
    let clauses = all_of(crossovers.iter().map(|of| of.sentence.clone()), "; ");
    clauses.map_or_else(String::new, |clauses| format!(" {}.", capitalized(&clauses)))
}
