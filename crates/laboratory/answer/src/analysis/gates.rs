//! The gates of answers.

use study::AnswerRule;
use study::metric::Kind;

use super::compared::{Compared, Entry};
use super::row::AnalysedRow;
use crate::gate::expression::Gate;
use crate::gate::outcome::GateOutcome;
use crate::mark::Mark;

/// One for each gate of each rule, about all rows that the rule compares with a baseline.
pub(super) fn all(rules: &[AnswerRule], rows: &[AnalysedRow<'_>]) -> Vec<GateOutcome> {
    rules.iter().flat_map(|rule| of(rule, rows)).collect()
}

fn of<'a>(
    rule: &'a AnswerRule,
    rows: &'a [AnalysedRow<'a>],
) -> impl Iterator<Item = GateOutcome> + 'a {
    rule.gates.iter().map(move |gate| {
        let words = match rule.metric.row().kind {
            Kind::Cycles => "times as fast",
            _ => rule.metric.row().words,
        };
        let gate = Gate::of_answer(gate, &format!("{}: {words}", rule.case));
        let compared = Compared::every(rule, rows);
        let compared = compared.iter().filter(|of| rule.is_compared_at(&of.common));
        let entries = compared.flat_map(Compared::others);
        let cells = entries.filter(|entry| entry.row.is_judged(false)).map(|entry| {
            let Entry { row, ratio, .. } = entry;
            let ratio = ratio.as_ref().map(|ratio| ratio.estimate);
            // What something costs does not depend on what limited the trials.
            let is_maximum = rule.metric.row().kind == Kind::Throughput;
            let mark = row.mark_of(rule.metric);
            let mark = mark.filter(|mark| is_maximum || *mark == Mark::NotOfferedLoad);
            gate.alone([&row.case, &row.name, &row.label], ratio, mark)
        });
        gate.outcome(cells.collect())
    })
}
