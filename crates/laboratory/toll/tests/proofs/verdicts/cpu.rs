//! Who had no CPU left: the server, one thread of it, or somebody else's programs.

use std::process::Command;

use cpus::CpuList;
use observe::{CpuTimeSource, interrupt_time};
use trial::{CLIENT_WAITING, Limit, SERVER_BUSY, TrialRecord, Verdict, WarningKind};

use super::bench::{Neighbour, busy_loop, has_two_cpus, line, load, load_plain};
use support::{Serve, first_cpu, run, until};

/// Whether other work on the machine limited the trial.
fn is_disturbed(verdict: &Verdict) -> bool {
    let evidence = &verdict.evidence;
    match verdict.limit {
        Limit::ClientCpu => evidence.client_waiting >= Some(CLIENT_WAITING),
        Limit::Noise => evidence.has_foreign_work() || evidence.has_steal(),
        _ => false,
    }
}

/// The first trial of five that no other work limited.
fn undisturbed(mut trial: impl FnMut() -> TrialRecord) -> TrialRecord {
    let lines = (0..5).map(|_| trial());
    lines
        .into_iter()
        .find(|line| !is_disturbed(line.verdict.as_ref().unwrap()))
        .expect("other work limited all trials")
}

#[test]
fn signatures_that_cost_the_server_all_its_cpu_are_its_limit() {
    if !has_two_cpus() {
        return;
    }
    let server = Serve::pinned(&["--certificate-key", "rsa:3072"]);
    let handshakes = ["--operation", "handshakes", "-c", "32", "-d", "1s"];
    let line = undisturbed(|| line(load(&server, "").args(handshakes)));
    let verdict = line.verdict.as_ref().unwrap();
    assert_eq!(verdict.limit, Limit::ServerCpu, "{verdict:?}");
    let evidence = &verdict.evidence;
    assert!(evidence.server_busy >= Some(SERVER_BUSY), "{evidence:?}");
    let busiest = evidence.server_busiest_thread.unwrap();
    assert!((busiest - evidence.server_busy.unwrap()).abs() < 0.1, "{evidence:?}");
}

#[test]
fn one_worker_on_two_cpus_is_told_from_a_server_that_is_half_idle() {
    if !has_two_cpus() {
        return;
    }
    let server = Serve::pinned(&["--certificate-key", "rsa:3072"]);
    let pid = server.pid();
    until("its worker is pinned", || has_thread_on(&pid, &first_cpu().to_string()));
    // Its only worker may run on either of them now.
    let allowed = CpuList::allowed().unwrap();
    let two: Vec<String> = allowed.as_slice()[..2].iter().map(ToString::to_string).collect();
    run(Command::new("taskset").args(["-a", "-c", "-p", &two.join(","), &pid]));
    let handshakes = ["--operation", "handshakes", "-c", "32", "-d", "1s"];
    let line = undisturbed(|| line(load(&server, "").args(handshakes)));
    let evidence = line.evidence().unwrap();
    let (busy, busiest) = (evidence.server_busy.unwrap(), evidence.server_busiest_thread.unwrap());
    // All that the server used of its two CPUs, one thread used.
    assert!((2.0 * busy - busiest).abs() < 0.1, "{evidence:?}");
    assert!(busiest >= SERVER_BUSY, "{evidence:?}");
    assert!(
        line.warnings.iter().any(|warning| warning.kind == WarningKind::FewWorkers),
        "{line:?}"
    );
    assert_eq!(line.limit().unwrap(), Limit::ServerCpu, "{:?}", line.verdict);
    assert!(line.verdict.as_ref().unwrap().remedy().contains("more workers"), "{:?}", line.verdict);
}

/// Whether a thread of the process may run on that CPU alone.
fn has_thread_on(pid: &str, cpu: &str) -> bool {
    let is_there = |task: std::fs::DirEntry| {
        let status = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
        status.lines().any(|line| {
            line.strip_prefix("Cpus_allowed_list:").is_some_and(|list| list.trim() == cpu)
        })
    };
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    tasks.is_ok_and(|tasks| tasks.flatten().any(is_there))
}

/// Without encryption much of the server's time is spent in soft interrupts: on a kernel that
/// charges these to processes, a program that takes a quarter of its CPU must not vanish there.
#[test]
fn a_program_on_the_servers_cpu_is_marked_over_plain_http_too() {
    if !has_two_cpus() {
        return;
    }
    let server = Serve::pinned(&[]);
    let sees_kernels =
        std::fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n");
    let is_known = interrupt_time().known().is_some() && sees_kernels;
    // At this niceness the loop has a quarter of a busy CPU, at none half of it: so much is seen
    // also where it is not known what the kernel does.
    let _loop = busy_loop(&first_cpu(), if is_known { 5 } else { 0 });
    let line = line(load_plain(&server, "bytes/16KiB").args(["-c", "16", "-d", "1s"]));
    let evidence = line.evidence().unwrap();
    assert!(evidence.has_foreign_work(), "{evidence:?}");
    let is_marked = line.warnings.iter().any(|warning| warning.kind == WarningKind::ForeignWork);
    assert!(is_marked, "{:?}", line.warnings);
}

/// The kernel's samples cannot tell such a neighbour from nobody in so short a window: of 40 trials of a quiet
/// machine, 32 were called noisy.
#[test]
fn a_neighbour_is_told_from_nobody_in_short_windows() {
    const TRIALS: usize = 20;
    if !has_two_cpus() {
        return;
    }
    let server = Serve::pinned(&["--certificate-key", "ecdsa:p256"]);
    let handshakes = ["--operation", "handshakes", "-c", "8", "--warmup", "60ms", "-d", "140ms"];
    let marked = || {
        let lines = (0..TRIALS).map(|_| line(load(&server, "").args(handshakes)));
        let foreign = |line: TrialRecord| {
            let is_marked = |warning: &trial::Warning| warning.kind == WarningKind::ForeignWork;
            (line.warnings.iter().any(is_marked), line.evidence().unwrap().foreign.unwrap())
        };
        lines.map(foreign).collect::<Vec<_>>()
    };
    let count = |marked: &[(bool, _)]| marked.iter().filter(|(is_marked, _)| *is_marked).count();
    let alone = marked();
    assert!(count(&alone) <= TRIALS / 4, "{alone:?}");
    if alone.iter().any(|(_, foreign)| foreign.source == Some(CpuTimeSource::ProcStat)) {
        eprintln!("skipped: nothing counts what other programs run here");
        return;
    }
    let _neighbour = Neighbour::start(&first_cpu(), 0.25);
    let beside = marked();
    assert!(count(&beside) >= TRIALS - TRIALS / 10, "{beside:?}");
}
