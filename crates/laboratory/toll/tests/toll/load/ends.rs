//! How a load ends, and what is said of one that stands still.

use super::*;

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
fn kept_connections_that_the_server_closes_are_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    closing(listener, Duration::ZERO);
    let mut command = toll();
    command.args(["load", &format!("http://{address}/"), "-c", "2", "-d", "300ms"]);
    let line = line(&mut command);
    assert!(line.valid && line.operations.completed > 4);
    assert!(line.warnings.iter().any(|w| w.kind == trial::WarningKind::ConnectionsNotKept));
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
