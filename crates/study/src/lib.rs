//! Trials that can be believed.
//!
//! A trial loads a server and watches the machine over the same window. What comes out is one
//! [`Line`] of the journal: the figures, the receipt (was it what was asked?) and the verdict (what
//! limited it?), with the evidence of both. A figure without those two is not worth printing.
//!
//! - [`Trial`] runs one, on a [`Machine`].
//! - [`Receipt`], [`Verdict`] and [`Warning`] are pure functions of what was seen.
//! - [`Journal`] keeps the lines, one on disk before the next trial begins.
//! - [`Study`] is what a study file says; [`run()`] measures what its journal lacks.
//! - [`primitive`] is its part that needs no server: what algorithms cost.
//! - [`analysis::Analysis`] is what a journal says; [`compare::Comparison`] what two say together.
//! - [`gate::Gate`] is a figure that a run must reach.

pub mod analysis;
pub mod compare;
mod cpu_order;
mod elsewhere;
mod file;
pub mod find;
mod forecast;
pub mod gate;
mod label;
mod measure;
mod order;
pub mod primitive;
mod reference;
mod run;
mod study;
#[cfg(test)]
mod testing;
mod this_bench;

pub use cpu_order::CpuOrder;
pub use file::{LeftOut, StudyError, StudyFile, shipped};
pub use forecast::Forecast;
pub use label::label;
pub use measure::Measure;
pub use reference::{Published, PublishedUnit, Reference};
pub use run::{Ask, Bench, Ended, Event, RunError, StartError, run};
pub use study::{AnswerRule, Cell, Metric, Only, Study};
pub use this_bench::{ThisBench, ThisTarget, commands};
