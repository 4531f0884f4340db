//! The trees of two machines: a small virtual machine, recorded with `tests/record`, and a server
//! that is not tuned, written by hand after the kernel's documentation.

mod hardware;
mod network;
mod tree;

use super::*;
use observe::machine::Descriptors;
use observe::tuning::Change;
use observe::{Availability, CpuMeter, Fact, SiblingRatio, Snapshot};
use std::time::{Duration, Instant};
use tree::Tree;
use units::BitsPerSecond;

const SMALL_VM: &str = include_str!("tests/small_vm.tree");
const UNTUNED_SERVER: &str = include_str!("tests/untuned_server.tree");

/// A second of two CPUs, by what the second one did of 100 ticks: busy, stolen.
fn second(tree: &Tree, busy: u64, stolen: u64) -> (Snapshot, Snapshot) {
    let stat = |busy, stolen, idle, all| {
        format!("cpu0 0 0 0 {all} 0 0 0 0\ncpu1 {busy} 0 0 {idle} 0 0 0 {stolen}")
    };
    let process =
        |ticks| format!("77 (cc1 plus) R 1 77 77 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 5 0 0");
    tree.set("/proc/stat", &stat(0, 0, 0, 0));
    tree.set("/proc/77/stat", &process(1000));
    let (meter, start) = (CpuMeter::of(tree.root()), Instant::now());
    let before = Snapshot::take(&meter, start);
    tree.set("/proc/stat", &stat(busy, stolen, 100 - busy - stolen, 100));
    tree.set("/proc/77/stat", &process(1000 + busy));
    (before, Snapshot::take(&meter, start + Duration::from_secs(1)))
}

/// Two quiet CPUs of their own cores.
fn measured(tree: &Tree) -> Measured {
    let (before, after) = second(tree, 0, 0);
    Measured {
        cpus: "0-1".parse().unwrap(),
        descriptors: Fact::Known(Descriptors { soft: 1024, hard: 1_048_576 }),
        siblings: Fact::Known(vec![SiblingRatio { first: 0, second: 1, ratio: 0.99 }]),
        kernel_tls: Availability::Available,
        loopback_queue: Fact::Known(None),
        hardware_counters: Availability::Available,
        openssl: "OpenSSL 4.0.3 1 Jan 2026".to_owned(),
        aes_gcm: Fact::Known(AesGcm { openssl: 0.2, ring: 0.19 }),
        programs: vec![Program { item: "nginx", version: Fact::Known("nginx/1.22.1".to_owned()) }],
        own_pid: 1,
        before,
        after,
    }
}

fn item(tree: &Tree, measured: &Measured, name: &str) -> Item {
    let items = judge(&tree.root(), measured);
    items.into_iter().find(|item| item.name == name).unwrap()
}

#[track_caller]
fn assert_ok(tree: &Tree, measured: &Measured, name: &str) {
    assert_eq!(item(tree, measured, name).judgement, Judgement::Ok);
}

#[track_caller]
fn assert_warning(tree: &Tree, measured: &Measured, name: &str) -> Item {
    let item = item(tree, measured, name);
    assert!(matches!(item.judgement, Judgement::Warning(_)), "{item:?}");
    item
}

#[track_caller]
fn assert_bad(tree: &Tree, measured: &Measured, name: &str) -> Item {
    let item = item(tree, measured, name);
    assert!(matches!(item.judgement, Judgement::Bad(_)), "{item:?}");
    item
}

#[track_caller]
fn assert_not_available(tree: &Tree, measured: &Measured, name: &str) {
    let item = item(tree, measured, name);
    assert!(matches!(item.judgement, Judgement::NotAvailable { .. }), "{item:?}");
}

/// All items of a tree in words, for its golden file.
fn in_words(tree: &Tree, measured: &Measured) -> Vec<(&'static str, String)> {
    let items = judge(&tree.root(), measured);
    items.into_iter().map(|item| (item.name, said(&item))).collect()
}

/// An item in words: what was seen, why it matters, what to do.
fn said(item: &Item) -> String {
    let rest = match &item.judgement {
        Judgement::Ok => "ok".to_owned(),
        Judgement::NotAvailable { why } => why.clone(),
        Judgement::Warning(Trouble { why, fix }) => format!("warning: {why}\n{}", to_do(fix)),
        Judgement::Bad(Trouble { why, fix }) => format!("bad: {why}\n{}", to_do(fix)),
    };
    format!("{}\n{rest}", item.seen).trim().to_owned()
}

