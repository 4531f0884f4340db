//! `toll load` as a user runs it, against the real `toll serve`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cpus::CpuList;
use tempfile::TempDir;
use trial::{Limit, Line};
use units::Bytes;

/// No test waits longer for anything.
const LIMIT: Duration = Duration::from_secs(30);

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

/// Held by each server: trials that run at once disturb each other.
static MACHINE: Mutex<()> = Mutex::new(());

struct Server {
    process: Killed,
    _machine: MutexGuard<'static, ()>,
    tls: String,
    plain: String,
    folder: TempDir,
}

impl Server {
    fn start(options: &[&str]) -> Self {
        // A test that failed has let go of the machine all the same.
        let machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        let mut process = toll()
            .args(["serve", "--json", "--listen", "127.0.0.1:0", "--listen-plain", "127.0.0.1:0"])
            .args(["--cpus", &first_cpu()])
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
        Self { process, _machine: machine, tls: address("tls"), plain: address("plain"), folder }
    }

    fn pid(&self) -> String {
        self.process.0.id().to_string()
    }

    /// `toll load` of an object over TLS that trusts this server.
    fn load(&self, object: &str) -> Command {
        let mut command = toll();
        command.arg("load").arg(format!("https://{}/{object}", self.tls));
        command.arg("--ca").arg(self.folder.path().join("cert.pem"));
        command.args(["--warmup", "100ms", "--cpus", &last_cpu()]);
        command
    }
}

/// A plain server in this process that answers the first request with the object of 1 KiB, and
/// all later ones with `then`, each after so long.
fn turning(then: Vec<u8>, delay: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let bodies = Arc::new((one_kib(), then));
    let has_answered = Arc::new(AtomicBool::new(false));
    // They end with the process, or when their connection does.
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let (bodies, has_answered) = (Arc::clone(&bodies), Arc::clone(&has_answered));
            std::thread::spawn(move || answer(connection, &bodies, &has_answered, delay));
        }
    });
    address
}

/// The object of 1 KiB.
fn one_kib() -> Vec<u8> {
    let mut object = Vec::new();
    objects::write_to(&mut object, Bytes(1024)).unwrap();
    object
}

/// Answers requests without bodies until the client goes away.
fn answer(
    mut connection: TcpStream,
    bodies: &(Vec<u8>, Vec<u8>),
    has_answered: &AtomicBool,
    delay: Duration,
) {
    let mut requests = BufReader::new(connection.try_clone().unwrap()).lines();
    while requests.by_ref().map_while(Result::ok).any(|line| line.is_empty()) {
        std::thread::sleep(delay);
        let body = if has_answered.swap(true, Relaxed) { &bodies.1 } else { &bodies.0 };
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        if connection.write_all(&[head.as_bytes(), body].concat()).is_err() {
            return;
        }
    }
}

fn first_cpu() -> String {
    CpuList::allowed().unwrap().as_slice()[0].to_string()
}

