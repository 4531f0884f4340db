//! The answers of a run.

use observe::Machine;

use crate::costs::AlgorithmRow;
use crate::findings::Headline;
use journal::TargetRecord;
use study::AnswerRule;

use crate::wording::unique;

use super::along::Along;
use super::answer::Answer;
use super::compared::Compared;
use super::headline;
use super::library::newer;
use super::purity::purity;
use super::row::Row;
use super::written;

/// The answers of all rules. The first of a rule has its headline: the author's, and where no rule of the
/// study has one of its author's, a plain one.
pub(super) fn answers(
    rules: &[AnswerRule],
    rows: &[Row<'_>],
    costs: &[AlgorithmRow],
    targets: &[TargetRecord],
    machine: Option<&Machine>,
) -> Vec<Answer> {
    let mut compared: Vec<_> = rules.iter().map(|rule| Compared::all(rule, rows)).collect();
    // A figure that was to be compared with what was left out answers nothing where others do.
    if compared.iter().flatten().any(|of| !of.is_alone) {
        compared.iter_mut().for_each(|of_rule| of_rule.retain(|of| !of.is_alone));
    }
    let written = rules.iter().zip(&compared);
    let written: Vec<Option<Headline>> =
        written.map(|(rule, compared)| written::headline(rule, compared, rows)).collect();
    let is_written = written.iter().any(Option::is_some);
    let mut answers: Vec<Answer> = Vec::new();
    for (place, (rule, (compared, written))) in
        rules.iter().zip(compared.into_iter().zip(written)).enumerate()
    {
        // Where all but the baseline was left out, there is nothing to answer.
        let has_others = compared.iter().any(|of| of.others().next().is_some());
        // Where the author's rows are absent, toll words what the author would have said.
        let is_plain = written.is_none() && (!is_written || rule.written.is_some() && has_others);
        let purity = purity(compared.iter().flat_map(|of| &of.entries));
        let libraries: Vec<String> = compared
            .iter()
            .filter_map(|of| newer(of, targets, machine.filter(|_| is_here(of))?))
            .collect();
        let (plain, mut of_rule) = match &rule.along {
            Some(key) => {
                let all = Along::all(key, compared);
                let plain = is_plain.then(|| headline::along(&all)).flatten();
                (plain, all.iter().filter_map(Along::answer).collect::<Vec<_>>())
            }
            None => {
                let answers = compared.iter().map(|of| Answer::of(of, costs, rows)).collect();
                (
                    is_plain
                        .then(|| headline::headline(&compared.iter().collect::<Vec<_>>()))
                        .flatten(),
                    answers,
                )
            }
        };
        of_rule.iter_mut().for_each(|answer| answer.rule = place);
        if let Some(first) = of_rule.first_mut() {
            // What was said of one answer is not said again of the next.
            let is_new = |note: &String| !answers.iter().any(|of| of.notes.contains(note));
            first.notes.extend(unique(libraries).into_iter().filter(is_new));
            first.purity = purity;
            first.headline = written.or(plain);
        }
        answers.extend(of_rule);
    }
    answers
}

/// Whether all servers ran on the machine that toll ran on, which is the one that is known here.
fn is_here(compared: &Compared<'_>) -> bool {
    compared.shared(|cell| cell.target.host.is_none()) == Some(true)
}
