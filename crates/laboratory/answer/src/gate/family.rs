//! How a gate judges: all rows that it is about as one family.

use std::sync::Arc;

use stats::{Decision, Estimate, RunRatio, Signs, rounds_to_decide, trials_to_decide};
use study::metric::{Better, Kind};
use study::{AnswerRule, Metric};

use super::expression::Gate;
use super::outcome::{GateOutcome, GatedCell, Judgement, of_interval};
use crate::analysis::decisions::Decisions;
use crate::analysis::row::Row;
use crate::figure::Figure;
use crate::mark::Mark;

/// A row that is judged with others.
pub(crate) struct GatedRow<'a, T> {
    /// Case, cell and label.
    pub(crate) names: [&'a str; 3],
    /// `None` where there is none.
    pub(crate) of: Option<&'a T>,
    pub(crate) scale: Scale,
    pub(crate) mark: Option<Mark>,
}

impl<'a> GatedRow<'a, Figure> {
    /// Each row of an answer over its baseline. A row of which nothing was measured has no figure; what a library does
    /// not do is not judged.
    pub(crate) fn of_answer(
        (rule, metric): (usize, Metric),
        decisions: &'a Decisions,
        cells: &'a [Arc<Row>],
        scale: Scale,
    ) -> impl Iterator<Item = Self> {
        // What something costs does not depend on what limited the trials.
        let is_maximum = metric.row().kind == Kind::Throughput;
        decisions.beside_baseline(rule).filter_map(move |beside| {
            let row = &cells.iter().find(|cell| cell.name == beside.row)?.measured;
            let mark = row.mark_of(metric);
            row.is_judged(false).then(|| GatedRow {
                names: [&row.case, &row.name, &row.label],
                of: beside.ratio.as_ref().ok().map(|ratio| &ratio.figure),
                scale,
                mark: mark.filter(|mark| is_maximum || *mark == Mark::NotOfferedLoad),
            })
        })
    }
}

/// One for each gate of each rule, about all rows that the rule compares with a baseline.
pub(crate) fn of_answers(
    rules: &[AnswerRule],
    decisions: &Decisions,
    cells: &[Arc<Row>],
) -> Vec<GateOutcome> {
    let of_rule = |(place, rule): (usize, &AnswerRule)| {
        let words = match rule.metric.row().kind {
            Kind::Cycles => "times as fast",
            _ => rule.metric.row().words,
        };
        let outcome = |gate| {
            let gate = Gate::of_answer(gate, &format!("{}: {words}", rule.case));
            let own = GatedRow::of_answer((place, rule.metric), decisions, cells, Scale::AsIs);
            gate.outcome(gate.together(own.collect(), Gate::of_rounds))
        };
        rule.gates.iter().map(outcome).collect::<Vec<_>>()
    };
    rules.iter().enumerate().flat_map(of_rule).collect()
}

/// In what a gate has its limit.
#[derive(Clone, Copy)]
pub(crate) enum Scale {
    /// In what was measured, or a ratio.
    AsIs,
    Regression(Better),
}

impl Scale {
    fn of(self, value: f64) -> f64 {
        match self {
            Self::AsIs => value,
            Self::Regression(better) => better.regression(value),
        }
    }
}

impl Gate {
    /// Judges rows as one family, in this way.
    pub(crate) fn together<T>(
        &self,
        rows: Vec<GatedRow<'_, T>>,
        judge: impl Fn(&Self, &[(&T, Scale)]) -> Vec<Judgement>,
    ) -> Vec<GatedCell> {
        let family: Vec<(&T, Scale)> =
            rows.iter().filter_map(|row| Some((row.of?, row.scale))).collect();
        let mut judged = judge(self, &family).into_iter();
        let cell = |GatedRow { names, of, mark, .. }: &GatedRow<'_, T>| {
            self.gated(*names, of.and_then(|_| judged.next()), *mark)
        };
        rows.iter().map(cell).collect()
    }

    /// Of one run: each by the rounds that meet the limit.
    pub(crate) fn of_rounds(&self, family: &[(&Figure, Scale)]) -> Vec<Judgement> {
        let holds = |scale: Scale, sample| self.comparator.holds(scale.of(sample), self.limit);
        let sides: Vec<_> = family
            .iter()
            .map(|(figure, scale)| figure.sides(|sample| holds(*scale, sample)))
            .collect();
        let sides: Vec<&Signs> = sides.iter().map(Vec::as_slice).collect();
        let decided = family.iter().zip(Decision::of_rounds(&sides));
        let judged = decided.map(|((figure, scale), decision)| {
            let fewest = rounds_to_decide(1) as usize;
            let is_fewer = figure.estimate.n < fewest;
            let needed = if is_fewer { fewest } else { rounds_to_decide(family.len()) as usize };
            Judgement { estimate: figure.estimate.map(|of| scale.of(of)), decision, needed }
        });
        judged.collect()
    }

    /// Of two runs: each by its interval.
    pub(super) fn of_runs(&self, family: &[(&RunRatio, Scale)]) -> Vec<Judgement> {
        let of_scale = |place: usize, ratio: &Estimate| ratio.map(|of| family[place].1.of(of));
        let ratios: Vec<&RunRatio> = family.iter().map(|(ratio, _)| *ratio).collect();
        let needed = trials_to_decide(family.len());
        let decided = Decision::of_runs(&ratios, |place, ratio| {
            of_interval(self.comparator, self.limit, &of_scale(place, ratio))
        });
        let judged = decided.into_iter().enumerate().map(|(place, (ratio, decision))| Judgement {
            estimate: of_scale(place, &ratio),
            decision,
            needed,
        });
        judged.collect()
    }
}
