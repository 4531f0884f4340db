//! `toll load` as a user runs it, against the real `toll serve`.

mod ends;
mod refused;

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
use support::{
    Killed, Serve, answering, answering_to, closing, first_cpu, last_cpu, text, toll, toll_path,
};
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
