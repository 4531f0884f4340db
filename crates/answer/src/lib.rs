//! What a journal says.
//!
//! - [`analysis::Analysis`] is what one journal says; [`compare::Comparison`] what two say together.
//! - [`primitive::Findings`] is what it says of the tables of primitives.
//! - [`gate::Gate`] is a figure that a run must reach.

pub mod analysis;
pub mod compare;
pub mod comparison;
pub mod gate;
mod label;
pub mod primitive;
pub mod wording;

pub use comparison::Verdict;
pub use label::label;
