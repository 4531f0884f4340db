//! What a study asks, once its file is read: cells to measure, tables of primitives, what is searched
//! for, and the answers that they are to give.
//!
//! [`Study`] is the whole of it. Crate `file` reads one, `experiment` measures it, `answer` says what
//! was found.

mod answer_rule;
mod claim;
mod comparisons;
mod cpu_order;
pub mod find;
mod forecast;
pub mod gate;
pub mod headline;
pub mod metric;
mod nominal;
pub mod primitive;
pub mod reference;
mod show;
mod study;
#[cfg(feature = "testing")]
pub mod testing;

pub use answer_rule::AnswerRule;
pub use claim::{Claim, ClaimedFigure, ClaimedRange};
pub use cpu_order::CpuOrder;
pub use forecast::{Forecast, preparations, restart_takes};
pub use gate::RatioGate;
pub use journal::{Param, Params};
pub use metric::Metric;
pub use reference::{Published, PublishedUnit, Reference};
pub use show::Show;
pub use study::*;
