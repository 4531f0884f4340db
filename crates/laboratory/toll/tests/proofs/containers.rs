//! A server in namespaces of its own, as a container has them, on this machine.

use std::net::SocketAddr;
use std::process::Command;

use support::{Killed, balance, run, text, toll, toll_path};
use trial::TrialRecord;

/// The addresses of the two ends of what joins it to this machine.
const HERE: &str = "10.85.0.1/30";
const THERE: &str = "10.85.0.2/30";

/// `toll serve` in network, process and mount namespaces of its own; `None` where none may be made.
fn contained() -> Option<(Killed, String, SocketAddr)> {
    let may = Command::new("unshare")
        .args(["--net", "--pid", "--fork", "--mount-proc", "true"])
        .output()
        .unwrap();
    if !may.status.success() {
        eprintln!("skipped: no namespaces may be made here: {}", text(&may.stderr).trim());
        return None;
    }
    let address: SocketAddr = "10.85.0.2:8443".parse().unwrap();
    // It goes on when this machine has moved an end of the pair to it.
    let script = format!(
        "ip link set lo up; until ip link show there0 >&2; do sleep 0.05; done; ip address add {THERE} dev there0; ip link set there0 up; \
         exec {} serve --cpus 0 --listen {address} --listen-plain 10.85.0.2:8080",
        toll_path().display()
    );
    let mut container = Command::new("unshare");
    container.args([
        "--net",
        "--pid",
        "--fork",
        "--mount-proc",
        "--kill-child",
        "sh",
        "-c",
        &script,
    ]);
    let mut container = Killed::piped(&mut container);
    // Seen from here, it is the child of unshare.
    let children = format!("/proc/{0}/task/{0}/children", container.pid());
    let mut pid = String::new();
    support::until("it has a process", || {
        pid = std::fs::read_to_string(&children).unwrap_or_default().trim().to_owned();
        !pid.is_empty()
    });
    run(Command::new("ip")
        .args(["link", "add", "here0", "type", "veth", "peer", "name", "there0", "netns", &pid]));
    run(Command::new("ip").args(["address", "add", HERE, "dev", "here0"]));
    run(Command::new("ip").args(["link", "set", "here0", "up"]));
    container.first_line_with("Serving");
    Some((container, pid, address))
}

#[test]
fn a_server_in_a_container_is_measured_and_what_passes_connections_on_to_it_is_named() {
    let Some((_container, pid, address)) = contained() else { return };
    let load = |address: SocketAddr| {
        toll()
            .args(["load", &format!("https://{address}/bytes/1KiB"), "--insecure", "--json"])
            .args(["--i-operate-this-host", "--server-pid", &pid, "-c", "2", "-d", "1s"])
            .output()
            .unwrap()
    };
    let output = load(address);
    let line: TrialRecord = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
    assert!(line.valid && line.evidence().unwrap().server_busy.is_some(), "{line:?}");
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    let output = load(balance(&[address]));
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    let own = format!("(process {})", std::process::id());
    assert!(error.contains(&own) && error.contains(&address.to_string()), "{error}");
}
