//! What a run needs of servers and loads.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use agent::Refusal;
use study::{Cell, Only};
use targets::Target;
use trial::{Measured, Moment};

/// What a run needs: servers, and something that loads them.
pub trait Bench {
    /// A server that runs.
    type Target;

    /// Starts a server and returns when it answers.
    fn start(
        &mut self,
        target: &Target,
        only: Only,
        connections: usize,
    ) -> Result<Self::Target, Refusal>;

    /// Ends a server and starts another process of it, with the same key and certificate.
    ///
    /// # Errors
    /// Why it does not answer. Nothing is left running.
    fn restart(
        &mut self,
        running: Self::Target,
        target: &Target,
        only: Only,
        connections: usize,
    ) -> Result<Self::Target, Refusal>;

    /// Whether its machine can no longer be asked; it may be when it is started again.
    fn is_lost(&self, _target: &Self::Target) -> bool {
        false
    }

    /// Whether the ranks that make the load did not come back for the last trial; the next one starts
    /// them again.
    fn lacks_ranks(&self) -> bool {
        false
    }

    /// Its name in this run, unique.
    fn name(&self, target: &Self::Target) -> String;

    /// Server and TLS library.
    fn version(&self, target: &Self::Target) -> String;

    /// Which process it is, where toll did not start it.
    fn process(&self, _target: &Self::Target) -> Option<String> {
        None
    }

    /// Does the cell's operation once.
    ///
    /// # Errors
    /// Why the server cannot be loaded in that way.
    fn probe(&mut self, target: &Self::Target, cell: &Cell) -> Result<(), Refusal>;

    /// Runs one trial.
    ///
    /// # Errors
    /// Why it could not begin. What fails later is in the line.
    fn trial(
        &mut self,
        target: &mut Self::Target,
        ask: Ask<'_>,
        interrupt: &AtomicBool,
        progress: &mut dyn FnMut(Moment),
    ) -> Result<Measured, String>;
}

/// What a trial is of.
#[derive(Debug, Clone)]
pub struct Ask<'a> {
    /// The cell, with the load that it has in this trial.
    pub cell: &'a Cell,
    /// What is random in the trial follows from it.
    pub seed: u64,
    /// How far the next larger load of a search was above its limit, as a share of the limit.
    pub beyond_limit: Option<f64>,
    /// Where its latencies are kept.
    pub latency_file: String,
    /// Where samples of the server's CPU time are kept, if they are to be taken: a file name without
    /// its extension.
    pub profile: Option<PathBuf>,
}
