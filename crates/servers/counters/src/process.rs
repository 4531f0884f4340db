//! Which process counts in a row, by its number and the time of its start: the kernel gives numbers out again.

use std::io::ErrorKind;

/// How many bits of an owner are the number of the process; Linux has none above 4,194,304.
const PID_BITS: u32 = 22;

/// A process, as it is kept in a row; its start is 0 where it could not be read. The number 0 is no process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowOwner(pub(crate) u64);

impl RowOwner {
    /// The caller's.
    pub(crate) fn own() -> Self {
        let pid = std::process::id();
        let start = started(pid).ok().flatten().unwrap_or(0);
        Self(start << PID_BITS | u64::from(pid))
    }

    fn pid(self) -> u32 {
        (self.0 & ((1 << PID_BITS) - 1)) as u32
    }

    fn start(self) -> u64 {
        self.0 >> PID_BITS
    }

    /// Whether it can see other processes: one in a root of its own cannot.
    pub(crate) fn sees_others(self) -> bool {
        self.start() != 0
    }

    /// Whether it has ended.
    pub(crate) fn is_gone(self) -> bool {
        match started(self.pid()) {
            Ok(Some(start)) => self.start() != 0 && self.start() != start,
            Ok(None) => true,
            Err(error) => error == ErrorKind::NotFound,
        }
    }
}

/// When a process started, in ticks since the machine did (proc_pid_stat(5)); `None` for one that has ended and
/// whose parent has not asked how.
fn started(pid: u32) -> Result<Option<u64>, ErrorKind> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).map_err(|why| why.kind())?;
    // The name of the program may have spaces and brackets.
    let (_, fields) = stat.rsplit_once(')').ok_or(ErrorKind::InvalidData)?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next();
    let start =
        fields.nth(18).and_then(|ticks| ticks.parse().ok()).ok_or(ErrorKind::InvalidData)?;
    Ok((!matches!(state, Some("Z" | "X"))).then_some(start))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_is_gone_when_it_has_ended_or_another_has_its_number() {
        let own = RowOwner::own();
        assert!(own.sees_others() && !own.is_gone());
        assert_eq!(own.pid(), std::process::id());
        assert!(RowOwner(own.0 + (1 << PID_BITS)).is_gone());
        assert!(!RowOwner(u64::from(own.pid())).is_gone());
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let other =
            RowOwner(started(child.id()).unwrap().unwrap() << PID_BITS | u64::from(child.id()));
        assert!(!other.is_gone());
        child.kill().unwrap();
        while !other.is_gone() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(other.is_gone());
    }
}
