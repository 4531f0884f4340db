//! `toll load --client` with the real programs, against the real `toll serve`.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cpus::CpuList;
use tempfile::TempDir;
use trial::{Line, WarningKind};

/// No test waits longer for anything.
const LIMIT: Duration = Duration::from_secs(60);

/// Held by each test that loads: the machine is small.
static MACHINE: Mutex<()> = Mutex::new(());

fn machine() -> MutexGuard<'static, ()> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn toll() -> Command {
    Command::new(env!("CARGO_BIN_EXE_toll"))
}

/// A process that is killed when the test ends, however it ends.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Server {
    process: Killed,
    tls: String,
    plain: String,
    folder: TempDir,
}

impl Server {
    fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut process = toll()
            .args(["serve", "--json", "--listen", "127.0.0.1:0", "--listen-plain", "127.0.0.1:0"])
            .args(["--cpus", &cpu(0)])
            .arg("--write-certificate")
            .arg(folder.path().join("cert.pem"))
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut announced = String::new();
        let stdout = process.stdout.take().unwrap();
        let process = Killed(process);
        BufReader::new(stdout).read_line(&mut announced).unwrap();
        let announced: serde_json::Value = serde_json::from_str(&announced).unwrap();
        let address = |name: &str| announced[name].as_str().unwrap().to_owned();
        Self { process, tls: address("tls"), plain: address("plain"), folder }
    }

    fn load(&self, object: &str) -> Command {
        let mut command = toll();
        command.arg("load").arg(format!("https://{}/{object}", self.tls));
        command.arg("--ca").arg(self.folder.path().join("cert.pem"));
        command.args(["--cpus", &cpu(usize::MAX), "--server-pid"]);
        command.arg(self.process.0.id().to_string());
        command
    }
}

/// The allowed CPU of that place, or the last one.
fn cpu(place: usize) -> String {
    let allowed = CpuList::allowed().unwrap();
    allowed.as_slice()[place.min(allowed.len() - 1)].to_string()
}

/// A plain server that answers its first request with success, and all later ones with 500.
fn failing() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answered = Arc::new(AtomicU32::new(0));
    // They end with the process, or when their connection does.
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let answered = Arc::clone(&answered);
            std::thread::spawn(move || fail(connection, &answered));
        }
    });
    address
}

