//! `toll load` as a user runs it, against the real `toll serve`.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::ops::Range;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use cpus::CpuList;
use load::{Count, Wakeups};
use openssl::asn1::Asn1Time;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::x509::{X509, X509Name};
use support::{Killed, Serve, answering, answering_to, first_cpu, last_cpu, text, toll, toll_path};
use trial::{LatencyNs, Limit, TrialRecord, WarningKind};
use units::Bytes;

/// `toll load` of an object over TLS, with a short warm-up.
fn load(server: &Serve, object: &str) -> Command {
    let mut command = server.load(object);
    command.args(["--warmup", "300ms"]);
    command
}

/// A plain server in this process that answers the first request with the object of 1 KiB, and
/// all later ones with `then`, each after so long.
fn turning(then: Vec<u8>, delay: Duration) -> SocketAddr {
    let first = one_kib();
    answering(move |number| {
        sleep(delay);
        let body = if number == 0 { &first } else { &then };
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    })
}

/// The object of 1 KiB.
fn one_kib() -> Vec<u8> {
    let mut object = Vec::new();
    objects::write_to(&mut object, Bytes(1024)).unwrap();
    object
}

/// The journal line of a load with `--json` that is valid.
fn line(command: &mut Command) -> TrialRecord {
    let output = command.arg("--json").output().unwrap();
    let line = line_of(&output);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{line:?}");
    line
}

/// The journal line that a load has printed.
fn line_of(output: &Output) -> TrialRecord {
    let said = text(&output.stdout);
    assert_eq!(said.lines().count(), 1, "{said}{}", text(&output.stderr));
    serde_json::from_str(&said).unwrap()
}

#[test]
fn a_wrong_request_ends_in_one_line_before_anything_starts() {
    let server = Serve::pinned(&["--tls", "1.2"]);
    let https = format!("https://{}/bytes/1KiB", server.tls);
    let plain = format!("http://{}/bytes/1KiB", server.plain);
    let missing = format!("https://{}/missing", server.tls);
    let garbage = server.folder.path().join("garbage.pem");
    std::fs::write(&garbage, "-----BEGIN nothing").unwrap();
    let garbage = garbage.to_str().unwrap();
    let unused = "https://127.0.0.1:1/";
    let not_tls = plain.replace("http:", "https:");
    let refused = [
        &[https.as_str(), "-d", "10"][..],
        &[&https, "--warmup", "1x"],
        &[&https, "--timeout", "5x"],
        &[&https, "-d", "0s"],
        &[&https, "-c", "0"],
        &[&https, "-c", "18446744073709551615"],
        &[&https, "--suite", "AES128-GCM-SHA265"],
        &[&https, "--operation", "walk"],
        &[&https, "--tls", "1.3", "--suite", "AES128-SHA"],
        &[&plain, "--group", "x25519"],
        &[&plain, "--operation", "handshakes"],
        &[&https, "--insecure", "--ca", garbage],
        &[&https, "--arrival", "paced 2Gb"],
        &[&https, "--arrival", "paced 2Gb/s", "--operation", "handshakes"],
        &[&https, "--arrival", "paced 2Gb/s", "--client", "wrk"],
        &[&missing, "--arrival", "paced 2Gb/s"],
        &[&https, "--arrival", "paced 2Gb/s"],
        &[&https, "-H", "Range: bytes=0-9"],
        &[&https, "-H", "X: a\r\nY: b"],
        &[&https, "-H", "X"],
        &[&https, "--source", "192.0.2.1"],
        &[&https, "--source", "nosuch0"],
        &[&https, "--source", "a b"],
        &[&https, "--source", "::1"],
        &[&https, "--source", "lo", "--client", "wrk"],
        &[&https, "-n", "0"],
        &[&https, "-n", "9", "--warmup", "1s"],
        &[&https, "-n", "9", "--client", "wrk"],
        &[&https, "--wakeups", "each", "--client", "wrk"],
        &[&https, "--wakeups", "coalesced", "--arrival", "uniform 100/s"],
        &[&https, "--wakeups", "on"],
        &[&https, "--cpus", "1023"],
        &[&https, "--ca", garbage],
        &[&https, "--ca", "/nonexistent/ca.pem"],
        &[&https],
        &[&https, "--insecure", "--tls", "1.3"],
        &[&https, "--insecure", "--suite", "ECDHE-ECDSA-AES128-SHA"],
        &[&missing, "--insecure"],
        &[&not_tls, "--insecure"],
        &[unused],
        &["127.0.0.1:8443"],
        &["https://192.0.2.1/"],
        &[&https, "--server-pid", "8388608"],
    ];
    // What this process may use is that of the machine.
    let here = CpuList::allowed().unwrap().to_string();
    let names = [
        (server.tls.to_string(), "TLS"),
        (server.plain.to_string(), "PLAIN"),
        (server.folder.path().display().to_string(), "FOLDER"),
        (format!("may use {here}"), "may use CPUS"),
    ];
    let shown = |text: &str| {
        names.iter().fold(text.to_owned(), |text, (here, name)| text.replace(here, name))
    };
    support::assert_golden!(refused.map(|arguments| {
        let output = toll().arg("load").args(arguments).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        assert_eq!(said.lines().count(), 1, "{said}");
        (shown(&arguments.join(" ").escape_debug().to_string()), shown(&said))
    }));
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
        let toll = toll_path().display().to_string();
        let script = format!(
            "ulimit -n {limit} && exec {drops} {toll} load https://127.0.0.1:1/ -c 500 --cpus 0"
        );
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let said = text(&output.stderr);
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
    let server = Serve::pinned(&["--root", root.path().to_str().unwrap()]);
    for (object, kind) in [
        ("bytes/64KiB", "content: "),
        ("bytes/32KiB", "short-body: "),
        ("bytes/16KiB", "long-body: "),
    ] {
        let output = load(&server, object).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{object}: {said}");
        assert_eq!(text(&output.stdout), "");
        assert!(said.contains(kind) && said.lines().count() == 1, "{object}: {said}");
    }
}

