//! What the kernel says of a server of another release, beside what toll says of it: its CPU time, also where it is
//! reloaded, and its quota.

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::time::Duration;

use support::{Desk, Killed, processes_with, run, until};
use trial::{Limit, TrialRecord, WarningKind};

use super::{check, made, study};
use crate::verdicts::cpu_quota::{Group, stopped};

/// The CPU time of each thread of a process and its descendants (proc_pid_schedstat(5)), as far as it was seen.
fn add_threads(pid: u32, seen: &mut HashMap<u32, u64>) {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    for task in tasks {
        let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        let ran = text.split(' ').next().and_then(|ran| ran.parse().ok());
        let number = task.file_name().to_str().and_then(|number| number.parse().ok());
        if let (Some(ran), Some(number)) = (ran, number) {
            seen.insert(number, ran);
        }
    }
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    for child in children.unwrap_or_default().split_whitespace() {
        add_threads(child.parse().unwrap(), seen);
    }
}

#[test]
fn the_cpu_time_of_a_server_is_what_its_threads_ran_reloaded_or_not() {
    for system in made().into_iter().take(1) {
        for is_reloaded in [false, true] {
            let case =
                "load.duration = \"2500ms\"\nload.operation = \"one-request-per-connection\"";
            let desk = study("nginx", &system, "", case);
            let mut toll =
                Killed::start(desk.run(&["--quiet"]).stdout(Stdio::null()).stderr(Stdio::null()));
            let folder = desk.path().display().to_string();
            let mut masters = Vec::new();
            until("nginx runs", || {
                masters = processes_with("nginx: master");
                masters.retain(|(_, words)| words.contains(&folder));
                !masters.is_empty()
            });
            let master = masters[0].0;
            let (mut seen, mut sent) = (HashMap::new(), !is_reloaded);
            while toll.0.try_wait().unwrap().is_none() {
                add_threads(master, &mut seen);
                // Within the window: it takes less to start and to warm up.
                if !sent && seen.values().sum::<u64>() > 200_000_000 {
                    run(Command::new("kill").args(["-HUP", &master.to_string()]));
                    sent = true;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            let line: TrialRecord = desk.lines().pop().unwrap();
            check(&line, &system);
            let is_named =
                line.warnings.iter().any(|warning| warning.kind == WarningKind::ProcessesChanged);
            assert_eq!(is_named, is_reloaded, "{:?}", line.warnings);
            // Its start and the warm-up are in the threads' time too. The new processes alone have less than half.
            let ran = seen.values().sum::<u64>() as f64;
            let counted = line.cpu_ns.server.unwrap() as f64;
            assert!((0.7..1.03).contains(&(counted / ran)), "{counted} counted, {ran} ran");
        }
    }
}

#[test]
fn the_quota_of_a_server_of_a_system_is_the_limit() {
    for system in made().into_iter().take(1) {
        let Some(group) = Group::with_quota(0.5) else { return };
        let line = stopped(|| {
            let case = "load.duration = \"1s\"\nload.operation = \"handshakes\"";
            let desk: Desk = study("nginx", &system, "", case);
            let output = group.toll().args(desk.run(&["--quiet"]).get_args()).output().unwrap();
            desk.lines().pop().unwrap_or_else(|| panic!("{}", support::text(&output.stderr)))
        });
        assert_eq!(line.limit().unwrap(), Limit::CpuQuota);
        assert!(line.receipt.mismatch.is_empty(), "{:?}", line.receipt.mismatch);
        let quota = line.receipt.obtained.server_quota.as_ref().unwrap();
        assert!((quota.cpus - 0.5).abs() < 1e-9 && quota.throttled_periods > 0, "{quota:?}");
    }
}
