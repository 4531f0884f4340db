//! `toll watch` beside servers and their logs, and made false from outside.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use support::{Killed, first_cpu, is_running, last_cpu, text, toll, until};
use tempfile::TempDir;

/// An nginx with a worker on the first CPU, and what it has in its folder.
struct Nginx {
    master: Killed,
    folder: TempDir,
    port: u16,
}

impl Nginx {
    /// With a key as `openssl req -newkey` names it. `library_path`: where its libraries are.
    fn start(key: &[&str], library_path: Option<&Path>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let place = folder.path().display();
        let configuration = format!(
            "daemon off; worker_processes 1; pid nginx.pid; error_log error.log; events {{}}\n\
             http {{ access_log access.log; server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {place}/cert.pem; \
             ssl_certificate_key {place}/key.pem; return 200 x; }} }}"
        );
        std::fs::write(folder.path().join("nginx.conf"), configuration).unwrap();
        support::run(
            Command::new("openssl")
                .args(["req", "-x509", "-nodes", "-subj", "/CN=localhost", "-newkey"])
                .args(key)
                .args(["-keyout", "key.pem", "-out", "cert.pem"])
                .current_dir(folder.path())
                .stderr(Stdio::null()),
        );
        let mut nginx = Command::new("taskset");
        nginx.args(["-c", &first_cpu().to_string(), "nginx", "-p"]).arg(folder.path());
        nginx.args(["-c", "nginx.conf", "-e", "error.log"]);
        if let Some(path) = library_path {
            nginx.env("LD_LIBRARY_PATH", path);
        }
        let master = Killed::start(&mut nginx);
        until("it listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Self { master, folder, port }
    }

    fn watch(&self, arguments: &[&str]) -> Command {
        watch(&self.master.pid().to_string(), arguments)
    }

    /// A full handshake and a request each, from the other CPU.
    fn load(&self, count: u32) {
        let output = toll()
            .args(["load", &format!("https://127.0.0.1:{}/", self.port), "--insecure", "-c", "4"])
            .args(["--operation", "one-request-per-connection", "-n", &count.to_string()])
            .args(["-d", "60s", "--cpus", &last_cpu().to_string(), "--json"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }

    fn log_lines(&self) -> usize {
        std::fs::read_to_string(self.folder.path().join("access.log")).unwrap().lines().count()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The master ends its worker, which would outlive a killed one.
        self.master.send("-TERM");
        until("nginx ends", || self.master.0.try_wait().unwrap().is_some());
    }
}

fn watch(server: &str, arguments: &[&str]) -> Command {
    let mut command = toll();
    command.args(["watch", server]).args(arguments);
    command
}

/// Starts to watch, and returns when it counts and samples.
fn started(command: &mut Command) -> Killed {
    let watching = Killed::piped(command);
    until("it counts", || events(watching.pid()) > 4);
    watching
}

/// How many events of the kernel a process has.
fn events(pid: u32) -> usize {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let names = descriptors.filter_map(|of| std::fs::read_link(of.path()).ok());
    names.filter(|name| name.to_string_lossy().contains("perf_event")).count()
}

/// In ns (schedstat of `/proc`).
fn cpu_time(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}{}", text(&output.stdout), text(&output.stderr)))
}

/// Whether the kernel lets this user watch and count; a line where it does not.
fn can_watch() -> bool {
    let can = rustix::process::geteuid().is_root()
        && Path::new("/sys/bus/event_source/devices/uprobe/type").exists();
    if !can {
        eprintln!("skipped: uprobes need root and a kernel that has them");
    }
    can
}

/// The probes that somebody has left in the kernel.
fn left_probes() -> String {
    std::fs::read_to_string("/sys/kernel/tracing/uprobe_events").unwrap_or_default()
}

const RSA: [&str; 1] = ["rsa:2048"];

#[test]
fn counts_are_those_of_the_servers_log_and_lines_add_up() {
    if !can_watch() {
        return;
    }
    let nginx = Nginx::start(&RSA, None);
    let watching = started(&mut nginx.watch(&["--json", "--duration", "5min"]));
    nginx.load(1_000);
    watching.send("-INT");
    let output = watching.finish();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let bill = json(&output);
    let logged = nginx.log_lines() as f64;
    assert!(logged >= 1_000.0, "{logged}");
    for counted in ["signatures", "handshakes", "connections"] {
        let count = bill[counted]["count"].as_f64().unwrap();
        assert!((count - logged).abs() <= logged * 0.01, "{counted}: {count} of {logged}: {bill}");
    }
    assert_eq!(bill["prefers"]["certificate_key"], "RSA-2048");
    let samples = |lines: &str| -> u64 {
        bill[lines].as_object().unwrap().values().map(|of| of["samples"].as_u64().unwrap()).sum()
    };
    let (tls, not_sorted) = (samples("parts"), samples("not_sorted"));
    assert_eq!(tls, bill["tls"]["samples"].as_u64().unwrap());
    let all = tls + samples("not_tls") + not_sorted;
    assert_eq!(all, bill["samples"].as_u64().unwrap());
    assert!(not_sorted * 20 < all, "{bill}");
    // RSA signatures are the largest part of such a load on any machine.
    let keys = bill["parts"]["private-keys"]["samples"].as_u64().unwrap();
    assert!(keys * 5 > all, "{bill}");
}

#[test]
fn nothing_is_left_however_it_ends() {
    if !can_watch() {
        return;
    }
    let nginx = Nginx::start(&RSA, None);
    for (signal, code) in [("-INT", Some(130)), ("-TERM", Some(130)), ("-KILL", None)] {
        let before = left_probes();
        let watching = started(&mut nginx.watch(&["--duration", "5min"]));
        let pid = watching.pid();
        assert!(support::children(pid).is_empty());
        watching.send(signal);
        let output = watching.finish();
        assert_eq!(output.status.code(), code, "{signal}: {}", text(&output.stderr));
        // What was seen until then is printed, if it may.
        assert_eq!(output.stdout.is_empty(), code.is_none(), "{signal}");
        assert_eq!(left_probes(), before, "{signal}");
        assert!(is_running(nginx.master.pid()));
        nginx.load(10);
    }
}

#[test]
fn a_server_without_traffic_or_without_tls_has_no_bill() {
    if !can_watch() {
        return;
    }
    let nginx = Nginx::start(&RSA, None);
    let output = nginx.watch(&["--duration", "300ms"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stdout).contains("too few for a bill"), "{}", text(&output.stdout));
    // Another program's process.
    let busy = Killed::start(Command::new("cat").arg("/dev/zero").stdout(Stdio::null()));
    let watching = Killed::piped(&mut watch(&busy.pid().to_string(), &["--json", "-d", "5min"]));
    until("it samples", || events(watching.pid()) > 0);
    let before = cpu_time(busy.pid());
    until("it has worked", || cpu_time(busy.pid()) > before + 1_500_000_000);
    watching.send("-INT");
    let bill = json(&watching.finish());
    assert_eq!(bill["no_bill"], "no-tls", "{bill}");
    let gone = watch("8388607", &[]).output().unwrap();
    assert_eq!((gone.status.code(), text(&gone.stderr).lines().count()), (Some(2), 1));
}

#[test]
fn a_server_that_ends_meanwhile_is_said_to_have_ended() {
    if !can_watch() {
        return;
    }
    let mut busy = Killed::start(Command::new("cat").arg("/dev/zero").stdout(Stdio::null()));
    let server = busy.pid().to_string();
    let watching = Killed::piped(&mut watch(&server, &["--json", "--duration", "5min"]));
    until("it samples", || events(watching.pid()) > 0);
    let before = cpu_time(busy.pid());
    until("it has worked", || cpu_time(busy.pid()) > before + 500_000_000);
    busy.0.kill().unwrap();
    busy.0.wait().unwrap();
    let bill = json(&watching.finish());
    assert!(bill["ended"].as_str().unwrap().contains("ended"), "{bill}");
}

#[test]
fn a_user_whom_the_kernel_does_not_let_gets_one_line() {
    if !can_watch() {
        return;
    }
    let busy = Killed::start(Command::new("sleep").arg("600"));
    // Root of a namespace of its own is nobody to the kernel's events.
    let mut toll = Command::new("unshare");
    toll.args(["--user", "--map-root-user"]).arg(support::toll_path());
    let output = toll.args(["watch", &busy.pid().to_string()]).output().unwrap();
    let said = text(&output.stderr);
    if said.contains("unshare:") {
        return eprintln!("skipped: {said}");
    }
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("perf_event_paranoid"), "{said}");
}

/// Copies the libraries of TLS into a folder.
fn copied_libraries(folder: &Path) -> PathBuf {
    let linked = support::run(Command::new("ldd").arg("/usr/sbin/nginx"));
    for name in ["libcrypto.so.3", "libssl.so.3"] {
        let line = linked.lines().find(|line| line.contains(name)).unwrap();
        let path = line.split_whitespace().find(|word| word.starts_with('/')).unwrap();
        std::fs::copy(path, folder.join(name)).unwrap();
    }
    folder.join("libcrypto.so.3")
}

#[test]
fn a_library_that_is_replaced_under_way_is_counted_and_named() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let library = copied_libraries(folder.path());
    let nginx = Nginx::start(&RSA, Some(folder.path()));
    let moved = folder.path().join("newer");
    std::fs::copy(&library, &moved).unwrap();
    std::fs::rename(&moved, &library).unwrap();
    let watching = started(&mut nginx.watch(&["--json", "--duration", "5min"]));
    nginx.load(300);
    watching.send("-INT");
    let bill = json(&watching.finish());
    // They are counted in the library that runs.
    let count = bill["signatures"]["count"].as_u64().unwrap();
    assert!(count.abs_diff(nginx.log_lines() as u64) <= 3, "{bill}");
    let libraries = bill["libraries"].as_array().unwrap();
    let is_crypto = |of: &&Value| of["path"] == library.display().to_string();
    assert_eq!(libraries.iter().find(is_crypto).unwrap()["is_replaced"], true);
    assert!(bill["notes"].to_string().contains("was replaced"), "{bill}");
}