fn last_cpu() -> String {
    CpuList::allowed().unwrap().as_slice().last().unwrap().to_string()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The journal line of a load with `--json`.
fn line(command: &mut Command) -> Line {
    let output = command.arg("--json").output().unwrap();
    let text = stdout(&output);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

fn send(signal: &str, process: &Child) {
    let status = Command::new("kill").args([signal, &process.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Waits for the end of a process whose stdout and stderr are pipes.
fn finish(mut process: Killed) -> Output {
    let deadline = Instant::now() + LIMIT;
    let status = loop {
        if let Some(status) = process.0.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < deadline, "it does not end");
        sleep(Duration::from_millis(20));
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    process.0.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
    process.0.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
    Output { status, stdout, stderr }
}

fn spawn(command: &mut Command) -> Killed {
    Killed(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

#[test]
fn a_wrong_request_ends_in_one_line_before_anything_starts() {
    let server = Server::start(&["--tls", "1.2"]);
    let https = format!("https://{}/bytes/1KiB", server.tls);
    let plain = format!("http://{}/bytes/1KiB", server.plain);
    let missing = format!("https://{}/missing", server.tls);
    let garbage = server.folder.path().join("garbage.pem");
    std::fs::write(&garbage, "-----BEGIN nothing").unwrap();
    let garbage = garbage.to_str().unwrap();
    let unused = "https://127.0.0.1:1/";
    for (arguments, expected) in [
        (&[https.as_str(), "-d", "10"][..], "--duration: `10` has no unit; write a time"),
        (&[&https, "--warmup", "1"], "--warmup: `1` has no unit"),
        (&[&https, "--timeout", "5"], "--timeout: `5` has no unit"),
        (&[&https, "-d", "0s"], "a window of 0s measures nothing"),
        (&[&https, "-c", "0"], "0 connections load nothing"),
        (&[&https, "-c", "18446744073709551615"], "are too many; give at most 1000000"),
        (&[&https, "--suite", "AES128-GCM-SHA265"], "did you mean AES128-GCM-SHA256?"),
        (&[&https, "--operation", "walk"], "possible values: handshakes, one-request"),
        (
            &[&https, "--tls", "1.3", "--suite", "AES128-SHA"],
            "which contradicts --tls 1.3; leave one out",
        ),
        (
            &[&plain, "--group", "x25519"],
            "is plain HTTP, which contradicts --group x25519; leave one out",
        ),
        (&[&plain, "--operation", "handshakes"], "is plain HTTP, which contradicts --operation"),
        (
            &[&https, "--insecure", "--ca", garbage],
            "--insecure true trusts any certificate, which contradicts --ca",
        ),
        (&[&https, "--cpus", "1023"], "--cpus: CPU 1023 is not available"),
        (&[&https, "--ca", garbage], "garbage.pem"),
        (&[&https, "--ca", "/nonexistent/ca.pem"], "/nonexistent/ca.pem"),
        (&[&https], "authentication: "),
        (&[&https, "--insecure", "--tls", "1.3"], "alert protocol_version"),
        (&[&https, "--insecure", "--suite", "ECDHE-ECDSA-AES128-SHA"], "alert handshake_failure"),
        (&[&missing, "--insecure"], "status: "),
        (&[&plain.replace("http:", "https:"), "--insecure"], "not-tls: "),
        (&[unused], "refused: "),
        (&["127.0.0.1:8443"], "URL: `127.0.0.1:8443` "),
        (&["https://192.0.2.1/"], "say so with --i-operate-this-host"),
        (&[&https, "--server-pid", "8388608"], "process 8388608 has ended"),
    ] {
        let output = toll().arg("load").args(arguments).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(stdout(&output), "", "{arguments:?}");
        assert!(said.starts_with("toll: ") && said.contains(expected), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

/// Without the privilege to raise the limit, which a superuser has.
#[test]
fn too_few_descriptors_for_the_load_that_is_asked_for_are_an_error_before_it_is_tried() {
    let drops = "setpriv --bounding-set -sys_resource";
    let is_dropped = Command::new("sh").args(["-c", &format!("{drops} true")]).output();
    let drops = if is_dropped.unwrap().status.success() { drops } else { "" };
    for (limit, expected) in [
        (
            50,
            "--connections 500 needs 564 file descriptors, but this process may have 50; raise the limit",
        ),
        (
            65,
            "--connections 500 needs 564 file descriptors, but this process may have 65; give at most 16,",
        ),
    ] {
        let toll = env!("CARGO_BIN_EXE_toll");
        let script = format!(
            "ulimit -n {limit} && exec {drops} {toll} load https://127.0.0.1:1/ -c 500 --cpus 0"
        );
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected) && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn a_body_that_is_not_the_object_is_told_before_anything_is_measured() {
    let root = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        std::fs::create_dir_all(root.path().join("bytes")).unwrap();
        std::fs::write(root.path().join("bytes").join(name), content).unwrap();
    };
    file("64KiB", &[0; 65_536]);
    file("32KiB", &[0; 1000]);
    file("16KiB", &[0; 65_536]);
    let server = Server::start(&["--root", root.path().to_str().unwrap()]);
    for (object, kind) in [
        ("bytes/64KiB", "content: "),
        ("bytes/32KiB", "short-body: "),
        ("bytes/16KiB", "long-body: "),
    ] {
        let output = server.load(object).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{object}: {said}");
        assert_eq!(stdout(&output), "");
        assert!(said.contains(kind) && said.lines().count() == 1, "{object}: {said}");
    }
}

#[test]
fn a_server_that_turns_to_wrong_bodies_is_an_error_and_not_a_number() {
    let _machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    for (body, kind) in [(vec![0; 1024], "content"), (vec![0; 2048], "long-body")] {
        let load = || {
            let mut command = toll();
            command
                .arg("load")
                .arg(format!("http://{}/bytes/1KiB", turning(body.clone(), Duration::ZERO)));
            command.args(["--verify", "1/1", "-c", "4", "--warmup", "0s", "-d", "300ms"]);
            command
        };
        let output = load().output().unwrap();
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(3), "{text}{}", stderr(&output));
        assert!(text.starts_with("Not a valid measurement: "), "{text}");
        assert!(text.contains(&format!(" {kind}, the first: ")), "{text}");
        assert!(!text.contains(" per second") && !text.contains("Gb/s"), "{text}");
        assert!(!text.lines().any(|line| line.starts_with("rate")), "{text}");

        let output = load().arg("--json").output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        let line: Line = serde_json::from_str(&stdout(&output)).unwrap();
        assert!(!line.valid && line.operations.completed == 0, "{line:?}");
        assert!(line.operations.errors.get(kind).is_some_and(|count| *count > 0), "{line:?}");
    }
}

#[test]
fn help_teaches_with_examples() {
    let output = toll().args(["load", "--help"]).output().unwrap();
    let text = stdout(&output);
    assert!(output.status.success() && text.contains("Examples:"), "{text}");
    assert!(text.contains("toll load https://127.0.0.1:8443/ --insecure --operation handshakes"));
}

#[test]
fn a_trial_is_one_line_of_json() {
    let server = Server::start(&[]);
    let line = line(server.load("bytes/1MiB").args([
        "-d",
        "1s",
        "-c",
        "4",
        "--tls",
        "1.3",
        "--server-pid",
        &server.pid(),
    ]));
    assert!(line.valid && !line.interrupted);
    assert!(line.operations.completed > 0 && line.rate_per_s > 0.0, "{:?}", line.operations);
    // The first one on each connection may have begun in the warm-up.
    let begun_in_the_window = line.operations.completed.saturating_sub(4);
    assert!(line.bytes.body >= begun_in_the_window << 20 && line.goodput_bps > 0);
    assert!(line.cpu_ns.server.unwrap() > 0 && line.cpu_ns.client.unwrap() > 0);
    assert!(line.latency_ns.p50 <= line.latency_ns.max && line.latency_ns.p50.is_some());
    assert!(line.verdict.evidence.server_busy.is_some() && !line.cpu_share.is_empty());
    assert_eq!(line.receipt.asked.tls.as_deref(), Some("1.3"));
    assert_eq!(line.receipt.obtained.tls.keys().collect::<Vec<_>>(), ["1.3"]);
    assert_eq!(line.receipt.obtained.certificate_key.keys().collect::<Vec<_>>(), ["rsa:2048"]);
    assert_eq!(line.receipt.obtained.full, Some(4));
    assert!(line.receipt.obtained.bodies_compared.unwrap() > 0);
    assert_eq!(line.receipt.mismatch, []);
}

#[test]
fn each_operation_has_its_receipt() {
    let server = Server::start(&[]);
    let handshakes = line(server.load("").args(["-d", "1s", "--operation", "handshakes"]));
    let obtained = &handshakes.receipt.obtained;
    assert!(handshakes.valid && obtained.full.unwrap() >= handshakes.operations.completed);
    assert_eq!((obtained.resumed, handshakes.bytes.body), (Some(0), 0));

    let cbc = line(server.load("bytes/16KiB").args(["-d", "1s", "--suite", "AES128-SHA"]));
    let obtained = &cbc.receipt.obtained;
    assert!(cbc.valid);
    assert_eq!(obtained.suite.keys().collect::<Vec<_>>(), ["TLS_RSA_WITH_AES_128_CBC_SHA"]);
    assert_eq!(obtained.encrypt_then_mac, Some(false));
    assert!(obtained.group.is_empty());

    let mut command = toll();
    command.arg("load").arg(format!("http://{}/bytes/16KiB", server.plain));
    let plain = line(command.args(["-d", "1s", "--operation", "one-request-per-connection"]));
    assert!(plain.valid);
    assert_eq!(plain.receipt.asked.tls.as_deref(), Some("none"));
    assert_eq!(plain.receipt.obtained.full, None);
}

#[test]
fn for_a_person_the_first_sentence_answers_and_the_rest_is_evidence() {
    let server = Server::start(&[]);
    let output = server.load("bytes/64KiB").args(["-d", "1s"]).output().unwrap();
    let text = stdout(&output);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{text}");
    let first = text.lines().next().unwrap();
    assert!(first.contains(" requests per second, ") && first.contains(" of goodput, "), "{first}");
    assert!(first.contains("limited by "), "{first}");
    for label in ["rate ", "goodput ", "latency ", "  whole", "client CPU ", "errors ", "asked "] {
        assert!(text.lines().any(|line| line.starts_with(label)), "{label} in\n{text}");
    }
    assert!(!text.contains('\x1b'), "{text}");
    assert!(text.contains("not known; use --server-pid to count it"), "{text}");
}

#[test]
fn latencies_tell_how_late_they_may_have_been_seen() {
    let url = format!("http://{}/bytes/1KiB", turning(one_kib(), Duration::from_millis(40)));
    for (connections, arrival, is_told) in
        [("64", "closed", true), ("8", "closed", false), ("64", "uniform 100/s", false)]
    {
        let mut load = toll();
        load.args(["load", &url, "-d", "1s", "--cpus", &last_cpu()]);
        load.args(["-c", connections, "--arrival", arrival]);
        let latency = line(&mut load).latency_ns;
        assert_eq!(latency.coalescing_max.is_some(), is_told, "{connections}, {arrival}");
        assert!(latency.coalescing_max <= Some(2_000_000), "{latency:?}");
    }
}

#[test]
fn an_interrupt_ends_with_what_was_measured() {
    let server = Server::start(&[]);
    let load = spawn(server.load("bytes/64KiB").args(["-d", "5min"]));
    sleep(Duration::from_millis(1500));
    send("-INT", &load.0);
    let output = finish(load);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(130), "{text}{}", stderr(&output));
    assert!(text.starts_with("Interrupted: ") && text.contains("rate "), "{text}");
    assert!(text.contains(" until interrupted: "), "{text}");
}

#[test]
fn an_interrupt_in_the_warm_up_measured_nothing() {
    let server = Server::start(&[]);
    let url = format!("http://{}/bytes/64KiB", server.plain);
    let load = spawn(toll().args(["load", &url, "--warmup", "5min"]));
    sleep(Duration::from_millis(1000));
    send("-INT", &load.0);
    let output = finish(load);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(130), "{text}{}", stderr(&output));
    let expected = "Interrupted before the window began: nothing was measured.\n";
    assert!(text.starts_with(expected), "{text}");
    assert!(!text.lines().any(|line| line.starts_with("limit")), "{text}");
}

#[test]
fn the_receipt_names_the_cpus_that_were_used() {
    let server = Server::start(&[]);
    let url = format!("http://{}/bytes/1KiB", server.plain);
    let all = CpuList::allowed().unwrap().to_string();
    let mut command = toll();
    command.args(["load", &url, "-c", "1", "-d", "300ms", "--warmup", "0s", "--cpus", &all]);
    let line = line(&mut command);
    assert_eq!(line.receipt.asked.client_cpus, Some(first_cpu()));
}

#[test]
fn a_server_that_is_killed_is_an_error_and_not_a_number() {
    let server = Server::start(&[]);
    let pid = server.pid();
    let mut command = server.load("bytes/64KiB");
    let load = spawn(command.args(["-d", "2s", "--server-pid", &pid]));
    sleep(Duration::from_secs(1));
    send("-KILL", &server.process.0);
    // Reaped, so that it is gone and no zombie.
    drop(server);
    let output = finish(load);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(3), "{text}{}", stderr(&output));
    assert!(
        text.starts_with(&format!("Not a valid measurement: process {pid} has ended")),
        "{text}"
    );
    assert!(text.contains(" refused, the first: "), "{text}");
    assert!(!text.contains("Gb/s") && !text.lines().any(|line| line.starts_with("rate")), "{text}");
}

#[test]
fn a_client_whose_cpu_others_keep_busy_is_not_taken_for_a_slow_server() {
    if first_cpu() == last_cpu() {
        eprintln!("skipped: one CPU only");
        return;
    }
    let server = Server::start(&[]);
    // Where it is allowed at a higher priority, so that it also holds beside other tests.
    let spinning = "renice -n -10 -p $$ >/dev/null 2>&1; while :; do :; done";
    let _others: Vec<Killed> = (0..4)
        .map(|_| {
            let mut command = Command::new("taskset");
            Killed(command.args(["-c", &last_cpu(), "sh", "-c", spinning]).spawn().unwrap())
        })
        .collect();
    sleep(Duration::from_millis(300));
    let mut command = server.load("bytes/1MiB");
    let output = command.args(["-d", "2s", "--json", "--server-pid", &server.pid()]).output();
    // It may be that nothing completes, and then the trial is not valid; that is not asked here.
    let line: Line = serde_json::from_str(&stdout(&output.unwrap())).unwrap();
    let evidence = &line.verdict.evidence;
    assert!(
        matches!(line.verdict.limit, Limit::ClientCpu | Limit::Noise),
        "{}: {evidence:?}",
        line.verdict.limit
    );
    assert!(evidence.client_waiting.unwrap() > 0.1 || evidence.foreign.unwrap() > 0.1);
    let reason = line.verdict.reason();
    assert!(
        reason.contains("while other programs ran on its CPU")
            || reason.contains("other programs used"),
        "{reason}"
    );
}

#[test]
fn a_process_that_is_not_the_server_has_no_cpu_time_of_it() {
    let server = Server::start(&[]);
    let other = spawn(Command::new("sleep").arg("60"));
    let pid = other.0.id().to_string();
    let output = server.load("bytes/1KiB").args(["--server-pid", &pid]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains(&format!("process {pid} does not listen at {}", server.tls)), "{said}");
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let server = Server::start(&[]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output =
        server.load("bytes/1KiB").args(["-d", "200ms", "--json"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("the output cannot be written"), "{}", stderr(&output));
}

#[test]
fn kept_connections_that_the_server_closes_are_told() {
    // A head that asks for a close after each response.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut requests = BufReader::new(connection.try_clone().unwrap()).lines();
            if requests.by_ref().map_while(Result::ok).any(|line| line.is_empty()) {
                let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx";
                let _ = connection.write_all(head.as_bytes());
            }
        }
    });
    let mut command = toll();
    command.args(["load", &format!("http://{address}/"), "-c", "2", "-d", "300ms"]);
    let line = line(&mut command);
    assert!(line.valid && line.operations.completed > 4);
    assert!(line.warnings.iter().any(|w| w.kind == trial::WarningKind::ConnectionsNotKept));
}

/// `openssl req -x509` marks its certificates as those of an authority.
#[test]
fn a_self_signed_certificate_that_is_named_is_trusted_and_no_other_like_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for name in ["one", "other"] {
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
            .args(["-nodes", "-days", "2", "-subj", "/CN=localhost"])
            .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
            .args(["-keyout", &path(&format!("{name}.key")), "-out", &path(&format!("{name}.pem"))])
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    let server = Server::start(&["--certificate", &path("one.pem"), "--key", &path("one.key")]);
    let url = format!("https://{}/bytes/1KiB", server.tls);
    let load = |authority: &str| {
        let mut command = toll();
        command.args(["load", &url, "-d", "200ms", "--warmup", "0s", "-c", "2", "--json"]);
        command.args(["--ca", authority]).output().unwrap()
    };
    let output = load(&path("one.pem"));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let line: Line = serde_json::from_slice(&output.stdout).unwrap();
    assert!(line.valid && line.operations.completed > 0);
    let output = load(&path("other.pem"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("authentication: "), "{said}");
}

#[test]
fn a_process_that_holds_toll_is_no_server() {
    let server = Server::start(&[]);
    let url = format!("https://{}/bytes/1KiB", server.tls);
    let own = std::process::id().to_string();
    let output = toll().args(["load", &url, "--insecure", "--server-pid", &own]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("has toll among its descendants"), "{said}");
}

#[test]
fn an_open_loop_tells_what_was_meant_to_start_and_that_no_more_was_asked_for() {
    let server = Server::start(&[]);
    let url = format!("https://{}/bytes/1KiB", server.tls);
    let output = toll()
        .args(["load", &url, "--insecure", "-d", "1s", "--warmup", "200ms", "-c", "50", "--json"])
        .args(["--arrival", "uniform 100/s", "--server-pid", &server.process.0.id().to_string()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let line: Line = serde_json::from_slice(&output.stdout).unwrap();
    let arrivals = line.operations.arrivals.unwrap();
    assert!((99..=101).contains(&arrivals.intended), "{arrivals:?}");
    assert!(line.operations.completed <= arrivals.intended + arrivals.waiting + 50);
    assert!(line.latency_ns.service_p50.is_some() && arrivals.deadline_misses.is_none());
    assert_eq!(line.receipt.asked.arrival.as_deref(), Some("uniform 100/s"));
    // On a machine with other work, that may have been the limit instead.
    let limits = [Limit::OfferedLoad, Limit::Noise, Limit::ClientCpu, Limit::ServerCpu];
    assert!(limits.contains(&line.verdict.limit), "{:?}", line.verdict);
}

#[test]
fn sessions_are_resumed_where_that_is_asked_and_the_server_gives_tickets() {
    for (tickets, is_valid) in [("on", true), ("off", false)] {
        let server = Server::start(&["--tickets", tickets]);
        let url = format!("https://{}/bytes/1KiB", server.tls);
        let output = toll()
            .args(["load", &url, "--insecure", "-d", "2s", "--warmup", "1s", "-c", "4", "--json"])
            .args(["--operation", "one-request-per-connection", "--resumption", "70%"])
            .args(["--tls", "1.3"])
            .output()
            .unwrap();
        let line: Line = serde_json::from_slice(&output.stdout).unwrap();
        let (full, resumed) =
            (line.receipt.obtained.full.unwrap(), line.receipt.obtained.resumed.unwrap());
        if is_valid {
            assert!(resumed > full / 2, "{full} full, {resumed} resumed");
            assert!(line.latency_ns.connect_resumed_p50.is_some());
        } else {
            assert_eq!(resumed, 0);
            let differs =
                line.receipt.mismatch.iter().any(|differs| differs.what == "resumption_percent");
            assert!(differs && !line.valid, "{full} full, {:?}", line.receipt.mismatch);
        }
    }
}

#[test]
fn several_objects_a_seed_and_a_way_to_close_are_in_the_receipt() {
    let server = Server::start(&[]);
    let mut command = server.load("");
    command.args(["--object", "1KiB 75%, 64KiB 25%", "--seed", "5", "--close", "rst"]);
    command.args(["--operation", "one-request-per-connection", "-c", "4", "-d", "500ms"]);
    let line = line(&mut command);
    assert!(line.valid, "{:?}", line.receipt.mismatch);
    let (asked, obtained) = (&line.receipt.asked, &line.receipt.obtained);
    assert_eq!(asked.objects.as_deref(), Some("1KiB 75%, 64KiB 25%"));
    assert_eq!((asked.seed, asked.close.as_deref()), (Some(5), Some("rst")));
    let paths: Vec<&str> = obtained.objects.keys().map(String::as_str).collect();
    assert_eq!(paths, ["/bytes/1KiB", "/bytes/64KiB"]);
    assert_eq!(obtained.objects.values().sum::<u64>(), line.operations.completed);
}

#[test]
fn an_object_that_is_not_there_is_named_before_the_load() {
    let server = Server::start(&[]);
    let output = server.load("").args(["--object", "1KiB 75%, /missing 25%"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("/missing"), "{}", stderr(&output));
    let both = server.load("bytes/1KiB").args(["--object", "1KiB"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2));
    assert!(stderr(&both).contains("leave the URL's path out"), "{}", stderr(&both));
}
