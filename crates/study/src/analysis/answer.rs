//! The answers of a run.

use observe::Machine;

use crate::label::label;
use crate::study::{AnswerRule, Metric};
use crate::target_record::TargetRecord;

use super::caveats::caveats;
use super::compared::{Compared, Entry};
use super::library::advice;
use super::remedy::remedy;
use super::sentence::sentence;
use super::trials::CellTrials;
use super::{Answer, Bar, Mark};

/// The answers of all rules. What to change is said once: where one answer has said it, the next
/// does not.
pub(super) fn answers(
    rules: &[AnswerRule],
    trials: &[CellTrials<'_>],
    targets: &[TargetRecord],
    machine: Option<&Machine>,
) -> Vec<Answer> {
    let mut answers = Vec::new();
    let mut told = Vec::new();
    for compared in rules.iter().flat_map(|rule| Compared::all(rule, trials)) {
        let library = machine.and_then(|machine| advice(&compared, targets, machine));
        let mut remedies: Vec<String> = remedy(&compared).into_iter().chain(library).collect();
        remedies.retain(|remedy| !told.contains(remedy));
        let mut answer = Answer::of(&compared);
        answer.remedy = (!remedies.is_empty()).then(|| remedies.join(" "));
        told.append(&mut remedies);
        answers.push(answer);
    }
    answers
}

impl Answer {
    fn of(compared: &Compared<'_>) -> Self {
        let rule = compared.rule;
        Self {
            sentence: sentence(compared),
            remedy: None,
            caveats: caveats(compared),
            case: rule.case.clone(),
            metric: rule.metric,
            compare: rule.compare.clone(),
            common: compared.common.clone(),
            bars: compared.shown().map(|entry| Bar::of(compared, entry)).collect(),
        }
    }
}

impl Bar {
    fn of(compared: &Compared<'_>, entry: &Entry<'_>) -> Self {
        // A tax is as weak as the weaker of the two that it is taken from.
        let baseline = compared
            .baseline()
            .filter(|_| compared.rule.metric == Metric::TlsTax)
            .and_then(|baseline| baseline.trials.mark());
        Self {
            label: label(&compared.rule.compare, entry.value),
            cell: entry.trials.cell.name.clone(),
            is_baseline: entry.is_baseline,
            figure: entry.figure.clone(),
            ratio: entry.ratio.clone(),
            mark: match entry.figure {
                Some(_) => entry.trials.mark().into_iter().chain(baseline).min(),
                None => Some(Mark::NotMeasured),
            },
        }
    }
}
