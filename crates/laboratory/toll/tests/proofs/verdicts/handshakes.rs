//! The sentence that proves handshakes, made false from outside in each of its parts, and faults that
//! must not become a rate.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use support::{Desk, Killed, Serve, first_cpu, last_cpu, run, text, toll};
use tls::{CertificateKey, Identity};
use trial::{Limit, TrialRecord, WarningKind};

use super::bench::{line, open_files};
use super::secure::{Accept, Server};
use crate::namespaces::Namespace;

/// A study of a server that runs already, with two numbers of connections.
struct Study {
    url: String,
    pid: Option<u32>,
    operation: &'static str,
    resumption: &'static str,
    warmup: &'static str,
    connections: [usize; 2],
}

/// What a study found.
struct Found {
    answer: Value,
    lines: Vec<TrialRecord>,
}

impl Study {
    /// Of full handshakes.
    fn new(server: SocketAddr) -> Self {
        let (operation, resumption, warmup) = ("handshakes", "0%", "200ms");
        let url = format!("https://{server}/");
        Self { url, pid: None, operation, resumption, warmup, connections: [4, 8] }
    }

    fn of(server: &Serve) -> Self {
        let url = format!("https://{}/bytes/1B", server.tls);
        Self { url, pid: Some(server.process.pid()), ..Self::new(server.tls) }
    }

    fn run(&self) -> Found {
        self.run_by(toll())
    }

    fn run_by(&self, mut command: Command) -> Found {
        let Self { url, pid, operation, resumption, warmup, connections } = self;
        let pid = pid.map(|pid| format!("pid = {pid}")).unwrap_or_default();
        let desk = Desk::new(&format!(
            r#"
schema = 1
question = "Were these handshakes?"
trials = 1
[target]
server = "address"
url = "{url}"
i-operate-this-host = true
{pid}
[load]
cpus = "{}"
insecure = true
operation = "{operation}"
resumption = "{resumption}"
warmup = "{warmup}"
duration = "1s"
[[case]]
name = "paper"
sweep."load.connections" = {connections:?}
[[answer]]
case = "paper"
metric = "rate"
compare = "load.connections"
baseline = {}
"#,
            last_cpu(),
            connections[0]
        ));
        command.arg("run").arg(desk.study()).arg("--out").arg(desk.out());
        let output = command.output().unwrap();
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(desk.results_if_any().is_some(), "{said}");
        let report = toll().arg("report").arg(desk.results()).arg("--json").output().unwrap();
        let mut report: Value = serde_json::from_slice(&report.stdout).expect(&said);
        let journal = std::fs::read_to_string(desk.journal()).unwrap();
        Found {
            answer: report["answers"][0].take(),
            lines: journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        }
    }
}

impl Found {
    #[track_caller]
    fn purity(&self) -> &str {
        let words = self.answer["purity"].as_str();
        words.unwrap_or_else(|| panic!("{}: {:?}", self.answer, self.lines))
    }

    /// Asserts that the sentence does not claim handshakes alone, and says why.
    #[track_caller]
    fn assert_impure(&self, why: &str) {
        let purity = self.purity();
        assert!(purity.contains("not handshakes"), "{purity}");
        assert!(purity.contains(why), "{purity}: {:?}", self.lines);
    }

    /// Asserts that there is no figure, and that each trial says why not.
    #[track_caller]
    fn assert_no_rate(&self, why: &str) {
        // Each may have been made once more.
        assert!(matches!(self.lines.len(), 2..=4), "{:?}", self.lines);
        assert_eq!(self.answer["purity"].as_str(), None);
        for line in &self.lines {
            let said = line.why_invalid().unwrap_or_else(|| panic!("{line:?}"));
            assert!(said.contains(why), "{said}");
        }
        let bars = self.answer["bars"].as_array().unwrap();
        assert!(bars.iter().all(|bar| bar["figure"].is_null()), "{bars:?}");
    }
}

#[test]
fn full_handshakes_are_said_to_be_handshakes() {
    let server = Serve::pinned(&[]);
    for (operation, requests) in
        [("handshakes", "no request on any"), ("one-request-per-connection", "one request on each")]
    {
        let found = Study { operation, ..Study::of(&server) }.run();
        let expected = format!(
            "These were handshakes: 1.00 full handshakes per connection, {requests}, at most 8 \
             connections open, "
        );
        let purity = found.purity();
        assert!(purity.starts_with(&expected), "{purity}");
        assert!(purity.contains("descriptors used"), "{purity}");
    }
}

