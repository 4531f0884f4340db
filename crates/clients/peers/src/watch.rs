//! When a process ended, to the millisecond, without waiting for it.

use std::cell::Cell;
use std::io;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Watches one process. Its thread ends with that process, or at the limit.
pub(crate) struct Watch {
    end: Cell<Option<Instant>>,
    receiver: Receiver<Instant>,
}

impl Watch {
    /// Watches a process that has not been waited for, for at most `limit`.
    pub(crate) fn start(pid: u32, limit: Duration) -> io::Result<Self> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("no process has this number"))?;
        let process = pidfd_open(pid, PidfdFlags::empty())?;
        let (sender, receiver) = mpsc::channel();
        std::thread::Builder::new().name("watch".to_owned()).spawn(move || {
            let deadline = Instant::now() + limit;
            loop {
                let left = deadline.saturating_duration_since(Instant::now());
                let timeout = Timespec {
                    tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                    tv_nsec: left.subsec_nanos().into(),
                };
                match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout)) {
                    Ok(0) => return,
                    Err(rustix::io::Errno::INTR) => {}
                    Ok(_) => {
                        // Fails only where the receiver was dropped.
                        let _ = sender.send(Instant::now());
                        return;
                    }
                    Err(_) => return,
                }
            }
        })?;
        Ok(Self { end: Cell::new(None), receiver })
    }

    pub(crate) fn ended(&self) -> Option<Instant> {
        self.ended_within(Duration::ZERO)
    }

    /// Waits for the end for at most `limit`.
    pub(crate) fn ended_within(&self, limit: Duration) -> Option<Instant> {
        if self.end.get().is_none() {
            self.end.set(self.receiver.recv_timeout(limit).ok());
        }
        self.end.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_end_of_a_process_is_seen() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let watch = Watch::start(child.id(), Duration::from_secs(60)).unwrap();
        assert_eq!(watch.ended(), None);
        child.kill().unwrap();
        let end = watch.ended_within(Duration::from_secs(30)).unwrap();
        assert_eq!(watch.ended(), Some(end));
        child.wait().unwrap();
        assert!(Watch::start(child.id(), Duration::from_secs(1)).is_err());
    }
}
