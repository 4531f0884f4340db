//! What a run does now, and how long it will take.

use std::time::{Duration, Instant};

use journal::Role;
use study::find::Over;
use study::{Cell, Forecast};
use trial::Moment;

use crate::dry_run;
use crate::progress::{self, Progress};

pub(crate) struct RunProgress {
    bar: Progress,
    /// When the first trial of this run began.
    began: Instant,
}

/// The bar's length: thousandths of all that is to be done.
const WHOLE: u64 = 1000;

impl RunProgress {
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self { bar: Progress::new(is_wanted, "{bar:24} {wide_msg}"), began: Instant::now() }
    }

    /// A trial goes on; `ahead` is all that is to be done, this trial included.
    pub(crate) fn show(&self, cell: &Cell, role: Role, ahead: &Forecast, moment: &Moment) {
        let left = dry_run::time(ahead).saturating_sub(moment.elapsed.min(moment.window));
        self.bar.show(thousandths(self.began.elapsed(), left), WHOLE, || {
            let (left, what) = (left_in_words(ahead, left), what(cell, role));
            format!("{left} left  {what}: {}", progress::in_words(moment))
        });
    }

    /// Writes something else, with the bar out of the way.
    pub(crate) fn beside(&self, write: impl FnOnce()) {
        self.bar.beside(write);
    }
}

/// How much of the bar is done after a time, when so much is left.
fn thousandths(elapsed: Duration, left: Duration) -> u64 {
    let all = elapsed + left;
    if all.is_zero() { WHOLE } else { (elapsed.as_secs_f64() / all.as_secs_f64() * 1e3) as u64 }
}

/// Trials and time; of searches it is known how long they take at most.
fn left_in_words(ahead: &Forecast, left: Duration) -> String {
    let at_most = if ahead.searching > 0 { "at most " } else { "" };
    let trials = ahead.held.saturating_add(ahead.searching);
    format!("{at_most}{} trials, {}", units::thousands(trials), in_minutes(left))
}

/// `1:05`
fn in_minutes(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// The cell by its swept values, the server first, and what a trial is for that is of a search.
fn what(cell: &Cell, role: Role) -> String {
    let mut words = vec![cell.target.server.to_string()];
    words.extend(
        cell.params
            .iter()
            .filter(|(key, _)| *key != "target.server")
            .map(|(key, value)| answer::label(key, value)),
    );
    if let Some(find) = &cell.find {
        let load = match find.over {
            Over::Connections => {
                answer::label("load.connections", &cell.load.connections.to_string())
            }
            Over::Arrival(_) => cell.load.arrival.to_string(),
        };
        let verb = if role == Role::Search { "tries" } else { "holds" };
        words.push(format!("{verb} {load}"));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_is_left_is_told_in_trials_and_time() {
        assert_eq!(thousandths(16 * SECOND, 64 * SECOND), 200);
        assert_eq!(thousandths(Duration::ZERO, Duration::ZERO), WHOLE);
        assert_eq!(in_minutes(Duration::from_millis(64_001)), "1:05");
        assert_eq!(in_minutes(Duration::ZERO), "0:00");
        let ahead = |searching| Forecast { held: 1_200, searching, time: units::Nanos(0) };
        assert_eq!(left_in_words(&ahead(0), 64 * SECOND), "1,200 trials, 1:04");
        assert_eq!(left_in_words(&ahead(34), 64 * SECOND), "at most 1,234 trials, 1:04");
    }
}
