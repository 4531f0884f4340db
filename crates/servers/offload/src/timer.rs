//! Timers of the kernel, as descriptors that become readable.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// A timer that is not set; `None` where the process has all the descriptors that it may have.
pub(crate) fn create() -> Option<OwnedFd> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    timerfd_create(TimerfdClockId::Monotonic, flags).ok()
}

/// Sets it to a time from now; one of 0 would stop it.
pub(crate) fn set(timer: &OwnedFd, left: Duration) {
    let value =
        Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
    let once = Itimerspec { it_interval: Timespec::default(), it_value: value };
    // It fails for no timer that is open and no time that is one.
    let _ = timerfd_settime(timer, TimerfdTimerFlags::empty(), &once);
}
