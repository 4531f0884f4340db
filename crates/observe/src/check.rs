//! What on this machine will spoil a measurement, and how to fix it.
//!
//! One file per item. What the kernel reports in files is read through a [`Root`], so that the
//! trees of other machines test it; what has to be measured is a value, [`Measured`]. So [`judge`]
//! is a function of both, and [`Measured::of_this_machine`] the only place that takes time. What
//! AES-GCM costs is measured by its caller.
//!
//! The limits that are judged by are toll's opinion, not the kernel's, and each file says why. This is
//! the only part of this crate that judges.

mod accelerators;
mod background;
mod backlog;
mod buffers;
mod clock;
mod counters;
mod descriptors;
mod governor;
mod hypervisor;
mod idle_states;
mod irq_time;
mod item;
mod kernel_tls;
mod links;
mod measured;
mod microcode;
mod mitigations;
mod numa_balancing;
mod openssl;
mod ports;
mod power_policy;
mod prefetchers;
mod programs;
pub mod settings_file;
mod siblings;
mod snapshot;
mod steal;
mod tcp_memory;
mod time_wait;
mod turbo;
mod window_scaling;

pub use crate::root::Root;
pub use item::{Change, Fix, Item, Judgement, Trouble};
pub use kernel_tls::kernel_tls_lacking;
pub use measured::{Measured, Stage, noise};
pub use openssl::AesGcm;
pub use programs::Program;
pub use snapshot::Snapshot;

/// The names of all items, in the order in which [`judge`] gives them.
pub const NAMES: [&str; 29] = [
    "siblings",
    "steal",
    "background",
    "governor",
    "turbo",
    "idle-states",
    "power-policy",
    "prefetchers",
    "microcode",
    "mitigations",
    "accelerators",
    "clock",
    "numa-balancing",
    "hypervisor",
    "irq-time",
    "counters",
    "descriptors",
    "ports",
    "time-wait",
    "backlog",
    "buffers",
    "window-scaling",
    "tcp-memory",
    "links",
    "kernel-tls",
    "openssl",
    "nginx",
    "haproxy",
    "openssl-program",
];

pub fn judge(root: &Root, measured: &Measured) -> Vec<Item> {
    let mut items = vec![
        siblings::item(root, measured),
        steal::item(&measured.before, &measured.after),
        background::item(&measured.before, &measured.after, measured.own_pid),
        governor::item(root),
        turbo::item(root),
        idle_states::item(root),
        power_policy::item(root),
        prefetchers::item(root, measured),
        microcode::item(root),
        mitigations::item(root),
        accelerators::item(root),
        clock::item(root),
        numa_balancing::item(root),
        hypervisor::item(root),
        irq_time::item(root),
        counters::item(root, measured),
        descriptors::item(root, measured),
        ports::item(root),
        time_wait::item(root),
        backlog::item(root),
        buffers::item(root),
        window_scaling::item(root),
        tcp_memory::item(root),
        links::item(root),
        kernel_tls::item(root, measured),
        openssl::item(measured),
    ];
    items.extend(programs::items(measured));
    items
}

#[cfg(test)]
mod tests;
