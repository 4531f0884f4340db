//! Two ranks load a server on a third machine, each at an address that it has proven itself.

use std::process::{Command, Output};

use support::{Desk, run, text, until};
use trial::Limit;

use super::bridge::{Bridge, HERE, Loaded, trials};

/// Of the server's machine, `lg3`.
const SERVER: &str = "10.84.0.13";

fn study(bridge: &Bridge) -> Desk {
    let to = |address: &str| format!("to = \"{address}\"");
    let ranks = bridge.ranks(2).replace(&to(HERE), &to(SERVER));
    Desk::new(&format!(
        "schema = 1\nquestion = \"Do two load a third?\"\ntrials = 1\n{ranks}\
         [target]\nserver = \"embedded\"\nhost = \"lg3\"\nlisten = [\"{SERVER}\"]\nobject = \"4KiB\"\n\
         [load]\nconnections = 4\nwarmup = \"50ms\"\nduration = \"3s\"\n[[case]]\nname = \"all\"\n"
    ))
}

/// `toll run`, whose shell finds toll on the hosts.
fn measure(bridge: &Bridge, desk: &Desk) -> Output {
    let folder = support::toll_path().parent().unwrap().display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    bridge.run(desk, &[]).env("PATH", format!("{folder}:{path}")).output().unwrap()
}

#[test]
fn ranks_load_a_server_on_another_machine() {
    let Some(bridge) = Bridge::new(3) else { return };
    let desk = study(&bridge);
    let output = measure(&bridge, &desk);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let line = trials(&desk).remove(0).line;
    assert!(line.valid, "{:?}", line.why_invalid());
    assert_eq!(line.receipt.asked.host.as_deref(), Some("lg3"));
    // Server, clients and toll are on four machines, and each says what it used.
    assert!(line.cpu_ns.server > Some(0) && line.ranks.len() == 2, "{line:?}");
    for rank in &line.ranks {
        assert_eq!((rank.to.to_string().as_str(), rank.completed > 0), (SERVER, true));
    }
    until("nothing is left", || bridge.left().is_empty());
}

/// The list of names and the client's certificate and key come from the server's machine, and go to ranks.
#[test]
fn ranks_have_the_names_and_the_client_certificate_of_a_server_elsewhere() {
    let Some(bridge) = Bridge::new(3) else { return };
    let desk = study(&bridge);
    let study = std::fs::read_to_string(desk.study()).unwrap();
    let study = study
        .replace(
            "object = \"4KiB\"",
            "object = \"4KiB\"\ncertificate-key = \"ecdsa:p256\"\nnames = 8\n\
             client-certificate = \"require\"\ntickets = true",
        )
        .replace(
            "connections = 4",
            "connections = 4\noperation = \"one-request-per-connection\"\nresumption = \"50%\"",
        );
    std::fs::write(desk.study(), study).unwrap();
    let output = measure(&bridge, &desk);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let line = trials(&desk).remove(0).line;
    assert!(line.valid, "{:?}", line.why_invalid());
    let obtained = &line.receipt.obtained;
    let seen = (obtained.names, obtained.names_certified, obtained.certificates);
    assert_eq!(seen, (Some(8), Some(8), Some(8)));
    assert!(line.ranks.iter().all(|rank| rank.completed > 0));
    assert_eq!(obtained.client_certificates, obtained.full);
    assert!(obtained.full > Some(0) && obtained.resumed > Some(0), "{obtained:?}");
    // No file that is left says the key.
    let keys = Command::new("grep").args(["-rl", "PRIVATE KEY"]).arg(desk.out()).output().unwrap();
    assert_eq!(text(&keys.stdout), "");
    until("nothing is left", || bridge.left().is_empty());
}

