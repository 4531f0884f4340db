//! The network between two namespaces, with and without a token-bucket filter.

use std::process::Command;

use trial::{Limit, NetworkEvidence};

use super::bench::{self, line, load_by};
use crate::namespaces::{Namespace, SERVER, pair};
use support::{Serve, run};

/// What a load between the two tells.
fn load(client: &Namespace, server: &Namespace) -> trial::TrialRecord {
    let served = Serve::pinned_by(server.toll(), SERVER, &[]);
    let mut load = load_by(client.toll(), &served, &format!("https://{}/bytes/512KiB", served.tls));
    line(load.args(["--i-operate-this-host", "-c", "16", "-d", "5s", "--timeout", "60s"]))
}

fn network(line: &trial::TrialRecord) -> NetworkEvidence {
    line.evidence().unwrap().network.clone().unwrap_or_else(|| panic!("{:?}", line.verdict))
}

#[test]
fn a_filter_that_holds_packets_back_is_the_network_as_the_limit() {
    let Some((client, server)) = pair() else { return };
    run(server
        .command("tc")
        .args(["qdisc", "add", "dev", "server0", "root", "tbf"])
        .args(["rate", "20mbit", "burst", "16kb", "latency", "1s"]));
    let line = load(&client, &server);
    // 20 Mb/s on any CPU leave both ends idle, and packets waiting all the time.
    assert_eq!(line.limit().unwrap(), Limit::Network, "{:?}", line.verdict);
    let network = network(&line);
    assert_eq!(network.interface, "server:server0");
    assert!(network.is_full() && network.queue_overlimits > 0, "{network:?}");
    assert!(network.bits_per_s < 22_000_000 && network.used.is_none(), "{network:?}");
    let reason = line.reason();
    assert!(reason.starts_with("the network: ") && reason.contains("server:server0"), "{reason}");
}

#[test]
fn interfaces_without_a_queue_are_not_full_however_much_they_carry() {
    let Some((client, server)) = pair() else { return };
    let line = load(&client, &server);
    let network = network(&line);
    assert!(!network.is_full() && network.queue_overlimits == 0, "{network:?}");
    assert!(network.bits_per_s > 0 && network.used.is_none(), "{network:?}");
}

#[test]
fn loopback_is_no_network() {
    let server = Serve::pinned(&[]);
    let line = line(bench::load(&server, "bytes/64KiB").args(["-d", "300ms", "--warmup", "0s"]));
    assert_eq!(line.evidence().unwrap().network, None);
}

/// Two interfaces of the client reach the server; the one that is named carries the load.
#[test]
fn a_load_leaves_by_the_interface_that_it_is_given() {
    let Some((client, server)) = pair() else { return };
    run(Command::new("ip")
        .args(["link", "add", "client1", "netns", &client.pid(), "type", "veth"])
        .args(["peer", "name", "server1", "netns", &server.pid()]));
    for (namespace, interface, address) in
        [(&client, "client1", "10.83.1.1/30"), (&server, "server1", "10.83.1.2/30")]
    {
        run(namespace.command("ip").args(["address", "add", address, "dev", interface]));
        run(namespace.command("ip").args(["link", "set", interface, "up"]));
    }
    // Of the two ways to the server's address, the routes prefer client0.
    let other = "10.83.0.0/30 via 10.83.1.2 dev client1 metric 10";
    run(client.command("ip").args(["route", "add"]).args(other.split(' ')));
    let served = Serve::pinned_by(server.toll(), SERVER, &[]);
    // proc(5): the sent bytes are the ninth number of an interface's line.
    let sent = |interface: &str| -> u64 {
        let output = client.command("cat").arg("/proc/net/dev").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines = text.lines();
        let numbers = lines.find_map(|line| line.trim().strip_prefix(interface)?.strip_prefix(':'));
        numbers.unwrap().split_ascii_whitespace().nth(8).unwrap().parse().unwrap()
    };
    let load = |source: &str| {
        let url = format!("https://{}/bytes/1KiB", served.tls);
        let mut load = client.toll();
        load.args(["load", &url, "--json", "--insecure", "--i-operate-this-host"]);
        let line = line(load.args(["-c", "4", "-n", "2000", "--source", source]));
        assert!(line.valid, "{line:?}");
        line.verdict.unwrap().evidence.network.unwrap().interface
    };
    let before = [sent("client0"), sent("client1")];
    assert_eq!(load("client1"), "client1");
    let after = [sent("client0"), sent("client1")];
    assert!(after[1] - before[1] > 100_000, "{before:?} {after:?}");
    assert!(after[0] - before[0] < 10_000, "{before:?} {after:?}");
}
