//! The descriptor by which a server waits for a paused job (ASYNC_WAIT_CTX_new(3)): a timer that is set to
//! when the answer is due, as a card's interrupt comes when it has one.
//!
//! Each connection has one, from its first paused job to its end; OpenSSL keeps it.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::sys::{self, WaitContext};
use super::{guarded, job};
use crate::{Accelerator, Ticket};

/// The least time that a timer is set to. A device that is late is looked at so often.
const LEAST: Duration = Duration::from_micros(10);

/// What OpenSSL keeps it under: an address that nobody else has.
static KEY: u8 = 0;

pub(super) struct Alarm {
    timer: OwnedFd,
    /// The operation for which the connection's job is paused.
    paused: Cell<Option<Ticket>>,
}

impl Alarm {
    /// That of the connection whose job the caller is in; `None` where there is no descriptor for it.
    pub(super) fn of_job<'a>() -> Option<&'a Self> {
        let key = (&raw const KEY).cast();
        let (mut descriptor, mut data) = (0, std::ptr::null_mut());
        // SAFETY: the caller is in a job, which has a context. What that keeps under this key was made
        // below, and goes with the context, which is there until the job is over.
        unsafe {
            let context = sys::ASYNC_get_wait_ctx(sys::ASYNC_get_current_job());
            if sys::ASYNC_WAIT_CTX_get_fd(context, key, &mut descriptor, &mut data) == 1 {
                return data.cast::<Self>().as_ref();
            }
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags).ok()?;
            let descriptor = timer.as_raw_fd();
            let alarm = Box::into_raw(Box::new(Self { timer, paused: Cell::new(None) }));
            let data = alarm.cast();
            if sys::ASYNC_WAIT_CTX_set_wait_fd(context, key, descriptor, data, end) != 1 {
                drop(Box::from_raw(alarm));
                return None;
            }
            alarm.as_ref()
        }
    }

    /// Pauses the job that the caller is in until the answer is due. A timer that cannot be set is no
    /// pause.
    pub(super) fn pause(&self, ticket: Ticket, left: Duration) {
        let left = left.max(LEAST);
        let value =
            Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        let once = Itimerspec { it_interval: Timespec::default(), it_value: value };
        if timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once).is_ok() {
            self.paused.set(Some(ticket));
            job::pause_for_event();
        }
    }

    /// The operation is over.
    pub(super) fn is_over(&self) {
        self.paused.set(None);
    }
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
