//! Two ranks load a server on a third machine, each at an address that it has proven itself.

use std::process::Output;

use support::{Desk, run, text, until};

use crate::bridge::{Bridge, HERE, trials};

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

#[test]
fn a_rank_that_reaches_another_machine_at_the_address_loads_nothing() {
    let Some(bridge) = Bridge::new(3) else { return };
    // The second rank's machine has the server's address too, and reaches itself.
    run(bridge.on(2, "ip").args(["address", "add", &format!("{SERVER}/32"), "dev", "lo"]));
    let desk = study(&bridge);
    let output = measure(&bridge, &desk);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    let why = format!("rank 2 on lg2: {SERVER}:");
    assert!(said.contains(&why) && said.contains("is not proven to be the host's"), "{said}");
    // toll, and the first rank, each asked both ports for the number, and nothing more.
    let snmp = run(bridge.on(3, "cat").arg("/proc/net/snmp"));
    let mut lines = snmp.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let opened = names.split(' ').zip(values.split(' ')).find(|(name, _)| *name == "PassiveOpens");
    // One more is the agent's own, which tries whether its kernel has TLS.
    assert_eq!(opened, Some(("PassiveOpens", "5")));
    until("nothing is left", || bridge.left().is_empty());
}