fn fail(mut connection: TcpStream, answered: &AtomicU32) {
    let mut requests = BufReader::new(connection.try_clone().unwrap()).lines();
    while requests.by_ref().map_while(Result::ok).any(|line| line.is_empty()) {
        let status = if answered.fetch_add(1, Relaxed) == 0 { "200 OK" } else { "500 Sorry" };
        let answer =
            format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi");
        if connection.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The journal line of a load, with its exit code.
fn line(command: &mut Command) -> (Line, Option<i32>) {
    let output = command.arg("--json").output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let line = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{}", stderr(&output)));
    (line, output.status.code())
}

/// Processes that have `word` among their arguments.
fn processes_with(word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(arguments) = std::fs::read_to_string(entry.path().join("cmdline")) else { continue };
        if arguments.contains(word) {
            found.push(arguments.replace('\0', " "));
        }
    }
    found
}

fn within_limit(mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

fn wait(process: &mut Killed) -> Option<i32> {
    let mut status = None;
    assert!(within_limit(|| {
        status = process.0.try_wait().unwrap();
        status.is_some()
    }));
    status.unwrap().code()
}

#[test]
fn each_program_makes_the_load_and_both_sides_are_accounted_for() {
    let _machine = machine();
    let server = Server::start(&[]);
    for (client, options) in [
        ("wrk", &["-c", "4"][..]),
        ("wrk", &["-c", "4", "--operation", "one-request-per-connection"]),
        ("ab", &["-c", "4"]),
        ("ab", &["-c", "4", "--operation", "one-request-per-connection", "--suite", "AES128-SHA"]),
        ("h2load", &["-c", "4", "--suite", "TLS_AES_128_GCM_SHA256", "--group", "secp256r1"]),
        ("s_time", &["-c", "1", "--operation", "handshakes", "--tls", "1.3"]),
    ] {
        let mut load = server.load("bytes/64KiB");
        let (line, code) = line(load.args(["-d", "2s", "--client", client]).args(options));
        let what = format!("{client} {options:?}: {line:?}");
        assert_eq!(code, Some(0), "{what}");
        assert!(line.operations.completed > 0 && line.operations.errors.is_empty(), "{what}");
        assert!(line.cpu_ns.server.unwrap() > 0 && line.cpu_ns.client.unwrap() > 0, "{what}");
        assert!(line.verdict.evidence.client_busy.unwrap() > 0.0, "{what}");
        let named = line.receipt.obtained.client.clone().unwrap();
        assert!(named.starts_with(&format!("{client} ")), "{what}");
        let warned = line.warnings.iter().any(|warning| warning.kind == WarningKind::PeerClient);
        assert!(warned, "{what}");
        assert_eq!(line.latency_ns.p50, None, "{what}");
        assert_eq!(line.receipt.obtained.signatures_verified, Some(0), "{what}");
        if client != "s_time" {
            // At most one object a connection came in part only, at either end of the window.
            let (objects, parts) = (line.operations.completed, 2 * 4);
            let likely = objects.saturating_sub(parts) << 16..=(objects + parts) << 16;
            assert!(likely.contains(&line.bytes.body), "{what}");
        }
        if let ("ab", Some(_)) = (client, &line.receipt.asked.suite) {
            assert_eq!(line.receipt.obtained.suite["TLS_RSA_WITH_AES_128_CBC_SHA"], 1, "{what}");
        }
    }
}

#[test]
fn plain_http_is_loaded_too_and_the_summary_names_the_client() {
    let _machine = machine();
    let server = Server::start(&[]);
    for client in ["wrk", "ab", "h2load"] {
        let output = toll()
            .args(["load", &format!("http://{}/bytes/1KiB", server.plain), "--client", client])
            .args(["-c", "2", "-d", "2s", "--cpus", &cpu(usize::MAX)])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
        let got = text.lines().find(|line| line.starts_with("got ")).unwrap();
        assert!(got.contains(&format!("a load by {client} ")), "{text}");
        assert!(text.contains("own; toll verified nothing"), "{text}");
        assert!(!text.contains("in progress") && !text.contains("proven"), "{text}");
    }
}

#[test]
fn answers_without_success_are_errors() {
    let _machine = machine();
    for client in ["wrk", "ab", "h2load"] {
        let url = format!("http://{}/", failing());
        let (line, code) = line(
            toll()
                .args(["load", &url, "--client", client, "-c", "2", "-d", "2s"])
                .args(["--cpus", &cpu(usize::MAX)]),
        );
        assert_eq!(code, Some(3), "{client}: {line:?}");
        assert!(!line.valid && line.operations.completed == 0, "{client}: {line:?}");
        assert!(line.operations.errors["status"] > 0, "{client}: {line:?}");
        let words = &line.operations.first_errors["status"];
        assert!(words.starts_with(client), "{words}");
    }
}

#[test]
fn a_server_that_dies_is_no_number() {
    let _machine = machine();
    for client in ["wrk", "ab", "h2load"] {
        let mut server = Server::start(&[]);
        let mut load = toll();
        load.args(["load", &format!("http://{}/bytes/1KiB", server.plain), "--client", client]);
        load.args(["-c", "2", "-d", "4s", "--cpus", &cpu(usize::MAX), "--json"]);
        let load = Killed(load.stdout(Stdio::piped()).spawn().unwrap());
        let word = server.plain.clone();
        let program = format!("{client} ");
        assert!(within_limit(|| {
            processes_with(&word).iter().any(|all| all.contains(&format!("/{program}")))
        }));
        std::thread::sleep(Duration::from_millis(300));
        let _ = server.process.0.kill();
        let _ = server.process.0.wait();
        let mut load = load;
        let mut text = String::new();
        BufReader::new(load.0.stdout.take().unwrap()).read_line(&mut text).unwrap();
        let code = wait(&mut load);
        let line: Line = serde_json::from_str(&text).unwrap();
        // h2load tells of no error; it only has fewer answers.
        if client != "h2load" {
            assert!(line.failed() > 0 || line.load_error.is_some(), "{client}: {line:?}");
            assert_eq!(code, Some(3), "{client}: {line:?}");
        }
        assert!(processes_with(&word).is_empty());
    }
}

#[test]
fn what_cannot_be_done_is_one_line_before_anything_is_sent() {
    let unused = "https://127.0.0.1:1/";
    for (arguments, expected) in [
        (&["--client", "wrk", "--suite", "AES128-SHA"][..], "restrict the server instead"),
        (&["--client", "wrk", "-d", "1500ms"], "whole seconds"),
        (&["--client", "wrk", "--warmup", "1s"], "has no warm-up, which contradicts --warmup 1s"),
        (&["--client", "wrk", "--operation", "handshakes"], "take --client s_time"),
        (&["--client", "h2load", "--operation", "one-request-per-connection"], "wrk or ab"),
        (
            &["--client", "ab", "--key-exchange", "fixed"],
            "makes fresh keys, which contradicts --key-exchange fixed",
        ),
        (&["--client", "siege"], "possible values: toll, wrk, ab, h2load, s_time"),
        // All is well but the server.
        (&["--client", "wrk"], "refused: "),
    ] {
        let output = toll().args(["load", unused]).args(arguments).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.starts_with("toll: ") && said.contains(expected), "{arguments:?}: {said}");
        assert_eq!((said.lines().count(), output.stdout.len()), (1, 0), "{said}");
    }
}

#[test]
fn a_program_that_is_not_installed_is_named_with_its_package() {
    let empty = tempfile::tempdir().unwrap();
    for (client, package) in [("wrk", "wrk"), ("ab", "apache2-utils"), ("h2load", "nghttp2-client")]
    {
        let output = toll()
            .args(["load", "https://127.0.0.1:1/", "--client", client])
            .args(["--cpus", &cpu(0)])
            .env("PATH", empty.path())
            .output()
            .unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        let expected = format!("apt-get install {package}, or leave --client {client} out\n");
        assert!(said.contains("is not installed") && said.ends_with(&expected), "{said}");
    }
}

#[test]
fn the_program_ends_with_ctrl_c_and_with_toll() {
    let _machine = machine();
    let server = Server::start(&[]);
    for client in ["wrk", "ab", "h2load"] {
        for signal in ["-INT", "-KILL"] {
            let mut load = toll();
            load.args(["load", &format!("http://{}/bytes/1KiB", server.plain)]);
            load.args(["--client", client, "-c", "2", "-d", "60s", "--cpus", &cpu(usize::MAX)]);
            let mut load = Killed(load.arg("--json").stdout(Stdio::piped()).spawn().unwrap());
            let program = format!("/{client} ");
            let runs = || processes_with(&server.plain).iter().any(|all| all.contains(&program));
            assert!(within_limit(runs), "{client} does not start");
            std::thread::sleep(Duration::from_millis(500));
            let id = load.0.id().to_string();
            assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
            let mut text = String::new();
            BufReader::new(load.0.stdout.take().unwrap()).read_line(&mut text).unwrap();
            let code = wait(&mut load);
            assert!(
                within_limit(|| processes_with(&server.plain).is_empty()),
                "{client} outlived toll: {:?}",
                processes_with(&server.plain)
            );
            if signal == "-INT" {
                let line: Line = serde_json::from_str(&text).unwrap();
                assert_eq!(code, Some(130), "{client}: {line:?}");
                // h2load forgets what it did.
                assert_eq!(line.load_error.is_some(), client == "h2load", "{client}: {line:?}");
                assert!(line.interrupted, "{client}: {line:?}");
            }
        }
    }
}
