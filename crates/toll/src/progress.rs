//! The bar that tells what a run does now, and how long it will take.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use study::{Cell, Moment};
use units::{BitsPerSecond, PerSecond};

/// How often it changes: a person cannot read faster.
const PER_SECOND: u8 = 5;

/// A bar on stderr, where that is a terminal; gone when this is dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// When the first trial of this run began.
    began: Instant,
    /// What a trial takes beside its warm-up and window, until the first has shown it.
    forecast: Duration,
}

impl Progress {
    /// Of `to_do` trials, each of which is forecast to take so long.
    pub(crate) fn new(is_wanted: bool, to_do: usize, forecast: Duration) -> Self {
        let target = match is_wanted {
            true => ProgressDrawTarget::stderr_with_hz(PER_SECOND),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(to_do as u64), target);
        // The template is a constant; were it wrong, indicatif's own would do.
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} trials  {wide_msg}") {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Self { bar, began: Instant::now(), forecast }
    }

    /// A trial goes on.
    pub(crate) fn show(&self, cell: &Cell, moment: &Moment) {
        if !self.bar.is_hidden() {
            let left = in_minutes(self.left());
            self.bar.set_message(format!("{left} left  {}: {}", what(cell), in_words(moment)));
        }
    }

    /// A trial has ended.
    pub(crate) fn finished(&self) {
        self.bar.inc(1);
    }

    /// Writes something else, with the bar out of the way.
    pub(crate) fn beside(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }

    fn left(&self) -> Duration {
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or_default());
        time_left(done, all, self.began.elapsed(), self.forecast)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// By the trials that were done, and by the forecast where none was.
fn time_left(done: u64, all: u64, elapsed: Duration, forecast: Duration) -> Duration {
    let each = if done == 0 { forecast } else { elapsed.div_f64(done as f64) };
    each.mul_f64(all as f64).saturating_sub(elapsed)
}

/// `1:05`
fn in_minutes(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// The cell by its swept values, the server first.
fn what(cell: &Cell) -> String {
    let mut words = vec![cell.target.server.to_string()];
    words.extend(
        cell.params
            .iter()
            .filter(|(key, _)| *key != "target.server")
            .map(|(key, value)| study::label(key, value)),
    );
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
    fn what_is_left_follows_from_what_was_done() {
        assert_eq!(time_left(0, 100, Duration::ZERO, SECOND / 2), 50 * SECOND);
        assert_eq!(time_left(20, 100, 16 * SECOND, SECOND / 2), 64 * SECOND);
        assert_eq!(time_left(0, 1, 2 * SECOND, SECOND), Duration::ZERO);
        assert_eq!(in_minutes(Duration::from_millis(64_001)), "1:05");
        assert_eq!(in_minutes(Duration::ZERO), "0:00");
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
