//! The gates of answers.

use study::AnswerRule;
use study::metric::Kind;

use super::baseline_ratio::BaselineRatio;
use crate::gate::Gate;
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
            gate.judge_ratios(ratios.iter().filter(|ratio| ratio.rule == place))
        };
        rule.gates.iter().map(outcome).collect::<Vec<_>>()
    };
    rules.iter().enumerate().flat_map(of_rule).collect()
}
