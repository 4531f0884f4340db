//! The gates of answers.

use study::AnswerRule;
use study::metric::Kind;

use super::baseline_ratio::BaselineRatio;
use crate::gate::expression::Gate;
use crate::gate::family::{GatedRow, Scale};
use crate::gate::outcome::GateOutcome;

/// One for each gate of each rule, about all rows that the rule compares with a baseline.
pub(super) fn all(rules: &[AnswerRule], ratios: &[BaselineRatio]) -> Vec<GateOutcome> {
    let of_rule = |(place, rule): (usize, &AnswerRule)| {
        let words = match rule.metric.row().kind {
            Kind::Cycles => "times as fast",
            _ => rule.metric.row().words,
        };
        let outcome = |gate| {
            let gate = Gate::of_answer(gate, &format!("{}: {words}", rule.case));
            let own = ratios.iter().filter(|ratio| ratio.rule == place);
            let rows = own.map(|of| {
                let (names, mark) = (of.names(), of.mark);
                GatedRow { names, of: of.figure.as_ref(), scale: Scale::AsIs, mark }
            });
            gate.outcome(gate.together(rows.collect(), Gate::of_rounds))
        };
        rule.gates.iter().map(outcome).collect::<Vec<_>>()
    };
    rules.iter().enumerate().flat_map(of_rule).collect()
}
