//! The bar of `toll bench`.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use primitives::bench::Progress;

/// A bar on stderr, where that is a terminal; gone when this is dropped.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn new(is_wanted: bool) -> Self {
        let target = match is_wanted {
            true => ProgressDrawTarget::stderr_with_hz(5),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        // The template is a constant; were it wrong, indicatif's own would do.
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} figures  {wide_msg}")
        {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Self(bar)
    }

    pub(crate) fn show(&self, progress: Progress) {
        self.0.set_length(progress.all as u64);
        self.0.set_position(progress.done as u64);
        self.0.set_message(match progress.all {
            0 => "making keys, and checking every library against a second one",
            _ => "sampling; Ctrl-C keeps what was measured",
        });
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
