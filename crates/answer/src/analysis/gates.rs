//! The gates of answers about cells.

use study::AnswerRule;
use study::metric::Kind;

use super::compared::Compared;
use super::summary::of_cell;
use super::trials::CellTrials;
use crate::gate::expression::Gate;
use crate::gate::outcome::GateOutcome;
use crate::mark::Mark;

/// One for each gate of each rule, about all cells that the rule compares with a baseline.
pub(super) fn all(rules: &[AnswerRule], trials: &[CellTrials<'_>]) -> Vec<GateOutcome> {
    rules.iter().flat_map(|rule| of(rule, trials)).collect()
}

fn of<'a>(
    rule: &'a AnswerRule,
    trials: &'a [CellTrials<'a>],
) -> impl Iterator<Item = GateOutcome> + 'a {
    rule.gates.iter().map(move |gate| {
        let what = format!("{}: {}", rule.case, rule.metric.row().words);
        let gate = Gate::of_answer(gate, &what);
        let compared = Compared::every(rule, trials);
        let cells = compared.iter().flat_map(Compared::others).map(|entry| {
            let ratio = entry.ratio.as_ref().map(|ratio| ratio.estimate);
            // What something costs does not depend on what limited the trials.
            let is_maximum = rule.metric.row().kind == Kind::Throughput;
            let mark = entry.trials.mark_of(rule.metric);
            let mark = mark.filter(|mark| is_maximum || *mark == Mark::NotOfferedLoad);
            gate.gated(&entry.trials.cell.name, &of_cell(entry.trials.cell), ratio, mark)
        });
        gate.outcome(cells.collect())
    })
}