#[test]
fn resumed_handshakes_are_counted_apart() {
    let server = Serve::pinned(&["--tickets", "on"]);
    let found = Study { resumption: "50%", ..Study::of(&server) }.run();
    let purity = found.purity();
    let [full, resumed] = ["These were handshakes: ", " full and "].map(|before| {
        let (_, rest) = purity.split_once(before).unwrap_or_else(|| panic!("{purity}"));
        rest.split(' ').next().unwrap().parse::<f64>().unwrap()
    });
    assert!((0.4..0.6).contains(&full) && (0.4..0.6).contains(&resumed), "{purity}");
    assert!(purity.contains("resumed handshakes"), "{purity}");
}

#[test]
fn a_server_that_would_answer_a_second_request_has_no_rate() {
    let address = Server::default().start(|_, accept| {
        std::thread::spawn(|| accept.answer_all());
    });
    let found = Study { operation: "one-request-per-connection", ..Study::new(address) }.run();
    found.assert_no_rate("close: asked the server's close after the last request, got ");
}

#[test]
fn a_hundred_descriptors_of_the_server_are_named() {
    let mut limited = Command::new("prlimit");
    limited.args(["--nofile=100:100", toll().get_program().to_str().unwrap()]);
    let server = Serve::pinned_by(limited, "127.0.0.1", &["--certificate-key", "ecdsa:p256"]);
    // Others hold all of them but one, for which the handshakes wait in turn.
    let mut held = Vec::new();
    while open_files(server.process.pid()) < 99 {
        let mut connection = TcpStream::connect(server.plain).unwrap();
        connection.write_all(b"GET /bytes/1B HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        // It has accepted one that it answers.
        assert!(connection.read(&mut [0; 4096]).unwrap() > 0);
        held.push(connection);
    }
    let found = Study::of(&server).run();
    for line in &found.lines {
        assert_eq!(line.limit().unwrap(), Limit::Descriptors, "{:?}", line.verdict);
    }
    found.assert_impure("all of the server's descriptors used (the figure is what descriptors ");
}

/// The client closes first, so that its port stays taken for a minute. Loopback has many addresses,
/// another has one.
#[test]
fn a_hundred_ports_that_are_all_in_time_wait_are_named() {
    const ADDRESS: &str = "10.84.0.1";
    let Some(namespace) = Namespace::new() else { return };
    run(namespace.command("ip").args(["address", "add", ADDRESS, "dev", "lo"]));
    let server = Serve::pinned_by(namespace.toll(), ADDRESS, &[]);
    let range = "net.ipv4.ip_local_port_range=40000 40099";
    run(namespace.command("sysctl").args(["--quiet", "--write", range]));
    let found = Study { warmup: "0s", ..Study::of(&server) }.run_by(namespace.toll());
    for line in &found.lines {
        assert_eq!(line.limit().unwrap(), Limit::Ports, "{:?}", line.verdict);
    }
    found.assert_impure("no port for ");
    // The second trial found no port at all.
    let whys: Vec<String> = found.lines.iter().filter_map(TrialRecord::why_invalid).collect();
    let [why] = &whys[..] else { panic!("{whys:?}") };
    assert!(why.contains("no port"), "{why}");
    let bars = found.answer["bars"].as_array().unwrap();
    assert_eq!(bars.iter().filter(|bar| bar["figure"].is_null()).count(), 1);
}

#[test]
fn a_backlog_of_one_is_named() {
    let slow = Server { backlog: 1, ..Server::default() };
    let address = slow.start(|_, accept| {
        std::thread::sleep(Duration::from_millis(20));
        accept.handshake();
    });
    let found = Study { connections: [8, 12], ..Study::new(address) }.run();
    found.assert_impure(" connections lost in the accept queue, ");
    let limits: Vec<Limit> = found.lines.iter().map(|line| line.limit().unwrap()).collect();
    assert_eq!(limits, [Limit::AcceptQueue; 2]);
}

/// What makes this test the server of [`nine_of_ten_connections_for_one_worker_are_a_warning`], in a
/// process of its own: the load is a child of this one.
const UNEVEN: &str = "TOLL_TEST_UNEVEN_SERVER";

/// Two workers, of which one gets nine of ten connections.
fn serve_unevenly() {
    let worker = || {
        let (give, given) = mpsc::channel::<Accept>();
        let serve = move || given.into_iter().for_each(Accept::handshake);
        std::thread::Builder::new().name("serve".to_owned()).spawn(serve).unwrap();
        give
    };
    let workers = [worker(), worker()];
    let address = Server::default().start(move |number, accept| {
        let _ = workers[usize::from(number % 10 == 9)].send(accept);
    });
    println!("\nuneven {address}");
    loop {
        std::thread::park();
    }
}

#[test]
fn nine_of_ten_connections_for_one_worker_are_a_warning() {
    if std::env::var_os(UNEVEN).is_some() {
        serve_unevenly();
    }
    let mut command = Command::new("taskset");
    command.args(["-c", &first_cpu().to_string()]).arg(std::env::current_exe().unwrap());
    let this = "verdicts::handshakes::nine_of_ten_connections_for_one_worker_are_a_warning";
    command.args(["--exact", this, "--nocapture"]).env(UNEVEN, "1");
    let mut server = Killed::piped(&mut command);
    let lines = BufReader::new(server.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut addresses = lines.filter_map(|line| Some(line.strip_prefix("uneven ")?.to_owned()));
    let address = addresses.next().unwrap().parse().unwrap();
    let study = Study { pid: Some(server.pid()), connections: [8, 12], ..Study::new(address) };
    let found = study.run();
    for line in &found.lines {
        let uneven = |kind| kind == WarningKind::UnevenWorkers;
        let warning = line.warnings.iter().find(|warning| uneven(warning.kind));
        let seen = &warning.unwrap_or_else(|| panic!("{line:?}")).seen;
        assert!(seen.contains("2 workers"), "{seen}");
        assert!(seen.contains(" mean "), "{seen}");
    }
}

#[test]
fn an_alert_in_mid_handshake_is_an_error() {
    for version in ["1.2", "1.3"] {
        // It asks for a certificate once the load runs, and its alert comes after the client's
        // Finished.
        let server = Server { asks_certificate: |number| number > 3, ..Server::default() };
        let address = server.start(|_, accept| accept.handshake());
        let mut load = toll();
        load.args(["load", &format!("https://{address}/"), "--insecure", "--json", "-c", "2"]);
        load.args(["--operation", "handshakes", "--tls", version, "-d", "500ms", "--warmup", "0s"]);
        let line = line(&mut load);
        assert!(!line.valid && line.operations.errors["alert"] > 0, "{version}: {line:?}");
        assert_eq!(line.limit().unwrap(), Limit::Errors, "{version}");
        assert!(line.operations.completed <= 3, "{version}: {:?}", line.operations);
    }
}

#[test]
fn fewer_handshakes_than_connections_are_no_rate() {
    // One in eight connections has its handshake in the window, the others after it.
    let address = Server::default().start(|number, accept| {
        let late = if number % 8 == 0 { 400 } else { 3_000 };
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(late));
            accept.handshake();
        });
    });
    let found = Study { connections: [32, 64], ..Study::new(address) }.run();
    found.assert_no_rate("the window is too short for the others");
}

