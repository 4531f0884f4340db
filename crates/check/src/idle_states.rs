//! A CPU that sleeps deeply takes its time to wake up, which lightly loaded servers show as latency.

use observe::machine::{IdleState, NO_IDLE_STATES, idle_states};
use observe::tuning::Change;
use units::thousands;

use crate::{Fix, Found, Root, ok, warning};

/// What a wake-up may cost: less than a connection over loopback takes.
const MOST_MICROSECONDS: u64 = 20;

pub(crate) fn item(root: &Root) -> Found {
    let of_cpu = |cpu: usize| {
        let states = idle_states(root, cpu).known().cloned().unwrap_or_default();
        states.into_iter().map(move |state| (cpu, state))
    };
    let states: Vec<(usize, IdleState)> = root.cpus().into_iter().flat_map(of_cpu).collect();
    if states.is_empty() {
        return Err(NO_IDLE_STATES.to_owned());
    }
    let is_deep = |state: &IdleState| state.is_allowed && state.latency_us > MOST_MICROSECONDS;
    let deep: Vec<&(usize, IdleState)> = states.iter().filter(|(_, s)| is_deep(s)).collect();
    let Some((_, deepest)) = deep.iter().max_by_key(|(_, state)| state.latency_us) else {
        return ok(format!("none takes more than {MOST_MICROSECONDS} µs to leave"));
    };
    let entered = states.iter().filter(|(_, state)| state.name == deepest.name);
    let entered: u64 = entered.map(|(_, state)| state.entered).sum();
    let file = |(cpu, state): &&(usize, IdleState)| Change {
        file: format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{}/disable", state.state),
        to: "1".to_owned(),
    };
    warning(
        format!(
            "{} takes {} µs to leave; CPUs entered it {} times since the machine was started",
            deepest.name,
            deepest.latency_us,
            thousands(entered)
        ),
        "latencies at low load include the time to wake up; a busy server does not sleep",
        Fix::Setting {
            command: format!("cpupower idle-set -D {MOST_MICROSECONDS}"),
            changes: deep.iter().map(file).collect(),
        },
    )
}
