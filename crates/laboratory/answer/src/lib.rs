//! What a journal says.
//!
//! - [`analysis::Analysis`] is what one journal says; [`compare::Comparison`] what two say together.
//! - [`analysis::Decisions`] has how rows compare, decided once; answers, headlines and gates ask there. What has to be
//!   alike in rows that are compared is a [`Circumstance`].
//! - [`costs::Costs`] is what it says of timed algorithms; they are rows of the analysis, as the cells are.
//! - [`findings::Findings`] is what a report shows of it.
//! - [`summary::Summary`] is what is kept of a run without its journal; [`claims`] are judged by its rows.
//! - [`tracked::TrackedFigure`] is one that is followed from run to run.
//! - [`gate::Gate`] is a figure that a run must reach.

pub mod analysis;
mod caveat;
mod circumstance;
pub mod claims;
mod comparable;
pub mod compare;
pub mod costs;
pub mod figure;
pub mod findings;
pub mod gate;
mod label;
mod limits;
mod mark;
mod measured;
pub mod summary;
pub mod tracked;
pub mod wording;

pub use caveat::Caveat;
pub use circumstance::Circumstance;
pub use label::{label, label_in, trials};
pub use mark::Mark;
pub use measured::{MeasuredRow, Shortfall, TrialCounts};
