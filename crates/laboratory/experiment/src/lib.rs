//! Runs a study: each of its experiments is measured, part by part, each part on disk before the next.
//!
//! An [`Experiment`] is a kind of measurement with all that a study asks of it:
//!
//! - [`cells`] measures servers under load.
//! - [`primitive`] measures algorithms, which need no server.

pub mod cells;
pub mod primitive;
#[cfg(test)]
mod testing;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use agent::Refusal;
use cpus::CpuList;
use journal::{Entry, JournalError, Results, ResultsError};
use study::Study;

/// One kind of measurement, with what a study asks of it.
pub trait Experiment {
    /// How much there is to measure, and how long that takes.
    fn forecast(&self) -> String;

    /// The longest that it may take.
    fn time(&self) -> Duration;

    /// Warnings about what the study asks for, whatever the trials will be.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// What would be done, with the result folder in `folder`.
    fn plan(&self, folder: &Path) -> DryRun;

    /// Every CPU that it uses.
    fn cpus(&self) -> Vec<CpuList>;

    /// Refuses what cannot be measured here, before anything is.
    fn check(&self) -> Result<(), RunError> {
        Ok(())
    }

    /// Measures what the journal of `results` lacks; all of it in a new folder.
    ///
    /// # Errors
    /// Why it could not begin or continue. The parts until then are in the journal.
    fn run(
        &self,
        results: &Results,
        interrupt: &AtomicBool,
        report: &mut dyn FnMut(Event<'_>),
    ) -> Result<Ended, RunError>;
}

/// The experiments of a study, in the order in which they are measured: servers first, so that what
/// they lack is known before minutes are spent.
pub fn of(study: &Study) -> Vec<Box<dyn Experiment + '_>> {
    let all: [Option<Box<dyn Experiment>>; 2] = [cells::of(study), primitive::of(study)];
    all.into_iter().flatten().collect()
}

/// What would be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRun {
    /// How much there is to measure, and how long that takes.
    pub summary: String,
    /// What is measured, a line each.
    pub parts: Vec<String>,
    /// What the commands are, in words.
    pub heading: &'static str,
    /// The commands that would be started.
    pub commands: Vec<String>,
}

/// Events of a run, for a person who waits or for a program.
pub enum Event<'a> {
    /// A note, in a sentence.
    Says(String),
    /// A server has started, in a sentence.
    Started(String),
    /// What was asked for will be missing, in a sentence, which a run that says nothing else says too.
    Lacks(String),
    /// A part is being measured.
    Progress {
        /// How much longer the run takes.
        left: Duration,
        /// How much is left, and what is being done, in words.
        words: &'a dyn Fn() -> (String, String),
    },
    /// A part has ended; its lines are on disk.
    Finished {
        /// As they are in the journal.
        entries: &'a [Entry],
        /// What is wrong with it, a sentence each.
        wrong: Vec<String>,
    },
}

/// How a run ended, if it could begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All that the study asks for is in the journal.
    Complete,
    /// It was interrupted; the part under way then is not in the journal.
    Interrupted,
}

/// Why a run could not begin or continue. Each part that was done is in the journal.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Something that it needs could not be started, or cannot do what it is asked.
    #[error("{0}")]
    Start(String),
    /// Every cell of the study lacks its server or its client.
    #[error("nothing of this study can be measured here: {0}")]
    NothingToMeasure(String),
    /// A server or a client is missing that a cell must not be without.
    #[error("{0}")]
    Missing(String),
    /// A server is not the one of the trials in the journal.
    #[error("{was} was measured before, but {is} runs now; start a new run")]
    ServerChanged {
        /// In the journal.
        was: String,
        /// Now.
        is: String,
    },
    /// This machine is not the one of the trials in the journal.
    #[error("this is not the machine that was measured before: {0}; start a new run")]
    MachineChanged(String),
    /// A part could not be measured.
    #[error("{part}: {why}")]
    Part { part: String, why: String },
    /// The server is no longer the one that was started; its last trial is not valid.
    #[error("{0}")]
    TargetLost(String),
    /// A rank was lost in two consecutive trials of a cell; neither is valid.
    #[error("{cell} lost a rank in two consecutive trials: {why}")]
    RankLost { cell: String, why: String },
    /// The journal could not be read or written.
    #[error("{0}")]
    Journal(#[from] JournalError),
    /// Another file of the results could not be read or written, before anything was measured.
    #[error("{0}")]
    Results(#[from] ResultsError),
    /// What was measured could not be written.
    #[error("{0}")]
    NotKept(ResultsError),
    /// An experiment of the study ended early after others were measured.
    #[error("{0}")]
    AfterOthers(Box<RunError>),
}

/// What an error says of its run, which decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// What the study needs is not installed here.
    Absent,
    /// The run did not begin: the request is wrong, or a server cannot be reached. Nothing was measured.
    Refused,
    /// A measurement that had begun failed.
    Failed,
}

impl From<Refusal> for RunError {
    fn from(Refusal { is_missing, why }: Refusal) -> Self {
        if is_missing { Self::Missing(why) } else { Self::Start(why) }
    }
}

impl RunError {
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::NothingToMeasure(_) | Self::Missing(_) => ErrorClass::Absent,
            Self::Start(_)
            | Self::ServerChanged { .. }
            | Self::MachineChanged(_)
            | Self::Results(_) => ErrorClass::Refused,
            Self::Journal(error) if error.is_of_reading() => ErrorClass::Refused,
            Self::Part { .. }
            | Self::TargetLost(_)
            | Self::RankLost { .. }
            | Self::Journal(_)
            | Self::NotKept(_)
            | Self::AfterOthers(_) => ErrorClass::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELLS: &str = "[target]\nserver = \"embedded\"\ncpus = \"0\"\n[load]\ncpus = \"1\"\n\
                         duration = \"1s\"\n[[case]]\nname = \"bulk\"\n";
    const TABLES: &str = "[[primitives]]\nname = \"hashes\"\nalgorithms = [\"SHA-256\"]\n\
                          libraries = [\"openssl\"]\nsizes = [\"1KiB\"]\nrounds = 1\ncpus = \"1\"\n";

    #[test]
    fn a_study_has_the_experiments_that_it_asks_for_servers_first() {
        for (parts, expected) in [
            (vec![CELLS], vec!["trials in all"]),
            (vec![TABLES], vec!["primitives in "]),
            (vec![CELLS, TABLES], vec!["trials in all", "primitives in "]),
        ] {
            let text = format!("schema = 1\nquestion = \"?\"\ntrials = 7\n{}", parts.concat());
            let study = file::parse(
                "test.toml",
                &text,
                &"0-1".parse::<cpus::CpuList>().unwrap().into(),
                None,
            )
            .unwrap();
            let experiments = of(&study);
            assert_eq!(experiments.len(), expected.len());
            for (experiment, words) in experiments.iter().zip(expected) {
                assert!(experiment.forecast().contains(words), "{}", experiment.forecast());
                let plan = experiment.plan(Path::new("results"));
                assert!(plan.summary.contains(words) && !plan.commands.is_empty(), "{plan:?}");
                assert!(experiment.cpus().iter().any(|cpus| cpus.to_string() == "1"));
            }
        }
    }
}
