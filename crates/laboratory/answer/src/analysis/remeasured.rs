//! Trials that were measured again. Of one that was disturbed the quieter of the two counts: which it is follows
//! from what others took of the CPUs, never from what was measured. Of one that was not valid, for a cause that may
//! pass, the second counts where that is valid.

use journal::TrialLine;
use serde::Serialize;
use trial::Verdict;

use crate::label::trials;

/// How many trials were measured again, and of how many the second counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, derive_more::Add, derive_more::Sum)]
pub struct Remeasured {
    pub measured: usize,
    pub replaced: usize,
    /// How many were made once more because they were not valid, whether the second is or not.
    pub retried: usize,
}

impl Remeasured {
    /// Each in a sentence, where there were some.
    pub(super) fn sentences(self) -> impl Iterator<Item = String> {
        self.of_disturbed().into_iter().chain(self.of_invalid())
    }

    fn of_invalid(self) -> Option<String> {
        (self.retried > 0).then(|| {
            format!(
                "{} not valid for a cause that may pass (connections came up late, or the hypervisor took the CPUs) and \
                 made once more.",
                if self.retried == 1 {
                    "1 trial was".to_owned()
                } else {
                    format!("{} were", trials(self.retried))
                }
            )
        })
    }

    fn of_disturbed(self) -> Option<String> {
        let Self { measured, replaced, .. } = self;
        let verb = if measured == 1 { "was" } else { "were" };
        let were = if replaced == 1 { "was" } else { "were" };
        (measured > 0).then(|| {
            format!(
                "{} {verb} disturbed by other programs or the hypervisor and measured again; the \
                 quieter of the two counts, so {replaced} {were} replaced.",
                trials(measured)
            )
        })
    }
}

/// How many of a cell's trials were made once more because the first one of their round was not valid.
fn retried(lines: &[&TrialLine]) -> usize {
    let is_first_invalid = |again: &&&TrialLine| {
        lines.iter().any(|first| {
            let (place, other) = (&first.place, &again.place);
            !place.again
                && !first.line.valid
                && (&place.cell, place.round, place.role) == (&other.cell, other.round, other.role)
        })
    };
    lines.iter().filter(|line| line.place.again).filter(is_first_invalid).count()
}

/// Leaves out the noisier trial of each pair. A second one that is not valid replaces nothing.
pub fn quieter(lines: &mut Vec<&TrialLine>) -> Remeasured {
    let retried = retried(lines);
    let again: Vec<&TrialLine> =
        lines.iter().copied().filter(|trial| trial.place.again && trial.line.valid).collect();
    let (mut measured, mut replaced) = (0, 0);
    for second in &again {
        let is_first = |trial: &&TrialLine| {
            let is_of_pair =
                (&trial.place.cell, trial.place.round) == (&second.place.cell, second.place.round);
            !trial.place.again && trial.line.valid && is_of_pair
        };
        let Some(first) = lines.iter().copied().find(is_first) else { continue };
        measured += 1;
        let disturbance =
            |of: &TrialLine| of.line.verdict.as_ref().map_or(0.0, Verdict::disturbance);
        let is_quieter = disturbance(second) < disturbance(first);
        replaced += usize::from(is_quieter);
        let noisier = if is_quieter { first } else { *second };
        lines.retain(|trial| !std::ptr::eq(*trial, noisier));
    }
    Remeasured { measured, replaced, retried }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::scene::Scene;
    use study::Metric;
    use trial::testing::share;

    /// A study in which the third trial of a cell was made again, with this disturbance and rate.
    fn scene(steal: f64, foreign: f64, rate: f64) -> Scene {
        let mut scene = Scene::handshakes();
        let evidence = &mut scene.trial(1, 2).verdict_mut().evidence;
        (evidence.steal, evidence.foreign) = (share(0.05), share(0.15));
        let name = &scene.study.cells[1].name;
        let is_it = |trial: &&TrialLine| trial.place.cell == *name && trial.place.round == 2;
        let mut second = scene.lines.iter().find(is_it).unwrap().clone();
        (second.place.again, second.place.order) = (true, 99);
        let evidence = &mut second.line.verdict_mut().evidence;
        (evidence.steal, evidence.foreign) = (share(steal), share(foreign));
        second.line.rate_per_s = Some(rate);
        scene.lines.push(second);
        scene
    }

    fn rates(scene: &Scene) -> Vec<f64> {
        scene.analysis().cells[1].figure(Metric::Rate).unwrap().samples.clone()
    }

    #[test]
    fn the_quieter_counts_whatever_its_rate() {
        for rate in [1.0, 1e9] {
            let quieter = scene(0.06, 0.01, rate);
            assert!(rates(&quieter).contains(&rate));
            assert_eq!(
                quieter.analysis().remeasured,
                Remeasured { measured: 1, replaced: 1, retried: 0 }
            );
            let noisier = scene(0.2, 0.01, rate);
            assert!(!rates(&noisier).contains(&rate));
            assert_eq!(
                noisier.analysis().remeasured,
                Remeasured { measured: 1, replaced: 0, retried: 0 }
            );
            let trials = noisier.analysis().cells[1].trials;
            assert_eq!((trials.done, trials.valid), (7, 7));
        }
    }

    #[test]
    fn one_that_is_not_valid_replaces_nothing() {
        let mut scene = scene(0.0, 0.0, 1.0);
        scene.lines.last_mut().unwrap().line.valid = false;
        assert_eq!(scene.analysis().remeasured, Remeasured::default());
        assert!(!rates(&scene).contains(&1.0));
    }

    #[test]
    fn the_report_says_how_many_were_replaced() {
        let scene = scene(0.0, 0.01, 1.0);
        let notes = scene.analysis().findings().notes;
        let expected = "1 trial was disturbed by other programs or the hypervisor and measured \
                        again; the quieter of the two counts, so 1 was replaced.";
        assert!(notes.iter().any(|note| note == expected), "{notes:?}");
        let quiet = Scene::handshakes();
        let notes = quiet.analysis().findings().notes;
        assert!(!notes.iter().any(|note| note.contains("disturbed")), "{notes:?}");
    }
}
