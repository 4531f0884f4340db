//! What a journal says.
//!
//! - [`analysis::Analysis`] is what one journal says; [`compare::Comparison`] what two say together.
//! - [`primitive::Costs`] is what it says of the tables of primitives.
//! - [`findings::Findings`] is what a report shows of either.
//! - [`gate::Gate`] is a figure that a run must reach.

pub mod analysis;
pub mod compare;
pub mod findings;
pub mod gate;
mod label;
mod measure;
pub mod named;
pub mod primitive;
pub mod quantity;

pub use analysis::Mark;
pub use label::{label, trials};
pub use measure::Measure;
