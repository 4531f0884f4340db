//! Medians with distribution-free intervals, and paired ratios.
//!
//! Trials are few (seven per cell) and their distribution is unknown: sometimes one is slow, none
//! is fast. So the answer is a median, and its interval only assumes independent trials: its ends
//! are two order statistics, and its coverage follows from the binomial distribution. With so few
//! trials a bootstrap interval is narrower, but covers less than it claims.

mod binomial;
mod decision;
mod difference;
mod estimate;
mod flips;
mod holm;
mod interval;
mod looks;
mod ratio;
mod runs;
mod sample;
mod scaling;
mod share;

pub use decision::{Decision, Direction, rounds_to_decide};
pub use difference::difference_of_medians;
pub use estimate::{Estimate, paired_ratio};
pub use flips::{Signs, signs};
pub use holm::{holm, sign_test};
pub use interval::{Interval, LEVEL, median_interval};
pub use looks::looks;
pub use ratio::ratio_of_medians;
pub use runs::{RunRatio, drift, trials_to_decide};
pub use sample::{SampleError, median};
pub use scaling::{LEAST_COUNTS, Scaling, ScalingError, WORST_FIT};
pub use share::share_interval;
