//! What the journal says of the tables of primitives.

mod answer;
mod costs;
mod findings;
mod gates;
mod row;

pub use answer::{Answer, Projected, Ratio, of_one_round};
pub use costs::{Costs, Discarded};
pub use row::{Beside, Cost, LowerBound, Row};
