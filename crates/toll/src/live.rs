//! How far a trial is that was asked for alone.

use trial::Moment;
use units::Nanos;

use crate::progress::{self, Progress};

/// The line of a trial.
pub(crate) struct LiveLine(Progress);

impl LiveLine {
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self(Progress::new(is_wanted, "{bar:24} {wide_msg}"))
    }

    /// Shows how far a trial is; `what` stands before it.
    pub(crate) fn show(&mut self, what: &str, moment: &Moment) {
        let Moment { elapsed, window, .. } = moment;
        self.0.show(elapsed.as_millis() as u64, window.as_millis() as u64, || {
            let window = Nanos(window.as_nanos() as u64);
            format!("of {window}  {what}{}", progress::in_words(moment))
        });
    }
}
