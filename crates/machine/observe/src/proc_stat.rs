use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ObserveError;

/// CPU time of one core in clock ticks (`USER_HZ`, 10 ms on Linux).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CoreTicks {
    /// In user mode, including nice and, on a host, the guests that it runs.
    pub user: u64,
    /// In the kernel, without interrupts.
    pub system: u64,
    /// In hardware interrupts.
    pub irq: u64,
    /// In soft interrupts, where most of the network's receive path runs.
    pub softirq: u64,
    /// Ready to run while the hypervisor ran another machine.
    pub steal: u64,
    /// Idle, including idle with I/O outstanding.
    pub idle: u64,
}

impl CoreTicks {
    pub fn total(&self) -> u64 {
        self.user + self.system + self.irq + self.softirq + self.steal + self.idle
    }

    /// What passed since `earlier`. A counter that went back counts as unchanged: the kernel's
    /// idle and iowait do so when a CPU is taken out and put back.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            irq: self.irq.saturating_sub(earlier.irq),
            softirq: self.softirq.saturating_sub(earlier.softirq),
            steal: self.steal.saturating_sub(earlier.steal),
            idle: self.idle.saturating_sub(earlier.idle),
        }
    }
}

/// The counters of each core that is online, from the text of `/proc/stat` (proc_stat(5)).
///
/// # Errors
/// A line of a CPU that is not as documented, a CPU that is listed twice, or no CPU at all.
pub fn parse_proc_stat(text: &str) -> Result<BTreeMap<usize, CoreTicks>, ObserveError> {
    let malformed = |what: String| ObserveError::Malformed { file: "/proc/stat", what };
    let mut cores = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(number) = words.next().and_then(|word| word.strip_prefix("cpu")) else {
            continue;
        };
        if number.is_empty() {
            continue; // the sum over all cores
        }
        let wrong = || malformed(format!("`{line}`"));
        let cpu = number.parse().map_err(|_| wrong())?;
        let ticks = core_ticks(words).ok_or_else(wrong)?;
        if cores.insert(cpu, ticks).is_some() {
            return Err(malformed(format!("CPU {cpu} is listed twice")));
        }
    }
    if cores.is_empty() {
        return Err(malformed("it lists no CPU".into()));
    }
    Ok(cores)
}

/// The eight fields that every kernel since 2.6.11 has. Guest time, the ninth and tenth, is part
/// of user and nice already.
fn core_ticks<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<CoreTicks> {
    let mut next = || words.next()?.parse::<u64>().ok();
    let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
    let (iowait, irq, softirq, steal) = (next()?, next()?, next()?, next()?);
    let (user, idle) = (user.checked_add(nice)?, idle.checked_add(iowait)?);
    let ticks = CoreTicks { user, system, irq, softirq, steal, idle };
    [system, irq, softirq, steal, idle].iter().try_fold(user, |sum, x| sum.checked_add(*x))?;
    Some(ticks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: &str = "\
cpu  300 30 200 4000 100 6 70 80 50 5
cpu0 100 10 100 2000 50 3 40 80 50 5
cpu3 200 20 100 2000 50 3 30 0 0 0
intr 242713 0 0
ctxt 343072
btime 1700000000
";

    #[test]
    fn cores_that_are_offline_are_not_there_and_guests_count_once() {
        let cores = parse_proc_stat(STAT).unwrap();
        assert_eq!(cores.keys().copied().collect::<Vec<_>>(), [0, 3]);
        let expected =
            CoreTicks { user: 110, system: 100, irq: 3, softirq: 40, steal: 80, idle: 2050 };
        assert_eq!(cores[&0], expected);
        assert_eq!(cores[&0].total(), 2383);
    }

    #[test]
    fn old_kernels_without_guest_fields_are_read() {
        let cores = parse_proc_stat("cpu0 1 2 3 4 5 6 7 8\n").unwrap();
        assert_eq!(cores[&0].steal, 8);
    }

    #[test]
    fn malformed_text_is_an_error() {
        for text in [
            "",
            "intr 1\n",
            "cpu  1 2 3 4 5 6 7 8\n",
            "cpu0 1 2 3 4 5 6 7\n",
            "cpu0 1 2 3 x 5 6 7 8\n",
            "cpu0 1 2 3 -4 5 6 7 8\n",
            "cpux 1 2 3 4 5 6 7 8\n",
            "cpu0 18446744073709551615 1 3 4 5 6 7 8\n",
            "cpu0 18446744073709551615 0 3 4 5 6 7 8\n",
            "cpu0 1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\n",
        ] {
            assert!(parse_proc_stat(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "(cpu[0-9]{0,3}( [0-9x-]{0,20}){0,11}\n){0,4}") {
            let _ = parse_proc_stat(&text);
        }
    }
}
