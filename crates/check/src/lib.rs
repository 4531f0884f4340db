//! What on this machine will spoil a measurement, and how to fix it.
//!
//! One file per item. What the kernel reports in files is read through a [`Root`], so that the
//! trees of other machines test it; what has to be measured is a value, [`Measured`]. So [`judge`]
//! is a function of both, and [`Measured::of_this_machine`] the only place that takes time. What
//! AES-GCM costs is measured by its caller.
//!
//! The limits that are judged by are toll's opinion, not the kernel's, and each file says why. Facts are
//! `observe`'s, programs those that `targets` and `peers` know.

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
mod pacing;
mod ports;
mod power_policy;
mod prefetchers;
mod programs;
pub mod settings_file;
mod siblings;
mod steal;
mod tcp_memory;
mod time_wait;
mod turbo;
mod window_scaling;

pub use item::{Fix, Item, Judgement, Trouble};
use item::{Found, bad, ok, warning};
pub use kernel_tls::kernel_tls_lacking;
pub use measured::{Measured, Stage, noise};
use observe::{Root, Snapshot};
pub use openssl::AesGcm;
pub use programs::Program;

type Judge = fn(&Root, &Measured) -> Found;

/// All items but programs.
const ITEMS: [(&str, Judge); 27] = [
    ("siblings", |root, measured| siblings::item(root, measured)),
    ("steal", |_, measured| steal::item(&measured.before, &measured.after)),
    ("background", |_, measured| {
        background::item(&measured.before, &measured.after, measured.own_pid)
    }),
    ("governor", |root, _| governor::item(root)),
    ("turbo", |root, _| turbo::item(root)),
    ("idle-states", |root, _| idle_states::item(root)),
    ("power-policy", |root, _| power_policy::item(root)),
    ("prefetchers", |root, measured| prefetchers::item(root, measured)),
    ("microcode", |root, _| microcode::item(root)),
    ("mitigations", |root, _| mitigations::item(root)),
    ("accelerators", |root, _| accelerators::item(root)),
    ("clock", |root, _| clock::item(root)),
    ("numa-balancing", |root, _| numa_balancing::item(root)),
    ("hypervisor", |root, _| hypervisor::item(root)),
    ("irq-time", |root, _| irq_time::item(root)),
    ("counters", |root, measured| counters::item(root, measured)),
    ("descriptors", |root, measured| descriptors::item(root, measured)),
    ("ports", |root, _| ports::item(root)),
    ("time-wait", |root, _| time_wait::item(root)),
    ("backlog", |root, _| backlog::item(root)),
    ("buffers", |root, _| buffers::item(root)),
    ("window-scaling", |root, _| window_scaling::item(root)),
    ("pacing", |root, measured| pacing::item(root, measured)),
    ("tcp-memory", |root, _| tcp_memory::item(root)),
    ("links", |root, _| links::item(root)),
    ("kernel-tls", |root, measured| kernel_tls::item(root, measured)),
    ("openssl", |_, measured| openssl::item(measured)),
];

/// The names of all items, in the order in which [`judge`] gives them.
pub fn names() -> impl Iterator<Item = &'static str> {
    ITEMS.iter().map(|(name, _)| *name).chain(programs::names())
}

pub fn judge(root: &Root, measured: &Measured) -> Vec<Item> {
    let items = ITEMS.iter().map(|(name, judge)| Item::of(name, judge(root, measured)));
    items.chain(programs::items(&measured.programs)).collect()
}

#[cfg(test)]
mod tests;
