//! What a journal says.
//!
//! - [`analysis::Analysis`] is what one journal says; [`compare::Comparison`] what two say together.
//! - [`primitive::Costs`] is what it says of the tables of primitives.
//! - [`gate::Gate`] is a figure that a run must reach.

pub mod analysis;
pub mod compare;
pub mod gate;
mod label;
mod measure;
pub mod named;
pub mod primitive;
pub mod quantity;

pub use analysis::mark;
pub use label::{label, trials, without_what_is_common};
pub use measure::Measure;
