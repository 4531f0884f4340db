//! Which handshakes of a load resume a session.

use std::cell::Cell;

/// Spreads the resuming handshakes evenly: of any number of handshakes in a row, the number that
/// resumes is exact to one.
#[derive(Debug)]
pub(super) struct ResumingShare {
    /// In hundredths.
    share: u8,
    /// The accumulated share.
    sum: Cell<u16>,
}

impl ResumingShare {
    pub(super) fn new(share: u8) -> Self {
        Self { share, sum: Cell::new(0) }
    }

    /// Whether the next handshake is to resume.
    pub(super) fn next(&self) -> bool {
        let sum = self.sum.get() + u16::from(self.share);
        self.sum.set(sum % 100);
        sum >= 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_run_of_handshakes_has_the_share(percent in 0u8..=100, skip in 0usize..200, count in 1usize..300) {
            let resuming = ResumingShare::new(percent);
            let resuming = std::iter::repeat_with(|| resuming.next()).skip(skip).take(count);
            let resuming = resuming.filter(|resumes| *resumes).count() as f64;
            let exact = count as f64 * f64::from(percent) / 100.0;
            prop_assert!((resuming - exact).abs() <= 1.0, "{resuming} of {count}");
        }
    }
}
