//! CPU time of one thread of this process, and how long it waited for a CPU.
//!
//! The waiting matters: a load thread whose CPU another process keeps busy uses little CPU time,
//! and still it is the client that limits.

use std::io;

use cpus::CpuList;
use rustix::thread::Pid;
use units::Nanos;

use crate::cpu_clock;
use crate::error::{ObserveError, read};
use crate::pid_stat::parse_schedstat;

/// What a thread has used since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadCpu {
    /// Time on a CPU, exact to the moment of the reading.
    pub on_cpu: Nanos,
    /// Time ready to run without a CPU, until the thread was last put on one; `None` where the
    /// kernel does not account for it.
    pub waiting: Option<Nanos>,
}

impl ThreadCpu {
    /// Of the calling thread.
    pub fn current() -> Result<Self, ObserveError> {
        Self::of(current_tid())
    }

    /// Of the thread of this process with that kernel id; see [`current_tid`].
    pub fn of(tid: u32) -> Result<Self, ObserveError> {
        let gone = |_: io::Error| ObserveError::ThreadGone { tid };
        Ok(Self { on_cpu: cpu_clock::of_thread(tid).map_err(gone)?, waiting: waiting(tid)? })
    }

    /// Of the thread of any process with that kernel id. Its time on a CPU counts up to the
    /// scheduler's last tick, a few milliseconds ago.
    pub fn of_any_process(tid: u32) -> Result<Self, ObserveError> {
        let (on_cpu, waited) = parse_schedstat(&read(format!("/proc/{tid}/schedstat"))?)?;
        // A thread that has not run yet has zeros too; this one has run.
        if waited.is_none() && waiting(current_tid())?.is_none() {
            return Err(ObserveError::NotAvailable("the kernel does not account for threads"));
        }
        Ok(Self { on_cpu, waiting: Some(waited.unwrap_or_default()) })
    }

    /// What was used between `earlier` and this.
    pub fn since(&self, earlier: &Self) -> Self {
        let less = |now: Nanos, then: Nanos| Nanos(now.0.saturating_sub(then.0));
        Self {
            on_cpu: less(self.on_cpu, earlier.on_cpu),
            waiting: self.waiting.zip(earlier.waiting).map(|(now, then)| less(now, then)),
        }
    }
}

/// The kernel's id of the calling thread, by which another thread can ask for its CPU time.
pub fn current_tid() -> u32 {
    rustix::thread::gettid().as_raw_pid().cast_unsigned()
}

fn waiting(tid: u32) -> Result<Option<Nanos>, ObserveError> {
    match read(format!("/proc/self/task/{tid}/schedstat")) {
        Ok(text) => Ok(parse_schedstat(&text)?.1),
        Err(ObserveError::Unreadable { source, .. })
            if source.kind() == io::ErrorKind::NotFound =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Where a thread of any process may run; `None` where it has ended.
pub fn allowed_cpus(thread: u32) -> Option<CpuList> {
    CpuList::of_thread(Pid::from_raw(thread.cast_signed())?).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier, mpsc};

    use cpus::{CpuList, pin_current_thread};

    use super::*;

    fn burn(own_time: u64) {
        let start = ThreadCpu::current().unwrap();
        while ThreadCpu::current().unwrap().since(&start).on_cpu.0 < own_time {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn one_thread_is_counted_and_the_others_are_not() {
        let idle = ThreadCpu::current().unwrap();
        let burned = std::thread::spawn(|| {
            burn(30_000_000);
            ThreadCpu::current().unwrap()
        })
        .join()
        .unwrap();
        let idle = ThreadCpu::current().unwrap().since(&idle);
        assert!(burned.on_cpu.0 >= 30_000_000);
        assert!(idle.on_cpu < burned.on_cpu);
    }

    #[test]
    fn another_thread_is_read_by_its_number_until_it_ends() {
        let (send_tid, tid) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            burn(1_000_000);
            send_tid.send(current_tid()).unwrap();
            let _ = ended.recv();
        });
        let tid = tid.recv().unwrap();
        assert!(ThreadCpu::of(tid).unwrap().on_cpu.0 >= 1_000_000);
        drop(end);
        thread.join().unwrap();
        // The kernel takes the thread off its list a moment after it has let `join` return.
        while ThreadCpu::of(tid).is_ok() {
            std::thread::yield_now();
        }
        assert!(matches!(ThreadCpu::of(tid), Err(ObserveError::ThreadGone { .. })));
    }

    #[test]
    fn a_thread_of_another_process_is_none_of_ours() {
        let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let outcome = ThreadCpu::of(other.id());
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(matches!(outcome, Err(ObserveError::ThreadGone { .. })), "{outcome:?}");
    }

    #[test]
    fn a_thread_of_another_process_is_read_by_the_schedulers_account() {
        let mut other =
            std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let mut used = 0;
        while used < 20_000_000 && std::time::Instant::now() < deadline {
            used = ThreadCpu::of_any_process(other.id()).unwrap().on_cpu.0;
        }
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(used >= 20_000_000, "{used}");
        assert!(ThreadCpu::of_any_process(other.id()).is_err());
    }

    #[test]
    fn two_threads_on_one_cpu_wait_for_each_other() {
        let cpu = CpuList::from(CpuList::allowed().unwrap().as_slice()[0]);
        let together = Arc::new(Barrier::new(2));
        let threads = [(); 2].map(|()| {
            let (cpu, together) = (cpu.clone(), Arc::clone(&together));
            std::thread::spawn(move || {
                pin_current_thread(&cpu).unwrap();
                together.wait();
                let start = ThreadCpu::current().unwrap();
                burn(60_000_000);
                ThreadCpu::current().unwrap().since(&start).waiting
            })
        });
        let waited: Option<u64> =
            threads.into_iter().map(|thread| thread.join().unwrap().map(|time| time.0)).sum();
        assert_ne!(waited, Some(0), "two busy threads shared a CPU and neither waited");
    }
}
