//! What the network's settings do to a load. Files and values are those of the kernel's documentation:
//! Documentation/networking/ip-sysctl.rst, Documentation/admin-guide/sysctl/net.rst, tcp(7),
//! Documentation/ABI/testing/sysfs-class-net, Documentation/core-api/irq/irq-affinity.rst.

use super::*;

fn judged(settings: &[(&str, &str)], name: &str) -> Item {
    let tree = Tree::of(SMALL_VM);
    let measured = measured(&tree);
    for (file, value) in settings {
        tree.set(file, value);
    }
    item(&tree, &measured, name)
}

#[test]
fn windows_are_scaled_or_small() {
    const FILE: &str = "/proc/sys/net/ipv4/tcp_window_scaling";
    assert_eq!(judged(&[(FILE, "1")], "window-scaling").judgement, Judgement::Ok);
    let off = judged(&[(FILE, "0")], "window-scaling");
    assert!(matches!(off.judgement, Judgement::Bad(_)), "{off:?}");
    assert_eq!(settings(&off), [format!("{FILE}=1")]);
}

#[test]
fn timers_on_loopback_are_named() {
    const FILE: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
    const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
    let with = |control: &str, available: &str, queue: Option<&str>| {
        let tree = Tree::of(SMALL_VM);
        let queue = Fact::Known(queue.map(str::to_owned));
        let measured = Measured { loopback_queue: queue, ..measured(&tree) };
        tree.set(FILE, control);
        tree.set(AVAILABLE, available);
        tree.set(ALLOWED, "reno bbr");
        tree.set("/proc/sys/net/core/netdev_max_backlog", "1000");
        item(&tree, &measured, "pacing")
    };
    assert_eq!(with("cubic", "reno cubic", None).judgement, Judgement::Ok);
    for (available, to) in [("reno bbr cubic", "cubic"), ("reno bbr", "reno")] {
        let bbr = with("bbr", available, None);
        assert!(matches!(bbr.judgement, Judgement::Warning(_)), "{bbr:?}");
        assert_eq!(settings(&bbr), [format!("{FILE}={to}")]);
    }
    // In a namespace of its own, cubic cannot be the default where not everybody may choose it.
    let tree = Tree::of(SMALL_VM);
    tree.set(FILE, "bbr");
    tree.set(AVAILABLE, "reno bbr cubic");
    tree.set(ALLOWED, "reno bbr");
    assert_eq!(settings(&item(&tree, &measured(&tree), "pacing")), [format!("{FILE}=reno")]);
    for available in ["bbr", "bbr bbr2", ""] {
        let bbr = with("bbr", available, None);
        assert!(matches!(&bbr.trouble().unwrap().fix, Fix::Advice(_)), "{bbr:?}");
        assert!(to_do(&bbr.trouble().unwrap().fix).contains("tcp_cubic"), "{bbr:?}");
    }
    let fq = with("cubic", "reno cubic", Some("fq"));
    assert!(matches!(&fq.trouble().unwrap().fix, Fix::Command(_)) && fq.seen == "cubic, fq on lo");
    assert_eq!(with("cubic", "reno cubic", Some("pfifo_fast")).judgement, Judgement::Ok);
}

#[test]
fn memory_of_tcp_is_a_share_of_all() {
    const FILE: &str = "/proc/sys/net/ipv4/tcp_mem";
    let gib = (1 << 30) / rustix::param::page_size();
    let memory = ("/proc/meminfo", "MemTotal:       33554432 kB\nMemFree: 1 kB");
    let netstat = |pressures| format!("TcpExt: TCPMemoryPressures TW\nTcpExt: {pressures} 9");
    let with = |pages: &str, pressures| {
        let counters = netstat(pressures);
        judged(&[(FILE, pages), memory, ("/proc/net/netstat", &counters)], "tcp-memory")
    };
    let usual = with(&format!("{gib} {} {}", 2 * gib, 3 * gib), 0);
    assert_eq!(usual.judgement, Judgement::Ok);
    for figure in ["2.0 GiB", "3.0 GiB", "32.0 GiB"] {
        assert!(usual.seen.contains(figure), "{}", usual.seen);
    }
    let pressed = with(&format!("{gib} {} {}", 2 * gib, 3 * gib), 1234);
    assert!(pressed.seen.contains("1,234"), "{}", pressed.seen);
    assert!(matches!(pressed.judgement, Judgement::Warning(_)) && pressed.changes().is_empty());
    let small = with(&format!("{} {} {gib}", gib / 4, gib / 2), 0);
    let wanted = format!("{FILE}={} {} {}", gib * 3 / 2, 2 * gib, 3 * gib);
    assert_eq!(settings(&small), [wanted]);
}