/// The settings as `file=value`.
fn settings(item: &Item) -> Vec<String> {
    item.changes().iter().map(|change| format!("{}={}", change.file, change.to)).collect()
}

fn to_do(fix: &Fix) -> &str {
    match fix {
        Fix::Setting { command: what, .. } | Fix::Command(what) | Fix::Advice(what) => what,
    }
}

fn command(item: &Item) -> String {
    match &item.trouble().unwrap().fix {
        Fix::Setting { command, .. } | Fix::Command(command) => command.clone(),
        Fix::Advice(advice) => panic!("no command: {advice}"),
    }
}

#[test]
fn every_item_is_judged_once_in_the_order_of_the_names() {
    let tree = Tree::of(SMALL_VM);
    let mut measured = measured(&tree);
    measured.programs = programs::find(&measured.cpus);
    let names: Vec<&str> =
        judge(&tree.root(), &measured).into_iter().map(|item| item.name).collect();
    assert_eq!(names, super::names().collect::<Vec<_>>());
}

#[test]
fn no_item_of_an_empty_tree_is_ok() {
    let tree = Tree::of("");
    let mut measured = measured(&tree);
    tree.remove("proc/stat");
    measured.after = Snapshot::take(&CpuMeter::of(tree.root()), Instant::now());
    measured.siblings = Fact::unknown("no chains");
    let good = ["counters", "descriptors", "kernel-tls", "openssl", "nginx"];
    for item in judge(&tree.root(), &measured) {
        let is_unknown = matches!(item.judgement, Judgement::NotAvailable { .. });
        assert_ne!(is_unknown, good.contains(&item.name), "{item:?}");
    }
}

