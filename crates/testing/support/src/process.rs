//! Processes that end with the test, and processes of others.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::{run, until};

/// A process that is killed when the test ends, however it ends.
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Killed {
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }

    /// Starts a process whose stdout and stderr are pipes.
    pub fn piped(command: &mut Command) -> Self {
        Self::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Sends a signal by its name for `kill`, such as `-INT`.
    pub fn send(&self, signal: &str) {
        run(Command::new("kill").args([signal, &self.pid().to_string()]));
    }

    /// The first line that it prints to its pipe; empty where it ends without one.
    pub fn first_line(&mut self) -> String {
        self.first_line_with("")
    }

    /// The first line with these words that it prints to its pipe; empty where it ends without one.
    pub fn first_line_with(&mut self, words: &str) -> String {
        let lines = BufReader::new(self.0.stdout.as_mut().unwrap()).lines().map(Result::unwrap);
        lines.into_iter().find(|line| line.contains(words)).unwrap_or_default()
    }

    /// The exit code, which must come by itself; `None` where a signal ended it.
    #[track_caller]
    pub fn exit_code(&mut self) -> Option<i32> {
        until("it ends", || self.0.try_wait().unwrap().is_some());
        self.0.wait().unwrap().code()
    }

    /// Waits for the end of a process that writes little to its pipes.
    #[track_caller]
    pub fn finish(mut self) -> Output {
        self.exit_code();
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.0.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
        self.0.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
        Output { status: self.0.wait().unwrap(), stdout, stderr }
    }
}

/// The output of a command that is given this input, small enough for a pipe.
pub fn output_with_input(command: &mut Command, input: &[u8]) -> Output {
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    process.stdin.take().unwrap().write_all(input).unwrap();
    process.wait_with_output().unwrap()
}

/// The processes that have `word` in their command lines, and these.
pub fn processes_with(word: &str) -> Vec<(u32, String)> {
    let command_line = |pid: u32| {
        let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        Some((pid, String::from_utf8_lossy(&bytes).replace('\0', " ")))
    };
    processes().filter_map(command_line).filter(|(_, line)| line.contains(word)).collect()
}

/// The processes whose parent it is, in order; those that have ended are not among them.
pub fn children(pid: u32) -> Vec<u32> {
    let is_child = |child: &u32| parent(*child) == Some(pid);
    let mut children: Vec<u32> = processes().filter(is_child).collect();
    children.sort_unstable();
    children
}

/// Whether a process is there and has not ended.
pub fn is_running(pid: u32) -> bool {
    parent(pid).is_some()
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// From fields 3 and 4 of `/proc/PID/stat`; `None` of a process that is gone or a zombie.
fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (state, rest) = stat.rsplit_once(')')?.1.trim_start().split_once(' ')?;
    if state == "Z" { None } else { rest.split(' ').next()?.parse().ok() }
}

/// Makes a program of a shell script. Another process writes it, since a file that this one has open
/// for writing while another test forks is "busy" for exec.
pub fn write_program(path: &Path, script: &str) {
    let source = path.with_extension("sh");
    std::fs::write(&source, format!("#!/bin/sh\n{script}\n")).unwrap();
    run(Command::new("install").args(["-m", "755"]).args([&source, path]));
}
