//! What on this machine will spoil a measurement, and how to fix it.
//!
//! A file for each area. What the kernel reports in files is read through a [`Root`], so that the
//! trees of other machines test it; what has to be measured is a value, [`Measured`]. So [`judge`]
//! is a function of both, and [`Measured::of_this_machine`] the only place that takes time. What
//! AES-GCM costs is measured by its caller.
//!
//! The limits that are judged by are toll's opinion, not the kernel's, and each file says why. Facts are
//! `observe`'s, programs those that `targets` and `peers` know.

mod connections;
mod disturbance;
mod item;
mod kernel_tls;
mod links;
mod measured;
mod pacing;
mod processor;
mod programs;
pub mod settings_file;
mod system;

use item::Found;
pub use item::{Fix, Item, Judgement, Trouble};
pub use kernel_tls::kernel_tls_lacking;
pub use links::link_speeds;
pub use measured::{AesGcm, Measured, Stage, noise};
use observe::Root;
pub use programs::Program;

type Judge = fn(&Root, &Measured) -> Found;

/// All items but programs.
const ITEMS: [(&str, Judge); 28] = [
    ("siblings", |root, measured| processor::siblings(root, measured)),
    ("steal", |_, measured| disturbance::steal(&measured.before, &measured.after)),
    ("background", |_, measured| {
        disturbance::background(&measured.before, &measured.after, measured.own_pid)
    }),
    ("cpu-quota", |root, _| system::cpu_quota(root)),
    ("governor", |root, _| processor::governor(root)),
    ("turbo", |root, _| processor::turbo(root)),
    ("idle-states", |root, _| processor::idle_states(root)),
    ("power-policy", |root, _| processor::power_policy(root)),
    ("prefetchers", |root, measured| processor::prefetchers(root, measured)),
    ("microcode", |root, _| processor::microcode(root)),
    ("mitigations", |root, _| processor::mitigations(root)),
    ("accelerators", |root, _| processor::accelerators(root)),
    ("clock", |root, _| system::clock(root)),
    ("numa-balancing", |root, _| system::numa_balancing(root)),
    ("hypervisor", |root, _| system::hypervisor(root)),
    ("irq-time", |root, _| system::irq_time(root)),
    ("counters", |root, measured| system::counters(root, measured)),
    ("descriptors", |root, measured| connections::descriptors(root, measured)),
    ("ports", |root, _| connections::ports(root)),
    ("time-wait", |root, _| connections::time_wait(root)),
    ("backlog", |root, _| connections::backlog(root)),
    ("buffers", |root, _| connections::buffers(root)),
    ("window-scaling", |root, _| connections::window_scaling(root)),
    ("pacing", |root, measured| pacing::item(root, measured)),
    ("tcp-memory", |root, _| connections::tcp_memory(root)),
    ("links", |root, _| links::item(root)),
    ("kernel-tls", |root, measured| kernel_tls::item(root, measured)),
    ("openssl", |_, measured| system::openssl(measured)),
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
