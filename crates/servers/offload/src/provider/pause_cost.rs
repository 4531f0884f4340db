//! What it costs a server with descriptors to pause a handshake: it makes an event, waits for it by epoll, and starts
//! the job again. What the server does around that is its own, and is not in it.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use super::alarm::Alarm;
use super::sys;
use crate::event::Event;
use crate::multi_buffer::cpu_time;
use crate::{CompletedBy, Ticket, Way};

const RUNS: usize = 64;

/// What it costs a server that waits for batches so; nothing where it pauses no job by a descriptor.
pub(super) fn of_server(way: Way, completed_by: CompletedBy) -> Duration {
    match completed_by {
        CompletedBy::Event if way == Way::Asynchronous => measure(),
        _ => Duration::ZERO,
    }
}

/// The CPU time of one, by the median of many; none where no job can be paused here. The caller is in no job.
fn measure() -> Duration {
    let Ok(poller) = epoll::create(CreateFlags::CLOEXEC) else { return Duration::ZERO };
    let one = |_| {
        let start = cpu_time();
        pause(&poller)?;
        Some(cpu_time().saturating_sub(start))
    };
    let mut measured: Vec<u64> = (0..RUNS).filter_map(one).collect();
    measured.sort_unstable();
    Duration::from_nanos(measured.get(measured.len() / 2).copied().unwrap_or_default())
}

/// A job that is paused, waited for, started again and over.
fn pause(poller: &OwnedFd) -> Option<()> {
    const FINISHED: c_int = 3;
    let (mut job, mut result, nothing) = (std::ptr::null_mut(), 0, std::ptr::null_mut());
    // SAFETY: all places are there until this returns, the job takes nothing, and the context is freed when the job
    // is over, or was never paused.
    unsafe {
        let context = sys::ASYNC_WAIT_CTX_new();
        let mut start = || sys::ASYNC_start_job(&mut job, context, &mut result, act, nothing, 0);
        let mut status = start();
        let (mut descriptor, mut count) = (-1, 0);
        sys::ASYNC_WAIT_CTX_get_all_fds(context, std::ptr::null_mut(), &mut count);
        if count == 1 {
            sys::ASYNC_WAIT_CTX_get_all_fds(context, &mut descriptor, &mut count);
            let descriptor = BorrowedFd::borrow_raw(descriptor);
            // An event that is never seen would be a job that is never over.
            let _ = epoll::add(poller, descriptor, EventData::new_u64(0), EventFlags::IN);
            let mut seen = [MaybeUninit::uninit()];
            let _ = epoll::wait(poller, &mut seen, Some(&rustix::time::Timespec::default()));
            let _ = epoll::delete(poller, descriptor);
            status = start();
        }
        sys::ASYNC_WAIT_CTX_free(context);
        (status == FINISHED && count == 1).then_some(())
    }
}

unsafe extern "C" fn act(_: *mut c_void) -> c_int {
    let whoever_computes = |event: Arc<Event>| {
        event.set(true);
        true
    };
    // No operation has this number.
    let is_paused = Alarm::pause_in_batch(Ticket(u64::MAX), false, whoever_computes);
    Alarm::end_of_operation();
    is_paused.is_some().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_costs_something_and_leaves_nothing() {
        let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let before = open();
        assert!(measure() > Duration::ZERO);
        assert_eq!(open(), before);
    }
}
