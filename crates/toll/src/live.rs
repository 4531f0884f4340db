//! The line on a terminal that tells how far a trial is.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use trial::Moment;
use units::{BitsPerSecond, Nanos, PerSecond, thousands};

/// How often the line changes: a person cannot read faster.
const INTERVAL: Duration = Duration::from_millis(250);

/// A line on stderr that is written over and over, and gone when this is dropped.
pub(crate) struct LiveLine {
    is_shown: bool,
    last: Option<Instant>,
}

impl LiveLine {
    /// Shown only where stderr is a terminal and `is_wanted`.
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self { is_shown: is_wanted && std::io::stderr().is_terminal(), last: None }
    }

    /// Shows how far a trial is; `what` stands before it.
    pub(crate) fn show(&mut self, what: &str, moment: &Moment) {
        if self.is_shown && self.last.is_none_or(|last| last.elapsed() >= INTERVAL) {
            self.last = Some(Instant::now());
            write_over(&format!("{what}{}", in_words(moment)));
        }
    }

    /// Removes the line, so that something else can be written.
    pub(crate) fn clear(&mut self) {
        if self.last.take().is_some() {
            write_over("");
        }
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// To the line's start, erase it, the text.
fn write_over(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // A terminal that has gone away is no reason not to measure.
    let _ = write!(stderr, "\r\x1b[K{text}").and_then(|()| stderr.flush());
}

fn in_words(moment: &Moment) -> String {
    let elapsed = moment.elapsed.min(moment.window);
    if elapsed.is_zero() {
        return "warming up".to_owned();
    }
    let progress = moment.progress;
    let seconds = elapsed.as_secs_f64();
    format!(
        "{seconds:.1}s of {}  {}  {}  {} errors",
        Nanos(u64::try_from(moment.window.as_nanos()).unwrap_or(u64::MAX)),
        PerSecond(progress.completed as f64 / seconds),
        BitsPerSecond(progress.body_bytes as f64 * 8.0 / seconds),
        thousands(progress.failures),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::load::Progress;

    #[test]
    fn it_tells_time_rate_goodput_and_errors() {
        let moment = |ms| Moment {
            elapsed: Duration::from_millis(ms),
            window: Duration::from_secs(10),
            progress: Progress { completed: 2_000, failures: 1_234, body_bytes: 250_000_000 },
        };
        assert_eq!(in_words(&moment(0)), "warming up");
        assert_eq!(in_words(&moment(2_000)), "2.0s of 10s  1,000/s  1.00 Gb/s  1,234 errors");
        // The load winds up after its window.
        assert_eq!(in_words(&moment(10_050)), "10.0s of 10s  200/s  200.00 Mb/s  1,234 errors");
    }
}