#[test]
fn a_server_that_turns_to_wrong_bodies_is_an_error_and_not_a_number() {
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
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{said}{}", text(&output.stderr));
        assert!(said.starts_with("Not a valid "), "{said}");
        assert!(said.contains(&format!(" {kind}, ")), "{said}");
        // A warning may have figures.
        let (figures, _) = said.split_once("\nwarning").unwrap_or((&said, ""));
        assert!(!figures.contains(" per second") && !figures.contains("Gb/s"), "{said}");
        assert!(!said.lines().any(|line| line.starts_with("rate")), "{said}");

        let output = load().arg("--json").output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
        let line: TrialRecord = serde_json::from_str(&text(&output.stdout)).unwrap();
        assert!(!line.valid && line.operations.completed == 0, "{line:?}");
        assert!(line.operations.errors.get(kind).is_some_and(|count| *count > 0), "{line:?}");
    }
}

#[test]
fn a_trial_is_one_line_of_json() {
    let server = Serve::pinned(&[]);
    let line = line(load(&server, "bytes/1MiB").args([
        "-d",
        "300ms",
        "-c",
        "4",
        "--tls",
        "1.3",
        "--server-pid",
        &server.pid(),
    ]));
    assert!(line.valid && !line.interrupted);
    assert!(line.operations.completed > 0 && line.rate_per_s > Some(0.0), "{:?}", line.operations);
    // The first one on each connection may have begun in the warm-up.
    let begun_in_the_window = line.operations.completed.saturating_sub(4);
    assert!(line.bytes.body >= begun_in_the_window << 20 && line.goodput_bps > Some(0));
    assert!(line.cpu_ns.server.unwrap() > 0 && line.cpu_ns.client.unwrap() > 0);
    assert!(
        line.latency_ns.whole.p50 <= line.latency_ns.whole.max
            && line.latency_ns.whole.p50.is_some()
    );
    assert!(line.evidence().unwrap().server_busy.is_some() && !line.cpu_share.is_empty());
    assert_eq!(line.receipt.asked.tls.as_deref(), Some("1.3"));
    assert_eq!(line.receipt.obtained.tls.keys().collect::<Vec<_>>(), ["1.3"]);
    assert_eq!(line.receipt.obtained.certificate_key.keys().collect::<Vec<_>>(), ["rsa:2048"]);
    assert_eq!(line.receipt.obtained.full, Some(4));
    assert!(line.receipt.obtained.bodies_compared.unwrap() > 0);
    assert_eq!(line.receipt.mismatch, []);
}

#[test]
fn heads_that_nothing_authenticates_are_counted() {
    let server = Serve::pinned(&[]);
    let obtained = |receive| {
        let mut load = load(&server, "bytes/64KiB");
        let options = ["-d", "300ms", "--json", "--receive", receive];
        // A machine that stands still for a moment may make so short a load invalid, which changes nothing here.
        line_of(&load.args(options).output().unwrap()).receipt.obtained
    };
    let walked = obtained("walk");
    assert!(walked.bodies_peeked > Some(0) && walked.bodies_peeked <= walked.bodies_walked);
    assert_eq!(obtained("decrypt").bodies_peeked, None);
}

