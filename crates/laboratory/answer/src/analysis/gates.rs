//! The gates of answers.

use study::AnswerRule;
use study::metric::Kind;

use super::decisions::Decisions;
use super::summary::CellSummary;
use crate::gate::expression::Gate;
use crate::gate::family::{GatedRow, Scale};
use crate::gate::outcome::GateOutcome;

/// One for each gate of each rule, about all rows that the rule compares with a baseline.
pub(super) fn all(
    rules: &[AnswerRule],
    decisions: &Decisions,
    cells: &[CellSummary],
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
