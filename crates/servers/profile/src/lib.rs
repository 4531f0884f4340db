//! Where a server's CPU time goes: `perf` samples its CPUs, and rules sort the samples into classes of
//! work.

mod class;
mod flame;
mod futexes;
mod perf;
mod profile;
mod rules;
mod stack;

pub use class::Class;
pub use flame::{count, flame_graph, flame_picture, folded};
pub use futexes::Futexes;
pub use perf::{Event, FREQUENCY, Maps, PerfError, Recording, Samples, read};
pub use profile::Profile;
pub use rules::{Rules, RulesError};
pub use stack::{CallStack, Frame};
