//! A client's machine and a server's, with a study of one on the other.

use std::path::PathBuf;
use std::process::{Command, Output};

use journal::{Journal, TrialLine};
use support::{Desk, text, toll_path, write_program};

use crate::namespaces::{Namespace, pair};

/// The host's name, which the shell knows.
pub(crate) const HOST: &str = "me@server";

pub(crate) struct Scene {
    pub(crate) client: Namespace,
    pub(crate) server: Namespace,
    pub(crate) desk: Desk,
}

/// `$FOLDER` stands for the folder of the desk.
const STUDY: &str = r#"
schema = 1
question = "Does a server elsewhere work?"
trials = 2
[hosts]
shell = "$FOLDER/enter"
[target]
server = "embedded"
host = "me@server"
listen = ["10.83.0.2"]
object = "4KiB"
[load]
connections = 4
warmup = "50ms"
duration = "1s"
"#;

impl Scene {
    /// With these cases; `None`, with a line that says why, where no namespaces may be made.
    pub(crate) fn new(cases: &str) -> Option<Self> {
        let (client, server) = pair()?;
        let desk = Desk::new("");
        let scene = Self { client, server, desk };
        std::fs::create_dir(scene.temporary()).unwrap();
        scene.write(&format!("{STUDY}{cases}"));
        scene.change_shell("exec");
        Some(scene)
    }

    /// The shell that enters the server's machine, with this before what it runs there.
    pub(crate) fn change_shell(&self, before: &str) {
        let folder = toll_path().parent().unwrap().display().to_string();
        self.shell(&format!(
            "host=$1; shift
export PATH={folder}:$PATH TMPDIR={temporary}
case $host in
*@server) {before} nsenter --target {pid} --net \"$@\" ;;
*) echo \"ssh: Could not resolve hostname $host: Name or service not known\" >&2; exit 255 ;;
esac",
            temporary = self.temporary().display(),
            pid = self.server.pid(),
        ));
    }

    /// The folder for temporary files of the server's machine.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.desk.path().join("temporary")
    }

    /// Another study.
    pub(crate) fn write(&self, study: &str) {
        let study = study.replace("$FOLDER", &self.desk.path().display().to_string());
        std::fs::write(self.desk.study(), study).unwrap();
    }

    /// The study as it is.
    pub(crate) fn study(&self) -> String {
        std::fs::read_to_string(self.desk.study()).unwrap()
    }

    /// Another shell.
    pub(crate) fn shell(&self, script: &str) {
        write_program(&self.desk.path().join("enter"), script);
    }

    /// `toll run` of the study on the client's machine.
    pub(crate) fn run(&self, arguments: &[&str]) -> Command {
        let mut command = self.client.toll();
        command.arg("run").arg(self.desk.study()).arg("--out").arg(self.desk.out());
        command.args(arguments);
        command
    }

    pub(crate) fn go_on(&self) -> Output {
        self.client.toll().args(["run", "--continue"]).arg(self.desk.results()).output().unwrap()
    }

    pub(crate) fn lines(&self) -> Vec<TrialLine> {
        Journal::read(&self.desk.journal()).unwrap().trials
    }

    /// What toll says in a line where it measures nothing, and that it does so with this exit code.
    #[track_caller]
    pub(crate) fn refusal(&self) -> String {
        let output = self.run(&[]).output().unwrap();
        let said = crate::errors(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}{}", text(&output.stdout));
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    }

    /// Processes of the server's machine, but for the one that holds it.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let of = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net")).ok();
        let held = self.server.pid();
        let theirs = of(&held);
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let pids = pids.filter(|pid| pid.parse::<u32>().is_ok() && *pid != held);
        pids.filter(|pid| of(pid) == theirs && theirs.is_some())
            .filter_map(|pid| pid.parse().ok())
            .filter(|pid| support::is_running(*pid))
            .collect()
    }
}

/// A counter of TCP of a machine (RFC 4022): `ActiveOpens` are SYNs that it sent first, `PassiveOpens`
/// are those that it answered.
pub(crate) fn counter(machine: &Namespace, name: &str) -> u64 {
    let output = machine.command("cat").arg("/proc/net/snmp").output().unwrap();
    let snmp = text(&output.stdout);
    let mut lines = snmp.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.split(' ').position(|known| known == name).unwrap();
    values.split(' ').nth(place).unwrap().parse().unwrap()
}