#[test]
fn each_operation_has_its_receipt() {
    let server = Serve::pinned(&[]);
    let handshakes = line(load(&server, "").args(["-d", "300ms", "--operation", "handshakes"]));
    let obtained = &handshakes.receipt.obtained;
    assert!(handshakes.valid && obtained.full.unwrap() >= handshakes.operations.completed);
    assert_eq!((obtained.resumed, handshakes.bytes.body), (Some(0), 0));

    let cbc = line(load(&server, "bytes/16KiB").args(["-d", "300ms", "--suite", "AES128-SHA"]));
    let obtained = &cbc.receipt.obtained;
    assert!(cbc.valid);
    assert_eq!(obtained.suite.keys().collect::<Vec<_>>(), ["TLS_RSA_WITH_AES_128_CBC_SHA"]);
    assert_eq!(obtained.encrypt_then_mac, Some(false));
    assert!(obtained.group.is_empty());

    let mut command = toll();
    command.arg("load").arg(format!("http://{}/bytes/16KiB", server.plain));
    let plain = line(command.args(["-d", "300ms", "--operation", "one-request-per-connection"]));
    assert!(plain.valid);
    assert_eq!(plain.receipt.asked.tls.as_deref(), Some("none"));
    assert_eq!(plain.receipt.obtained.full, None);
}

#[test]
fn for_a_person_the_first_sentence_answers_and_the_rest_is_evidence() {
    let server = Serve::pinned(&[]);
    let mut load = load(&server, "bytes/64KiB");
    let output = load.args(["-d", "300ms"]).env("LC_ALL", "C.UTF-8").output().unwrap();
    let said = text(&output.stdout);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{said}");
    let first = said.lines().next().unwrap();
    assert!(first.contains(" per second, ") && first.contains(" goodput, "), "{first}");
    assert!(first.contains("limited by "), "{first}");
    for label in ["rate ", "measured ", "client ", "latency ", "whole ", "receipt ", "limit "] {
        assert!(said.lines().any(|line| line.starts_with(label)), "{label} in\n{said}");
    }
    assert!(said.contains("p99.9") && said.contains(" · RSA-2048 · 0 errors\n"), "{said}");
    let bars = said.lines().filter(|line| line.ends_with('█')).count();
    assert!(bars > 0 && !said.contains("\nasked "), "{said}");
    assert!(!said.contains('\x1b'), "{said}");
    let found = format!("PID {}, found at port {}", server.pid(), server.tls.port());
    assert!(said.contains(&found) && !said.contains("--server-pid"), "{said}");
}

#[test]
fn latencies_tell_how_late_they_may_have_been_seen() {
    let url = format!("http://{}/bytes/1KiB", turning(one_kib(), Duration::from_millis(40)));
    for (connections, arrival, wakeups, is_told) in [
        ("64", "closed", Wakeups::Coalesced, true),
        ("64", "closed", Wakeups::Each, false),
        ("64", "closed", Wakeups::None, false),
        ("8", "closed", Wakeups::Coalesced, false),
        ("64", "uniform 100/s", Wakeups::Each, false),
    ] {
        let mut load = toll();
        load.args([
            "load",
            &url,
            "-d",
            "300ms",
            "--warmup",
            "100ms",
            "--cpus",
            &last_cpu().to_string(),
        ]);
        load.args(["-c", connections, "--arrival", arrival, "--wakeups", &wakeups.to_string()]);
        let TrialRecord { latency_ns: latency, receipt, .. } = line(&mut load);
        assert_eq!(latency.coalescing_max.is_some(), is_told, "{connections}, {arrival}");
        assert_eq!(receipt.asked.wakeups, Some(wakeups), "{connections}, {arrival}");
    }
}

#[test]
fn a_number_of_operations_that_the_time_does_not_reach_is_reported() {
    let url = format!("http://{}/bytes/1KiB", turning(one_kib(), Duration::from_millis(40)));
    for (count, is_told) in [("4", false), ("1000", true)] {
        let mut load = toll();
        load.args(["load", &url, "-c", "2", "-n", count, "-d", "400ms"]);
        let line = line(&mut load);
        let is_about_it = |warning: &trial::Warning| warning.kind == WarningKind::CountNotReached;
        assert_eq!(line.warnings.iter().any(is_about_it), is_told, "{count}: {:?}", line.warnings);
    }
}

/// A plain server that keeps the heads of all requests, and answers each with what the number of its
/// request says, after so long.
fn logging(
    delay: Duration,
    answer: fn(usize) -> &'static str,
) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let log = heads.clone();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let log: Arc<Mutex<Vec<String>>> = log.clone();
            std::thread::spawn(move || {
                let mut lines = BufReader::new(connection.try_clone().unwrap()).lines();
                loop {
                    let head = lines.by_ref().map_while(Result::ok);
                    let head: Vec<String> = head.take_while(|line| !line.is_empty()).collect();
                    if head.is_empty() {
                        return;
                    }
                    let number = {
                        let mut log = log.lock().unwrap();
                        log.push(head.join("\n") + "\n");
                        log.len()
                    };
                    sleep(delay);
                    let status = answer(number);
                    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 1\r\n\r\nx");
                    let _ = connection.write_all(answer.as_bytes());
                }
            });
        }
    });
    (address, heads)
}

