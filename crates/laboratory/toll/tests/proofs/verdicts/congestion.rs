//! Each congestion control of the kernel, as the system's of a network namespace of its own.

use std::fs;

use journal::TrialLine;
use support::{Desk, Killed, Serve, run, text, toll_path};
use trial::{TrialRecord, WarningKind};

use super::bench::{line, load_by};
use crate::namespaces::Namespace;

/// A namespace whose new sockets have this control; `None`, with a line, where that cannot be. Of those
/// that not everybody may choose, only the first namespace of a machine takes one.
fn namespace(control: &str) -> Option<Namespace> {
    let namespace = Namespace::new()?;
    let set = format!("net.ipv4.tcp_congestion_control={control}");
    let output = namespace.command("sysctl").args(["-qw", &set]).output().unwrap();
    if !output.status.success() {
        eprintln!("skipped: {control} cannot be set here: {}", text(&output.stderr).trim());
        return None;
    }
    Some(namespace)
}

/// A load within the namespace.
fn loaded(namespace: &Namespace, server: &Serve, options: &[&str]) -> TrialRecord {
    let url = format!("http://{}/bytes/64KiB", server.plain);
    let mut load = load_by(namespace.toll(), server, &url);
    line(load.args(["-c", "8", "-d", "1s", "--warmup", "200ms"]).args(options))
}

fn controls(line: &TrialRecord) -> [Vec<&str>; 2] {
    let obtained = &line.receipt.obtained;
    [&obtained.server_congestion, &obtained.client_congestion]
        .map(|counts| counts.keys().map(String::as_str).collect())
}

fn is_warned(line: &TrialRecord) -> bool {
    line.warnings.iter().any(|warning| warning.kind == WarningKind::Paced)
}

#[test]
fn sockets_on_loopback_do_not_pace_whatever_the_systems_do() {
    for (control, expected) in [("bbr", "cubic"), ("cubic", "cubic"), ("reno", "reno")] {
        let Some(namespace) = namespace(control) else { continue };
        let server = Serve::pinned_by(namespace.toll(), "127.0.0.1", &[]);
        let line = loaded(&namespace, &server, &[]);
        assert_eq!(controls(&line), [[expected]; 2], "{control}");
        assert!(line.valid && !is_warned(&line), "{:?}", line.warnings);
        assert_eq!(line.receipt.obtained.pacing, None);
    }
}

/// A control may be there that only the machine's first namespace takes.
#[test]
fn a_check_suggests_a_control_that_its_namespace_takes() {
    let Some(namespace) = namespace("bbr") else { return };
    let shown = run(namespace.toll().arg("check"));
    let (_, rest) = shown.split_once("net.ipv4.tcp_congestion_control=\"").expect(&shown);
    let (suggested, _) = rest.split_once('"').unwrap();
    assert!(!suggested.starts_with("bbr"), "{suggested}");
    let set = format!("net.ipv4.tcp_congestion_control={suggested}");
    run(namespace.command("sysctl").args(["-qw", &set]));
}

#[test]
fn a_server_that_paces_is_named_with_its_rate() {
    let Some(namespace) = namespace("reno") else { return };
    if self::namespace("bbr").is_none() {
        return;
    }
    let server = Serve::pinned_by(namespace.toll(), "127.0.0.1", &["--congestion", "bbr"]);
    let line = loaded(&namespace, &server, &["--congestion", "reno"]);
    assert_eq!(controls(&line), [["bbr"], ["reno"]]);
    assert_eq!(line.receipt.asked.client_congestion.as_deref(), Some("reno"));
    assert!(line.valid && is_warned(&line), "{:?}", line.warnings);
    let pacing = line.receipt.obtained.pacing.unwrap();
    assert_eq!(pacing.connections, 8);
    assert!(pacing.least_bps.is_some_and(|rate| rate > 1e6) && pacing.queue.is_none());
}

#[test]
fn a_queue_on_loopback_that_paces_is_named() {
    let Some(namespace) = namespace("reno") else { return };
    let add = ["qdisc", "add", "dev", "lo", "root", "fq"];
    let output = namespace.command("tc").args(add).output().unwrap();
    if !output.status.success() {
        eprintln!("skipped: lo takes no fq here: {}", text(&output.stderr).trim());
        return;
    }
    let server = Serve::pinned_by(namespace.toll(), "127.0.0.1", &[]);
    let queued = loaded(&namespace, &server, &[]);
    assert!(queued.valid && is_warned(&queued), "{:?}", queued.warnings);
    let pacing = queued.receipt.obtained.pacing.unwrap();
    assert_eq!((pacing.connections, pacing.queue.as_deref()), (0, Some("fq")));
    run(namespace.command("tc").args(["qdisc", "del", "dev", "lo", "root"]));
    assert!(!is_warned(&loaded(&namespace, &server, &[])));
}

