//! What the machine does while toll measures, and what it is.
//!
//! Facts only: this crate judges nothing. What a machine cannot give is [not available](Availability),
//! with the reason, and never a guess.
//!
//! - [`CpuMeter`]: what programs, hypervisor and nobody had of each CPU, and how exactly that is known.
//! - [`cpu_series`]: user, system, interrupt, steal and idle time by core over a window.
//! - [`TreeMeter`], [`thread_cpu`]: CPU time, and time spent waiting for a CPU.
//! - [`frequency`]: a core's frequency, by counting additions instead of trusting the TSC.
//! - [`CoreReading`], [`CycleCounter`]: both for the calling thread, in microseconds.
//! - [`contention`]: which CPUs share a core, and whether a sibling is busy now.
//! - [`net_counters`]: the kernel's TCP and IP counters.
//! - [`TcpConnections`]: what connections really use for congestion control.
//! - [`SentBytesMeter`]: what a server sends, and how many of its connections end.
//! - [`OpenSockets`]: how many connections a server has, and what the kernel keeps for them.
//! - [`link`]: the interface that packets leave by, and the queue before it.
//! - [`CgroupLimits`], [`QuotaWatch`]: what control groups allow a process, and when they stopped it.
//! - [`MemoryTraffic`]: what moves between the processors and the memory.
//! - [`FutexCalls`]: how often threads wait for each other.
//! - [`PerfEvent`], [`Recorder`]: the kernel's events, counted or with a record of each.
//! - [`InstructionCounter`]: the instructions of some processes, by the processor's counters.
//! - [`EnergyMeter`]: what the processors take from the mains.
//! - [`interrupt_time`]: where the kernel counts the time of interrupts.
//! - [`machine`]: everything that goes into `machine.json`.
//! - [`Snapshot`]: the CPU time of all CPUs and all programs until one moment.
//! - [`tuning`]: makes settings, and takes them back.

mod availability;
mod cgroup;
mod chains;
pub mod contention;
mod core_reading;
mod cpu_clock;
pub mod cpu_series;
mod cpu_share;
mod cpu_times;
mod cycle_counter;
mod descriptors;
mod energy;
mod error;
pub mod frequency;
mod futex_calls;
mod inet_diag;
pub mod instant;
mod instruction_counter;
pub mod interrupt_time;
mod kernel_tls_counters;
pub mod link;
mod listen_queue;
mod listener;
pub mod machine;
mod memory_traffic;
mod named_thread;
mod namespace;
pub mod net_counters;
mod netlink;
mod on_cpu;
mod open_sockets;
mod perf_event;
mod pid_stat;
mod proc_stat;
mod process_tree;
mod recorder;
mod root;
mod sent_bytes;
mod server_process;
mod sibling_cpus;
mod snapshot;
mod task_time;
mod tcp_connections;
pub mod thread_cpu;
mod tree_meter;
pub mod tuning;

pub use availability::{Availability, Fact};
pub use cgroup::{
    CgroupLimits, CpuQuota, MemoryPressure, OwnGroup, QuotaWatch, Throttled, Throttling,
};
pub use contention::{SiblingRatio, is_quiet, siblings, throughput};
pub use core_reading::CoreReading;
pub use cpu_series::{CoreShares, CpuSeries, Sampler};
pub use cpu_share::{CpuShare, CpuTimeSource};
pub use cpu_times::{CpuMeter, CpuTime, CpuTimes, CpuWindow};
pub use cycle_counter::CycleCounter;
pub use descriptors::{OpenDescriptors, open_descriptors};
pub use energy::{EnergyMeter, EnergyReading};
pub use error::ObserveError;
pub use frequency::core_hz;
pub use futex_calls::FutexCalls;
pub use inet_diag::{End, Transport};
pub use instruction_counter::InstructionCounter;
pub use interrupt_time::{InterruptTime, interrupt_time};
pub use kernel_tls_counters::KernelTlsCounters;
pub use link::{Link, LinkCounters, loopback_queue};
pub use listen_queue::ListenQueue;
pub use listener::{
    Holder, Listens, is_in_other_namespace, is_reached_at, listener, listening, listens, sharers,
};
pub use machine::Machine;
pub use memory_traffic::{MemoryBytes, MemorySource, MemoryTraffic};
pub use named_thread::NamedThread;
pub use namespace::within as within_network_of;
pub use net_counters::NetCounters;
pub use netlink::{u32_at, u64_at};
pub use open_sockets::OpenSockets;
pub use perf_event::{Counted, PARANOID_ALLOWS_CPUS, PerfEvent};
pub use proc_stat::{CoreTicks, parse_proc_stat};
pub use process_tree::ProcessTree;
pub use recorder::Recorder;
pub use root::Root;
pub use sent_bytes::{SentBytes, SentBytesMeter};
pub use server_process::ServerProcess;
pub use sibling_cpus::sibling_cpus;
pub use snapshot::{Snapshot, TaskWindow};
pub use task_time::TaskTime;
pub use tcp_connections::TcpConnections;
pub use thread_cpu::{ThreadCpu, allowed_cpus};
pub use tree_meter::{TreeCpu, TreeCpuSource, TreeMeter};