#[test]
fn headers_are_sent_with_each_request_and_are_in_the_receipt() {
    let (address, heads) = logging(Duration::ZERO, |_| "200 OK");
    let mut load = toll();
    load.args(["load", &format!("http://{address}/"), "-n", "5", "-c", "2"]);
    load.args(["-H", "X-Tenant: 7", "--header", "User-Agent:mine"]);
    let line = line(&mut load);
    assert_eq!(line.receipt.asked.headers, ["X-Tenant: 7", "User-Agent: mine"]);
    let heads = heads.lock().unwrap();
    // One before the load, which finds out whether the server can be loaded.
    assert_eq!(heads.len(), 1 + 5);
    for head in heads.iter() {
        let count = |name: &str| head.lines().filter(|line| line.starts_with(name)).count();
        assert_eq!((count("X-Tenant: 7"), count("User-Agent: ")), (1, 1), "{head}");
        assert!(head.contains("\nUser-Agent: mine\n"), "{head}");
    }
}

#[test]
fn so_many_operations_are_asked_for_and_counted_and_no_more() {
    let cpus = first_cpu().to_string();
    for connections in ["1", "7", "64"] {
        // Every fifth fails, but not the first, which is tried before the load.
        let (address, heads) = logging(Duration::ZERO, |number| match number % 5 {
            0 => "404 Not Found",
            _ => "200 OK",
        });
        let mut load = toll();
        load.args(["load", &format!("http://{address}/"), "-n", "49", "-c", connections]);
        load.args(["--cpus", &cpus, "--json"]);
        let line: TrialRecord = serde_json::from_slice(&load.output().unwrap().stdout).unwrap();
        assert_eq!(heads.lock().unwrap().len(), 1 + 49, "{connections}");
        assert_eq!(line.operations.completed, 39, "{connections}: {:?}", line.operations);
        assert_eq!(line.operations.errors["status"], 10, "{:?}", line.operations);
        assert_eq!((line.operations.in_flight, line.interrupted), (0, false));
        assert_eq!(line.receipt.asked.count, Count::of(49));
    }
}

#[test]
fn a_load_of_so_many_operations_ends_when_its_time_is_over() {
    let (address, _) = logging(Duration::from_millis(50), |_| "200 OK");
    let mut load = toll();
    load.args(["load", &format!("http://{address}/"), "-n", "100000", "-c", "4", "-d", "500ms"]);
    let line = line(&mut load);
    assert_eq!((line.window_ns, line.interrupted), (500_000_000, false));
    assert!((1..=40).contains(&line.operations.completed), "{:?}", line.operations);
}

#[test]
fn an_interrupt_ends_with_what_was_measured() {
    let server = Serve::pinned(&[]);
    let process = Killed::piped(load(&server, "bytes/64KiB").args(["-d", "5min"]));
    sleep(Duration::from_millis(600));
    process.send("-INT");
    let output = process.finish();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{said}{}", text(&output.stderr));
    assert!(said.starts_with("Interrupted: ") && said.contains("\nrate "), "{said}");
    assert!(said.contains(" until interrupted: "), "{said}");
}

/// It was Ctrl-C that ended it, not its time.
#[test]
fn an_interrupted_number_of_operations_does_not_blame_the_time() {
    let server = Serve::pinned(&[]);
    let url = format!("http://{}/bytes/64KiB", server.plain);
    let options = ["-d", "5min", "-n", "100000000", "--json"];
    let process = Killed::piped(toll().args(["load", &url]).args(options));
    sleep(Duration::from_millis(600));
    process.send("-INT");
    let output = process.finish();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let line: TrialRecord = serde_json::from_slice(&output.stdout).unwrap();
    assert!(line.interrupted);
    let kinds: Vec<WarningKind> = line.warnings.iter().map(|warning| warning.kind).collect();
    assert!(!kinds.contains(&WarningKind::CountNotReached), "{kinds:?}");
}

#[test]
fn an_interrupt_in_the_warm_up_measured_nothing() {
    let server = Serve::pinned(&[]);
    let url = format!("http://{}/bytes/64KiB", server.plain);
    let process = Killed::piped(toll().args(["load", &url, "--warmup", "5min"]));
    // Past the probe, on a busy machine too.
    sleep(Duration::from_millis(1500));
    process.send("-INT");
    let output = process.finish();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{said}{}", text(&output.stderr));
    let expected = "Interrupted before the window began: nothing was measured.\n";
    assert!(said.starts_with(expected), "{said}");
    assert!(!said.lines().any(|line| line.starts_with("limit")), "{said}");
}

#[test]
fn the_receipt_names_the_cpus_that_were_used() {
    let server = Serve::pinned(&[]);
    let url = format!("http://{}/bytes/1KiB", server.plain);
    let all = CpuList::allowed().unwrap().to_string();
    let mut command = toll();
    command.args(["load", &url, "-c", "1", "-d", "300ms", "--warmup", "0s", "--cpus", &all]);
    let line = line(&mut command);
    assert_eq!(line.receipt.asked.client_cpus, Some(first_cpu()));
}

