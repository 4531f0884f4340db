//! The parsers of `/proc/PID/stat` and `/proc/PID/task/TID/schedstat`.

use units::Nanos;

use crate::ObserveError;

/// What toll needs of `/proc/PID/stat` (proc_pid_stat(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PidStat {
    pub state: char,
    pub parent: u32,
    /// Whether it is about to end, or has ended.
    pub is_ending: bool,
    pub user_ticks: u64,
    pub system_ticks: u64,
    /// How often it needed a page of memory that was not mapped yet.
    pub faults: u64,
    /// The same of its descendants that have ended and were waited for.
    pub ended_faults: u64,
    /// User and system time of its descendants that have ended and were waited for.
    pub ended_ticks: u64,
    pub threads: u64,
    /// When it started, in ticks since boot: distinguishes a process from a later one with the same
    /// id.
    pub start_ticks: u64,
    /// The CPU that it ran on last; old kernels do not say.
    pub cpu: Option<usize>,
}

/// `PF_EXITING`.
const ENDING: u64 = 4;

impl PidStat {
    /// Parses the one line of the file. The second field is the program's name in parentheses,
    /// which may itself hold spaces and parentheses: what counts is the last one.
    pub fn parse(text: &str) -> Result<Self, ObserveError> {
        Self::fields(text).ok_or_else(|| ObserveError::Malformed {
            file: "/proc/PID/stat",
            what: format!("`{}`", text.trim_end()),
        })
    }

    fn fields(text: &str) -> Option<Self> {
        let (_, behind_name) = text.rsplit_once(')')?;
        let fields: Vec<&str> = behind_name.split_ascii_whitespace().collect();
        // The manual page counts from 1; the first field after the name is its third.
        let field = |number: usize| fields.get(number - 3).copied();
        let count = |number: usize| field(number)?.parse::<u64>().ok();
        Some(Self {
            state: field(3)?.chars().next()?,
            parent: field(4)?.parse().ok()?,
            is_ending: count(9)? & ENDING != 0,
            user_ticks: count(14)?,
            system_ticks: count(15)?,
            faults: count(10)? + count(12)?,
            ended_faults: count(11)? + count(13)?,
            ended_ticks: count(16)? + count(17)?,
            threads: field(20)?.parse().ok()?,
            start_ticks: field(22)?.parse().ok()?,
            cpu: field(39).and_then(|cpu| cpu.parse().ok()),
        })
    }

    /// Whether nothing of the process runs any more, though its parent has not asked yet how it
    /// ended. A zombie with further threads is a process whose first thread has ended.
    pub fn has_ended(&self) -> bool {
        self.state == 'X' || (self.state == 'Z' && self.threads <= 1)
    }
}

/// How long a thread was on a CPU, until the scheduler's last tick, and how long it waited for one
/// while it was ready to run: the first two fields of its `schedstat` (the kernel's
/// Documentation/scheduler/sched-stats.rst).
///
/// The second is `None` where the kernel does not account for it: then it writes zeros, also the
/// third field, the number of times that the thread was put on a CPU.
pub(crate) fn parse_schedstat(text: &str) -> Result<(Nanos, Option<Nanos>), ObserveError> {
    let fields: Option<Vec<u64>> =
        text.split_ascii_whitespace().map(|field| field.parse().ok()).collect();
    match fields.as_deref() {
        Some(&[on_cpu, waiting, times]) => {
            Ok((Nanos(on_cpu), (times > 0).then_some(Nanos(waiting))))
        }
        _ => Err(ObserveError::Malformed {
            file: "/proc/PID/task/TID/schedstat",
            what: format!("`{}`", text.trim_end()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: &str = "4242 (NAME) S 17 4242 4242 0 -1 4194560 1 2 3 4 \
        250 75 9 8 20 0 5 0 123456 1000 200 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0\n";

    #[test]
    fn names_may_hold_spaces_and_parentheses() {
        for name in ["nginx", "Web Content", "a) R 1 2", "((", ") S 1 1", ""] {
            let stat = PidStat::parse(&STAT.replace("NAME", name)).unwrap();
            assert_eq!((stat.state, stat.parent), ('S', 17), "{name}");
            assert_eq!((stat.user_ticks, stat.system_ticks), (250, 75), "{name}");
            assert_eq!((stat.threads, stat.start_ticks), (5, 123_456), "{name}");
            assert_eq!((stat.ended_ticks, stat.faults, stat.ended_faults), (17, 4, 6), "{name}");
            assert_eq!(stat.cpu, Some(1), "{name}");
        }
    }

    #[test]
    fn a_zombie_has_ended_unless_other_threads_live() {
        let stat = |state: &str, threads: &str| {
            let text = STAT.replace(") S ", &format!(") {state} "));
            PidStat::parse(&text.replace(" 0 5 0 ", &format!(" 0 {threads} 0 "))).unwrap()
        };
        assert!(stat("Z", "1").has_ended());
        assert!(stat("X", "0").has_ended());
        assert!(!stat("Z", "4").has_ended());
        assert!(!stat("S", "1").has_ended());
    }

    #[test]
    fn malformed_text_is_an_error() {
        for text in ["", "1 (a", "1 (a)", "1 (a) S", "1 (a) S x 1 1", "1 a S 1"] {
            assert!(PidStat::parse(text).is_err(), "{text}");
        }
        for text in ["", "1 2", "1 2 3 4", "1 x 3", "-1 2 3"] {
            assert!(parse_schedstat(text).is_err(), "{text}");
        }
    }

    #[test]
    fn waiting_is_the_second_field_unless_the_kernel_does_not_count() {
        let parsed = |text| parse_schedstat(text).unwrap();
        assert_eq!(parsed("5000 700 3\n"), (Nanos(5000), Some(Nanos(700))));
        assert_eq!(parsed("5000 0 3\n").1, Some(Nanos(0)));
        assert_eq!(parsed("0 0 0\n").1, None);
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "[0-9]{0,3} ?[()]{0,2}.{0,9}[)]?[ 0-9A-Z-]{0,80}") {
            let _ = PidStat::parse(&text);
            let _ = parse_schedstat(&text);
        }
    }
}
