//! The CPU-time clocks of the kernel (clock_getcpuclockid(3), pthread_getcpuclockid(3)).
//!
//! A clock of a process holds the nanoseconds of all its threads, of those that have ended too,
//! which a sum over `/proc/PID/task` would lose.

use std::io;

use units::Nanos;

/// The CPU time of all threads of a process, ended ones included. Threads that run at this moment
/// count up to the scheduler's last tick, a few milliseconds ago.
pub(crate) fn of_process(pid: u32) -> io::Result<Nanos> {
    read(clock_id(pid, CPUCLOCK_SCHED))
}

/// The CPU time of a thread of this process, exact to the present moment.
pub(crate) fn of_thread(tid: u32) -> io::Result<Nanos> {
    read(clock_id(tid, CPUCLOCK_SCHED | CPUCLOCK_PERTHREAD))
}

// The layout of the ids is fixed by the kernel's interface, include/linux/posix-timers_types.h.
const CPUCLOCK_SCHED: libc::clockid_t = 2;
const CPUCLOCK_PERTHREAD: libc::clockid_t = 4;

fn clock_id(id: u32, kind: libc::clockid_t) -> libc::clockid_t {
    (!(id as libc::clockid_t) << 3) | kind
}

fn read(clock: libc::clockid_t) -> io::Result<Nanos> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a writable timespec; an unknown clock is an error, not undefined.
    match unsafe { libc::clock_gettime(clock, &raw mut time) } {
        0 => Ok(Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)),
        _ => Err(io::Error::last_os_error()),
    }
}
