//! What a journal says.
//!
//! - [`analysis::Analysis`] is what one journal says; [`compare::Comparison`] what two say together.
//! - [`primitive::Costs`] is what it says of the tables of primitives.
//! - [`findings::Findings`] is what a report shows of either.
//! - [`gate::Gate`] is a figure that a run must reach.

pub mod analysis;
pub mod compare;
pub mod figure;
pub mod findings;
pub mod gate;
mod label;
mod mark;
pub mod primitive;
pub mod wording;
mod written;

pub use label::{label, label_in, trials};
pub use mark::Mark;
