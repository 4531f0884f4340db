//! What toll does now and how far it is, on a terminal.
//!
//! It is drawn only when its caller has something new, and by no thread of its own, so that nothing
//! wakes up beside what is measured.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use trial::TrialRecord;

/// How often it changes: a person cannot read faster.
const PER_SECOND: u8 = 5;

/// A line on stderr, where that is a terminal; gone when this is dropped.
pub(crate) struct ProgressLine(ProgressBar);

impl ProgressLine {
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

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// How often a run says how far it is where there is no terminal.
const OFF_TERMINAL: Duration = Duration::from_secs(15);

/// How far a run is: the time that is over, of all that it takes.
pub(crate) struct RunProgress {
    line: ProgressLine,
    is_wanted: bool,
    /// When it was last said where there is no terminal, or when the run began.
    said: Instant,
    /// When its first part began.
    began: Option<Instant>,
    noise: Noise,
}

/// What disturbed the trials until now.
#[derive(Default)]
struct Noise {
    trials: u64,
    disturbed: u64,
    /// The busiest program of the last trial that was disturbed, where one is known.
    program: Option<String>,
}

impl Noise {
    fn note(&mut self, line: &TrialRecord) {
        self.trials += 1;
        if line.is_disturbed() {
            self.disturbed += 1;
            self.program = line.programs.first().map(|program| program.name.clone());
        }
    }

    /// `, 3 of 20 trials disturbed (rustc)`; empty while there is none.
    fn in_words(&self) -> String {
        if self.disturbed == 0 {
            return String::new();
        }
        let program = self.program.as_ref().map(|name| format!(" ({name})"));
        let (disturbed, trials) = (self.disturbed, self.trials);
        format!(", {disturbed} of {trials} trials disturbed{}", program.unwrap_or_default())
    }
}

/// The length of the bar of a run: thousandths of all that is to be done.
const WHOLE: u64 = 1000;

impl RunProgress {
    pub(crate) fn new(is_wanted: bool) -> Self {
        let line = ProgressLine::new(is_wanted, "{bar:24} {wide_msg}");
        let said = Instant::now();
        Self { line, is_wanted, said, began: None, noise: Noise::default() }
    }

    /// Takes note of a trial that ended.
    pub(crate) fn note(&mut self, line: &TrialRecord) {
        self.noise.note(line);
    }

    /// A part goes on; what is to be done takes `left` yet, the part included.
    pub(crate) fn show(&mut self, left: Duration, words: &dyn Fn() -> (String, String)) {
        let elapsed = self.began.get_or_insert_with(Instant::now).elapsed();
        let noise = self.noise.in_words();
        let text = || {
            let (parts, doing) = words();
            format!("{parts}, {} left{noise}  {doing}", in_minutes(left))
        };
        if self.is_wanted && self.line.0.is_hidden() && self.said.elapsed() >= OFF_TERMINAL {
            self.said = Instant::now();
            crate::print_beside(format_args!("{}\n", text()));
        }
        self.line.show(thousandths(elapsed, left), WHOLE, text);
    }

    /// Writes something else, with the bar out of the way.
    pub(crate) fn beside(&self, write: impl FnOnce()) {
        self.line.beside(write);
    }
}

/// How much of the bar is done after a time, when so much is left.
fn thousandths(elapsed: Duration, left: Duration) -> u64 {
    let all = elapsed + left;
    if all.is_zero() { WHOLE } else { (elapsed.as_secs_f64() / all.as_secs_f64() * 1e3) as u64 }
}

/// `1:05`
pub(crate) fn in_minutes(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trial::BusyProgram;

    #[test]
    fn noise_is_shown_once_a_trial_is_disturbed_with_the_program_that_took_the_cpu() {
        let mut noise = Noise::default();
        let line = |foreign: f64, program: &[&str]| {
            let mut line = trial::testing::example();
            line.verdict_mut().evidence.foreign = trial::testing::share(foreign);
            let busy = |name: &&str| BusyProgram { name: (*name).to_owned(), cpu_ns: 1 };
            line.programs = program.iter().map(busy).collect();
            line
        };
        noise.note(&line(0.01, &[]));
        assert_eq!(noise.in_words(), "");
        noise.note(&line(0.35, &["rustc", "cc1"]));
        noise.note(&line(0.02, &[]));
        let said = noise.in_words();
        assert!(
            said.contains("1 of 3") && said.contains("rustc") && !said.contains("cc1"),
            "{said}"
        );
        noise.note(&line(0.35, &[]));
        let said = noise.in_words();
        assert!(said.contains("2 of 4") && !said.contains("rustc"), "{said}");
    }

    #[test]
    fn what_is_left_is_shown_as_a_share_and_as_time() {
        let second = Duration::from_secs(1);
        assert_eq!(thousandths(16 * second, 64 * second), 200);
        assert_eq!(thousandths(Duration::ZERO, Duration::ZERO), WHOLE);
        assert_eq!(in_minutes(Duration::from_millis(64_001)), "1:05");
        assert_eq!(in_minutes(Duration::ZERO), "0:00");
    }
}
