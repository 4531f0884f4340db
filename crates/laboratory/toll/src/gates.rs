//! `--gate`: figures that must be reached, with an exit code for CI.

use answer::compare::Comparison;
use answer::gate::{Gate, GateError, GateOutcome, check_answers};
use serde::Serialize;
use study::Study;

use crate::exit::{Ending, Exit, Failure, Lacking, Missed};
use crate::outputs::Found;

/// The option, for each command that has it.
#[derive(Clone, Default, clap::Args)]
pub(crate) struct Gates {
    /// Exit with code 1 if a cell misses this: goodput>=10Gb/s, bulk:p99<=5ms; repeatable
    #[arg(
        long = "gate",
        value_name = "GATE",
        help_heading = "Output",
        long_help = "Exit with code 1 if a cell misses this: [CASE:]METRIC COMPARATOR \
                     VALUE, such as goodput>=10Gb/s, rate>=1500/s, bulk:p99<=5ms; repeatable. The \
                     whole interval counts: a gate whose limit lies within it is inconclusive, \
                     which is reported and is not a failure, as one with too few trials is. CASE may be a \
                     cell's name. \
                     Metrics are those of answers and server-busy, client-busy, and for toll compare \
                     regression (regression<=5%) and ratio, B over A. Of one run these two are about the \
                     values of a key that its answers compare: load.suite:regression<=5%, each over \
                     the baseline. Comparators: >=, <=, >, <"
    )]
    gates: Vec<Gate>,

    /// Judge gates by medians alone: stricter, but sometimes wrong by chance
    #[arg(long, requires = "gates", hide_short_help = true, help_heading = "Output")]
    gate_median: bool,
}

/// What became of all gates.
#[derive(Default)]
pub(crate) struct Outcomes(Vec<GateOutcome>);

/// Something with the gates beside it, for a program.
#[derive(Serialize)]
pub(crate) struct WithGates<'a, T: Serialize> {
    #[serde(flatten)]
    pub(crate) of: &'a T,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) gates: &'a [GateOutcome],
}

impl Gates {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }

    /// Refuses gates that no run of this study can be judged by, as the later of two or alone, and those that its trials
    /// cannot decide.
    pub(crate) fn check(&self, study: &Study, is_compared: bool) -> Result<(), Failure> {
        let check = |gate: &Gate| match (is_compared, self.gate_median) {
            (true, true) => gate.by_median().check_later(study),
            (true, false) => gate.check_later(study),
            (false, true) => gate.check(study),
            (false, false) => gate.check_trials(study),
        };
        let own = || if self.gate_median { Ok(()) } else { check_answers(study) };
        self.gates.iter().try_for_each(check).and_then(|()| own()).map_err(Failure::request)
    }

    /// Has the cells of a new run measured as these gates need it.
    pub(crate) fn settle(&self, study: &mut Study) {
        self.gates.iter().for_each(|gate| gate.settle(&mut study.cells));
    }

    /// Judges a run by these and by the gates of its study's answers.
    pub(crate) fn judge(&self, found: &Found) -> Result<Outcomes, Failure> {
        let judge = |gate: &Gate| gate.judge(found.study(), &found.run.analysis);
        let Outcomes(mut outcomes) = self.judge_by(judge)?;
        outcomes.extend_from_slice(&found.run.analysis.gates);
        Ok(Outcomes(outcomes))
    }

    /// Judges a run that is compared with an earlier one.
    pub(crate) fn judge_later(
        &self,
        found: &Found,
        comparison: &Comparison,
    ) -> Result<Outcomes, Failure> {
        self.judge_by(|gate| gate.judge_later((found.study(), &found.run.analysis), comparison))
    }

    pub(crate) fn judge_by(
        &self,
        judge: impl Fn(&Gate) -> Result<GateOutcome, GateError>,
    ) -> Result<Outcomes, Failure> {
        self.gates
            .iter()
            .map(|gate| if self.gate_median { judge(&gate.by_median()) } else { judge(gate) })
            .collect::<Result<_, _>>()
            .map(Outcomes)
            .map_err(Failure::request)
    }
}

impl Outcomes {
    pub(crate) fn all(&self) -> &[GateOutcome] {
        &self.0
    }

    /// A line for each.
    pub(crate) fn in_words(&self) -> String {
        self.0.iter().map(|outcome| format!("{}\n", outcome.sentence)).collect()
    }

    /// How a command ends that has judged by them runs that lack this.
    pub(crate) fn end(&self, is_interrupted: bool, lacking: &[Lacking]) -> Result<Exit, Failure> {
        let failed: Vec<&str> = self
            .0
            .iter()
            .filter(|outcome| Missed::of(outcome).is_some())
            .map(|outcome| outcome.gate.as_str())
            .collect();
        let missed = self.0.iter().filter_map(Missed::of).max();
        match Ending::new(is_interrupted, lacking, missed).exit() {
            exit @ (Exit::Done | Exit::Interrupted) => Ok(exit),
            exit => {
                let not_met =
                    (!failed.is_empty()).then(|| format!("not met: {}", failed.join(", ")));
                let lacking = lacking.iter().map(|of| of.words.clone());
                let words: Vec<String> = lacking.chain(not_met).collect();
                Err(Failure::new(exit, words.join("; ")))
            }
        }
    }
}