#[test]
fn a_full_link_from_the_server_to_the_ranks_is_the_limit() {
    let Some(bridge) = Bridge::new(3) else { return };
    // The server answers toll over a link of its own; the one to the ranks carries little.
    bridge.link(3, "lg3b", "eth1");
    let ip = |words: &str| drop(run(bridge.on(3, "ip").args(words.split(' '))));
    ip(&format!("route add {HERE}/32 dev eth1 src {SERVER}"));
    run(bridge
        .on(3, "tc")
        .args("qdisc add dev eth0 root tbf rate 20mbit burst 16kb latency 1s".split(' ')));
    let desk = study(&bridge);
    let before = std::fs::read_to_string(desk.study()).unwrap();
    let study = before
        .replace("object = \"4KiB\"", "object = \"512KiB\"")
        .replace("duration = \"3s\"", "duration = \"5s\"\ntimeout = \"60s\"")
        .replace("connections = 4", "connections = 16");
    std::fs::write(desk.study(), study).unwrap();
    let output = measure(&bridge, &desk);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let verdict = trials(&desk).remove(0).line.verdict.unwrap();
    assert_eq!(verdict.limit, Limit::Network, "{verdict:?}");
    let network = verdict.evidence.network.unwrap();
    assert_eq!(network.interface, "server:eth0");
    assert!(network.is_full(), "{network:?}");
    until("nothing is left", || bridge.left().is_empty());
}

#[test]
fn a_rank_that_reaches_another_machine_at_the_address_loads_nothing() {
    let Some(bridge) = Bridge::new(3) else { return };
    // The second rank's machine has the server's address too, and reaches itself.
    run(bridge.on(2, "ip").args(["address", "add", &format!("{SERVER}/32"), "dev", "lo"]));
    let desk = study(&bridge);
    let output = measure(&bridge, &desk);
    let said = crate::errors(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    let why = format!("rank 2 on lg2: {SERVER}:");
    assert!(said.contains(&why) && said.contains("not proven"), "{said}");
    // toll, and the first rank, each asked both ports for the number, and nothing more.
    let snmp = run(bridge.on(3, "cat").arg("/proc/net/snmp"));
    let mut lines = snmp.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let opened = names.split(' ').zip(values.split(' ')).find(|(name, _)| *name == "PassiveOpens");
    // One more is the agent's own, which tries whether its kernel has TLS.
    assert_eq!(opened, Some(("PassiveOpens", "5")));
    until("nothing is left", || bridge.left().is_empty());
}

#[test]
fn a_rank_looks_from_the_source_that_it_loads_from() {
    let Some(bridge) = Bridge::new(3) else { return };
    // From its source the second rank's machine reaches itself at the server's address; other
    // connections reach the server.
    let ip = |words: &str| drop(run(bridge.on(2, "ip").args(words.split(' '))));
    ip("address add 10.85.0.12/32 dev lo");
    ip(&format!("route add local {SERVER}/32 dev lo table 100"));
    ip("rule add pref 5 from 10.85.0.12 lookup 100");
    let desk = study(&bridge);
    let before = std::fs::read_to_string(desk.study()).unwrap();
    let study = before.replace("source = \"10.84.0.12\"", "source = \"10.85.0.12\"");
    assert_ne!(study, before);
    std::fs::write(desk.study(), study).unwrap();
    let output = measure(&bridge, &desk);
    let said = crate::errors(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    let why = format!("rank 2 on lg2: {SERVER}:");
    assert!(said.contains(&why) && said.contains("not proven"), "{said}");
    until("nothing is left", || bridge.left().is_empty());
}

#[test]
fn a_rank_loads_none_but_the_addresses_that_a_name_has() {
    let Some(bridge) = Bridge::new(2) else { return };
    let server = Loaded::start(&bridge);
    // A short form of the address (inet_aton(3)).
    let study = server.study(&bridge, 2, "connections = 4\nduration = \"1s\"");
    let study = study.replace(&format!("http://{HERE}:"), "http://10.84.1:");
    let desk = Desk::new(&study);
    let output = bridge.run(&desk, &[]).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let before = server.answered_all();
    let desk = Desk::new(&study.replacen(&format!("to = \"{HERE}\""), "to = \"10.84.0.12\"", 1));
    let output = bridge.run(&desk, &[]).output().unwrap();
    let said = crate::errors(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    let why = "rank.to = 10.84.0.12 is not among the addresses at which the server \
               listens: 10.84.0.1; write one of them";
    assert!(said.contains(why), "{said}");
    assert_eq!(server.answered_all(), before, "something was sent");
    until("nothing is left", || bridge.left().is_empty());
}