#[test]
fn a_server_that_is_killed_is_an_error_and_not_a_number() {
    let server = Serve::pinned(&[]);
    let pid = server.pid();
    let mut command = load(&server, "bytes/64KiB");
    let process = Killed::piped(command.args(["-d", "1s", "--server-pid", &pid]));
    sleep(Duration::from_millis(500));
    server.process.send("-KILL");
    // Reaped, so that it is gone and no zombie.
    drop(server);
    let output = process.finish();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}{}", text(&output.stderr));
    assert!(said.starts_with(&format!("Not a valid measurement: process {pid} ")), "{said}");
    assert!(said.contains(" refused, "), "{said}");
    assert!(!said.contains("Gb/s") && !said.lines().any(|line| line.starts_with("rate")), "{said}");
}

#[test]
fn a_client_whose_cpu_others_keep_busy_is_not_taken_for_a_slow_server() {
    if first_cpu() == last_cpu() {
        eprintln!("skipped: one CPU only");
        return;
    }
    let server = Serve::pinned(&[]);
    // Where it is allowed at a higher priority, so that it also holds beside other tests.
    let spinning = "renice -n -10 -p $$ >/dev/null 2>&1; while :; do :; done";
    let _others: Vec<Killed> = (0..4)
        .map(|_| {
            let mut command = Command::new("taskset");
            Killed::start(command.args(["-c", &last_cpu().to_string(), "sh", "-c", spinning]))
        })
        .collect();
    sleep(Duration::from_millis(300));
    let mut command = load(&server, "bytes/1MiB");
    let output = command.args(["-d", "1s", "--json", "--server-pid", &server.pid()]).output();
    // It may be that nothing completes, and then the trial is not valid; that is not asked here.
    let line: TrialRecord = serde_json::from_str(&text(&output.unwrap().stdout)).unwrap();
    let evidence = line.evidence().unwrap();
    assert!(
        matches!(line.limit().unwrap(), Limit::ClientCpu | Limit::Noise),
        "{}: {evidence:?}",
        line.limit().unwrap()
    );
    assert!(evidence.client_waiting.unwrap() > 0.1 || evidence.has_foreign_work());
    let reason = line.reason();
    assert!(reason.contains("other programs"), "{reason}");
}

