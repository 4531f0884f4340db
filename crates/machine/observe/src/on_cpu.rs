//! Threads that run on one CPU, so that the calling thread's affinity stays as it is.

use std::io;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use cpus::{CpuList, pin_current_thread};

use crate::ObserveError;

/// How long a probe of a few milliseconds may take where other work uses the CPU too.
const LIMIT: Duration = Duration::from_secs(5);

/// Runs `work` on that CPU alone and waits for its result.
pub(crate) fn run<T: Send + 'static>(
    cpu: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ObserveError> {
    let (send, result) = mpsc::channel();
    spawn(cpu, move || {
        // The waiting side has gone when its time limit has passed.
        let _ = send.send(work());
    })?;
    receive(cpu, &result)
}

/// Starts `work` in a thread that runs on that CPU alone.
pub(crate) fn spawn(cpu: usize, work: impl FnOnce() + Send + 'static) -> Result<(), ObserveError> {
    let unusable = |source| ObserveError::CpuUnusable { cpu, source };
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(unusable(io::Error::from(io::ErrorKind::InvalidInput)));
    }
    let (send, pinned) = mpsc::channel();
    std::thread::Builder::new()
        .name(format!("probe-{cpu}"))
        .spawn(move || {
            let pinned = pin_current_thread(&CpuList::from(cpu));
            let runs = pinned.is_ok();
            if send.send(pinned).is_ok() && runs {
                work();
            }
        })
        .map_err(unusable)?;
    receive(cpu, &pinned)?.map_err(unusable)
}

fn receive<T>(cpu: usize, channel: &Receiver<T>) -> Result<T, ObserveError> {
    channel.recv_timeout(LIMIT).map_err(|_| ObserveError::CpuStarved { cpu })
}
