//! What all kinds of measurement have in common.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cpus::CpuList;
use journal::{Entry, Results};

use crate::run_error::RunError;

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
