//! One answer: the figures of compared rows, at one point or along a key, and what follows from them.

use std::sync::Arc;

use keys::full;
use load::Operation;
use study::{AnswerRule, Params, Show};

use super::accelerator;
use super::alike::{other_path, share_of_sendfile, with_reading};
use super::bill::Bill;
use super::bounds::LittlesLawBounds;
use super::caveats::{caveats, said_once};
use super::crossover::{Crossover, RatioAt};
use super::derived::Derived;
use super::loopback::Loopback;
use super::offered::beside_published;
use super::point::Point;
use super::prediction::{self, Prediction};
use super::row::Row;
use super::row_figure::RowFigure;
use super::{cores_of_device, hit_rate};
use crate::caveat::Caveat;
use crate::costs::AlgorithmRow;
use crate::findings::Headline;
use crate::wording::grouped;

/// One answer: the figures of compared rows, and what to know about them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// One; along a key, one for each of its values in the study's order. All are of one rule.
    pub points: Vec<Point>,
    /// The answer at a glance; the first answer of a rule has it for all of them.
    pub headline: Option<Headline>,
    /// What is to know about the figures, a sentence each.
    pub notes: Vec<String>,
    /// What follows from the figures.
    pub derived: Vec<Derived>,
    /// What proves that handshakes were measured, in one sentence; only of connections over TLS. The first
    /// answer of a rule has it for all of them.
    pub purity: Option<String>,
    /// Why the answer is weaker than it looks: marks of its rows, trials that are lacking.
    pub caveats: Vec<Caveat>,
    /// What the cost of the cipher predicts of the figures, where the servers report it.
    pub predictions: Vec<Prediction>,
    /// What its handshakes are made of, or what the ciphers of its records cost alone, where the study asks
    /// for that.
    pub bill: Option<Bill>,
    /// Of the share that TLS takes, what loopback contributes, where that was sampled.
    pub loopback: Option<Loopback>,
    /// What Little's law allows, for each value of the compared key, where the points are numbers of
    /// users of a closed loop.
    pub bounds: Vec<LittlesLawBounds>,
    /// For each compared value where it gets ahead of the baseline, where the study asks for that.
    pub crossovers: Vec<Crossover>,
}

impl Answer {
    /// Those of one rule: one for each combination of the keys that are neither compared nor gone along.
    pub(super) fn all(points: Vec<Point>, costs: &[AlgorithmRow], rows: &[Arc<Row>]) -> Vec<Self> {
        let by_common = points.into_iter().map(|point| (point.common_along(), point));
        let answers = grouped(by_common).into_iter().map(|(_, points)| Self::plain(points));
        let concluded = |answer: Self| match answer.rule().along.clone() {
            None => answer.at_one_point(costs, rows),
            Some(along) => answer.along(&along),
        };
        answers.map(concluded).collect()
    }

    /// The figures of these points, and nothing that follows from them. There is at least one.
    pub fn plain(points: Vec<Point>) -> Self {
        Self { points, ..Self::default() }
    }

    /// The rule that it answers.
    pub fn rule(&self) -> &AnswerRule {
        &self.points[0].rule
    }

    /// The place of the rule in the study.
    pub fn place(&self) -> usize {
        self.points[0].place
    }

    /// What the compared rows have in common, by key: `target.server` = `nginx`.
    pub(super) fn common(&self) -> Params {
        self.points[0].common_along()
    }

