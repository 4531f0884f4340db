//! What is known of server and client before a trial that a warning may be about.

use units::Nanos;

/// A server whose speed still changed when its warm-up was over: what it completes per second of its
/// CPU time, or per second where that time is not known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NotSteady {
    /// How long it was warmed up.
    pub after: Nanos,
    /// How far the last slices lay apart, as a share of their median; `None` where it completed
    /// next to nothing.
    pub spread: Option<f64>,
}

/// Where server and client run, as far as it matters to what their figures mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Neighbours {
    /// Apart, or not known to be otherwise.
    #[default]
    Apart,
    /// On CPUs that slow each other down, as hyperthreads of one core do.
    Siblings,
    /// At least one CPU is both's.
    Shared,
}
