//! Network namespaces that end with the test.

use std::process::Command;

use support::{Killed, run, toll, until};

/// A network namespace, held by a process that sleeps in it.
pub(crate) struct Namespace(Killed);

impl Namespace {
    /// With loopback up; `None`, and the reason on stderr, where none may be made.
    pub(crate) fn new() -> Option<Self> {
        let may = Command::new("unshare").args(["--net", "true"]).output().unwrap();
        if !may.status.success() {
            let why = String::from_utf8_lossy(&may.stderr);
            eprintln!("skipped: no network namespace may be made here: {}", why.trim());
            return None;
        }
        let mut hold = Command::new("unshare");
        hold.args(["--net", "sleep", "600"]);
        let this = Self(Killed::start(&mut hold));
        let of = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net"));
        let ours = of("self").unwrap();
        until("a namespace of its own", || of(&this.pid()).is_ok_and(|theirs| theirs != ours));
        run(this.command("ip").args(["link", "set", "lo", "up"]));
        Some(this)
    }

    pub(crate) fn pid(&self) -> String {
        self.0.pid().to_string()
    }

    /// A command that runs in it, as the process that is started.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.pid(), "--net", program]);
        command
    }

    /// toll in it.
    pub(crate) fn toll(&self) -> Command {
        self.command(toll().get_program().to_str().unwrap())
    }
}

/// The addresses of the two ends of [`pair`].
pub(crate) const CLIENT: &str = "10.83.0.1";
pub(crate) const SERVER: &str = "10.83.0.2";

/// Two namespaces joined by a pair of interfaces, `client0` and `server0`.
pub(crate) fn pair() -> Option<(Namespace, Namespace)> {
    let (client, server) = (Namespace::new()?, Namespace::new()?);
    run(Command::new("ip")
        .args(["link", "add", "client0", "netns", &client.pid(), "type", "veth"])
        .args(["peer", "name", "server0", "netns", &server.pid()]));
    for (namespace, interface, address) in
        [(&client, "client0", CLIENT), (&server, "server0", SERVER)]
    {
        let address = format!("{address}/30");
        run(namespace.command("ip").args(["address", "add", &address, "dev", interface]));
        run(namespace.command("ip").args(["link", "set", interface, "up"]));
    }
    Some((client, server))
}
