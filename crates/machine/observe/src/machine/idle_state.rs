//! The sleep states of a CPU, as the kernel's cpuidle lists them
//! (Documentation/admin-guide/pm/cpuidle.rst).

use serde::{Deserialize, Serialize};

use crate::Fact;
use crate::root::Root;

/// A state in which a CPU may wait for work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleState {
    /// The kernel's number of it.
    pub state: usize,
    /// Such as `C6`.
    pub name: String,
    /// How long the CPU takes to leave it, in µs.
    pub latency_us: u64,
    /// Whether the kernel may choose it.
    pub is_allowed: bool,
    /// How often the CPU has entered it since the machine was started.
    pub entered: u64,
    /// How long it was in it since then, in µs.
    pub slept_us: u64,
}

pub const NO_IDLE_STATES: &str =
    "the kernel has no idle states here; in a virtual machine the host chooses them";

/// Those of one CPU, ascending by the kernel's number.
pub fn idle_states(root: &Root, cpu: usize) -> Fact<Vec<IdleState>> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
    let state = |state: usize| {
        let file = |name: &str| format!("{folder}/state{state}/{name}");
        let count = |name| root.number(&file(name)).known().copied().unwrap_or_default();
        Some(IdleState {
            state,
            name: root.line(&file("name")).known().cloned().unwrap_or_default(),
            latency_us: *root.number(&file("latency")).known()?,
            is_allowed: root.line(&file("disable")).known().is_some_and(|value| value == "0"),
            entered: count("usage"),
            slept_us: count("time"),
        })
    };
    let states: Vec<IdleState> =
        root.numbered(&folder, "state").into_iter().filter_map(state).collect();
    match states.is_empty() {
        true => Fact::unknown(NO_IDLE_STATES),
        false => Fact::Known(states),
    }
}

/// The allowed state that takes longest to leave.
pub(super) fn deepest(states: &[IdleState]) -> Option<&IdleState> {
    states.iter().filter(|state| state.is_allowed).max_by_key(|state| state.latency_us)
}
