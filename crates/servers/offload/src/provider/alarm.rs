//! The descriptor by which a server waits for a paused job (ASYNC_WAIT_CTX_new(3)). For a modelled device it is a
//! timer that is set to when the answer is due, as a card's interrupt comes when it has one; for batches it is an
//! event, which whoever computes them sets.
//!
//! Each connection has one, from its first paused job to its end; OpenSSL keeps it.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use super::guard::guarded;
use super::job;
use super::sys::{self, WaitContext};
use crate::event::Event;
use crate::{Accelerator, Ticket, timer};

/// The least time that a timer is set to. A device that is late is looked at so often.
const LEAST: Duration = Duration::from_micros(10);

pub(super) struct Alarm {
    signal: Signal,
    /// The operation for which the connection's job is paused.
    paused: Cell<Option<Ticket>>,
}

enum Signal {
    Timer(OwnedFd),
    /// Who computes the operation has it too.
    Event(Arc<Event>),
}

impl Alarm {
    /// Pauses the job that the caller is in until the answer is due; `None`, at once, where there is no
    /// descriptor for it.
    pub(super) fn pause(ticket: Ticket, left: Duration) -> Option<()> {
        let make = || timer::create().map(Signal::Timer);
        Self::with(make, |alarm| {
            alarm.paused.set(Some(ticket));
            if let Signal::Timer(timer) = &alarm.signal {
                timer::set(timer, left.max(LEAST));
            }
        })?;
        // Nothing refers to the alarm here: a server may end the connection, and the alarm with it, while
        // the job is paused.
        job::pause_for_event();
        Some(())
    }

    /// The same for an operation in a batch, until its event is set, which it is at once where the caller `is_first`:
    /// that is for the next round of the server's loop. `share`, which is given the event, says whether the operation
    /// is still to be done.
    pub(super) fn pause_in_batch(
        ticket: Ticket,
        is_first: bool,
        share: impl FnOnce(Arc<Event>) -> bool,
    ) -> Option<()> {
        let make = || Some(Signal::Event(Arc::new(Event::new(is_first)?)));
        let event = Self::with(make, |alarm| {
            alarm.paused.set(Some(ticket));
            match &alarm.signal {
                Signal::Timer(_) => None,
                Signal::Event(event) => Some(Arc::clone(event)),
            }
        })??;
        event.set(is_first);
        if share(event) {
            job::pause_for_event();
        }
        Some(())
    }

    /// Uses the alarm of the connection whose job the caller is in, which is made where there is none. `act` does
    /// not pause the job, so that the alarm is there until it returns. One that is made is for a pause that follows
    /// at once: HAProxy learns of it by that, and fails where the connection ends with one that it does not
    /// know.
    fn with<T>(make: impl FnOnce() -> Option<Signal>, act: impl Fn(&Self) -> T) -> Option<T> {
        Self::with_known(&act).or_else(|| {
            Self::keep(make()?)?;
            Self::with_known(&act)
        })
    }

    /// Gives OpenSSL the alarm of the connection whose job the caller is in.
    fn keep(signal: Signal) -> Option<()> {
        let descriptor = signal.as_fd().as_raw_fd();
        let alarm = Box::into_raw(Box::new(Self { signal, paused: Cell::new(None) }));
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

    /// Uses the alarm that the connection has, if any.
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

    /// The operation for which the job was paused is over.
    pub(super) fn end_of_operation() {
        Self::with_known(|alarm| alarm.paused.set(None));
    }
}

impl AsFd for Signal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Timer(timer) => timer.as_fd(),
            Self::Event(event) => event.as_fd(),
        }
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
