//! Loads of a server, their lines, and busy loops.

use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cpus::{CpuList, pin_current_thread};
use observe::ThreadCpu;
use support::{Killed, Serve, first_cpu, last_cpu, text, toll};
use trial::TrialRecord;

/// How many descriptors a process has open.
pub(crate) fn open_files(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// Whether server and client can have CPUs of their own.
pub(crate) fn has_two_cpus() -> bool {
    let has = first_cpu() != last_cpu();
    if !has {
        eprintln!("skipped: one CPU only");
    }
    has
}

/// `toll load` of an object over TLS from the last CPU, with the server's CPU time.
pub(crate) fn load(server: &Serve, object: &str) -> Command {
    load_by(toll(), server, &format!("https://{}/{object}", server.tls))
}

/// The same over plain HTTP.
pub(crate) fn load_plain(server: &Serve, object: &str) -> Command {
    load_by(toll(), server, &format!("http://{}/{object}", server.plain))
}

pub(crate) fn load_by(mut command: Command, server: &Serve, url: &str) -> Command {
    command.args(["load", url, "--json", "--cpus", &last_cpu().to_string()]);
    command.args(["--server-pid", &server.pid()]);
    if url.starts_with("https:") {
        command.arg("--insecure");
    }
    command
}

/// The journal's line of a load, valid or not: on a machine with much other work it may be that
/// nothing completes.
pub(crate) fn line(command: &mut Command) -> TrialRecord {
    line_of(&command.output().unwrap())
}

fn line_of(output: &Output) -> TrialRecord {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)))
}

/// Interrupts a load whose output is a pipe, and gives its line.
pub(crate) fn interrupt(load: Killed) -> TrialRecord {
    load.send("-INT");
    line_of(&load.finish())
}

/// A thread that runs for a share of a CPU, in turns of 10 ms, until it is dropped.
pub(crate) struct Neighbour {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Neighbour {
    pub(crate) fn start(cpu: &CpuList, share: f64) -> Self {
        const TURN: Duration = Duration::from_millis(10);
        let end = Arc::new(AtomicBool::new(false));
        let (cpu, is_over) = (cpu.clone(), Arc::clone(&end));
        let used = || Duration::from_nanos(ThreadCpu::current().unwrap().on_cpu.0);
        let thread = std::thread::spawn(move || {
            pin_current_thread(&cpu).unwrap();
            let (mut next, mut due) = (Instant::now(), used());
            while !is_over.load(Relaxed) {
                due += TURN.mul_f64(share);
                while used() < due {
                    std::hint::spin_loop();
                }
                next += TURN;
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
            }
        });
        Self { end, thread: Some(thread) }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.end.store(true, Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

/// A busy loop on that CPU, with that niceness.
pub(crate) fn busy_loop(cpu: &CpuList, nice: u8) -> Killed {
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string(), "nice", "-n", &nice.to_string()]);
    command.args(["sh", "-c", "while :; do :; done"]);
    Killed::start(&mut command)
}
