//! A load that runs, whichever program makes it.

use std::time::Instant;

use derive_more::{Add, Sum};
use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;

/// A load that runs. [`Engine`](crate::Engine) is toll's own.
pub trait Load {
    /// When the measured window begins, and when it is planned to end.
    fn window(&self) -> (Instant, Instant);
    /// The kernel's ids of its threads, for reading their CPU time.
    fn thread_ids(&self) -> Vec<i32>;
    /// The counts of the window so far.
    fn progress(&self) -> Progress;
    /// Whether it has ended by itself.
    fn is_finished(&self) -> bool;
    /// Unparks this thread as soon as the window ends, where the load itself ends it.
    fn wake_at_end(&self, _waiter: std::thread::Thread) {}
    /// Ends the load now, and the window if it is still open. What was measured is kept.
    fn stop(&self);
    /// Waits for the end of the load and gathers what was recorded.
    fn join(self) -> Outcome;
}

/// What a load has done so far within its window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, Add, Sum)]
pub struct Progress {
    /// Operations that ended well.
    pub completed: u64,
    /// Operations that failed.
    pub failures: u64,
    /// Proven body bytes.
    pub body_bytes: u64,
}
