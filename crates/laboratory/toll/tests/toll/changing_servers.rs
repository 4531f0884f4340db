//! Servers whose processes change while they are measured.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cpus::CpuList;
use rustix::process::{Pid, Signal, kill_process};
use support::{text, toll};
use targets::{Objects, Running, Settings};
use trial::{TrialRecord, WarningKind};
use units::Bytes;

/// A load of two seconds, with what is done in its middle, given its process.
fn load(url: &str, pid: impl Into<Option<u32>>, meanwhile: impl FnOnce(u32)) -> TrialRecord {
    let pid = pid.into().map(|pid| format!("--server-pid={pid}"));
    let load = toll()
        .args(["load", url, "--json", "--insecure", "-c", "4"])
        .args(pid)
        .args(["-d", "2s", "--warmup", "200ms", "--operation", "one-request-per-connection"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_millis(1200));
    meanwhile(load.id());
    let output = load.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)))
}

fn pid(number: u32) -> Pid {
    Pid::from_raw(number.cast_signed()).unwrap()
}

/// nginx on the first CPU, and where it serves.
fn nginx(folder: &Path) -> (Running, String) {
    let settings = Settings::new(CpuList::allowed().unwrap().first(1));
    let objects = Arc::new(Objects::make(&[Bytes(1)], folder).unwrap());
    let nginx = targets::by_name("nginx").unwrap();
    let server = targets::start(nginx, &settings, &objects, folder, None).unwrap();
    let url = format!("https://{}/bytes/1B", server.facts().https);
    (server, url)
}

#[test]
fn the_cpu_time_of_a_server_that_is_reloaded_is_that_of_its_old_and_new_processes() {
    let folder = tempfile::tempdir().unwrap();
    let (server, url) = nginx(folder.path());
    let change = |line: &TrialRecord| {
        line.warnings.iter().find(|of| of.kind == WarningKind::ProcessesChanged).cloned()
    };
    let per_handshake = |line: &TrialRecord| {
        line.cpu_ns.server.expect("it is known") as f64 / line.operations.completed as f64
    };
    let load = |meanwhile: &dyn Fn()| load(&url, server.pid(), |_| meanwhile());
    let quiet = load(&|| {});
    assert_eq!(change(&quiet), None);
    let reloaded = load(&|| kill_process(pid(server.pid()), Signal::HUP).unwrap());
    let seen = change(&reloaded).expect("it was reloaded").seen;
    assert!(seen.contains("new one began at"), "{seen}");
    // The new processes alone have half of it.
    let (quiet, reloaded) = (per_handshake(&quiet), per_handshake(&reloaded));
    assert!(reloaded > 0.75 * quiet, "{quiet} ns, reloaded {reloaded} ns");
}

/// Of a trial, the fields of the receipt that differ, with what was got.
fn mismatches(line: &TrialRecord) -> Vec<(&str, &str)> {
    line.receipt.mismatch.iter().map(|of| (of.what.as_str(), of.obtained.as_str())).collect()
}

/// An nginx of one worker that shares its port with others (`reuseport`), and its worker.
fn sharing_nginx(folder: &Path, port: u16) -> (Child, u32) {
    std::fs::create_dir(folder).unwrap();
    let configuration = format!(
        "daemon off; worker_processes 1; pid nginx.pid; error_log error.log; events {{}}\n\
         http {{ access_log off; server {{ listen 127.0.0.1:{port} reuseport; return 200 x; }} }}"
    );
    std::fs::write(folder.join("nginx.conf"), configuration).unwrap();
    let place = folder.to_str().unwrap();
    let arguments = ["-p", place, "-c", "nginx.conf", "-e", "error.log"];
    let master = Command::new("nginx").args(arguments).spawn().unwrap();
    let children = format!("/proc/{0}/task/{0}/children", master.id());
    let worker = loop {
        let children = std::fs::read_to_string(&children).unwrap();
        if let Some(worker) = children.split_ascii_whitespace().next() {
            break worker.parse().unwrap();
        }
        thread::sleep(Duration::from_millis(5));
    };
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    (master, worker)
}

#[test]
fn a_server_whose_port_another_one_serves_too_is_not_measured() {
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (mut old, left) = sharing_nginx(&folder.path().join("old"), port);
    old.kill().unwrap();
    old.wait().unwrap();
    let (mut new, worker) = sharing_nginx(&folder.path().join("new"), port);
    let url = format!("http://127.0.0.1:{port}/");
    let shared = load(&url, new.id(), |_| {});
    let unnamed = load(&url, None, |_| {});
    // A worker that is left and ends within the window was there at its start.
    let ending = load(&url, new.id(), |_| kill_process(pid(left), Signal::KILL).unwrap());
    let alone = load(&url, new.id(), |_| {});
    new.kill().unwrap();
    new.wait().unwrap();
    kill_process(pid(worker), Signal::KILL).unwrap();
    for line in [&shared, &ending] {
        let found = mismatches(line);
        assert!(!line.valid && found[0].0 == "listener", "{found:?}");
        assert!(found[0].1.contains(&format!("nginx (process {left})")), "{found:?}");
    }
    assert_eq!(mismatches(&alone), []);
    // Which of the two is found does not matter: the other one is named.
    assert!(!unnamed.valid && mismatches(&unnamed)[0].0 == "listener", "{unnamed:?}");
}

/// Lets the threads of a process run on other CPUs, those with such a name.
fn move_threads(process: u32, name: &str, cpus: &CpuList) {
    for task in std::fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten() {
        let number: u32 = task.file_name().to_str().unwrap().parse().unwrap();
        let own = std::fs::read_to_string(task.path().join("comm")).unwrap();
        if own.starts_with(name) {
            cpus::pin_thread(pid(number), cpus).unwrap();
        }
    }
}

#[test]
fn threads_that_leave_their_cpus_make_a_trial_invalid() {
    let all = CpuList::allowed().unwrap();
    if all.len() < 2 {
        return println!("skipped: this machine has one CPU");
    }
    let folder = tempfile::tempdir().unwrap();
    let (server, url) = nginx(folder.path());
    let quiet = load(&url, server.pid(), |_| {});
    assert_eq!(mismatches(&quiet), []);
    let client = load(&url, server.pid(), |toll| move_threads(toll, "load-", &all));
    let (found, expected) = (mismatches(&client), format!("threads that could run on {all}"));
    assert_eq!((client.valid, &found[..]), (false, &[("client_cpus", expected.as_str())][..]));
    let list = format!("/proc/{0}/task/{0}/children", server.pid());
    let server_moves = load(&url, server.pid(), |_| {
        let workers = std::fs::read_to_string(list).unwrap();
        let workers = workers.split_ascii_whitespace().map(|worker| worker.parse().unwrap());
        workers.chain([server.pid()]).for_each(|of| move_threads(of, "nginx", &all));
    });
    let found = mismatches(&server_moves);
    assert_eq!(
        (server_moves.valid, &found[..]),
        (false, &[("server_cpus", expected.as_str())][..])
    );
}
