//! How far a trial is, for whoever waits for it.

use std::fmt;
use std::time::Duration;

use load::Progress;
use units::{BitsPerSecond, PerSecond, thousands};

/// How far a trial is.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// How much of what is done once for a server is over: its own warm-up.
    pub prepared: Duration,
    /// How much of the window is over; zero in the warm-up.
    pub elapsed: Duration,
    /// The length of the window; zero where a number of operations ends the trial, not a time.
    pub window: Duration,
    /// What the load has done within the window.
    pub progress: Progress,
}

/// How it goes: `1,000/s, 2.00 Gb/s, 3 errors`.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.window.is_zero() {
            return write!(f, "{} operations", thousands(self.progress.completed));
        }
        // The load winds up after its window.
        let elapsed = self.elapsed.min(self.window).as_secs_f64();
        if elapsed == 0.0 {
            return f.write_str("warming up");
        }
        let Progress { completed, failures, body_bytes } = self.progress;
        write!(f, "{}", PerSecond(completed as f64 / elapsed))?;
        if body_bytes > 0 {
            write!(f, ", {}", BitsPerSecond(body_bytes as f64 * 8.0 / elapsed))?;
        }
        if failures > 0 {
            write!(f, ", {} errors", thousands(failures))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_is_shown_by_its_figures_and_its_errors() {
        let shown = |ms, body_bytes, failures| {
            let progress = Progress { completed: 500, failures, body_bytes };
            let window = Duration::from_secs(1);
            let (prepared, elapsed) = (Duration::ZERO, Duration::from_millis(ms));
            Moment { prepared, elapsed, window, progress }
        };
        let counted = Moment { window: Duration::ZERO, ..shown(500, 0, 0) };
        assert_eq!(counted.to_string(), "500 operations");
        let shown = |ms, body_bytes, failures| shown(ms, body_bytes, failures).to_string();
        assert_eq!(shown(0, 0, 0), "warming up");
        assert_eq!(shown(500, 0, 0), "1,000/s");
        assert_eq!(shown(500, 125_000_000, 3), "1,000/s, 2.00 Gb/s, 3 errors");
        assert_eq!(shown(2_000, 0, 1_234), "500/s, 1,234 errors");
    }
}