#[test]
fn queues_that_interrupt_one_cpu_are_named() {
    let tree = Tree::of(SMALL_VM);
    let measured = measured(&tree);
    let eth0 = "/sys/class/net/eth0";
    for (file, value) in [
        ("operstate", "up"),
        ("speed", "100000"),
        ("mtu", "9000"),
        ("queues/rx-0/rps_cpus", "0"),
        ("queues/rx-1/rps_cpus", "0"),
        ("queues/tx-0/xps_cpus", "0"),
        ("device/msi_irqs/41", "msix"),
        ("device/msi_irqs/42", "msix"),
    ] {
        tree.set(&format!("{eth0}/{file}"), value);
    }
    tree.set("/sys/class/net/lo/operstate", "unknown");
    tree.set("/sys/class/net/lo/type", "772");
    tree.set("/proc/irq/41/smp_affinity_list", "0-1");
    tree.set("/proc/irq/41/effective_affinity_list", "0");
    tree.set("/proc/irq/42/effective_affinity_list", "1");
    let seen = item(&tree, &measured, "links").seen;
    assert!(seen.contains("100.00 Gb/s") && seen.contains("MTU 9000"), "{seen}");
    assert!(seen.ends_with("0,1"), "{seen}");
    assert_ok(&tree, &measured, "links");
    tree.set("/proc/irq/42/effective_affinity_list", "0");
    assert_warning(&tree, &measured, "links");
    // A virtual interface knows no speed and has no interrupts.
    tree.remove("sys/class/net/eth0/device");
    tree.set(&format!("{eth0}/speed"), "-1");
    assert_ok(&tree, &measured, "links");
    tree.set(&format!("{eth0}/operstate"), "down");
    assert_not_available(&tree, &measured, "links");
    // A tunnel's driver does not set its state.
    tree.set("/sys/class/net/wg0/operstate", "unknown");
    tree.set("/sys/class/net/wg0/type", "65534");
    let seen = item(&tree, &measured, "links").seen;
    assert!(seen.starts_with("wg0"), "{seen}");
}

#[test]
fn what_an_interface_carries_is_known_or_why_not() {
    let tree = Tree::of(SMALL_VM);
    let eth0 = |file: &str, value: &str| tree.set(&format!("/sys/class/net/eth0/{file}"), value);
    let speeds = || {
        let all = crate::link_speeds(&tree.root()).into_iter();
        let speed = |(name, speed): (String, Fact<BitsPerSecond>)| (name, speed.or_why());
        all.map(speed).collect::<Vec<_>>()
    };
    let of_eth0 = |speed: Result<f64, &str>| {
        vec![("eth0".to_owned(), speed.map(BitsPerSecond).map_err(str::to_owned))]
    };
    tree.set("/sys/class/net/lo/operstate", "unknown");
    tree.set("/sys/class/net/lo/type", "772");
    for (file, value) in [("operstate", "up"), ("speed", "25000"), ("device/vendor", "0x8086")] {
        eth0(file, value);
    }
    assert_eq!(speeds(), of_eth0(Ok(25e9)));
    eth0("speed", "-1");
    assert_eq!(speeds(), of_eth0(Err("its driver does not say")));
    tree.remove("sys/class/net/eth0/device");
    assert_eq!(speeds(), of_eth0(Err("it is virtual")));
    eth0("operstate", "down");
    assert_eq!(speeds(), []);
}

#[test]
fn time_wait_has_room_and_ends() {
    const BUCKETS: &str = "/proc/sys/net/ipv4/tcp_max_tw_buckets";
    const TIMEOUT: &str = "/proc/sys/net/ipv4/tcp_fin_timeout";
    let usual = judged(&[(BUCKETS, "65536"), (TIMEOUT, "60")], "time-wait");
    assert_eq!(usual.judgement, Judgement::Ok);
    for figure in ["1,118", "65,536", "60 s"] {
        assert!(usual.seen.contains(figure), "{}", usual.seen);
    }
    let few = judged(&[(BUCKETS, "5000"), (TIMEOUT, "15")], "time-wait");
    assert_eq!(settings(&few), [format!("{BUCKETS}=262144")]);
    let long = judged(&[(BUCKETS, "65536"), (TIMEOUT, "120")], "time-wait");
    assert_eq!(settings(&long), [format!("{TIMEOUT}=60")]);
    let reuse = ("/proc/sys/net/ipv4/tcp_tw_reuse", "0");
    let both = judged(&[(BUCKETS, "5000"), reuse], "time-wait");
    assert_eq!(settings(&both), [format!("{}=1", reuse.0), format!("{BUCKETS}=262144")]);
}

#[test]
fn packets_wait_for_a_cpu_in_a_queue_of_their_own() {
    const FILE: &str = "/proc/sys/net/core/netdev_max_backlog";
    let usual = judged(&[(FILE, "1000")], "backlog");
    assert_eq!(usual.judgement, Judgement::Ok);
    assert!(usual.seen.contains("1,000"), "{}", usual.seen);
    assert_eq!(settings(&judged(&[(FILE, "300")], "backlog")), [format!("{FILE}=4096")]);
}

#[test]
fn buffers_are_looked_at_in_all_their_sizes() {
    let core = "/proc/sys/net/core";
    let files = ["rmem_max", "wmem_max", "rmem_default", "wmem_default"];
    let files = files.map(|name| format!("{core}/{name}"));
    let values = ["4194304", "2097152", "212992", "106496"];
    let sizes: Vec<(&str, &str)> = files.iter().map(String::as_str).zip(values).collect();
    let shown = judged(&sizes, "buffers");
    assert_eq!(shown.judgement, Judgement::Ok);
    for size in ["4MiB", "2MiB", "208KiB", "104KiB"] {
        assert!(shown.seen.contains(size), "{}", shown.seen);
    }

    const RECEIVE: &str = "/proc/sys/net/ipv4/tcp_rmem";
    const SEND: &str = "/proc/sys/net/ipv4/tcp_wmem";
    let slow = judged(&[(RECEIVE, "4096 8192 33554432"), (SEND, "4096 4096 65536")], "buffers");
    let wanted = [format!("{RECEIVE}=4096 131072 33554432"), format!("{SEND}=4096 16384 16777216")];
    assert_eq!(settings(&slow), wanted);
}
