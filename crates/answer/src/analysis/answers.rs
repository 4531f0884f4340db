//! The answers of a run.

use observe::Machine;

use crate::findings::Headline;
use crate::primitive::Row;
use journal::TargetRecord;
use study::AnswerRule;
use study::metric::Kind;

use super::along::Along;
use super::answer::Answer;
use super::compared::Compared;
use super::cores_of_device;
use super::headline::{self, headline};
use super::library::advice;
use super::remedy::{remedies, remedy};
use super::trials::CellTrials;
use super::written;

/// The answers of all rules. What to change is said once: where one answer has said it, the next
/// does not.
pub(super) fn answers(
    rules: &[AnswerRule],
    trials: &[CellTrials<'_>],
    costs: &[Row],
    targets: &[TargetRecord],
    machine: Option<&Machine>,
) -> Vec<Answer> {
    let mut answers: Vec<Answer> = Vec::new();
    let (mut told, mut advised) = (Vec::new(), Vec::new());
    let written: Vec<Option<Headline>> = rules
        .iter()
        .map(|rule| written::headline(rule, &Compared::all(rule, trials), trials))
        .collect();
    // Where the study's author answers it, nothing else is said at a glance.
    let is_written = written.iter().any(Option::is_some);
    for (rule, written) in rules.iter().zip(written) {
        let first_of_rule = answers.len();
        let compared = Compared::all(rule, trials);
        let mut at_a_glance = None;
        match &rule.along {
            Some(along) => {
                for along in Along::all(along, compared) {
                    let points = along.points();
                    let labelled: Vec<_> =
                        points.iter().map(|point| (along.label(point), point)).collect();
                    at_a_glance = at_a_glance
                        .or_else(|| headline::waiting(&labelled))
                        .or_else(|| headline::along(&labelled, &along.crossovers()));
                    let libraries = points
                        .iter()
                        .filter_map(|c| advice(c, targets, machine.filter(|_| is_here(c))?));
                    let places = points.iter().map(|point| (along.label(point), point));
                    let remedies =
                        not_yet_given(remedies(places).into_iter().chain(libraries), &mut told);
                    answers
                        .extend(along.answer().map(|answer| Answer { remedy: remedies, ..answer }));
                }
            }
            None => {
                at_a_glance = headline::accelerator(&compared, trials)
                    .or_else(|| cores_of_device::headline(&compared))
                    .or_else(|| headline(&compared, costs));
                for compared in compared {
                    let library = machine.filter(|_| is_here(&compared));
                    let library = library.and_then(|machine| advice(&compared, targets, machine));
                    let remedy =
                        not_yet_given(remedy(&compared).into_iter().chain(library), &mut told);
                    answers.push(Answer { remedy, ..Answer::of(&compared, costs, trials) });
                }
            }
        }
        if let Some(first) = answers.get_mut(first_of_rule) {
            let at_a_glance = match (written, is_written && rule.written.is_none()) {
                (Some(written), _) => Some(written),
                (None, true) => None,
                (None, false) => at_a_glance.or_else(|| Some(not_measured(first))),
            };
            first.headline = at_a_glance.map(|headline: Headline| Headline {
                advice: not_yet_given(
                    headline.advice.into_iter().filter(|_| !is_tax_of_another(rule, rules)),
                    &mut advised,
                ),
                ..headline
            });
        }
    }
    answers
}

/// Whether all servers ran on the machine that toll ran on, which is the one that is known here.
fn is_here(compared: &Compared<'_>) -> bool {
    compared.shared(|cell| cell.target.host.is_none()) == Some(true)
}

/// Whether a rule asks what TLS takes where another asks which suite is best: which to take belongs
/// there.
fn is_tax_of_another(rule: &AnswerRule, rules: &[AnswerRule]) -> bool {
    let is_tax = |rule: &AnswerRule| rule.metric.row().kind == Kind::Tax;
    let is_alike =
        |other: &AnswerRule| (&other.case, &other.compare) == (&rule.case, &rule.compare);
    is_tax(rule) && rules.iter().any(|other| !is_tax(other) && is_alike(other))
}

/// Where no figure is there, that is the answer.
fn not_measured(answer: &Answer) -> Headline {
    Headline {
        value: "none".to_owned(),
        unit: "not measured".to_owned(),
        sentence: answer.sentence.clone(),
        advice: None,
    }
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
