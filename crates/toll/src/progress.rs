//! The bar that tells what a run does now, and how long it will take.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use study::find::Over;
use study::{Cell, Forecast};
use trial::{Moment, Role};
use units::{BitsPerSecond, PerSecond};

use crate::dry_run;

/// How often it changes: a person cannot read faster.
const PER_SECOND: u8 = 5;

/// A bar on stderr, where that is a terminal; gone when this is dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// When the first trial of this run began.
    began: Instant,
}

/// The bar's length: thousandths of all that is to be done.
const WHOLE: u64 = 1000;

impl Progress {
    pub(crate) fn new(is_wanted: bool) -> Self {
        let target = match is_wanted {
            true => ProgressDrawTarget::stderr_with_hz(PER_SECOND),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(WHOLE), target);
        // The template is a constant; were it wrong, indicatif's own would do.
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {wide_msg}") {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Self { bar, began: Instant::now() }
    }

    /// A trial goes on; `ahead` is all that is to be done, this trial included.
    pub(crate) fn show(&self, cell: &Cell, role: Role, ahead: &Forecast, moment: &Moment) {
        if !self.bar.is_hidden() {
            let left = dry_run::time(ahead).saturating_sub(moment.elapsed.min(moment.window));
            self.bar.set_position(thousandths(self.began.elapsed(), left));
            self.bar.set_message(format!(
                "{} left  {}: {}",
                left_in_words(ahead, left),
                what(cell, role),
                in_words(moment)
            ));
        }
    }

    /// Writes something else, with the bar out of the way.
    pub(crate) fn beside(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
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
            .map(|(key, value)| study::label(key, value)),
    );
    if let Some(find) = &cell.find {
        let load = match find.over {
            Over::Connections => {
                study::label("load.connections", &cell.load.connections.to_string())
            }
            Over::Arrival(_) => cell.load.arrival.to_string(),
        };
        let verb = if role == Role::Search { "tries" } else { "holds" };
        words.push(format!("{verb} {load}"));
    }
    words.join(", ")
}

fn in_words(moment: &Moment) -> String {
    let elapsed = moment.elapsed.min(moment.window).as_secs_f64();
    if elapsed == 0.0 {
        return "warming up".to_owned();
    }
    let progress = moment.progress;
    let figure = match progress.body_bytes {
        0 => PerSecond(progress.completed as f64 / elapsed).to_string(),
        bytes => BitsPerSecond(bytes as f64 * 8.0 / elapsed).to_string(),
    };
    match progress.failures {
        0 => figure,
        failures => format!("{figure}, {failures} errors"),
    }
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

    #[test]
    fn a_trial_is_told_by_its_figure_and_its_errors() {
        let moment = |ms, body_bytes, failures| Moment {
            elapsed: Duration::from_millis(ms),
            window: SECOND,
            progress: ::load::Progress { completed: 500, failures, body_bytes },
        };
        assert_eq!(in_words(&moment(0, 0, 0)), "warming up");
        assert_eq!(in_words(&moment(500, 0, 0)), "1,000/s");
        assert_eq!(in_words(&moment(500, 125_000_000, 3)), "2.00 Gb/s, 3 errors");
    }
}
