//! A CPU that sleeps deeply takes its time to wake up, which lightly loaded servers show as latency.

use super::{Fix, Item, Root};

const NAME: &str = "idle-states";
/// What a wake-up may cost: less than a connection over loopback takes.
const MOST_MICROSECONDS: i64 = 20;

pub(super) fn item(root: &Root) -> Item {
    let mut deep = Vec::new();
    let mut deepest: Option<(i64, String)> = None;
    let mut states = 0;
    for cpu in root.cpus() {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
        for state in root.numbered(&folder, "state") {
            let file = |name: &str| format!("{folder}/state{state}/{name}");
            let Some(&latency) = root.number(&file("latency")).known() else { continue };
            states += 1;
            let is_on = root.line(&file("disable")).known().is_some_and(|value| value == "0");
            if is_on && latency > MOST_MICROSECONDS {
                deep.push(file("disable"));
                let name = root.line(&file("name")).known().cloned().unwrap_or_default();
                deepest = deepest.max(Some((latency, name)));
            }
        }
    }
    match deepest {
        None if states == 0 => Item::not_available(
            NAME,
            "the kernel has no idle states here; in a virtual machine the host chooses them",
        ),
        None => Item::ok(NAME, format!("none takes more than {MOST_MICROSECONDS} µs to leave")),
        Some((latency, name)) => Item::warning(
            NAME,
            format!("{name} takes {latency} µs to leave"),
            "latencies at low load include the time to wake up; a busy server does not sleep",
            Fix::Setting {
                command: format!("cpupower idle-set -D {MOST_MICROSECONDS}"),
                changes: deep
                    .into_iter()
                    .map(|file| super::Change { file, to: "1".to_owned() })
                    .collect(),
            },
        ),
    }
}
