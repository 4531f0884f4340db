//! What the journal says of the tables of primitives.

mod answer;
mod findings;
mod gates;

pub use answer::{Answer, Curve, Point, Ratio, Series};
pub use findings::{Beside, Cost, Discarded, Findings, LowerBound, Row};
pub(crate) use gates::all as gates;
