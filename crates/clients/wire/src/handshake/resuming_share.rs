//! Which handshakes of a load resume a session.

use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use super::offer::Offer;

/// Spreads the resuming handshakes evenly: of any number of handshakes in a row, the number that
/// resumes is exact to one.
#[derive(Debug)]
pub(super) struct ResumingShare {
    /// In hundredths.
    share: u8,
    /// The accumulated share.
    sum: AtomicU16,
}

impl ResumingShare {
    /// The share of a client. Several of a thread begin at different points, so that what they round away
    /// cancels out.
    pub(super) fn of(offer: &Offer) -> Self {
        let (number, count) = offer.client;
        Self::from(offer.resumed_percent, number * 100 / count)
    }

    fn from(share: u8, begin: usize) -> Self {
        Self { share, sum: AtomicU16::new((begin % 100) as u16) }
    }

    /// Whether the next handshake is to resume.
    pub(super) fn next(&self) -> bool {
        let sum = self.sum.load(Relaxed) + u16::from(self.share);
        self.sum.store(sum % 100, Relaxed);
        sum >= 100
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use proptest::prelude::*;

    use super::*;
    use crate::handshake::Trust;

    proptest! {
        #[test]
        fn any_run_of_handshakes_has_the_share(percent in 0u8..=100, begin in 0usize..100, skip in 0usize..200, count in 1usize..300) {
            let resuming = ResumingShare::from(percent, begin);
            let resuming = std::iter::repeat_with(|| resuming.next()).skip(skip).take(count);
            let resuming = resuming.filter(|resumes| *resumes).count() as f64;
            let exact = count as f64 * f64::from(percent) / 100.0;
            prop_assert!((resuming - exact).abs() <= 1.0, "{resuming} of {count}");
        }

        /// However few handshakes each of them makes.
        #[test]
        fn clients_have_the_share_together(percent in 0u8..=100, clients in 1usize..400, each in 1usize..4) {
            let count = NonZeroUsize::new(clients).unwrap();
            let resuming: usize = (0..clients)
                .map(|number| {
                    let offer = Offer::to("localhost", Trust::Anyone);
                    let offer = Offer { resumed_percent: percent, client: (number, count), ..offer };
                    let share = ResumingShare::of(&offer);
                    std::iter::repeat_with(|| share.next()).take(each).filter(|resumes| *resumes).count()
                })
                .sum();
            let exact = (clients * each) as f64 * f64::from(percent) / 100.0;
            // The points are whole hundredths, so that some have a client more than others.
            let error = (resuming as f64 - exact).abs();
            prop_assert!(error <= 1.0 + each as f64 * 2.0 + clients as f64 / 50.0, "{resuming}, {exact}");
        }
    }
}