#[test]
fn a_quota_is_named_and_one_of_less_than_a_cpu_is_bad() {
    let tree = Tree::of("");
    let measured = measured(&tree);
    assert_not_available(&tree, &measured, "cpu-quota");
    tree.set("/proc/self/cgroup", "0::/a");
    tree.set("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
    assert_ok(&tree, &measured, "cpu-quota");
    tree.set("/sys/fs/cgroup/a/cpu.max", "150000 100000");
    assert_warning(&tree, &measured, "cpu-quota");
    tree.set("/sys/fs/cgroup/a/cpu.max", "50000 100000");
    tree.set("/sys/fs/cgroup/a/cpuset.cpus.effective", "0-1");
    let item = assert_bad(&tree, &measured, "cpu-quota");
    assert_eq!(item.seen, "0.50 CPUs (50ms in each 100ms); its CPUs are 0-1");
}

#[test]
fn a_small_virtual_machine_has_what_its_kernel_chose() {
    let tree = Tree::of(SMALL_VM);
    let mut measured = measured(&tree);
    measured.kernel_tls = Availability::NotAvailable("no such layer".to_owned());
    measured.hardware_counters = Availability::NotAvailable("ENOENT".to_owned());
    assert_ok(&tree, &measured, "ports");
    assert_ok(&tree, &measured, "time-wait");
    assert_ok(&tree, &measured, "backlog");
    assert_ok(&tree, &measured, "buffers");
    assert_ok(&tree, &measured, "clock");
    assert_ok(&tree, &measured, "numa-balancing");
    assert_ok(&tree, &measured, "siblings");
    assert_ok(&tree, &measured, "nginx");
    assert_warning(&tree, &measured, "hypervisor");
    assert_warning(&tree, &measured, "irq-time");
    assert_warning(&tree, &measured, "counters");
    for name in ["governor", "turbo", "idle-states", "kernel-tls", "power-policy"] {
        assert_not_available(&tree, &measured, name);
    }
    support::assert_golden!(in_words(&tree, &measured));
    tree.set("/proc/sys/kernel/perf_event_paranoid", "0");
    assert_not_available(&tree, &measured, "counters");
}

#[test]
fn settings_fix_an_untuned_server() {
    let tree = Tree::of(UNTUNED_SERVER);
    let mut measured = measured(&tree);
    measured.hardware_counters = Availability::NotAvailable("EACCES".to_owned());
    support::assert_golden!(in_words(&tree, &measured));
    let net = "/proc/sys/net";

    let ports = assert_bad(&tree, &measured, "ports");
    assert_eq!(settings(&ports), [format!("{net}/ipv4/ip_local_port_range=10240 65535")]);
    assert_eq!(command(&ports), "sysctl -w net.ipv4.ip_local_port_range=\"10240 65535\"");

    let time_wait = assert_warning(&tree, &measured, "time-wait");
    let reuse = ["tcp_tw_reuse", "tcp_timestamps"].map(|name| format!("{net}/ipv4/{name}=1"));
    assert_eq!(settings(&time_wait), reuse);

    let backlog = assert_bad(&tree, &measured, "backlog");
    let queues = ["core/somaxconn", "ipv4/tcp_max_syn_backlog"];
    assert_eq!(settings(&backlog), queues.map(|name| format!("{net}/{name}=4096")));

    let buffers = assert_warning(&tree, &measured, "buffers");
    assert_eq!(settings(&buffers), [format!("{net}/ipv4/tcp_rmem=4096 131072 16777216")]);

    let cpu = "/sys/devices/system/cpu";
    let governor = assert_warning(&tree, &measured, "governor");
    let files = [1, 2, 3].map(|n| format!("{cpu}/cpu{n}/cpufreq/scaling_governor=performance"));
    assert_eq!(settings(&governor), files);

    let turbo = assert_warning(&tree, &measured, "turbo");
    assert_eq!(settings(&turbo), [format!("{cpu}/intel_pstate/no_turbo=1")]);
    assert_eq!(command(&turbo), format!("echo 1 | tee {cpu}/intel_pstate/no_turbo"));

    let idle = assert_warning(&tree, &measured, "idle-states");
    let files = [0, 1, 2, 3].map(|n| format!("{cpu}/cpu{n}/cpuidle/state3/disable=1"));
    assert_eq!(settings(&idle), files);

    let clock = assert_warning(&tree, &measured, "clock");
    assert_eq!(clock.changes()[0].to, "tsc");
    let numa = assert_warning(&tree, &measured, "numa-balancing");
    assert_eq!(settings(&numa), ["/proc/sys/kernel/numa_balancing=0"]);
    let counters = assert_warning(&tree, &measured, "counters");
    assert_eq!(settings(&counters), ["/proc/sys/kernel/perf_event_paranoid=0"]);

    assert_ok(&tree, &measured, "hypervisor");
    assert_ok(&tree, &measured, "irq-time");
}

/// Whatever the processor's flags say: Zen 3 has no AVX-512, and ring is twice as fast there.
#[test]
fn an_openssl_that_another_library_outruns_is_a_warning() {
    let tree = Tree::of(SMALL_VM);
    let mut measured = measured(&tree);
    assert_ok(&tree, &measured, "openssl");
    measured.openssl = "OpenSSL 3.0.22 25 Aug 2026".to_owned();
    measured.aes_gcm = Fact::Known(AesGcm { openssl: 0.811, ring: 0.403 });
    let slow = assert_warning(&tree, &measured, "openssl");
    assert!(slow.trouble().unwrap().why.contains("2.0 times"));
    measured.aes_gcm = Fact::unknown("no quiet samples");
    assert_ok(&tree, &measured, "openssl");
}

#[test]
fn with_all_settings_made_nothing_is_left_to_set() {
    let tree = Tree::of(UNTUNED_SERVER);
    let measured = measured(&tree);
    let state = tempfile::tempdir().unwrap();
    let changes = |measured: &Measured| -> Vec<Change> {
        let items = judge(&tree.root(), measured);
        items.iter().flat_map(|item| item.changes().to_vec()).collect()
    };
    let before = changes(&measured);
    let made = observe::tuning::apply(&tree.root(), state.path(), &before, &mut |_| {}).unwrap();
    assert!(made.iter().all(|made| made.refused.is_none()) && made.len() == before.len());
    assert_eq!(changes(&measured), []);
    observe::tuning::restore(&tree.root(), state.path()).unwrap();
    assert_eq!(changes(&measured), before);
}

#[test]
fn hyperthreads_are_reported_by_the_kernel_or_measured() {
    let tree = Tree::of(UNTUNED_SERVER);
    let mut measured = measured(&tree);
    measured.cpus = "0-3".parse().unwrap();
    let warning = assert_warning(&tree, &measured, "siblings");
    assert!(command(&warning).starts_with("echo off > /sys/devices/system/cpu/smt/control"));
    let pair = |first, second, ratio| SiblingRatio { first, second, ratio };
    // What the kernel reports is not hidden.
    measured.siblings = Fact::Known(vec![pair(0, 1, 0.99), pair(0, 2, 0.61)]);
    assert_warning(&tree, &measured, "siblings");
    measured.siblings = Fact::Known(vec![pair(0, 1, 0.6), pair(0, 2, 0.6), pair(2, 3, 0.6)]);
    assert_warning(&tree, &measured, "siblings");
    measured.cpus = "2".parse().unwrap();
    assert_bad(&tree, &measured, "siblings");

    let vm = Tree::of(SMALL_VM);
    measured.cpus = "0-1".parse().unwrap();
    measured.siblings = Fact::Known(vec![pair(0, 1, 0.62)]);
    assert_warning(&vm, &measured, "siblings");
    measured.siblings = Fact::unknown("no chains");
    assert_ok(&vm, &measured, "siblings");
}

#[test]
fn steal_and_programs_are_measured_over_one_second() {
    let tree = Tree::of(SMALL_VM);
    let mut measured = measured(&tree);
    let mut judged = |busy, stolen, name| {
        (measured.before, measured.after) = second(&tree, busy, stolen);
        item(&tree, &measured, name)
    };
    assert_eq!(judged(0, 0, "steal").judgement, Judgement::Ok);
    assert_eq!(judged(0, 1, "steal").judgement, Judgement::Ok);
    let few = judged(0, 3, "steal");
    assert!(few.seen.starts_with("3.0% of CPU 1"), "{}", few.seen);
    assert!(matches!(few.judgement, Judgement::Warning(_)));
    assert!(matches!(judged(0, 30, "steal").judgement, Judgement::Bad(_)));

    assert!(judged(0, 0, "background").seen.starts_with("0.00 of 2"));
    let some = judged(20, 5, "background");
    assert!(some.seen.starts_with("0.20 of 2") && some.seen.ends_with("cc1 plus 0.20"));
    assert!(matches!(some.judgement, Judgement::Warning(_)));
    assert!(matches!(judged(80, 0, "background").judgement, Judgement::Bad(_)));
    measured.own_pid = 77;
    assert!(item(&tree, &measured, "background").seen.starts_with("0.80 of 2"));
}

#[test]
fn descriptors_are_judged_by_what_toll_can_have() {
    let tree = Tree::of(UNTUNED_SERVER);
    let mut measured = measured(&tree);
    assert_ok(&tree, &measured, "descriptors");
    measured.descriptors = Fact::Known(Descriptors { soft: 1024, hard: 20_000 });
    let few = assert_warning(&tree, &measured, "descriptors");
    assert_eq!(few.changes(), []);
    // No more than the kernel lets root give.
    assert!(command(&few).starts_with("prlimit --pid $$ --nofile=524288:524288"));
    measured.descriptors = Fact::Known(Descriptors { soft: 256, hard: 1_024 });
    assert_bad(&tree, &measured, "descriptors");
}

#[test]
fn kernel_tls_is_a_module_away_or_not_there() {
    let tree = Tree::of(UNTUNED_SERVER);
    let mut measured = measured(&tree);
    assert_ok(&tree, &measured, "kernel-tls");
    measured.kernel_tls = Availability::NotAvailable("ENOENT".to_owned());
    let module = assert_warning(&tree, &measured, "kernel-tls");
    assert_eq!(command(&module), "modprobe tls");
    tree.remove("boot");
    assert_not_available(&tree, &measured, "kernel-tls");
}

#[test]
fn governors_and_clocks_that_are_not_there_are_not_asked_for() {
    let tree = Tree::of(UNTUNED_SERVER);
    let measured = measured(&tree);
    let governors = "/sys/devices/system/cpu/cpu3/cpufreq/scaling_available_governors";
    tree.set(governors, "powersave schedutil");
    let governor = item(&tree, &measured, "governor");
    assert!(matches!(governor.trouble().unwrap().fix, Fix::Advice(_)));
    tree.set("/sys/devices/system/clocksource/clocksource0/available_clocksource", "hpet acpi_pm");
    let clock = item(&tree, &measured, "clock");
    assert!(matches!(clock.trouble().unwrap().fix, Fix::Advice(_)));
    // An AMD server has the other switch.
    tree.remove("sys/devices/system/cpu/intel_pstate");
    tree.set("/sys/devices/system/cpu/cpufreq/boost", "1");
    let turbo = item(&tree, &measured, "turbo");
    assert_eq!(settings(&turbo), ["/sys/devices/system/cpu/cpufreq/boost=0"]);
    tree.set("/sys/devices/system/cpu/cpufreq/boost", "0");
    assert_ok(&tree, &measured, "turbo");
}

#[test]
fn left_over_connections_are_waited_for() {
    let tree = Tree::of(SMALL_VM);
    let measured = measured(&tree);
    tree.set("/proc/net/sockstat", "TCP: inuse 1 orphan 0 tw 20000 alloc 1 mem 1");
    let item = item(&tree, &measured, "time-wait");
    assert_eq!(item.trouble().unwrap().fix, Fix::Advice("wait a minute".to_owned()));
}
