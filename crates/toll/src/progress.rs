//! What toll does now and how far it is, on a terminal.
//!
//! It is drawn only when its caller has something new, and by no thread of its own, so that nothing
//! wakes up beside what is measured.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use trial::Moment;
use units::{BitsPerSecond, PerSecond, thousands};

/// How often it changes: a person cannot read faster.
const PER_SECOND: u8 = 5;

/// A line on stderr, where that is a terminal; gone when this is dropped.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A line with the parts of `template`, as indicatif names them.
    pub(crate) fn new(is_wanted: bool, template: &'static str) -> Self {
        let target = match is_wanted {
            true => ProgressDrawTarget::stderr_with_hz(PER_SECOND),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template(template).expect("templates are constants");
        Self(bar.with_style(style.progress_chars("━╸─")))
    }

    /// `done` of `all`, and words; nothing where there is no terminal.
    pub(crate) fn show(&self, done: u64, all: u64, words: impl FnOnce() -> String) {
        if !self.0.is_hidden() {
            self.0.update(|state| {
                state.set_len(all);
                state.set_pos(done);
            });
            self.0.set_message(words());
        }
    }

    /// Writes something else, with the line out of the way.
    pub(crate) fn beside(&self, write: impl FnOnce()) {
        self.0.suspend(write);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// How a trial goes so far.
pub(crate) fn in_words(moment: &Moment) -> String {
    // The load winds up after its window.
    let elapsed = moment.elapsed.min(moment.window).as_secs_f64();
    if elapsed == 0.0 {
        return "warming up".to_owned();
    }
    let progress = moment.progress;
    let mut words = PerSecond(progress.completed as f64 / elapsed).to_string();
    if progress.body_bytes > 0 {
        words += &format!(", {}", BitsPerSecond(progress.body_bytes as f64 * 8.0 / elapsed));
    }
    if progress.failures > 0 {
        words += &format!(", {} errors", thousands(progress.failures));
    }
    words
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_trial_is_shown_by_its_figures_and_its_errors() {
        let moment = |ms, body_bytes, failures| Moment {
            elapsed: Duration::from_millis(ms),
            window: Duration::from_secs(1),
            progress: ::load::Progress { completed: 500, failures, body_bytes },
        };
        assert_eq!(in_words(&moment(0, 0, 0)), "warming up");
        assert_eq!(in_words(&moment(500, 0, 0)), "1,000/s");
        assert_eq!(in_words(&moment(500, 125_000_000, 3)), "1,000/s, 2.00 Gb/s, 3 errors");
        assert_eq!(in_words(&moment(2_000, 0, 1_234)), "500/s, 1,234 errors");
    }
}
