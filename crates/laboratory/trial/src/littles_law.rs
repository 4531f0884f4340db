//! Little's law: users = rate x (response time + think time).
//!
//! For a closed loop this is the operational law N = X (R + Z) of Denning and Buzen ("The
//! Operational Analysis of Queueing Network Models", 1978), after Little ("A Proof for the Queuing
//! Formula L = λW", 1961). It assumes nothing about distributions. N is the connections that were
//! asked for; X counts the operations that completed within the window, R is their mean response
//! time and Z the mean pause between two operations of one user.
//!
//! Times cut at the window's edges would add up to N by construction, whatever went wrong. So each
//! operation and each pause counts with its whole time, once, where it ends, and only what toll
//! reports as figures counts: completed operations, and pauses until the next operation was due.
//! What users spent their time on otherwise is missing from the sum, and shows as a deviation:
//! failed operations, starts that the client was too busy to make on time, and users that took no
//! part. The cost: an operation that began before the window counts too much, one that is under way
//! at its end too little. That is at most one operation per user, hence [`LEAST_OPERATIONS`].
//!
//! What the law cannot show is a client that reads answers late: that time is in R.

use load::UserTime;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// The least operations per user for a judgement: the window's edges may cost 1% then.
pub const LEAST_OPERATIONS: u64 = 100;

/// A deviation beyond this is reported.
pub const MOST_DEVIATION: f64 = 0.02;

/// Little's law over one trial of a closed loop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LittlesLaw {
    /// Connections asked for.
    pub users: u64,
    /// Completed operations per second.
    pub rate_per_s: f64,
    /// The mean response time of completed operations.
    pub response_ns: u64,
    /// The mean time from the end of an operation until its user's next one was due: think time,
    /// the closing of a connection, the pause after a failure. Absent where no user began two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_ns: Option<u64>,
    /// Rate x (response + think).
    pub users_by_law: f64,
    /// `users_by_law` over `users`, minus 1.
    pub deviation: f64,
    /// Whether there were enough operations per user to judge the deviation.
    pub judged: bool,
    /// What explains the deviation, where that is judged and too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

/// What most of a deviation is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The time of failed operations, and their share of the pauses.
    Failures,
    /// The time between when operations were due and when the client began them.
    Client,
    /// The rest: users that were not there for the whole window, or whose operations did not end.
    Ramp,
}

impl LittlesLaw {
    /// Over a window with this many completed operations; `None` if there was none.
    pub(crate) fn of(users: usize, window: Nanos, completed: u64, time: &UserTime) -> Option<Self> {
        if completed == 0 {
            return None;
        }
        let (users, operations) = (users as u64, completed as f64);
        let response = time.responses as f64 / operations;
        let think = (time.pause_count > 0).then(|| time.pauses as f64 / time.pause_count as f64);
        let explained = operations * (response + think.unwrap_or_default());
        let all = users as f64 * window.0 as f64;
        let deviation = explained / all - 1.0;
        let judged = completed / users >= LEAST_OPERATIONS;
        let cause = (judged && deviation.abs() > MOST_DEVIATION).then(|| {
            let failed = time.pause_count.saturating_sub(completed) as f64;
            let failures = time.failures as f64 + failed * think.unwrap_or_default();
            let late = time.late as f64;
            let rest = (all - explained - failures - late).abs();
            if failures >= late.max(rest) {
                Cause::Failures
            } else if late >= rest {
                Cause::Client
            } else {
                Cause::Ramp
            }
        });
        Some(Self {
            users,
            rate_per_s: operations / window.seconds(),
            response_ns: response.round() as u64,
            think_ns: think.map(|think| think.round() as u64),
            users_by_law: explained / window.0 as f64,
            deviation,
            judged,
            cause,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In 2 ms, a user has time for 200 operations of 4 µs with 6 µs of thought between them.
    fn law(users: usize, completed: u64, change: impl FnOnce(&mut UserTime)) -> LittlesLaw {
        let mut time = UserTime {
            responses: 4_000 * u128::from(completed),
            pauses: 6_000 * u128::from(completed),
            pause_count: completed,
            ..UserTime::default()
        };
        change(&mut time);
        LittlesLaw::of(users, Nanos(2_000_000), completed, &time).unwrap()
    }

    #[test]
    fn a_steady_load_keeps_the_law() {
        let expected = LittlesLaw {
            users: 3,
            rate_per_s: 3e5,
            response_ns: 4_000,
            think_ns: Some(6_000),
            users_by_law: 3.0,
            deviation: 0.0,
            judged: true,
            cause: None,
        };
        assert_eq!(law(3, 600, |_| {}), expected);
    }

    #[test]
    fn the_cause_of_a_deviation_is_what_took_most_of_the_missing_time() {
        let failed = |time: &mut UserTime| {
            (time.failures, time.pauses, time.pause_count) = (20 * 4_000, 200 * 6_000, 200);
        };
        let late = |time: &mut UserTime| (time.pauses, time.late) = (200 * 5_000, 200 * 1_000);
        let stalled = |time: &mut UserTime| time.responses += 200_000;
        for (law, deviation, cause) in [
            (law(1, 180, failed), -0.1, Cause::Failures),
            (law(1, 200, late), -0.1, Cause::Client),
            // One of ten users did nothing.
            (law(10, 1_800, |_| {}), -0.1, Cause::Ramp),
            // Operations that began long before the window ended in it.
            (law(1, 200, stalled), 0.1, Cause::Ramp),
        ] {
            assert!((law.deviation - deviation).abs() < 1e-9, "{law:?}");
            assert_eq!(law.cause, Some(cause), "{law:?}");
        }
    }

    #[test]
    fn up_to_two_percent_may_be_the_windows_edges() {
        for (completed, cause) in
            [(197, None), (195, Some(Cause::Ramp)), (203, None), (205, Some(Cause::Ramp))]
        {
            assert_eq!(law(1, completed, |_| {}).cause, cause, "{completed}");
        }
    }

    #[test]
    fn few_operations_per_user_are_not_judged() {
        let few = law(10, 999, |_| {});
        assert_eq!((few.judged, few.cause), (false, None));
        let enough = law(10, 1_000, |_| {});
        assert_eq!((enough.judged, enough.cause), (true, Some(Cause::Ramp)));
        let one = law(1, 1, |time| (time.pauses, time.pause_count) = (0, 0));
        assert_eq!((one.think_ns, one.judged), (None, false));
    }

    #[test]
    fn without_an_operation_there_is_no_law() {
        assert_eq!(LittlesLaw::of(1, Nanos(2_000_000), 0, &UserTime::default()), None);
    }
}
