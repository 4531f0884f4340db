//! Which threads a server has, by their names.

use serde::{Deserialize, Serialize};

use crate::error::read;
use crate::process_tree::{ProcessTree, stat_of};

/// A thread that may serve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedThread {
    pub id: u32,
    /// Its name without a number at its end, which the kernel cuts after 15 bytes.
    pub name: String,
    /// Whether its process began with it.
    pub is_main: bool,
}

impl ProcessTree {
    /// The threads of processes that may serve, as they are now.
    pub fn serving_threads(&self) -> Vec<NamedThread> {
        self.serving_processes().into_iter().flat_map(threads_of).collect()
    }

    /// The processes that may serve, as they are now. A master does not: it has a child of its
    /// own name, which does the work. Nor does a process without a socket, where others have one: hitch has
    /// one that only renews answers about its certificates.
    pub fn serving_processes(&self) -> Vec<u32> {
        let named = |pid: u32| Some((pid, stat_of(pid).ok()??.parent, thread_name(pid, pid)?));
        let all: Vec<(u32, u32, String)> = self.pids().filter_map(named).collect();
        let is_master = |pid: u32, name: &str| {
            all.iter().any(|(_, parent, child)| *parent == pid && child == name)
        };
        let working = all.iter().filter(|(pid, _, name)| !is_master(*pid, name));
        let working: Vec<u32> = working.map(|(pid, ..)| *pid).collect();
        let serving: Vec<u32> = working.iter().copied().filter(|pid| has_socket(*pid)).collect();
        if serving.is_empty() { working } else { serving }
    }
}

/// Whether a process has a socket beside its standard streams, which may lead to a log; also where that is not
/// to be seen.
fn has_socket(pid: u32) -> bool {
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return true };
    descriptors.flatten().any(|descriptor| {
        let number = descriptor.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let is_socket = std::fs::read_link(descriptor.path())
            .map_or(true, |target| target.as_os_str().as_encoded_bytes().starts_with(b"socket:"));
        number > Some(2) && is_socket
    })
}

/// Those that end meanwhile are left out.
fn threads_of(pid: u32) -> Vec<NamedThread> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let thread =
        |id: u32| Some(NamedThread { id, name: thread_name(pid, id)?, is_main: id == pid });
    let ids = tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse().ok());
    ids.filter_map(thread).collect()
}

fn thread_name(pid: u32, id: u32) -> Option<String> {
    let name = read(format!("/proc/{pid}/task/{id}/comm")).ok()?;
    let of_kind = name.trim_end().trim_end_matches(|c: char| c.is_ascii_digit() || c == '#');
    Some(of_kind.to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn threads_have_names_without_their_numbers() {
        let (ended, end) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("serves-12".to_owned());
        let thread = thread.spawn(move || end.recv().is_err()).unwrap();
        let tree = ProcessTree::find(std::process::id()).unwrap();
        // A thread gives itself its name when it has begun.
        let named = loop {
            let threads = tree.serving_threads();
            if let Some(named) = threads.iter().find(|thread| thread.name == "serves-") {
                break named.clone();
            }
        };
        assert!(!named.is_main);
        drop(ended);
        thread.join().unwrap();
    }

    #[test]
    fn a_master_is_left_out_and_a_parent_of_another_name_is_not() {
        let names = |script: &str| {
            let mut command = Command::new("sh");
            let mut parent = command.args(["-c", script]).spawn().unwrap();
            let pid = parent.id();
            let threads = || ProcessTree::find(pid).unwrap().serving_threads();
            // Until the innermost has become another program, before a look rather than within it.
            while !threads().iter().any(|thread| thread.name == "sleep") {}
            let is_parent = |thread: &NamedThread| thread.id == pid && thread.is_main;
            let names = threads().iter().any(is_parent);
            parent.kill().unwrap();
            parent.wait().unwrap();
            names
        };
        assert!(names("sleep 1; :"), "the parent of a program of another name");
        assert!(!names("(sleep 1; :); :"), "a master of a child of its own name");
    }

    /// A master, a child that listens and one that does not, each of which ends with its input.
    const SERVER: &str = r#"
import os, socket, sys
listener = socket.create_server(("127.0.0.1", 0))
for serves in (True, False):
    if os.fork() == 0:
        serves or listener.close()
        os.write(1, f"{serves} {os.getpid()}\n".encode())
        break
sys.stdin.read()
"#;

    #[test]
    fn a_process_without_a_socket_is_left_out_where_another_has_one() {
        let mut command = Command::new("python3");
        let command = command.args(["-c", SERVER]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut master = command.spawn().unwrap();
        let lines = BufReader::new(master.stdout.take().unwrap()).lines().take(2);
        let lines: Vec<String> = lines.map(Result::unwrap).collect();
        let serving = lines.iter().find_map(|line| line.strip_prefix("True ")?.parse::<u32>().ok());
        let threads = ProcessTree::find(master.id()).unwrap().serving_threads();
        let threads: Vec<u32> = threads.iter().map(|thread| thread.id).collect();
        assert_eq!(threads, [serving.unwrap()], "{lines:?}");
        drop(master.stdin.take());
        master.wait().unwrap();
    }
}
