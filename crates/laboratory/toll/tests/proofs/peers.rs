//! `toll load --client` with the real programs, against the real `toll serve`.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use support::{Killed, Serve, answering, last_cpu, processes_with, text, toll, until};
use trial::{TrialRecord, WarningKind};

/// `toll load` of an object over TLS, with the server's CPU time.
fn load(server: &Serve, object: &str) -> Command {
    let mut command = server.load(object);
    command.args(["--server-pid", &server.pid()]);
    command
}

/// A plain server that answers its first request with success, and all later ones with 500.
fn failing() -> SocketAddr {
    answering(|number| {
        let status = if number == 0 { "200 OK" } else { "500 Sorry" };
        format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi")
            .into_bytes()
    })
}

/// The journal line of a load, with its exit code.
fn line(command: &mut Command) -> (TrialRecord, Option<i32>) {
    let output = command.arg("--json").output().unwrap();
    let line = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (line, output.status.code())
}

/// Whether a process of that client loads the server at this address.
fn loads(client: &str, address: SocketAddr) -> bool {
    let program = format!("/{client} ");
    processes_with(&address.to_string()).iter().any(|(_, line)| line.contains(&program))
}

#[test]
fn each_program_makes_the_load_and_both_sides_are_accounted_for() {
    let server = Serve::pinned(&[]);
    for (client, options) in [
        ("wrk", &["-c", "4"][..]),
        ("wrk", &["-c", "4", "--operation", "one-request-per-connection"]),
        ("ab", &["-c", "4"]),
        ("ab", &["-c", "4", "--operation", "one-request-per-connection", "--suite", "AES128-SHA"]),
        ("h2load", &["-c", "4", "--suite", "TLS_AES_128_GCM_SHA256", "--group", "secp256r1"]),
        ("h2load", &["-c", "2", "--http", "2", "--streams", "8", "--tls", "1.3"]),
        ("s_time", &["-c", "1", "--operation", "handshakes", "--tls", "1.3"]),
        ("shb", &["-c", "4"]),
        ("shb", &["-c", "4", "--operation", "one-request-per-connection"]),
        ("shb", &["-c", "2", "--http", "2", "--streams", "8"]),
    ] {
        if client == "shb" && targets::find_in(std::env::var_os("PATH"), client).is_none() {
            eprintln!("skipped: shb is not installed here (cargo install shb)");
            continue;
        }
        let mut load = load(&server, "bytes/64KiB");
        let (line, code) = line(load.args(["-d", "1s", "--client", client]).args(options));
        let what = format!("{client} {options:?}: {line:?}");
        assert_eq!(code, Some(0), "{what}");
        assert!(line.operations.completed > 0 && line.operations.errors.is_empty(), "{what}");
        assert!(line.cpu_ns.server.unwrap() > 0 && line.cpu_ns.client.unwrap() > 0, "{what}");
        assert!(line.evidence().unwrap().client_busy.unwrap() > 0.0, "{what}");
        let named = line.receipt.obtained.client.clone().unwrap();
        assert!(named.starts_with(&format!("{client} ")), "{what}");
        let warned = line.warnings.iter().any(|warning| warning.kind == WarningKind::PeerClient);
        assert!(warned, "{what}");
        assert_eq!(line.latency_ns.whole.p50, None, "{what}");
        assert_eq!(line.receipt.obtained.signatures_verified, Some(0), "{what}");
        if client != "s_time" {
            // At most one object a connection or a stream came in part only, at either end of the window.
            let (objects, parts) = (line.operations.completed, 2 * 2 * 8);
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
    let server = Serve::pinned(&[]);
    for client in ["wrk", "ab", "h2load"] {
        let output = toll()
            .args(["load", &format!("http://{}/bytes/1KiB", server.plain), "--client", client])
            .args(["-v", "-c", "2", "-d", "1s", "--cpus", &last_cpu().to_string()])
            .output()
            .unwrap();
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
        let got = said.lines().find(|line| line.starts_with("receipt ")).unwrap();
        assert!(got.contains(&format!("by {client} ")), "{said}");
        assert!(said.contains("verified nothing"), "{said}");
        assert!(!said.contains("in progress") && !said.contains("proven"), "{said}");
    }
}

#[test]
fn answers_without_success_are_errors() {
    for client in ["wrk", "ab", "h2load"] {
        let url = format!("http://{}/", failing());
        let (line, code) = line(
            toll()
                .args(["load", &url, "--client", client, "-c", "2", "-d", "1s"])
                .args(["--cpus", &last_cpu().to_string()]),
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
    for client in ["wrk", "ab", "h2load"] {
        let mut server = Serve::pinned(&[]);
        let mut load = toll();
        load.args(["load", &format!("http://{}/bytes/1KiB", server.plain), "--client", client]);
        load.args(["-c", "2", "-d", "2s", "--cpus", &last_cpu().to_string(), "--json"]);
        let mut load = Killed::start(load.stdout(Stdio::piped()));
        until("the client runs", || loads(client, server.plain));
        std::thread::sleep(Duration::from_millis(300));
        let _ = server.process.0.kill();
        let _ = server.process.0.wait();
        let text = load.first_line();
        let code = load.exit_code();
        let line: TrialRecord = serde_json::from_str(&text).unwrap();
        // h2load tells of no error; it only has fewer answers.
        if client != "h2load" {
            assert!(line.failed() > 0 || line.load_error.is_some(), "{client}: {line:?}");
            assert_eq!(code, Some(3), "{client}: {line:?}");
        }
        assert!(processes_with(&server.plain.to_string()).is_empty());
    }
}

#[test]
fn what_cannot_be_done_is_one_line_before_anything_is_sent() {
    let unused = "https://127.0.0.1:1/";
    for (arguments, expected) in [
        (&["--client", "wrk", "--suite", "AES128-SHA"][..], "restrict the server instead"),
        (&["--client", "wrk", "-d", "1500ms"], "whole seconds"),
        (&["--client", "wrk", "--warmup", "1s"], "has no warm-up, which contradicts --warmup 1s"),
        (&["--client", "wrk", "--operation", "handshakes"], "use --client s_time"),
        (&["--client", "h2load", "--operation", "one-request-per-connection"], "wrk or ab"),
        (
            &["--client", "ab", "--key-exchange", "fixed"],
            "makes fresh keys, which contradicts --key-exchange fixed",
        ),
        (&["--client", "siege"], "possible values: toll, wrk, ab, h2load, s_time, shb"),
        // All is well but the server.
        (&["--client", "wrk"], "refused: "),
    ] {
        let output = toll().args(["load", unused]).args(arguments).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.starts_with("toll: ") && said.contains(expected), "{arguments:?}: {said}");
        assert_eq!((said.lines().count(), output.stdout.len()), (1, 0), "{said}");
    }
}

#[test]
fn the_program_ends_with_ctrl_c_and_with_toll() {
    let server = Serve::pinned(&[]);
    for client in ["wrk", "ab", "h2load"] {
        for signal in ["-INT", "-KILL"] {
            let mut load = toll();
            load.args(["load", &format!("http://{}/bytes/1KiB", server.plain)]);
            load.args([
                "--client",
                client,
                "-c",
                "2",
                "-d",
                "60s",
                "--cpus",
                &last_cpu().to_string(),
            ]);
            let mut load = Killed::start(load.arg("--json").stdout(Stdio::piped()));
            until("the client runs", || loads(client, server.plain));
            std::thread::sleep(Duration::from_millis(500));
            load.send(signal);
            let text = load.first_line();
            let code = load.exit_code();
            let address = server.plain.to_string();
            until("the client has ended with toll", || processes_with(&address).is_empty());
            if signal == "-INT" {
                let line: TrialRecord = serde_json::from_str(&text).unwrap();
                assert_eq!(code, Some(130), "{client}: {line:?}");
                // h2load forgets what it did.
                assert_eq!(line.load_error.is_some(), client == "h2load", "{client}: {line:?}");
                assert!(line.interrupted, "{client}: {line:?}");
            }
        }
    }
}

/// Answers nine requests, and resets the connections of all others.
fn resetting() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let count = count.clone();
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                while stream.read(&mut request).is_ok_and(|read| read > 0) {
                    if count.fetch_add(1, Relaxed) >= 9 {
                        // A close with bytes that were not read, or this option, is a reset.
                        let socket = socket2::SockRef::from(&stream);
                        let _ = socket.set_linger(Some(Duration::ZERO));
                        return;
                    }
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
                }
            });
        }
    });
    address
}

#[test]
fn a_program_that_gave_up_its_connections_has_measured_nothing() {
    let url = format!("http://{}/", resetting());
    let mut command = toll();
    command.args(["load", &url, "--client", "h2load", "-c", "2", "-d", "1s"]);
    let (line, code) = line(command.args(["--cpus", &last_cpu().to_string()]));
    assert_eq!((code, line.operations.completed > 0), (Some(3), true), "{line:?}");
    assert_eq!(line.receipt.mismatch[0].what, "operation", "{line:?}");
}
