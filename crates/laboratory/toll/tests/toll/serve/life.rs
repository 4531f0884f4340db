//! How the server begins and ends: options that it refuses, and Ctrl-C.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::{Duration, Instant};

use cpus::CpuList;
use support::{first_cpu, peer};

use super::server::{Serve, object, refusal};

#[test]
fn a_busy_port_is_named() {
    let server = Serve::start(&[]);
    for cpus in [first_cpu(), CpuList::allowed().unwrap()] {
        let cpus = cpus.to_string();
        let (code, text) = refusal(&["--cpus", &cpus, "--listen", &server.tls.to_string()]);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.starts_with(&format!("toll: {} is in use", server.tls)), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

#[test]
fn what_cannot_be_served_is_said_in_one_line() {
    for (options, expected) in [
        (
            &["--suites", "ECDHE-ECDSA-AES128-SHA"][..],
            "needs an ECDSA or Ed25519 key, and the certificate has rsa:2048",
        ),
        (
            &["--suites", "AES128-SHA", "--certificate-key", "ecdsa:p256"],
            "needs an RSA key, and the certificate has ecdsa:p256",
        ),
        (
            &["--suites", "TLS_AES_128_GCM_SHA256", "--tls", "1.2"],
            "is a suite of TLS 1.3, which is not in --tls",
        ),
        (
            &["--suites", "AES128-SHA", "--tls", "1.2,1.3"],
            "--tls offers TLS 1.3, but --suites has no suite for it",
        ),
        (
            &["--library", "rustls-ring", "--suites", "AES128-SHA"],
            "rustls-ring has no TLS_RSA_WITH_AES_128_CBC_SHA; choose something else, or --library openssl",
        ),
        (
            &["--library", "rustls-aws-lc", "--suites", "ECDHE-RSA-AES128-SHA"],
            "rustls-aws-lc has no TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
        ),
        (
            &["--library", "rustls-ring", "--groups", "X25519MLKEM768"],
            "rustls-ring has no X25519MLKEM768",
        ),
        (
            &["--library", "rustls-aws-lc", "--certificate-key", "rsa:1024"],
            "rustls-aws-lc has no signatures with rsa:1024",
        ),
        (&["--cpus", "1000"], "CPU 1000 is not available"),
        (&["--root", "/nonexistent/folder"], "cannot serve files from /nonexistent/folder"),
        (
            &["--certificate", "/nonexistent/c", "--key", "/nonexistent/k"],
            "/nonexistent/c: No such file",
        ),
        (
            &["--write-certificate", "/nonexistent/c"],
            "cannot write the certificate to /nonexistent/c",
        ),
        (
            &["--accelerator", "model", "--certificate-key", "ecdsa:p256"],
            "the accelerator decrypts with RSA keys, and ecdsa:p256 only signs; use rsa:2048",
        ),
        (
            &["--accelerator", "model", "--accelerator-rate", "rsa:4096 1/s"],
            "the accelerator has no rate for rsa:2048",
        ),
        (
            &["--accelerator", "model", "--library", "rustls-ring"],
            "rustls-ring has no --accelerator; choose something else, or --library openssl",
        ),
        (&["--library-context", "per-thread", "--session-cache", "on"], "--session-cache off"),
        (
            &["--library-context", "per-thread", "--library", "rustls-ring"],
            "is for OpenSSL with its own private keys",
        ),
        (&["--quic"], "write --library rustls-ring or rustls-aws-lc, or leave out --quic"),
        (&["--quic", "--library", "rustls-ring", "--tls", "1.2"], "add 1.3 to --tls"),
        (&["--timeout", "0s"], "--timeout 0s would end every connection"),
        (&["--library", "openssl-built"], "run LD_LIBRARY_PATH=target/openssl/lib toll serve"),
        (&["--listen", "192.0.2.1:0"], "cannot listen on 192.0.2.1:0"),
    ] {
        let (code, text) = refusal(options);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.starts_with("toll: ") && text.contains(expected), "{options:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

#[test]
fn options_that_do_not_parse_say_how_to_write_them() {
    for (options, expected) in [
        (&["--suites", "AES128-SAH"][..], "did you mean AES128-SHA?"),
        (&["--timeout", "30"], "has no unit"),
        (&["--record-size", "32KiB"], "use 512B to 16KiB"),
        (&["--records-per-write", "0"], "use 1 to 64"),
        (&["--gso", "off"], "--quic"),
        (&["--offload", "inline"], "--accelerator"),
        (
            &["--accelerator", "model", "--accelerator-rate", "40000/s"],
            "is not a key with its rate",
        ),
        (&["--accelerator", "model", "--accelerator-queue", "0"], "--accelerator-queue"),
        (&["--tls", "1.1"], "write 1.2 or 1.3"),
        (&["--certificate-key", "rsa:512"], "write rsa:1024"),
        (&["--tickets", "perhaps"], "--tickets"),
        (&["--library", "rustls"], "write openssl, rustls-ring"),
        (&["--groups", "secp224r1"], "is not a group that toll knows"),
    ] {
        let (code, text) = refusal(options);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(expected), "{options:?}: {text}");
    }
}

#[test]
fn ctrl_c_finishes_the_transfer_in_flight() {
    let encrypted = Serve::on_each_library(&[]).map(|server| (server, true));
    for (mut server, encrypted) in encrypted.chain([(Serve::start(&[]), false)]) {
        let idle = server.connect();
        let url =
            if encrypted { server.https("/bytes/64MiB") } else { server.http("/bytes/64MiB") };
        let mut curl = peer("curl")
            .args(["--silent", "--insecure", "--limit-rate", "30M", &url])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = vec![0; 1 << 16];
        curl.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        server.process.send("-INT");
        let output = curl.wait_with_output().unwrap();
        assert!(output.status.success());
        first.extend(output.stdout);
        assert!(first == object("64MiB"));
        assert_eq!(server.exit_code(), Some(0));
        assert_eq!((&idle).read(&mut [0]).unwrap(), 0);
        let mut noise = String::new();
        server.0.process.0.stderr.take().unwrap().read_to_string(&mut noise).unwrap();
        assert_eq!(noise, "");
    }
}

#[test]
fn a_second_ctrl_c_ends_at_once() {
    let mut server = Serve::start(&[]);
    let mut stream = server.connect();
    stream.write_all(b"GET /bytes/1TiB HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    stream.read_exact(&mut [0; 1024]).unwrap();
    server.process.send("-TERM");
    std::thread::sleep(Duration::from_millis(300));
    server.process.send("-TERM");
    assert_eq!(server.exit_code(), Some(130));
}

/// A client may ask for more before it knows that this answer is the last one (RFC 9112, section 9.6).
#[test]
fn the_last_response_comes_whole_though_more_was_asked_for() {
    const REQUEST: &str = "GET /bytes/64MiB HTTP/1.1\r\nHost: a\r\n";
    let server = Serve::start(&[]);
    let mut stream = server.connect();
    stream.write_all(format!("{REQUEST}Connection: close\r\n\r\n").as_bytes()).unwrap();
    let mut answer = vec![0; 1024];
    stream.read_exact(&mut answer).unwrap();
    stream.write_all(format!("{REQUEST}\r\n").as_bytes()).unwrap();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.ends_with(&object("64MiB")), "{} bytes", answer.len());
}

/// What a sandbox or a firewall may do to it: here its socket listens no more, so that accepting from it is
/// an error (EINVAL).
#[test]
fn a_system_that_refuses_connections_is_reported_once_and_asked_now_and_then() {
    let mut server = Serve::start(&["--cpus", &first_cpu().to_string()]);
    let (address, pid) = (server.plain, server.process.pid());
    for descriptor in 0..64 {
        if let Ok(copy) = copy_of(pid, descriptor)
            && let Ok(socket) = socket2::SockRef::from(&copy).local_addr()
            && socket.as_socket() == Some(address)
        {
            socket2::SockRef::from(&copy).shutdown(std::net::Shutdown::Both).unwrap();
        }
    }
    let mut said = BufReader::new(server.0.process.0.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("cannot accept connections"), "{line}");
    let used = || ticks(pid);
    let (before, begun) = (used(), Instant::now());
    std::thread::sleep(Duration::from_secs(1));
    // There are 100 ticks in a second.
    assert!(used() - before < begun.elapsed().as_millis() as u64 / 20);
    // The others are served.
    assert_eq!(server.fetch(&[&server.https("/bytes/1KiB")]), object("1KiB"));
    server.process.send("-INT");
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!((server.exit_code(), rest.as_str()), (Some(0), ""));
}

/// The CPU time that a process has used: the fields `utime` and `stime`.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

/// A descriptor of another process.
fn copy_of(pid: u32, descriptor: i32) -> rustix::io::Result<OwnedFd> {
    use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
    let pid = Pid::from_raw(pid.cast_signed()).unwrap();
    pidfd_getfd(pidfd_open(pid, PidfdFlags::empty())?, descriptor, PidfdGetfdFlags::empty())
}
