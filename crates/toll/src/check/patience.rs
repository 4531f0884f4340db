//! A line for whoever waits longer than two seconds.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget};

/// Nobody needs to be told about less.
const LONG: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(200);

/// Says on stderr what is done now, from two seconds on, where that is a terminal; gone when this is
/// dropped.
pub(crate) struct Patience {
    bar: ProgressBar,
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Patience {
    pub(crate) fn begin(is_wanted: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let (end, ended) = mpsc::channel();
        let shown = bar.clone();
        let wait = move || {
            if ended.recv_timeout(LONG) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(TICK);
            }
        };
        // Without a thread there is no line, and the check goes on.
        let thread = is_wanted.then(|| std::thread::Builder::new().spawn(wait).ok()).flatten();
        Self { bar, end: Some(end), thread }
    }

    pub(crate) fn say(&self, what: &'static str) {
        self.bar.set_message(what);
    }
}

impl Drop for Patience {
    fn drop(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take() {
            // It waits for nothing now; had it panicked, there would be no line.
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}