    fn at_one_point(self, costs: &[AlgorithmRow], rows: &[Arc<Row>]) -> Self {
        let point = &self.points[0];
        let bill = Bill::of(point, costs);
        let lacking = bill.iter().flat_map(|bill| bill.lacking.clone());
        let predictions = Prediction::all(point, None);
        let (read, doubts) = match point.rule.shows(Show::ReadingClient) {
            true => with_reading(point, rows),
            false => Default::default(),
        };
        let by_sendfile = match point.rule.shows(Show::Sendfile) {
            true => share_of_sendfile(point, rows),
            false => Vec::new(),
        };
        let own: Vec<&Row> = point.figures.iter().map(|of| &*of.row).collect();
        Self {
            notes: beside_published(&point.rule.published, &own).into_iter().collect(),
            derived: [
                hit_rate::derived(point),
                accelerator::derived(point),
                cores_of_device::derived(point),
                by_sendfile,
                read,
            ]
            .concat(),
            caveats: doubts
                .into_iter()
                .chain(prediction::doubt(&predictions))
                .chain(other_path(point))
                .map(Caveat::from)
                .chain(caveats(point))
                .chain(lacking.map(Caveat::from))
                .collect(),
            loopback: Loopback::of(point),
            bill,
            predictions,
            ..self
        }
    }

    fn along(self, key: &str) -> Self {
        let points = || self.points.iter().map(|point| (point, point.label_at(key)));
        let predictions: Vec<Prediction> =
            points().flat_map(|(point, label)| Prediction::all(point, Some(&label))).collect();
        let crossovers = self.crossovers(key);
        // What follows from the last point, which is named; what holds for several points is said once.
        let derived = points().next_back().map(|(last, label)| {
            let derived = accelerator::derived(last).into_iter();
            derived.map(|of| of.at(&label)).collect()
        });
        let compared: Vec<_> = points().filter(|(point, _)| point.is_compared()).collect();
        let of_points = compared.iter().flat_map(|(point, label)| {
            caveats(point).into_iter().map(|caveat| (caveat, label.clone()))
        });
        let doubt = prediction::doubt(&predictions).map(Caveat::from);
        Self {
            notes: crossovers.iter().map(Crossover::note).collect(),
            derived: derived.unwrap_or_default(),
            caveats: doubt.into_iter().chain(said_once(of_points, compared.len())).collect(),
            bounds: LittlesLawBounds::all(key, &self.points),
            predictions,
            crossovers,
            ..self
        }
    }

    /// One for each value that is compared, where the study asks for it.
    fn crossovers(&self, key: &str) -> Vec<Crossover> {
        let first = &self.points[0];
        let is_asked = first.rule.shows(Show::Crossover);
        let Some(baseline) = first.baseline().filter(|_| is_asked) else { return Vec::new() };
        let of = |of: &RowFigure| {
            let at = |(place, point): (usize, &Point)| {
                let ratio = point.figure_of(&of.value)?.ratio.clone()?;
                Some((place, point.label_at(key), ratio))
            };
            let points: Vec<RatioAt> = self.points.iter().enumerate().filter_map(at).collect();
            Crossover::of(&of.value, &of.label, &baseline.label, &points)
        };
        first.others().filter_map(of).collect()
    }

    /// What one operation of the compared rows is.
    pub(super) fn operation(&self) -> Operation {
        self.points[0].operation()
    }

    /// What the compared rows have in common, in words.
    pub(super) fn common_in_words(&self) -> Vec<String> {
        self.points[0].common_in_words()
    }

    /// The figures of all points, without those that a tax is taken from.
    pub fn shown(&self) -> impl Iterator<Item = &RowFigure> {
        self.points.iter().flat_map(Point::shown)
    }

    /// Whether its points are numbers of connections.
    pub(super) fn is_of_users(&self) -> bool {
        self.rule().along.as_deref() == Some(full::CONNECTIONS)
    }

    /// What the instructions allow, where that is one cost for all of it, in words and as a number.
    pub(super) fn least(&self) -> Option<(String, f64)> {
        let bound = |of: &RowFigure| {
            let row = of.row.algorithm()?;
            let cost = row.cost.as_ref()?.cycles.median() / row.times_the_bound?;
            Some((row.bound?, cost))
        };
        let bounds: Vec<_> =
            self.points.iter().flat_map(|point| &point.figures).filter_map(bound).collect();
        let (of, cost) = *bounds.first()?;
        let words = format!("{} of {of}: {cost:.3} cycles/byte", of.word());
        bounds.iter().all(|(other, _)| *other == of).then_some((words, cost))
    }
}
