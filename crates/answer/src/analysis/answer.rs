//! The answers of a run.

use observe::Machine;

use crate::primitive::Row;
use crate::wording::joined;
use journal::TargetRecord;
use study::AnswerRule;
use study::metric::Kind;

use super::along::Along;
use super::bill::Bill;
use super::caveats::caveats;
use super::compared::{Compared, Entry};
use super::hit_rate::saved;
use super::library::advice;
use super::purity::purity;
use super::remedy::{remedies, remedy};
use super::sentence::sentence;
use super::trials::CellTrials;
use super::{Answer, Bar, Mark, Prediction, prediction};

/// The answers of all rules. What to change is said once: where one answer has said it, the next
/// does not.
pub(super) fn answers(
    rules: &[AnswerRule],
    trials: &[CellTrials<'_>],
    costs: &[Row],
    targets: &[TargetRecord],
    machine: Option<&Machine>,
) -> Vec<Answer> {
    let mut answers = Vec::new();
    let mut told = Vec::new();
    for rule in rules {
        let compared = Compared::all(rule, trials);
        match &rule.along {
            Some(along) => {
                for along in Along::all(along, compared) {
                    let points = along.points();
                    let libraries = points
                        .iter()
                        .filter_map(|c| machine.and_then(|machine| advice(c, targets, machine)));
                    let places = points.iter().map(|point| (along.label(point), point));
                    let remedies =
                        not_yet_given(remedies(places).into_iter().chain(libraries), &mut told);
                    answers
                        .extend(along.answer().map(|answer| Answer { remedy: remedies, ..answer }));
                }
            }
            None => {
                for compared in compared {
                    let library = machine.and_then(|machine| advice(&compared, targets, machine));
                    let remedy =
                        not_yet_given(remedy(&compared).into_iter().chain(library), &mut told);
                    answers.push(Answer { remedy, ..Answer::of(&compared, costs) });
                }
            }
        }
    }
    answers
}

/// What has not been said yet.
fn not_yet_given(remedies: impl Iterator<Item = String>, told: &mut Vec<String>) -> Option<String> {
    let mut new: Vec<String> = Vec::new();
    for remedy in remedies {
        if !told.contains(&remedy) {
            told.push(remedy.clone());
            new.push(remedy);
        }
    }
    (!new.is_empty()).then(|| new.join(" "))
}
impl Answer {
    fn of(compared: &Compared<'_>, costs: &[Row]) -> Self {
        let rule = compared.rule;
        let bill = Bill::of(compared, costs);
        let lacking = bill.iter().flat_map(|bill| bill.lacking.clone());
        let predictions = Prediction::all(compared, None);
        Self {
            sentence: joined(&sentence(compared), &saved(compared).unwrap_or_default()),
            purity: purity(compared.entries.iter()),
            remedy: None,
            caveats: caveats(compared).into_iter().chain(lacking).collect(),
            case: rule.case.clone(),
            metric: rule.metric,
            compare: rule.compare.clone(),
            operation: compared.operation(),
            common: compared.common.clone(),
            bars: compared.shown().map(|entry| Bar::of(compared, entry)).collect(),
            published: rule.published.clone(),
            bill,
            predicted: prediction::sentence(&predictions, compared),
            predictions,
            curve: None,
        }
    }
}

impl Bar {
    pub(super) fn of(compared: &Compared<'_>, entry: &Entry<'_>) -> Self {
        // A tax is as weak as the weaker of the two that it is taken from.
        let baseline = compared
            .baseline()
            .filter(|_| compared.kind() == Kind::Tax)
            .and_then(|baseline| baseline.trials.mark());
        Self {
            label: compared.label(&compared.rule.compare, entry.value),
            cell: entry.trials.cell.name.clone(),
            params: entry.trials.cell.params.clone(),
            is_baseline: entry.is_baseline,
            figure: entry.figure.clone(),
            ratio: entry.ratio.clone(),
            mark: match entry.figure {
                Some(_) => entry.trials.mark().into_iter().chain(baseline).min(),
                None => {
                    entry.trials.mark().or(Some(Mark::NotMeasured)).min(Some(Mark::NotMeasured))
                }
            },
            infeasible: entry.trials.infeasible(),
        }
    }
}
