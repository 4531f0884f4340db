//! CPU lists (`0`, `0,2-5`), the cores that they are threads of, and pinning threads.

mod topology;

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::str::FromStr;

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};
use serde_with::{DeserializeFromStr, SerializeDisplay};

pub use topology::Topology;

/// A set of CPUs, not empty, ascending, without repetition.
#[derive(Debug, Clone, PartialEq, Eq, Hash, DeserializeFromStr, SerializeDisplay)]
pub struct CpuList(Vec<usize>);

/// Largest CPU number that an affinity mask holds, plus one.
const MAX_CPUS: usize = CpuSet::MAX_CPU;

impl CpuList {
    /// The CPUs that this process may run on.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn allowed() -> io::Result<Self> {
        Ok(Self::of(&sched_getaffinity(None)?))
    }

    /// The CPUs that a thread may run on.
    ///
    /// # Errors
    /// The kernel's error, such as for a thread that has ended.
    pub fn of_thread(thread: Pid) -> io::Result<Self> {
        Ok(Self::of(&sched_getaffinity(Some(thread))?))
    }

    fn of(set: &CpuSet) -> Self {
        Self((0..MAX_CPUS).filter(|&cpu| set.is_set(cpu)).collect())
    }

    /// The CPU numbers, ascending.
    pub fn as_slice(&self) -> &[usize] {
        &self.0
    }

    /// How many CPUs there are in the list; never 0.
    #[expect(clippy::len_without_is_empty, reason = "a CPU list is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The CPUs of this list that are not in `other`; `None` if there are none.
    pub fn without(&self, other: &Self) -> Option<Self> {
        let rest: Vec<_> = self.0.iter().copied().filter(|cpu| !other.0.contains(cpu)).collect();
        (!rest.is_empty()).then_some(Self(rest))
    }

    /// The CPUs of both lists.
    pub fn with(&self, other: &Self) -> Self {
        let both: BTreeSet<usize> = self.0.iter().chain(&other.0).copied().collect();
        Self(both.into_iter().collect())
    }

    /// The first `n` CPUs of this list, at least one; all of them where there are fewer.
    pub fn first(&self, n: usize) -> Self {
        Self(self.0.iter().copied().take(n.max(1)).collect())
    }

    /// An error naming the first CPU of this list that this process may not use.
    ///
    /// # Errors
    /// One line that names the CPU and the allowed ones.
    pub fn check_allowed(&self) -> Result<(), String> {
        let allowed = Self::allowed().map_err(|e| format!("cannot read the CPU affinity: {e}"))?;
        match self.without(&allowed) {
            None => Ok(()),
            Some(missing) => Err(format!(
                "CPU {} is not available to this process; it may use {allowed}",
                missing.0[0]
            )),
        }
    }
}

impl From<usize> for CpuList {
    fn from(cpu: usize) -> Self {
        Self(vec![cpu])
    }
}

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a list of CPUs; write one such as 0 or 0,2-5");
        let number = |digits: &str| -> Result<usize, String> {
            let cpu = digits.trim().parse::<usize>().map_err(|_| wrong())?;
            if cpu < MAX_CPUS { Ok(cpu) } else { Err(wrong()) }
        };
        let mut cpus = Vec::new();
        for part in text.split(',') {
            match part.split_once('-') {
                None => cpus.push(number(part)?),
                Some((first, last)) => {
                    let (first, last) = (number(first)?, number(last)?);
                    if first > last {
                        return Err(wrong());
                    }
                    cpus.extend(first..=last);
                }
            }
        }
        cpus.sort_unstable();
        cpus.dedup();
        Ok(Self(cpus))
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_slice();
        while let Some((&first, _)) = rest.split_first() {
            let run =
                rest.iter().zip(first..).take_while(|(cpu, expected)| *cpu == expected).count();
            match run {
                1 => write!(f, "{first}")?,
                _ => write!(f, "{first}-{}", first + run - 1)?,
            }
            rest = &rest[run..];
            if !rest.is_empty() {
                f.write_str(",")?;
            }
        }
        Ok(())
    }
}

/// Pins the calling thread to `cpus`; threads that it starts afterwards inherit this.
///
/// # Errors
/// The kernel's error, for example for a CPU that does not exist.
pub fn pin_current_thread(cpus: &CpuList) -> io::Result<()> {
    pin(None, cpus)
}

/// Pins another thread of the same user.
///
/// # Errors
/// The kernel's error, such as for a thread that has ended.
pub fn pin_thread(thread: Pid, cpus: &CpuList) -> io::Result<()> {
    pin(Some(thread), cpus)
}

fn pin(thread: Option<Pid>, cpus: &CpuList) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus.as_slice() {
        set.set(cpu);
    }
    Ok(sched_setaffinity(thread, &set)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_parsed_sorted_and_printed_short() {
        let list: CpuList = "5,0,2-4,3".parse().unwrap();
        assert_eq!(list.as_slice(), [0, 2, 3, 4, 5]);
        assert_eq!(list.to_string(), "0,2-5");
        assert_eq!(CpuList::from(7).to_string(), "7");
    }

    #[test]
    fn the_first_cpus_are_the_lowest_and_at_least_one() {
        let list: CpuList = "0,2-5".parse().unwrap();
        for (n, first) in [(0, "0"), (1, "0"), (3, "0,2-3"), (5, "0,2-5"), (9, "0,2-5")] {
            assert_eq!(list.first(n).to_string(), first);
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in ["", "a", "3-1", "1,", "-1", "99999", "0-99999999999"] {
            assert!(text.parse::<CpuList>().is_err(), "{text}");
        }
    }

    #[test]
    fn pinning_is_seen_by_the_kernel() {
        let first = CpuList::from(CpuList::allowed().unwrap().as_slice()[0]);
        std::thread::spawn(move || {
            pin_current_thread(&first).unwrap();
            assert_eq!(CpuList::allowed().unwrap(), first);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_missing_cpu_is_named() {
        let message = CpuList::from(MAX_CPUS - 1).check_allowed().unwrap_err();
        assert!(message.starts_with("CPU 1023 is not available"), "{message}");
    }
}
