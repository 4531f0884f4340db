//! The descriptor by which a server waits for a paused job (ASYNC_WAIT_CTX_new(3)): a timer that is set to
//! when the answer is due, as a card's interrupt comes when it has one.
//!
//! Each connection has one, from its first paused job to its end; OpenSSL keeps it.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use super::sys::{self, WaitContext};
use super::{guarded, job};
use crate::{Accelerator, Ticket, timer};

/// The least time that a timer is set to. A device that is late is looked at so often.
const LEAST: Duration = Duration::from_micros(10);

pub(super) struct Alarm {
    /// Whoever completes the operation may have it expire before its time.
    timer: Arc<OwnedFd>,
    /// The operation for which the connection's job is paused.
    paused: Cell<Option<Ticket>>,
}

impl Alarm {
    /// Pauses the job that the caller is in until the answer is due; `None`, at once, where there is no
    /// descriptor for it.
    pub(super) fn pause(ticket: Ticket, left: Duration) -> Option<()> {
        Self::pause_unless(ticket, left, |_| true)
    }

    /// The same, unless `share`, which is given the timer, finds that the operation is over.
    pub(super) fn pause_unless(
        ticket: Ticket,
        left: Duration,
        share: impl FnOnce(Arc<OwnedFd>) -> bool,
    ) -> Option<()> {
        let set = |alarm: &Self| alarm.set(ticket, left);
        let timer = Self::with_known(set).or_else(|| {
            Self::create()?;
            Self::with_known(set)
        })?;
        // Nothing refers to the alarm here: a server may end the connection, and the alarm with it, while
        // the job is paused.
        if share(timer) {
            job::pause_for_event();
        }
        Some(())
    }

    /// Makes the alarm of the connection whose job the caller is in. It is for a pause that follows at
    /// once: HAProxy learns of it by that, and fails where the connection ends with one that it does not
    /// know.
    fn create() -> Option<()> {
        let timer = Arc::new(timer::create()?);
        let descriptor = timer.as_raw_fd();
        let alarm = Box::into_raw(Box::new(Self { timer, paused: Cell::new(None) }));
        // SAFETY: the caller is in a job, which has a context; that keeps the alarm from here on, unless it
        // fails.
        unsafe {
            let context = sys::ASYNC_get_wait_ctx(sys::ASYNC_get_current_job());
            if sys::ASYNC_WAIT_CTX_set_wait_fd(context, key(), descriptor, alarm.cast(), end) != 1 {
                drop(Box::from_raw(alarm));
                return None;
            }
        }
        Some(())
    }

    /// Uses the alarm that the connection has, if any. `act` does not pause the job, so that the alarm
    /// is there until it returns.
    fn with_known<T>(act: impl FnOnce(&Self) -> T) -> Option<T> {
        let (mut descriptor, mut data) = (0, std::ptr::null_mut());
        // SAFETY: the caller is in a job, which has a context. What that keeps under this key is an alarm,
        // which goes with the context; that is there while the job runs.
        unsafe {
            let context = sys::ASYNC_get_wait_ctx(sys::ASYNC_get_current_job());
            let is_there =
                sys::ASYNC_WAIT_CTX_get_fd(context, key(), &mut descriptor, &mut data) == 1;
            if is_there { data.cast::<Self>().as_ref().map(act) } else { None }
        }
    }

    /// Sets the timer to when the answer is due.
    fn set(&self, ticket: Ticket, left: Duration) -> Arc<OwnedFd> {
        self.paused.set(Some(ticket));
        timer::set(&self.timer, left.max(LEAST));
        Arc::clone(&self.timer)
    }

    /// The operation for which the job was paused is over.
    pub(super) fn end_of_operation() {
        Self::with_known(|alarm| alarm.paused.set(None));
    }
}

/// What OpenSSL keeps an alarm under: an address that nobody else has.
fn key() -> *const c_void {
    static KEY: u8 = 0;
    (&raw const KEY).cast()
}

/// The connection ends. A server may free one whose job is paused, which nobody starts again then.
unsafe extern "C" fn end(_: *mut WaitContext, _: *const c_void, _: c_int, alarm: *mut c_void) {
    guarded(|| {
        // SAFETY: OpenSSL gives back what it was given, once.
        let alarm = unsafe { Box::from_raw(alarm.cast::<Alarm>()) };
        Accelerator::get()?.abandon(alarm.paused.get()?);
        Some(())
    });
}
