//! Jobs of OpenSSL: code with a stack of its own, 32 KiB, that can be paused (ASYNC_start_job(3)).

use std::cell::Cell;

use super::sys;
use crate::Ticket;

thread_local! {
    static PAUSED: Cell<Option<Ticket>> = const { Cell::new(None) };
}

/// The operation for which a job of the calling thread was paused last.
pub fn paused() -> Option<Ticket> {
    PAUSED.get()
}

/// Whether the caller is in a job.
pub(super) fn is_running() -> bool {
    // SAFETY: it takes nothing, and looks at the calling thread.
    !unsafe { sys::ASYNC_get_current_job() }.is_null()
}

/// Pauses the job that the caller is in for an operation that is polled, as [`pause_for_event`].
pub(super) fn pause(ticket: Ticket) {
    PAUSED.set(Some(ticket));
    pause_for_event();
}

/// Pauses the job that the caller is in, until it is started again for whatever reason. No lock may be
/// held: other jobs of this thread run meanwhile.
pub(super) fn pause_for_event() {
    // SAFETY: what is on the job's stack stays there. A pause that fails is over at once.
    unsafe { sys::ASYNC_pause_job() };
}
