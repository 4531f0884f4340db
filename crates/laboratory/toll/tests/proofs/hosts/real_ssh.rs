//! A host that is reached through a real sshd: a private one, with keys of its own, on a port of loopback.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use support::{Desk, Killed, run, text, toll_path, until};

const SSHD: &str = "/usr/sbin/sshd";

const STUDY: &str = r#"
schema = 1
question = "Does a server behind sshd work?"
trials = 2
[hosts]
shell = "ssh -F $FOLDER/config"
[target]
server = "embedded"
host = "server"
object = "4KiB"
[load]
connections = 4
warmup = "50ms"
duration = "500ms"
[[case]]
name = "bulk"
"#;

/// Makes keys, and starts the server; `None`, with a line that says why, where it is not installed.
fn start(folder: &Path) -> Option<Killed> {
    if !Path::new(SSHD).exists() {
        eprintln!("skipped: {SSHD} is missing (openssh-server)");
        return None;
    }
    let path = |name: &str| folder.join(name).display().to_string();
    for key in ["host_key", "user_key"] {
        let mut make = Command::new("ssh-keygen");
        run(make.args(["-q", "-t", "ed25519", "-N", "", "-f", &path(key)]));
    }
    fs::copy(path("user_key.pub"), path("authorized")).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let user = text(&Command::new("id").arg("-un").output().unwrap().stdout);
    let programs = toll_path().parent().unwrap().display().to_string();
    let server = format!(
        "Port {port}
ListenAddress 127.0.0.1
HostKey {host_key}
AuthorizedKeysFile {authorized}
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
SetEnv PATH={programs}:/usr/bin:/bin
",
        host_key = path("host_key"),
        authorized = path("authorized"),
    );
    let client = format!(
        "Host server
HostName 127.0.0.1
Port {port}
User {user}
IdentityFile {key}
IdentitiesOnly yes
UserKnownHostsFile {known}
GlobalKnownHostsFile /dev/null
StrictHostKeyChecking yes
",
        user = user.trim(),
        key = path("user_key"),
        known = path("known"),
    );
    fs::write(folder.join("sshd_config"), server).unwrap();
    fs::write(folder.join("config"), client).unwrap();
    fs::write(folder.join("known"), "").unwrap();
    // Where root's sshd wants an empty folder.
    let _ = fs::create_dir_all("/run/sshd");
    let mut sshd = Command::new(SSHD);
    sshd.args(["-D", "-e", "-f", &path("sshd_config")]).stderr(Stdio::null());
    let sshd = Killed::start(&mut sshd);
    until("sshd listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    Some(sshd)
}

#[test]
fn a_server_behind_sshd_is_measured_once_its_key_and_ours_are_known() {
    let desk = Desk::new("");
    let folder = desk.path().display().to_string();
    fs::write(desk.study(), STUDY.replace("$FOLDER", &folder)).unwrap();
    let Some(_sshd) = start(desk.path()) else { return };
    let refusal = || {
        let output = desk.run(&[]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
        crate::errors(&output.stderr)
    };
    let said = refusal();
    assert!(said.contains("key of server") && said.lines().count() == 1, "{said}");

    let config = fs::read_to_string(desk.path().join("config")).unwrap();
    let port = config.lines().find_map(|line| line.strip_prefix("Port ")).unwrap();
    let key = fs::read_to_string(desk.path().join("host_key.pub")).unwrap();
    fs::write(desk.path().join("known"), format!("[127.0.0.1]:{port} {key}")).unwrap();
    let authorized = fs::read(desk.path().join("authorized")).unwrap();
    fs::write(desk.path().join("authorized"), "").unwrap();
    let said = refusal();
    assert!(said.contains("password"), "{said}");

    fs::write(desk.path().join("authorized"), authorized).unwrap();
    let output = desk.run(&[]).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let lines = journal::Journal::read(&desk.journal()).unwrap().trials;
    assert_eq!(lines.len(), 2);
    for trial in lines {
        assert!(trial.line.valid && trial.line.cpu_ns.server > Some(0), "{:?}", trial.line);
        // The address by which ssh came in.
        assert!(trial.line.receipt.asked.url.unwrap().starts_with("https://127.0.0.1:"));
    }
    assert!(desk.results().join("logs/server/embedded/output.log").exists());
}
