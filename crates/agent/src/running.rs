use std::fmt;

use targets::{AcceleratorCounts, CryptoFacts, Facts, Running, SendCounters};
use trial::Machine;
use units::Nanos;

/// What a run asks of a server that toll started, on whichever machine. Dropping one of this machine stops
/// it; one of another machine runs until it is restarted or its agent ends.
///
/// Each error is one line.
pub trait RunningServer: fmt::Debug {
    /// The server itself, where it is one of this machine.
    fn into_running(self: Box<Self>) -> Option<Running> {
        None
    }

    /// What it is, and where.
    fn facts(&self) -> &Facts;

    /// Its first process, where that is one of this machine.
    fn process(&self) -> Option<u32>;

    /// What its agent calls it, where it has one.
    fn number(&self) -> Option<usize> {
        None
    }

    /// Whether its machine can no longer be asked; a new start may change that.
    fn is_lost(&self) -> bool {
        false
    }

    /// # Errors
    /// It is no longer the server that was started.
    fn check_alive(&mut self) -> Result<(), String>;

    /// How it ended; see [`targets::Running::death`].
    fn death(&mut self) -> Option<String>;

    /// What [`targets::Program`] says of it, like the next three.
    ///
    /// # Errors
    /// It does not say.
    fn orders(&self) -> Result<Option<u64>, String>;

    /// # Errors
    /// It does not say.
    fn sent(&self) -> Result<Option<SendCounters>, String>;

    /// # Errors
    /// It does not say.
    fn accelerated(&self) -> Result<Option<AcceleratorCounts>, String>;

    /// # Errors
    /// It does not say.
    fn crypto(&self) -> Result<Option<CryptoFacts>, String>;

    /// Lets it run on all CPUs that toll may use there, until [`pin`](Self::pin).
    ///
    /// # Errors
    /// The system's.
    fn spread(&self) -> Result<(), String>;

    /// # Errors
    /// The system's.
    fn pin(&self) -> Result<(), String>;

    /// What its processes have used of CPUs; `None` where they are gone.
    fn cpu_time(&self) -> Option<Nanos>;

    /// The machine as a trial of it sees it.
    ///
    /// # Errors
    /// The server is gone.
    fn machine(&self) -> Result<Box<dyn Machine>, String>;
}
