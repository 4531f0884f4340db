//! The gates of answers.

use study::AnswerRule;
use study::metric::Kind;

use super::decisions::Decisions;
use crate::gate::expression::Gate;
use crate::gate::family::{GatedRow, Scale};
use crate::gate::outcome::GateOutcome;
use crate::measured::MeasuredRow;

/// One for each gate of each rule, about all rows that the rule compares with a baseline.
pub(super) fn all(
    rules: &[AnswerRule],
    decisions: &Decisions,
    rows: &[MeasuredRow],
) -> Vec<GateOutcome> {
    let of_rule = |(place, rule): (usize, &AnswerRule)| {
        let words = match rule.metric.row().kind {
            Kind::Cycles => "times as fast",
            _ => rule.metric.row().words,
        };
        let outcome = |gate| {
            let gate = Gate::of_answer(gate, &format!("{}: {words}", rule.case));
            let own = GatedRow::of_answer((place, rule.metric), decisions, rows, Scale::AsIs);
            gate.outcome(gate.together(own.collect(), Gate::of_rounds))
        };
        rule.gates.iter().map(outcome).collect::<Vec<_>>()
    };
    rules.iter().enumerate().flat_map(of_rule).collect()
}
