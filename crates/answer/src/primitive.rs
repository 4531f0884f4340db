//! What the journal says of the tables of primitives.

mod answer;
mod costs;
mod findings;
mod gates;

pub use answer::{Answer, Curve, Point, Ratio, Series};
pub use costs::{Beside, Cost, Costs, Discarded, LowerBound, Row};
