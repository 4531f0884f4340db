//! The network between two namespaces, with and without a token-bucket filter.

use trial::{Limit, NetworkEvidence};

use crate::bench::{self, line, load_by};
use crate::namespaces::{Namespace, SERVER, pair};
use support::{Serve, run};

/// What a load between the two tells.
fn load(client: &Namespace, server: &Namespace) -> trial::Line {
    let served = Serve::alone_by(server.toll(), SERVER, &[]);
    let mut load = load_by(client.toll(), &served, &format!("https://{}/bytes/512KiB", served.tls));
    line(load.args(["--i-operate-this-host", "-c", "16", "-d", "5s", "--timeout", "60s"]))
}

fn network(line: &trial::Line) -> NetworkEvidence {
    line.verdict.evidence.network.clone().unwrap_or_else(|| panic!("{:?}", line.verdict))
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
    assert_eq!(line.verdict.limit, Limit::Network, "{:?}", line.verdict);
    let network = network(&line);
    assert_eq!(network.interface, "server:server0");
    assert!(network.is_full() && network.queue_overlimits > 0, "{network:?}");
    assert!(network.bits_per_s < 22_000_000 && network.used.is_none(), "{network:?}");
    let reason = line.reason();
    assert!(
        reason.starts_with("the network: packets waited ")
            && reason.contains(" for server:server0, which carried"),
        "{reason}"
    );
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
    let server = Serve::alone(&[]);
    let line = line(bench::load(&server, "bytes/64KiB").args(["-d", "300ms", "--warmup", "0s"]));
    assert_eq!(line.verdict.evidence.network, None);
}
