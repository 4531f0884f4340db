//! The answers of a run.

use observe::Machine;

use crate::costs::AlgorithmRow;
use journal::TargetRecord;

use crate::wording::unique;

use super::along::Along;
use super::answer::Answer;
use super::compared::Compared;
use super::library::newer;
use super::purity::purity;
use super::row::Row;
use super::written;

/// The answers of all rules, by what each compares. The first of a rule has its author's headline; where there is none, the figures stand
/// alone.
pub(super) fn answers<'a>(
    mut compared: Vec<Vec<Compared<'a>>>,
    rows: &'a [Row],
    costs: &[AlgorithmRow],
    targets: &[TargetRecord],
    machine: Option<&Machine>,
) -> Vec<Answer> {
    // A figure that was to be compared with what was left out answers nothing where others do.
    if compared.iter().flatten().any(|of| !of.is_alone) {
        compared.iter_mut().for_each(|of_rule| of_rule.retain(|of| !of.is_alone));
    }
    let mut answers: Vec<Answer> = Vec::new();
    for compared in compared {
        let Some(&Compared { place, rule, .. }) = compared.first() else { continue };
        let headline = written::headline(rule, &compared, rows);
        let purity = purity(compared.iter().flat_map(|of| &of.entries));
        let libraries: Vec<String> = compared
            .iter()
            .filter_map(|of| newer(of, targets, machine.filter(|_| is_here(of))?))
            .collect();
        let mut of_rule: Vec<Answer> = match &rule.along {
            Some(key) => Along::all(key, compared).iter().filter_map(Along::answer).collect(),
            None => compared.iter().map(|of| Answer::of(of, costs, rows)).collect(),
        };
        of_rule.iter_mut().for_each(|answer| answer.rule = place);
        if let Some(first) = of_rule.first_mut() {
            // What was said of one answer is not said again of the next.
            let is_new = |note: &String| !answers.iter().any(|of| of.notes.contains(note));
            first.notes.extend(unique(libraries).into_iter().filter(is_new));
            first.purity = purity;
            first.headline = headline;
        }
        answers.extend(of_rule);
    }
    answers
}

/// Whether all servers ran on the machine that toll ran on, which is the one that is known here.
fn is_here(compared: &Compared<'_>) -> bool {
    compared.shared(|cell| cell.target.host.is_none()) == Some(true)
}
