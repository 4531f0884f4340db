//! The trees of two machines: a small virtual machine, recorded with `tests/record`, and a server
//! that is not tuned, written by hand after the kernel's documentation.

mod hardware;
mod network;
mod tree;

use super::*;
use crate::machine::Descriptors;
use crate::{Availability, Fact, SiblingRatio};
use tree::Tree;

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
    let before = Snapshot::take(&tree.root());
    tree.set("/proc/stat", &stat(busy, stolen, 100 - busy - stolen, 100));
    tree.set("/proc/77/stat", &process(1000 + busy));
    (before, Snapshot::take(&tree.root()))
}

/// Two quiet CPUs of their own cores.
fn measured(tree: &Tree) -> Measured {
    let (before, after) = second(tree, 0, 0);
    Measured {
        cpus: "0-1".parse().unwrap(),
        descriptors: Fact::Known(Descriptors { soft: 1024, hard: 1_048_576 }),
        siblings: Fact::Known(vec![SiblingRatio { first: 0, second: 1, ratio: 0.99 }]),
        kernel_tls: Availability::Available,
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
fn assert_ok(tree: &Tree, measured: &Measured, name: &str, seen: &str) {
    let item = item(tree, measured, name);
    assert_eq!((&item.judgement, item.seen.as_str()), (&Judgement::Ok, seen));
}

#[track_caller]
fn assert_warning(tree: &Tree, measured: &Measured, name: &str, seen: &str) -> Item {
    let item = item(tree, measured, name);
    assert!(matches!(item.judgement, Judgement::Warning(_)), "{item:?}");
    assert_eq!(item.seen, seen);
    item
}

#[track_caller]
fn assert_bad(tree: &Tree, measured: &Measured, name: &str, seen: &str) -> Item {
    let item = item(tree, measured, name);
    assert!(matches!(item.judgement, Judgement::Bad(_)), "{item:?}");
    assert_eq!(item.seen, seen);
    item
}

#[track_caller]
fn assert_not_available(tree: &Tree, measured: &Measured, name: &str, reason: &str) {
    match item(tree, measured, name).judgement {
        Judgement::NotAvailable { why } => assert!(why.contains(reason), "{why}"),
        other => panic!("{other:?}"),
    }
}

/// The settings as `file=value`.
fn settings(item: &Item) -> Vec<String> {
    item.changes().iter().map(|change| format!("{}={}", change.file, change.to)).collect()
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
    measured.programs = programs::find();
    let names: Vec<&str> =
        judge(&tree.root(), &measured).into_iter().map(|item| item.name).collect();
    assert_eq!(names, super::names().collect::<Vec<_>>());
}

#[test]
fn no_item_of_an_empty_tree_is_ok() {
    let tree = Tree::of("");
    let mut measured = measured(&tree);
    tree.remove("proc/stat");
    (measured.before, measured.after) =
        (Snapshot::take(&tree.root()), Snapshot::take(&tree.root()));
    measured.siblings = Fact::unknown("no chains");
    let good = ["counters", "descriptors", "kernel-tls", "openssl", "nginx"];
    for item in judge(&tree.root(), &measured) {
        let is_unknown = matches!(item.judgement, Judgement::NotAvailable { .. });
        assert_ne!(is_unknown, good.contains(&item.name), "{item:?}");
    }
}

#[test]
fn a_small_virtual_machine_has_what_its_kernel_chose() {
    let tree = Tree::of(SMALL_VM);
    let mut measured = measured(&tree);
    measured.kernel_tls = Availability::NotAvailable("no such layer".to_owned());
    measured.hardware_counters = Availability::NotAvailable("ENOENT".to_owned());
    assert_ok(&tree, &measured, "ports", "28,232 from one address (32768 to 60999)");
    let seen = "ports in TIME_WAIT are reused over loopback (tcp_tw_reuse 2), 1,118 waiting now";
    assert_ok(&tree, &measured, "time-wait", seen);
    assert_ok(&tree, &measured, "backlog", "somaxconn 4,096, tcp_max_syn_backlog 2,048");
    let seen = "receive 4KiB 128KiB 32MiB, send 4KiB 16KiB 4MiB (at least, at first, at most)";
    assert_ok(&tree, &measured, "buffers", seen);
    assert_ok(&tree, &measured, "clock", "tsc");
    assert_ok(&tree, &measured, "numa-balancing", "one node");
    let seen = "no two CPUs share a core; each keeps 99.0% of its speed while the other is busy";
    assert_ok(&tree, &measured, "siblings", seen);
    assert_ok(&tree, &measured, "nginx", "nginx/1.22.1");
    assert_warning(&tree, &measured, "hypervisor", "a virtual machine");
    let seen = "no counters, as in many virtual machines (ENOENT); perf_event_paranoid 2";
    assert_warning(&tree, &measured, "counters", seen);
    tree.set("/proc/sys/kernel/perf_event_paranoid", "0");
    assert_not_available(&tree, &measured, "counters", "(ENOENT)");
    let seen = "no CONFIG_IRQ_TIME_ACCOUNTING: interrupts are charged to the process that runs";
    assert_warning(&tree, &measured, "irq-time", seen);
    for (name, reason) in [
        ("governor", "does not control"),
        ("turbo", "no switch"),
        ("idle-states", "the host chooses"),
        ("kernel-tls", "without CONFIG_TLS"),
        ("power-policy", "no preference"),
        ("window-scaling", "cannot read /proc/sys/net/ipv4/tcp_window_scaling"),
        ("tcp-memory", "cannot read /proc/sys/net/ipv4/tcp_mem"),
        ("links", "no interface but loopback is up"),
        ("prefetchers", "has no line `vendor_id`"),
        ("microcode", "has no line `microcode`"),
        ("mitigations", "/sys/devices/system/cpu/vulnerabilities lists none"),
    ] {
        assert_not_available(&tree, &measured, name, reason);
    }
}

#[test]
fn settings_fix_an_untuned_server() {
    let tree = Tree::of(UNTUNED_SERVER);
    let mut measured = measured(&tree);
    measured.hardware_counters = Availability::NotAvailable("EACCES".to_owned());
    let net = "/proc/sys/net";

    let ports = assert_bad(&tree, &measured, "ports", "1,000 from one address (60000 to 60999)");
    assert_eq!(settings(&ports), [format!("{net}/ipv4/ip_local_port_range=10240 65535")]);
    assert_eq!(command(&ports), "sysctl -w net.ipv4.ip_local_port_range=\"10240 65535\"");

    let seen = "ports in TIME_WAIT are not reused (tcp_tw_reuse 0), 12,345 waiting now";
    let time_wait = assert_warning(&tree, &measured, "time-wait", seen);
    let reuse = ["tcp_tw_reuse", "tcp_timestamps"].map(|name| format!("{net}/ipv4/{name}=1"));
    assert_eq!(settings(&time_wait), reuse);

    let seen = "somaxconn 128, tcp_max_syn_backlog 512";
    let backlog = assert_bad(&tree, &measured, "backlog", seen);
    let queues = ["core/somaxconn", "ipv4/tcp_max_syn_backlog"];
    assert_eq!(settings(&backlog), queues.map(|name| format!("{net}/{name}=4096")));

    let seen = "receive 4KiB 128KiB 208KiB, send 4KiB 16KiB 4MiB (at least, at first, at most)";
    let buffers = assert_warning(&tree, &measured, "buffers", seen);
    assert_eq!(settings(&buffers), [format!("{net}/ipv4/tcp_rmem=4096 131072 16777216")]);

    let cpu = "/sys/devices/system/cpu";
    let seen = "performance, powersave (intel_pstate)";
    let governor = assert_warning(&tree, &measured, "governor", seen);
    let files = [1, 2, 3].map(|n| format!("{cpu}/cpu{n}/cpufreq/scaling_governor=performance"));
    assert_eq!(settings(&governor), files);

    let turbo = assert_warning(&tree, &measured, "turbo", "on");
    assert_eq!(settings(&turbo), [format!("{cpu}/intel_pstate/no_turbo=1")]);
    assert_eq!(command(&turbo), format!("echo 1 | tee {cpu}/intel_pstate/no_turbo"));

    let idle = assert_warning(
        &tree,
        &measured,
        "idle-states",
        "C6 takes 133 µs to leave; CPUs entered it 0 times since the machine was started",
    );
    let files = [0, 1, 2, 3].map(|n| format!("{cpu}/cpu{n}/cpuidle/state3/disable=1"));
    assert_eq!(settings(&idle), files);

    let clock = assert_warning(&tree, &measured, "clock", "hpet");
    assert_eq!(clock.changes()[0].to, "tsc");
    let numa = assert_warning(&tree, &measured, "numa-balancing", "on, with 2 nodes");
    assert_eq!(settings(&numa), ["/proc/sys/kernel/numa_balancing=0"]);
    let seen = "there are counters (cpu), but EACCES; perf_event_paranoid 3";
    let counters = assert_warning(&tree, &measured, "counters", seen);
    assert_eq!(settings(&counters), ["/proc/sys/kernel/perf_event_paranoid=0"]);

    assert_ok(&tree, &measured, "hypervisor", "none: this is a physical machine");
    let seen = "CONFIG_IRQ_TIME_ACCOUNTING: interrupts are counted apart from processes";
    assert_ok(&tree, &measured, "irq-time", seen);
}

/// Whatever the processor's flags say: Zen 3 has no AVX-512, and ring is twice as fast there.
#[test]
fn an_openssl_that_another_library_outruns_is_a_warning() {
    let tree = Tree::of(SMALL_VM);
    let mut measured = measured(&tree);
    let seen = "OpenSSL 4.0.3 1 Jan 2026, AES-128-GCM 0.20 cycles per byte at 16 KiB, ring 0.19";
    assert_ok(&tree, &measured, "openssl", seen);
    measured.openssl = "OpenSSL 3.0.22 25 Aug 2026".to_owned();
    measured.aes_gcm = Fact::Known(AesGcm { openssl: 0.811, ring: 0.403 });
    let seen = "OpenSSL 3.0.22 25 Aug 2026, AES-128-GCM 0.81 cycles per byte at 16 KiB, ring 0.40";
    let slow = assert_warning(&tree, &measured, "openssl", seen);
    assert!(slow.trouble().unwrap().why.contains("takes 2.0 times as long as ring's"));
    measured.aes_gcm = Fact::unknown("no quiet samples");
    let seen = "OpenSSL 3.0.22 25 Aug 2026 (its AES-GCM was not measured: no quiet samples)";
    assert_ok(&tree, &measured, "openssl", seen);
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
    let made = crate::tuning::apply(&tree.root(), state.path(), &before, &mut |_| {}).unwrap();
    assert!(made.iter().all(|made| made.refused.is_none()) && made.len() == before.len());
    assert_eq!(changes(&measured), []);
    crate::tuning::restore(&tree.root(), state.path()).unwrap();
    assert_eq!(changes(&measured), before);
}

#[test]
fn hyperthreads_are_reported_by_the_kernel_or_measured() {
    let tree = Tree::of(UNTUNED_SERVER);
    let mut measured = measured(&tree);
    measured.cpus = "0-3".parse().unwrap();
    let seen = "a core has 2 hyperthreads, such as CPUs 0 and 2";
    let warning = assert_warning(&tree, &measured, "siblings", seen);
    assert!(command(&warning).starts_with("echo off > /sys/devices/system/cpu/smt/control"));
    let pair = |first, second, ratio| SiblingRatio { first, second, ratio };
    // What the kernel reports is not hidden.
    measured.siblings = Fact::Known(vec![pair(0, 1, 0.99), pair(0, 2, 0.61)]);
    assert_warning(&tree, &measured, "siblings", seen);
    measured.siblings = Fact::Known(vec![pair(0, 1, 0.6), pair(0, 2, 0.6), pair(2, 3, 0.6)]);
    let seen = "CPUs 0 and 1 and 1 more pairs share a core by measurement; the kernel does not \
                report it";
    assert_warning(&tree, &measured, "siblings", seen);
    measured.cpus = "2".parse().unwrap();
    assert_bad(&tree, &measured, "siblings", "toll may use only CPU 2");

    let vm = Tree::of(SMALL_VM);
    measured.cpus = "0-1".parse().unwrap();
    measured.siblings = Fact::Known(vec![pair(0, 1, 0.62)]);
    let seen = "CPUs 0 and 1 share a core by measurement; the kernel does not report it";
    assert_warning(&vm, &measured, "siblings", seen);
    measured.siblings = Fact::unknown("no chains");
    let seen = "no two CPUs share a core, according to the kernel; not measured";
    assert_ok(&vm, &measured, "siblings", seen);
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
    assert_eq!(few.seen, "3.0% of CPU 1 within 1 s");
    assert!(matches!(few.judgement, Judgement::Warning(_)));
    assert!(matches!(judged(0, 30, "steal").judgement, Judgement::Bad(_)));

    assert_eq!(judged(0, 0, "background").seen, "0.00 of 2 CPUs busy");
    let some = judged(20, 5, "background");
    assert_eq!(some.seen, "0.20 of 2 CPUs busy: cc1 plus 0.20");
    assert!(matches!(some.judgement, Judgement::Warning(_)));
    assert!(matches!(judged(80, 0, "background").judgement, Judgement::Bad(_)));
    measured.own_pid = 77;
    assert_eq!(item(&tree, &measured, "background").seen, "0.80 of 2 CPUs busy");
}

#[test]
fn descriptors_are_judged_by_what_toll_can_have() {
    let tree = Tree::of(UNTUNED_SERVER);
    let mut measured = measured(&tree);
    let seen = "1,024 soft, 1,048,576 hard; toll takes the hard limit";
    assert_ok(&tree, &measured, "descriptors", seen);
    measured.descriptors = Fact::Known(Descriptors { soft: 1024, hard: 20_000 });
    let seen = "1,024 soft, 20,000 hard; toll takes the hard limit";
    let few = assert_warning(&tree, &measured, "descriptors", seen);
    assert_eq!(few.changes(), []);
    // No more than the kernel lets root give.
    assert!(command(&few).starts_with("prlimit --pid $$ --nofile=524288:524288"));
    measured.descriptors = Fact::Known(Descriptors { soft: 256, hard: 1_024 });
    assert_bad(&tree, &measured, "descriptors", "256 soft, 1,024 hard; toll takes the hard limit");
}

#[test]
fn kernel_tls_is_a_module_away_or_not_there() {
    let tree = Tree::of(UNTUNED_SERVER);
    let mut measured = measured(&tree);
    assert_ok(&tree, &measured, "kernel-tls", "a socket accepts the TLS layer");
    measured.kernel_tls = Availability::NotAvailable("ENOENT".to_owned());
    let module = assert_warning(&tree, &measured, "kernel-tls", "the module `tls` is not loaded");
    assert_eq!(command(&module), "modprobe tls");
    tree.remove("boot");
    assert_not_available(&tree, &measured, "kernel-tls", "ENOENT");
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
    assert_ok(&tree, &measured, "turbo", "off");
}

#[test]
fn left_over_connections_are_waited_for() {
    let tree = Tree::of(SMALL_VM);
    let measured = measured(&tree);
    tree.set("/proc/net/sockstat", "TCP: inuse 1 orphan 0 tw 20000 alloc 1 mem 1");
    let item = item(&tree, &measured, "time-wait");
    assert_eq!(item.trouble().unwrap().fix, Fix::Advice("wait a minute".to_owned()));
}