#[test]
fn a_process_that_is_not_the_server_has_no_cpu_time_of_it() {
    let server = Serve::pinned(&[]);
    let other = Killed::start(Command::new("sleep").arg("60"));
    let pid = other.pid().to_string();
    let output = load(&server, "bytes/1KiB").args(["--server-pid", &pid]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains(&format!("process {pid} ")), "{said}");
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let server = Serve::pinned(&[]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output =
        load(&server, "bytes/1KiB").args(["-d", "200ms", "--json"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("output cannot"), "{}", text(&output.stderr));
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
    let server = Serve::pinned(&["--certificate", &path("one.pem"), "--key", &path("one.key")]);
    let url = format!("https://{}/bytes/1KiB", server.tls);
    let load = |authority: &str| {
        let mut command = toll();
        command.args(["load", &url, "-d", "200ms", "--warmup", "0s", "-c", "2", "--json"]);
        command.args(["--ca", authority]).output().unwrap()
    };
    let output = load(&path("one.pem"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let line: TrialRecord = serde_json::from_slice(&output.stdout).unwrap();
    assert!(line.valid && line.operations.completed > 0);
    let output = load(&path("other.pem"));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("authentication: "), "{said}");
}

#[test]
fn a_process_that_holds_toll_is_no_server() {
    let server = Serve::pinned(&[]);
    let url = format!("https://{}/bytes/1KiB", server.tls);
    let own = std::process::id().to_string();
    let output = toll().args(["load", &url, "--insecure", "--server-pid", &own]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(&own), "{said}");
}

#[test]
fn an_open_loop_tells_what_was_meant_to_start_and_that_no_more_was_asked_for() {
    let server = Serve::pinned(&[]);
    let url = format!("https://{}/bytes/1KiB", server.tls);
    let output = toll()
        .args(["load", &url, "--insecure", "-d", "1s", "--warmup", "100ms", "-c", "50", "--json"])
        .args(["--arrival", "uniform 100/s", "--server-pid", &server.pid()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let line: TrialRecord = serde_json::from_slice(&output.stdout).unwrap();
    let arrivals = line.operations.arrivals.unwrap();
    assert!((99..=101).contains(&arrivals.intended), "{arrivals:?}");
    assert!(line.operations.completed <= arrivals.intended + arrivals.waiting + 50);
    assert!(line.latency_ns.service.p50.is_some() && arrivals.deadline_misses.is_none());
    assert_eq!(line.receipt.asked.arrival, "uniform 100/s".parse().ok());
    // On a machine with other work, that may have been the limit instead.
    let limits = [Limit::OfferedLoad, Limit::Noise, Limit::ClientCpu, Limit::ServerCpu];
    assert!(limits.contains(&line.limit().unwrap()), "{:?}", line.verdict);
}

#[test]
fn a_server_that_stalls_misses_deadlines_and_its_pace() {
    // Ten connections that ask every 100 ms.
    let paced = |service: Duration| {
        let address = turning(one_kib(), service);
        let mut load = toll();
        load.args(["load", &format!("http://{address}/bytes/1KiB"), "-c", "10", "-d", "1s"]);
        load.args(["--warmup", "300ms", "--arrival", "paced 819200b/s"]);
        line(&mut load)
    };
    let prompt = paced(Duration::ZERO);
    let asked = &prompt.receipt.asked;
    assert_eq!((asked.pace_bps, asked.period_ns), (Some(819_200), Some(100_000_000)));
    assert_eq!(asked.arrival, "paced 819200b/s".parse().ok());
    let arrivals = prompt.operations.arrivals.unwrap();
    assert_eq!((arrivals.intended, arrivals.deadlines), (100, Some(100)), "{arrivals:?}");
    assert_eq!(prompt.receipt.obtained.pace_bps, prompt.goodput_bps);

    // It answers four times per connection and second instead of ten.
    let stalled = paced(Duration::from_millis(250));
    let arrivals = stalled.operations.arrivals.unwrap();
    assert_eq!((arrivals.intended, arrivals.deadlines), (100, Some(100)), "{arrivals:?}");
    assert!(arrivals.deadline_misses >= Some(50), "{arrivals:?}");
    assert!(stalled.receipt.obtained.pace_bps < Some(819_200 / 2), "{:?}", stalled.receipt);
    assert_ne!(stalled.limit().unwrap(), Limit::OfferedLoad, "{:?}", stalled.verdict);
    // Latency counts from when an object was due, not from when it was asked for.
    let LatencyNs { whole, service, .. } = stalled.latency_ns;
    assert!(whole.p99 > service.p99, "{whole:?} {service:?}");
}

/// Responses that stop half-way are in no latency.
#[test]
fn operations_that_stand_still_are_counted_and_honest_ones_are_not() {
    let load = |stops: Range<usize>| {
        let object = one_kib();
        let address = answering(move |number| {
            let body = if stops.contains(&number) { &object[..512] } else { &object };
            [b"HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n", body].concat()
        });
        let mut load = toll();
        load.args(["load", &format!("http://{address}/bytes/1KiB"), "-c", "40", "-d", "1500ms"]);
        load.args(["--warmup", "200ms", "--arrival", "uniform 100/s"]);
        let line = line(&mut load);
        let is_warned = line.warnings.iter().any(|of| of.kind == WarningKind::StoodStill);
        (line.valid, line.latency_ns.stood_still.map_or(0, |still| still.operations), is_warned)
    };
    assert_eq!(load(0..0), (true, 0, false));
    assert_eq!(load(30..46), (true, 16, true));
}

#[test]
fn connections_of_a_paced_load_that_open_in_the_window_are_reported() {
    let server = Serve::pinned(&[]);
    let mut load = server.load("bytes/1KiB");
    load.args(["-c", "100", "-d", "1s", "--warmup", "0s", "--arrival", "paced 10s"]);
    let line = line(&mut load);
    let kinds: Vec<_> = line.warnings.iter().map(|warning| warning.kind).collect();
    assert!(kinds.contains(&WarningKind::StillOpening), "{kinds:?}");
    // Of a hundred connections only ten were to ask.
    for other in [WarningKind::FewOperations, WarningKind::ConnectionsNotKept] {
        assert!(!kinds.contains(&other), "{kinds:?}");
    }
    assert_eq!(line.operations.arrivals.unwrap().deadlines, Some(0));
}

#[test]
fn sessions_are_resumed_where_that_is_asked_and_the_server_gives_tickets() {
    for (tickets, is_valid) in [("on", true), ("off", false)] {
        let server = Serve::pinned(&["--tickets", tickets]);
        let url = format!("https://{}/bytes/1KiB", server.tls);
        let output = toll()
            .args([
                "load",
                &url,
                "--insecure",
                "-d",
                "500ms",
                "--warmup",
                "300ms",
                "-c",
                "4",
                "--json",
            ])
            .args(["--operation", "one-request-per-connection", "--resumption", "70%"])
            .args(["--tls", "1.3"])
            .output()
            .unwrap();
        let line: TrialRecord = serde_json::from_slice(&output.stdout).unwrap();
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
    let server = Serve::pinned(&[]);
    let mut command = load(&server, "");
    command.args(["--object", "1KiB 75%, 64KiB 25%", "--seed", "5", "--close", "rst"]);
    command.args(["--operation", "one-request-per-connection", "-c", "4", "-d", "500ms"]);
    let line = line(&mut command);
    assert!(line.valid, "{:?}", line.receipt.mismatch);
    let (asked, obtained) = (&line.receipt.asked, &line.receipt.obtained);
    assert_eq!(asked.objects.as_deref(), Some("1KiB 75%, 64KiB 25%"));
    assert_eq!((asked.seed, asked.close), (Some(5), Some(load::Close::Rst)));
    let paths: Vec<&str> = obtained.objects.keys().map(String::as_str).collect();
    assert_eq!(paths, ["/bytes/1KiB", "/bytes/64KiB"]);
    assert_eq!(obtained.objects.values().sum::<u64>(), line.operations.completed);
}

#[test]
fn an_object_that_is_not_there_is_named_before_the_load() {
    let server = Serve::pinned(&[]);
    let output = load(&server, "").args(["--object", "1KiB 75%, /missing 25%"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/missing"), "{}", text(&output.stderr));
    let both = load(&server, "bytes/1KiB").args(["--object", "1KiB"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2));
    assert!(text(&both.stderr).contains("URL's path"), "{}", text(&both.stderr));
}

/// The difference of two key shares, to the byte: that of ML-KEM-768 has 1,184 bytes in the client's flight
/// and 1,088 in the server's (FIPS 203, table 3).
#[test]
fn what_handshakes_send_is_counted_to_the_byte() {
    // Signatures of RSA have one length.
    let server = Serve::pinned(&["--library", "rustls-aws-lc", "--certificate-key", "rsa:2048"]);
    let traffic = |group: &str| {
        let mut command = server.load("bytes/1B");
        command.args([
            "--operation",
            "handshakes",
            "-c",
            "2",
            "-d",
            "500ms",
            "--warmup",
            "100ms",
            "--tls",
            "1.3",
        ]);
        line(command.args(["--group", group])).traffic.unwrap()
    };
    let (alone, hybrid) = (traffic("x25519"), traffic("X25519MLKEM768"));
    assert!((hybrid.bytes_sent - alone.bytes_sent - 1184.0).abs() < 1e-6, "{alone:?} {hybrid:?}");
    let received = hybrid.bytes_received - alone.bytes_received;
    assert!((received - 1088.0).abs() < 1e-6, "{alone:?} {hybrid:?}");
    // SYN, its acknowledgement, a flight each way and FINs, whatever the kernel acknowledges apart.
    for packets in [alone.packets_sent, alone.packets_received, hybrid.packets_sent] {
        assert!((3.0..20.0).contains(&packets), "{alone:?} {hybrid:?}");
    }
}

/// By the server's own view of its connections: their addresses, with how many came from each.
#[test]
fn connections_come_from_the_sources_in_turn() {
    let seen: Arc<Mutex<BTreeSet<SocketAddr>>> = Arc::default();
    let recorded = seen.clone();
    let body = one_kib();
    let server = answering_to(move |_, client| {
        recorded.lock().unwrap().insert(client);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), &body].concat()
    });
    let cpu = first_cpu().to_string();
    let of = |address: &str| {
        let address: IpAddr = address.parse().unwrap();
        seen.lock().unwrap().iter().filter(|client| client.ip() == address).count()
    };
    let load = |sources: &[&str]| {
        seen.lock().unwrap().clear();
        let url = format!("http://{server}/bytes/1KiB");
        let mut command = toll();
        command.args(["load", &url, "-c", "6", "-n", "60", "--cpus", &cpu]);
        command.args(sources.iter().flat_map(|source| ["--source", source]));
        line(&mut command)
    };
    let spread = load(&["127.0.0.5", "127.0.0.6,127.0.0.7"]);
    assert!(spread.valid, "{:?}", spread.receipt);
    assert_eq!(spread.receipt.asked.sources, ["127.0.0.5", "127.0.0.6", "127.0.0.7"]);
    // A connection of the first one was tried before the load began.
    assert_eq!(["127.0.0.5", "127.0.0.6", "127.0.0.7"].map(of), [3, 2, 2]);
    assert_eq!(seen.lock().unwrap().len(), 7);
    load(&["127.0.0.9"]);
    assert_eq!((of("127.0.0.9"), seen.lock().unwrap().len()), (7, 7));
    // An interface leaves the address to the kernel.
    let by_interface = load(&["lo"]);
    assert_eq!(by_interface.receipt.asked.sources, ["lo"]);
    assert_eq!((of("127.0.0.1"), seen.lock().unwrap().len()), (7, 7));
}

#[test]
fn a_program_that_is_not_installed_is_named_with_its_package() {
    let empty = tempfile::tempdir().unwrap();
    for (client, package) in [("wrk", "wrk"), ("ab", "apache2-utils"), ("h2load", "nghttp2-client")]
    {
        let output = toll()
            .args(["load", "https://127.0.0.1:1/", "--client", client])
            .args(["--cpus", &first_cpu().to_string()])
            .env("PATH", empty.path())
            .output()
            .unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        let expected = format!("apt-get install {package}, or leave --client {client} out\n");
        assert!(said.contains("is not installed") && said.ends_with(&expected), "{said}");
    }
}

/// A server that takes connections and says nothing: the probe waits for it, but not after Ctrl-C.
#[test]
fn ctrl_c_ends_the_probe_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    for url in [format!("http://{address}/"), format!("https://{address}/")] {
        let mut command = toll();
        command.args(["load", &url, "--insecure", "--timeout", "1h", "--cpus"]);
        let mut process = Killed::piped(command.arg(last_cpu().to_string()));
        let _connection = listener.accept().unwrap();
        process.send("-INT");
        assert_eq!(process.exit_code(), Some(130));
    }
}

/// A handshake or an answer that takes longer than the window.
#[test]
fn a_load_in_which_nothing_ended_says_what_was_waited_for() {
    let address = turning(one_kib(), Duration::ZERO);
    let slow = answering(move |number| {
        sleep(if number == 0 { Duration::ZERO } else { Duration::from_secs(30) });
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 1024);
        [head.as_bytes(), &one_kib()].concat()
    });
    for (address, is_silent) in [(address, false), (slow, true)] {
        let url = format!("http://{address}/bytes/1KiB");
        let mut command = toll();
        command.args(["load", &url, "-c", "1", "-d", "300ms", "--warmup", "0s", "--json"]);
        let output = command.args(["--cpus", &last_cpu().to_string()]).output().unwrap();
        let line: TrialRecord = serde_json::from_str(&text(&output.stdout)).unwrap();
        let kinds: Vec<&str> = line.operations.unended.keys().map(String::as_str).collect();
        assert_eq!(kinds, if is_silent { vec!["stall"] } else { vec![] });
        assert_eq!(
            (line.valid, output.status.code()),
            (!is_silent, Some(if is_silent { 3 } else { 0 }))
        );
    }
}

#[test]
fn a_proxy_of_the_environment_is_named_where_others_would_use_it() {
    let told = |url: &str, variable: &str| {
        let mut load = toll();
        load.args(["load", url, "--insecure", "--i-operate-this-host", "-n", "1"]);
        let output = load.env(variable, "http://127.0.0.1:3128").output().unwrap();
        text(&output.stderr).contains(&format!("{variable} is set and not used"))
    };
    let closing = |ip: IpAddr| {
        let port = TcpListener::bind((ip, 0)).unwrap();
        let address = port.local_addr().unwrap();
        std::thread::spawn(move || port.incoming().for_each(drop));
        address
    };
    // An address of this machine that is no loopback address, where it has one.
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let Ok(own) = socket.connect("192.0.2.1:1").and_then(|()| socket.local_addr()) else {
        eprintln!("skipped: this machine has loopback addresses alone");
        return;
    };
    let own = closing(own.ip());
    assert!(told(&format!("https://{own}/"), "HTTPS_PROXY"));
    assert!(told(&format!("http://{own}/"), "http_proxy"));
    assert!(!told(&format!("http://{own}/"), "HTTPS_PROXY"));
    let loopback = closing([127, 0, 0, 1].into());
    assert!(!told(&format!("https://{loopback}/"), "HTTPS_PROXY"));
}

/// An authority whose time was over long ago, in PEM form.
fn expired_authority() -> String {
    let curve = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let key = PKey::from_ec_key(EcKey::generate(&curve).unwrap()).unwrap();
    let mut name = X509Name::builder().unwrap();
    name.append_entry_by_text("CN", "Old Root").unwrap();
    let name = name.build();
    let mut authority = X509::builder().unwrap();
    authority.set_version(2).unwrap();
    authority.set_subject_name(&name).unwrap();
    authority.set_issuer_name(&name).unwrap();
    authority.set_pubkey(&key).unwrap();
    authority.set_not_before(&Asn1Time::from_unix(0).unwrap()).unwrap();
    authority.set_not_after(&Asn1Time::from_unix(86_400).unwrap()).unwrap();
    authority.sign(&key, MessageDigest::sha256()).unwrap();
    String::from_utf8(authority.build().to_pem().unwrap()).unwrap()
}

#[test]
fn an_authority_that_has_expired_is_named() {
    let server = Serve::pinned(&[]);
    let own = std::fs::read_to_string(server.certificate()).unwrap();
    let file = server.folder.path().join("authorities.pem");
    let warned = |authorities: &str| {
        std::fs::write(&file, authorities).unwrap();
        let mut command = toll();
        command
            .arg("load")
            .arg(format!("https://{}/bytes/1KiB", server.tls))
            .arg("--ca")
            .arg(&file);
        command.args(["-c", "2", "--warmup", "300ms", "-d", "300ms"]);
        let mut warnings = line(&mut command).warnings.into_iter();
        warnings.find(|warning| warning.kind == WarningKind::ExpiredAuthority)
    };
    assert_eq!(warned(&own), None);
    let warning = warned(&format!("{own}{}", expired_authority())).unwrap();
    assert!(warning.seen.contains("CN=Old Root"), "{warning}");
}
