//! A governor that follows the load raises the frequency during a trial instead of before it.

use std::collections::BTreeSet;

use crate::{Fix, Found, Root, ok, warning};

const WANTED: &str = "performance";

pub(crate) fn item(root: &Root) -> Found {
    let folder = |cpu: usize| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq");
    let governors: Vec<(usize, String)> = root
        .cpus()
        .into_iter()
        .filter_map(|cpu| {
            let file = format!("{}/scaling_governor", folder(cpu));
            Some((cpu, root.line(&file).known()?.clone()))
        })
        .collect();
    let Some((first, _)) = governors.first() else {
        return Err(
            "the kernel does not control this machine's frequency; toll measures it with each \
             trial"
                .to_owned(),
        );
    };
    let names: BTreeSet<&str> = governors.iter().map(|(_, name)| name.as_str()).collect();
    let driver = root.line(&format!("{}/scaling_driver", folder(*first)));
    let driver = driver.known().map(|driver| format!(" ({driver})")).unwrap_or_default();
    let seen = format!("{}{driver}", names.into_iter().collect::<Vec<_>>().join(", "));
    let others = governors.iter().filter(|(_, name)| name != WANTED).map(|(cpu, _)| *cpu);
    let others: Vec<usize> = others.collect();
    if others.is_empty() {
        return ok(seen);
    }
    let why = "the frequency follows the load with a delay, so short trials start slowly";
    let has_it = |cpu: &usize| {
        let file = format!("{}/scaling_available_governors", folder(*cpu));
        root.line(&file).known().is_some_and(|all| all.split(' ').any(|name| name == WANTED))
    };
    let fix = if others.iter().all(has_it) {
        Fix::files(
            "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
            others.iter().map(|cpu| format!("{}/scaling_governor", folder(*cpu))),
            WANTED,
        )
    } else {
        Fix::advice("boot a kernel with the governor `performance`")
    };
    warning(seen, why, fix)
}