/// Serves files, and gives each connection a congestion control by itself.
const SERVER: &str = r#"
import functools, http.server, socket, socketserver, sys
port, control, root = sys.argv[1:]
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def setup(self):
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        super().setup()
    def log_message(self, *_):
        pass
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
Server(("127.0.0.1", int(port)), functools.partial(Handler, directory=root)).serve_forever()
"#;

/// The lines of a study that runs in the namespace.
fn studied(namespace: &Namespace, desk: &Desk) -> Vec<TrialRecord> {
    let mut command = namespace.command(toll_path().to_str().unwrap());
    command.arg("run").arg(desk.study()).arg("--out").arg(desk.out());
    let output = command.output().unwrap();
    assert!(desk.results_if_any().is_some(), "{}", text(&output.stderr));
    let journal = fs::read_to_string(desk.journal()).unwrap();
    let lines = journal.lines().filter_map(|line| serde_json::from_str::<TrialLine>(line).ok());
    lines.map(|trial| trial.line).collect()
}

const STUDY: &str = "schema = 1
question = \"Which congestion control do connections have?\"
trials = 1
[load]
tls = \"none\"
connections = 4
warmup = \"200ms\"
duration = \"500ms\"
";

#[test]
fn connections_under_another_control_than_asked_are_a_mismatch() {
    let Some(namespace) = namespace("reno") else { return };
    for (asked, given, is_mismatch) in [("reno", "bbr", true), ("bbr", "bbr", false)] {
        let desk = Desk::new(&format!(
            "{STUDY}operation = \"requests\"
            [target]
            server = \"command\"
            command = \"exec python3 server.py {{plain-port}} {given} {{root}}\"
            object = \"1KiB\"
            congestion = \"{asked}\"
            [[case]]
            name = \"one\"
            "
        ));
        fs::write(desk.path().join("server.py"), SERVER).unwrap();
        let script = desk.path().join("server.py").display().to_string();
        let study = fs::read_to_string(desk.study()).unwrap().replace("server.py", &script);
        fs::write(desk.study(), study).unwrap();
        let lines = studied(&namespace, &desk);
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(line.receipt.asked.server_congestion.as_deref(), Some(asked));
        assert_eq!(controls(line)[0], [given]);
        let what: Vec<&str> = line.receipt.mismatch.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(what, if is_mismatch { vec!["server_congestion"] } else { vec![] });
    }
}

#[test]
fn servers_that_toll_starts_do_not_pace_on_loopback() {
    let Some(namespace) = namespace("bbr") else { return };
    let desk = Desk::new(&format!(
        "{STUDY}
        [target]
        object = \"64KiB\"
        [[case]]
        name = \"servers\"
        sweep.\"target.server\" = [\"embedded\", \"nginx\", \"apache\", \"haproxy\"]
        [[case]]
        name = \"asked\"
        sweep.\"target.server\" = [\"nginx\"]
        target.congestion = \"bbr\"
        "
    ));
    let lines = studied(&namespace, &desk);
    assert!(!lines.is_empty(), "the embedded server at least");
    for line in &lines {
        let asked = line.receipt.asked.server_congestion.as_deref();
        assert_eq!(controls(line), [[asked.unwrap_or("cubic")], ["cubic"]], "{line:?}");
        assert_eq!(is_warned(line), asked == Some("bbr"));
        assert_eq!(line.receipt.mismatch, []);
    }
}

#[test]
fn a_control_that_the_kernel_lacks_is_refused_before_anything_is_sent() {
    let server = Serve::start(&[]);
    let output = server.load("bytes/1KiB").args(["--congestion", "nosuch"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("reno"), "{}", text(&output.stderr));
    let mut serve = support::toll();
    serve.args(["serve", "--listen", "127.0.0.1:0", "--congestion", "nosuch"]);
    let output = Killed::piped(&mut serve).finish();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("reno"), "{}", text(&output.stderr));
}
