//! A rank that is reached through a real sshd, with keys of its own.

use std::path::Path;
use std::process::Command;

use support::{Desk, Killed, run, text, until, write_program};

use super::bridge::{Bridge, Loaded, trials};

/// The address and port of the sshd on `lg1`.
const AT: (&str, &str) = ("10.84.0.11", "2222");

/// An sshd on `lg1`, and `shell`, a script that calls ssh with a configuration which knows it.
fn sshd(bridge: &Bridge) -> Option<Killed> {
    if !Path::new("/usr/sbin/sshd").exists() {
        eprintln!("skipped: sshd is not installed");
        return None;
    }
    let folder = bridge.folder.path();
    let key = |name: &str| {
        let path = folder.join(name);
        let keygen = ["-q", "-t", "ed25519", "-N", "", "-f"];
        run(Command::new("ssh-keygen").args(keygen).arg(&path));
        std::fs::read_to_string(path.with_extension("pub")).unwrap()
    };
    let (host, user) = (key("host"), key("user"));
    let at = folder.display();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("authorized", &user);
    write("known", &format!("[{}]:{} {host}", AT.0, AT.1));
    write(
        "sshd.conf",
        &format!(
            "Port {}\nHostKey {at}/host\nAuthorizedKeysFile {at}/authorized\nStrictModes no\n\
             PidFile none\nUsePAM no\n",
            AT.1
        ),
    );
    write(
        "ssh.conf",
        &format!(
            "Host lg1\nHostName {}\nPort {}\nIdentityFile {at}/user\nUserKnownHostsFile {at}/known\n\
             GlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\nBatchMode yes\n",
            AT.0, AT.1
        ),
    );
    write_program(&bridge.shell(), &format!("exec ssh -F {at}/ssh.conf \"$@\""));
    std::fs::create_dir_all("/run/sshd").unwrap();
    let mut command = bridge.on(1, "/usr/sbin/sshd");
    let sshd = Killed::start(command.args(["-D", "-f"]).arg(folder.join("sshd.conf")));
    until("ssh gets in", || {
        let mut ssh = bridge.command(bridge.shell().to_str().unwrap());
        ssh.args(["lg1", "true"]).output().unwrap().status.success()
    });
    Some(sshd)
}

#[test]
fn a_rank_loads_through_a_real_sshd_whose_key_must_be_known() {
    let Some(bridge) = Bridge::new(1) else { return };
    let Some(_sshd) = sshd(&bridge) else { return };
    let server = Loaded::start(&bridge);
    let desk = Desk::new(&server.study(&bridge, 1, "connections = 4\nduration = \"2s\""));
    let output = bridge.run(&desk, &["--json"]).output().unwrap();
    let line = trials(&desk).remove(0).line;
    assert!(line.valid, "{:?}{}", line.why_invalid(), text(&output.stderr));
    assert_eq!(line.ranks[0].completed, line.operations.completed);
    until("nothing is left", || bridge.left().is_empty());

    std::fs::write(bridge.folder.path().join("known"), "").unwrap();
    let desk = Desk::new(&server.study(&bridge, 1, "connections = 4\nduration = \"1s\""));
    let output = bridge.run(&desk, &[]).output().unwrap();
    let said = crate::errors(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    let words = "rank 1 on lg1: ssh does not know the key of lg1; connect once by hand to check it";
    assert!(said.contains(words), "{said}");
    assert_eq!(desk.results_if_any(), None);
}