/// A server, but for its security level: RSA-1024 has 80 bits of security, level 2 asks for 112.
const STRICT: &str = r#"
for file in "$@" "$OPENSSL_CONF"; do
    if [ -f "$file" ]; then sed -i s/@SECLEVEL=0/@SECLEVEL=2/ "$file"; fi
done
exec "/usr/sbin/${0##*/}" "$@""#;

/// The embedded server sets its own level, as long as its library has such keys.
#[test]
fn a_key_that_the_security_level_forbids_is_named_and_left_out() {
    for (server, program) in
        [("nginx", "nginx"), ("apache", "apache2"), ("haproxy", "haproxy"), ("embedded", "none")]
    {
        let desk = Desk::new(&format!(
            r#"
schema = 1
question = "Which keys are allowed here?"
trials = 1
[target]
server = "{server}"
[load]
operation = "handshakes"
suite = "AES128-SHA"
encrypt-then-mac = false
connections = 4
warmup = "0s"
duration = "500ms"
[[case]]
name = "keys"
sweep."target.certificate-key" = ["rsa:1024", "rsa:2048"]
"#
        ));
        let is_forbidden = server != "embedded";
        if is_forbidden && !Path::new("/usr/sbin").join(program).exists() {
            eprintln!("skipped: there is no {program}");
            continue;
        }
        support::write_program(&desk.path().join(program), STRICT);
        let path = format!("{}:{}", desk.path().display(), std::env::var("PATH").unwrap());
        let output = desk.run(&[]).env("PATH", path).output().unwrap();
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        let skipped = said.lines().find(|line| line.starts_with("Skipped: ")).unwrap_or_default();
        let why = "rsa:1024 is below what its TLS library allows here";
        assert_eq!(skipped.contains(why), is_forbidden, "{said}");
        let journal = std::fs::read_to_string(desk.journal()).expect(&said);
        assert_eq!(journal.contains(r#""cell":"keys-0001""#), !is_forbidden, "{said}");
        assert!(journal.contains(r#""cell":"keys-0002""#), "{said}");
    }
}

/// nginx with what a study asked for taken out of its configuration.
const OTHERWISE: &str = r#"
for file in "$@"; do
    if [ -f "$file" ]; then sed -i "$OTHERWISE" "$file"; fi
done
exec /usr/sbin/nginx "$@""#;

/// What it asked for is in its configuration, and something else is served.
#[test]
fn an_nginx_that_is_configured_otherwise_is_no_rate() {
    if !Path::new("/usr/sbin/nginx").exists() {
        eprintln!("skipped: there is no nginx");
        return;
    }
    let one_for_all = "s#/names/[^/]*[.]crt#/names/h0.toll.test.crt#";
    for (target, load, change, what) in [
        ("names = 4", "insecure = true", one_for_all, "certificates"),
        ("names = 4", "insecure = true\nresumption = \"50%\"", one_for_all, "certificates"),
        // Who checks certificates misses those of three names.
        ("names = 4", "insecure = false", one_for_all, "authentication"),
        (
            "client-certificate = \"require\"",
            "insecure = false",
            "s#ssl_verify_client on#ssl_verify_client off#",
            "client_certificates",
        ),
    ] {
        let desk = Desk::new(&format!(
            r#"
schema = 1
question = "Is it what was asked for?"
trials = 1
[target]
server = "nginx"
certificate-key = "ecdsa:p256"
tickets = true
{target}
[load]
operation = "handshakes"
connections = 4
{load}
warmup = "0s"
duration = "500ms"
[[case]]
name = "all"
"#
        ));
        support::write_program(&desk.path().join("nginx"), OTHERWISE);
        let path = format!("{}:{}", desk.path().display(), std::env::var("PATH").unwrap());
        let output = desk.run(&[]).env("PATH", path).env("OTHERWISE", change).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{what}: {}", text(&output.stderr));
        let line: TrialRecord = serde_json::from_str(&desk.file("journal.jsonl")).unwrap();
        let errors = line.operations.errors.keys().map(String::as_str);
        let mismatch = line.receipt.mismatch.iter().map(|of| of.what.as_str());
        let found: Vec<_> = errors.chain(mismatch).collect();
        assert_eq!((line.valid, &found[..]), (false, &[what][..]), "{line:?}");
    }
}

/// nginx with another key and certificate than those that it was given.
const EXCHANGED: &str = r#"
if [ "$1" = -p ]; then cp "${0%/*}/server.crt" "${0%/*}/server.key" "$2"; fi
exec /usr/sbin/nginx "$@""#;

#[test]
fn a_certificate_of_another_size_is_no_rate() {
    if !Path::new("/usr/sbin/nginx").exists() {
        eprintln!("skipped: there is no nginx");
        return;
    }
    let desk = Desk::new(
        r#"
schema = 1
question = "Whose certificate is it?"
trials = 1
[target]
server = "nginx"
[load]
operation = "handshakes"
connections = 4
warmup = "0s"
duration = "500ms"
[[case]]
name = "keys"
"#,
    );
    let other = Identity::generate(CertificateKey::Rsa(3072)).unwrap();
    std::fs::write(desk.path().join("server.crt"), other.certificate_pem).unwrap();
    std::fs::write(desk.path().join("server.key"), other.key_pem).unwrap();
    support::write_program(&desk.path().join("nginx"), EXCHANGED);
    let path = format!("{}:{}", desk.path().display(), std::env::var("PATH").unwrap());
    let output = desk.run(&[]).env("PATH", path).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let line: TrialRecord = serde_json::from_str(&desk.file("journal.jsonl")).unwrap();
    let why = line.why_invalid().unwrap();
    assert!(why.contains("certificate_key: ") && why.contains("rsa:3072"), "{why}");
}
