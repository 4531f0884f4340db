//! Servers, loads and busy loops that end with the test.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cpus::CpuList;
use trial::Line;

/// No test waits longer for anything.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A process that is killed when the test ends, however it ends.
pub(crate) struct Killed(pub(crate) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Killed {
    pub(crate) fn start(mut command: Command) -> Self {
        Self(command.spawn().unwrap())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn send(&self, signal: &str) {
        run(Command::new("kill").args([signal, &self.pid().to_string()]));
    }
}

pub(crate) fn toll() -> Command {
    Command::new(env!("CARGO_BIN_EXE_toll"))
}

/// Runs a command that must succeed.
pub(crate) fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Waits for something, up to [`LIMIT`].
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < deadline, "not so within {LIMIT:?}: {what}");
        sleep(Duration::from_millis(10));
    }
}

/// How many descriptors a process has open.
pub(crate) fn open_files(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

pub(crate) fn first_cpu() -> String {
    CpuList::allowed().unwrap().as_slice()[0].to_string()
}

pub(crate) fn last_cpu() -> String {
    CpuList::allowed().unwrap().as_slice().last().unwrap().to_string()
}

/// Whether server and client can have CPUs of their own.
pub(crate) fn has_two_cpus() -> bool {
    let has = first_cpu() != last_cpu();
    if !has {
        eprintln!("skipped: one CPU only");
    }
    has
}

/// Trials that run at once disturb each other.
static MACHINE: Mutex<()> = Mutex::new(());

/// Held by each test for as long as it measures.
pub(crate) fn machine() -> MutexGuard<'static, ()> {
    // A test that failed has let go of the machine all the same.
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `toll serve` on the first CPU.
pub(crate) struct Server {
    pub(crate) process: Killed,
    pub(crate) tls: String,
    pub(crate) plain: String,
    _machine: MutexGuard<'static, ()>,
}

impl Server {
    pub(crate) fn start(options: &[&str]) -> Self {
        Self::start_by(toll(), "127.0.0.1", options)
    }

    /// Started by a command that ends in toll's name, at that address.
    pub(crate) fn start_by(mut command: Command, address: &str, options: &[&str]) -> Self {
        let machine = machine();
        let any_port = format!("{address}:0");
        let mut process = Killed(
            command
                .args(["serve", "--json", "--listen", &any_port, "--listen-plain", &any_port])
                .args(["--cpus", &first_cpu()])
                .args(options)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap(),
        );
        let mut announced = String::new();
        let stdout = process.0.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut announced).unwrap();
        let announced: serde_json::Value = serde_json::from_str(&announced).unwrap();
        let address = |name: &str| announced[name].as_str().unwrap().to_owned();
        Self { tls: address("tls"), plain: address("plain"), process, _machine: machine }
    }

    /// `toll load` of an object over TLS from the last CPU, with the server's CPU time.
    pub(crate) fn load(&self, object: &str) -> Command {
        self.load_by(toll(), &format!("https://{}/{object}", self.tls))
    }

    /// The same over plain HTTP.
    pub(crate) fn load_plain(&self, object: &str) -> Command {
        self.load_by(toll(), &format!("http://{}/{object}", self.plain))
    }

    pub(crate) fn load_by(&self, mut command: Command, url: &str) -> Command {
        command.args(["load", url, "--json", "--cpus", &last_cpu()]);
        command.args(["--server-pid", &self.process.pid().to_string()]);
        if url.starts_with("https:") {
            command.arg("--insecure");
        }
        command
    }
}

/// The journal's line of a load, valid or not: on a machine with much other work it may be that
/// nothing completes.
pub(crate) fn line(command: &mut Command) -> Line {
    line_of(&command.output().unwrap())
}

fn line_of(output: &Output) -> Line {
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{said}"))
}

/// Interrupts a load whose output is a pipe, and gives its line.
pub(crate) fn interrupt(mut load: Killed) -> Line {
    load.send("-INT");
    let mut stdout = Vec::new();
    load.0.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
    let mut stderr = Vec::new();
    load.0.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
    line_of(&Output { status: load.0.wait().unwrap(), stdout, stderr })
}

/// A load whose output is a pipe.
pub(crate) fn spawn(command: &mut Command) -> Killed {
    Killed(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

/// A busy loop on that CPU, with that niceness.
pub(crate) fn busy_loop(cpu: &str, nice: u8) -> Killed {
    let mut command = Command::new("taskset");
    command.args(["-c", cpu, "nice", "-n", &nice.to_string()]);
    command.args(["sh", "-c", "while :; do :; done"]);
    Killed::start(command)
}
