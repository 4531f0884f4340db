//! A server on another machine, at a port that a process of this machine listens at too.

use observe::Fact;
use support::{Serve, text};
use trial::TrialRecord;

use crate::namespaces::{SERVER, pair};

#[test]
fn a_process_here_is_not_the_server_of_another_machine_s_address() {
    let Some((client, server)) = pair() else { return };
    let far = Serve::start_by(server.toll(), SERVER, &[]);
    let port = far.tls.port();
    let decoy = client
        .toll()
        .args(["serve", "--json", "--listen"])
        .arg(format!("0.0.0.0:{port}"))
        .args(["--listen-plain", "127.0.0.1:0"])
        .stdout(std::process::Stdio::piped())
        .spawn();
    let mut decoy = support::Killed(decoy.unwrap());
    assert!(decoy.first_line().contains("tls"));
    let load = |host: &str| -> TrialRecord {
        let output = client
            .toll()
            .args(["load", &format!("https://{host}:{port}/bytes/1KiB"), "--insecure", "--json"])
            .args(["--i-operate-this-host", "-c", "2", "-d", "200ms", "--warmup", "50ms"])
            .output()
            .unwrap();
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
    };
    let line = load(SERVER);
    assert!(matches!(line.server_process, Some(Fact::Unknown { .. })), "{:?}", line.server_process);
    assert_eq!((line.valid, line.cpu_ns.server), (true, None));
    let near = load("127.0.0.1").server_process.unwrap().or_why().unwrap();
    assert_eq!(near.pid, decoy.pid());
}
