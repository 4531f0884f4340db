//! What the machine does while toll measures, and what it is.
//!
//! Facts only: this crate judges nothing. What a machine cannot give is
//! [not available](Availability), with the reason, and never a guess.
//!
//! - [`cpu_series`]: user, system, interrupt, steal and idle time by core over a window.
//! - [`process_tree`], [`thread_cpu`]: CPU time, and time spent waiting for a CPU.
//! - [`frequency`]: a core's frequency, by counting additions instead of trusting the TSC.
//! - [`contention`]: which CPUs share a core, and whether a sibling is busy now.
//! - [`net_counters`]: the kernel's TCP and IP counters.
//! - [`machine`]: everything that goes into `machine.json`.

mod availability;
mod chains;
pub mod contention;
mod cpu_clock;
pub mod cpu_series;
mod error;
pub mod frequency;
mod listener;
pub mod machine;
pub mod net_counters;
mod on_cpu;
mod pid_stat;
mod proc_stat;
pub mod process_tree;
pub mod thread_cpu;

pub use availability::{Availability, Fact};
pub use contention::{SiblingRatio, is_quiet, siblings, throughput};
pub use cpu_series::{CoreShares, CpuSeries, Sampler};
pub use error::ObserveError;
pub use frequency::core_hz;
pub use listener::{Listens, listens};
pub use machine::Machine;
pub use net_counters::NetCounters;
pub use proc_stat::{CoreTicks, parse_proc_stat};
pub use process_tree::{CpuSource, ProcessTree, TreeCpu};
pub use thread_cpu::ThreadCpu;
