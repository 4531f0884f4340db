//! The answers of a run.

use observe::Machine;

use crate::primitive::Row;
use journal::TargetRecord;
use study::AnswerRule;

use super::along::Along;
use super::answer::Answer;
use super::compared::Compared;
use super::library::advice;
use super::remedy::{remedies, remedy};
use super::trials::CellTrials;

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
