//! The gates of answers.

use study::AnswerRule;
use study::metric::Kind;

use super::baseline_ratio::BaselineRatio;
use crate::gate::expression::Gate;
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
            let cells = own.map(|of| {
                let ratio = of.figure.as_ref().map(|ratio| ratio.estimate);
                gate.alone(of.names(), ratio, of.mark)
            });
            gate.outcome(cells.collect())
        };
        rule.gates.iter().map(outcome).collect::<Vec<_>>()
    };
    rules.iter().enumerate().flat_map(of_rule).collect()
}
