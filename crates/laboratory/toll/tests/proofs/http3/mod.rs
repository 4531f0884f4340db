//! HTTP/3 of servers, as aioquic sees it: an implementation of QUIC, HTTP/3 and QPACK that shares nothing with toll's.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use openssl::hash::{MessageDigest, hash};
use serde::Deserialize;
use support::{Serve, run, toll_path};
use targets::{Settings, Target};
use tls::{CertificateKey, Identity, Version};

use crate::every_server::{server, settings, start};

#[derive(Deserialize)]
struct Response {
    method: String,
    path: String,
    fields: std::collections::BTreeMap<String, String>,
    length: usize,
    sha256: String,
}

#[derive(Deserialize)]
struct Second {
    tickets: usize,
    resumed: bool,
}

/// Python with aioquic.
fn python() -> Option<PathBuf> {
    let target = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../target");
    let python = target.join("aioquic/bin/python");
    let is_there = python.is_file();
    if !is_there {
        eprintln!("skipped: aioquic is not installed (scripts/needs proofs installs it)");
    }
    is_there.then_some(python)
}

/// What aioquic gets from there.
fn fetched(python: PathBuf, from: SocketAddr) -> (Vec<Response>, Second) {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/proofs/http3/fetch.py");
    let mut command = Command::new(python);
    let text = run(command.arg(script).args([from.ip().to_string(), from.port().to_string()]));
    let mut lines: Vec<&str> = text.lines().collect();
    let second = serde_json::from_str(lines.pop().unwrap()).unwrap();
    (lines.into_iter().map(|line| serde_json::from_str(line).unwrap()).collect(), second)
}

fn sha256(object: &[u8]) -> String {
    let digest = hash(MessageDigest::sha256(), object).unwrap();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The responses that every server has to give.
fn check_objects(responses: &[Response]) {
    assert_eq!(responses.len(), 4 + 32);
    for response in responses {
        let of = (&response.method[..], &response.path[..]);
        let (status, size, length) = match of {
            ("GET", "/bytes/1MiB") => ("200", 1 << 20, 1 << 20),
            ("GET", "/bytes/0B") => ("200", 0, 0),
            ("HEAD", "/bytes/1MiB") => ("200", 1 << 20, 0),
            ("GET", "/bytes/64KiB") => ("200", 64 << 10, 64 << 10),
            _ => {
                assert_eq!(response.fields[":status"], "404");
                continue;
            }
        };
        assert_eq!(response.fields[":status"], status, "{of:?}");
        assert_eq!(response.fields["content-length"], size.to_string(), "{of:?}");
        assert_eq!(response.length, length, "{of:?}");
        assert_eq!(response.sha256, sha256(&objects::slice(0)[..length]), "{of:?}");
    }
}

#[test]
fn aioquic_gets_the_embedded_servers_objects_and_resumes_with_its_tickets() {
    let Some(python) = python() else { return };
    for (library, tickets) in [("rustls-ring", "on"), ("rustls-aws-lc", "off")] {
        let options = ["--quic", "--library", library, "--tickets", tickets];
        let server = Serve::start(&options);
        let (responses, second) = fetched(python.clone(), server.tls);
        check_objects(&responses);
        assert_eq!(responses[3].length, "404 Not Found".len());
        let is_on = tickets == "on";
        assert_eq!((second.tickets > 0, second.resumed), (is_on, is_on), "{library}");
    }
}

/// Over loopback there is always room, so strace says now and then that there is none.
#[test]
fn a_socket_without_room_is_waited_for() {
    let Some(python) = python() else { return };
    let mut command = Command::new("strace");
    // As a grandchild, so that the server is what the test ends.
    command.args(["--daemonize", "--follow-forks", "--output=/dev/null", "--trace=sendmsg"]);
    command.arg("--inject=sendmsg:error=EAGAIN:when=5+7").arg(toll_path());
    let options = ["--quic", "--library", "rustls-ring", "--tickets", "on"];
    let server = Serve::start_by(command, "127.0.0.1", &options);
    check_objects(&fetched(python, server.tls).0);
}

#[test]
fn caddy_serves_http3_and_says_nothing_of_it_over_tcp() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings {
        versions: vec![Version::Tls13],
        target: Target { quic: true, ..settings().target },
        ..settings()
    };
    let caddy = start(server("caddy"), &settings, &folder);
    let https = caddy.facts().https;
    let (responses, second) = fetched(python, https);
    assert!(second.resumed);
    // It has the objects that these settings ask for.
    let of = |path: &str| responses.iter().find(|response| response.path == path).unwrap();
    let object = of("/bytes/1MiB");
    assert_eq!(object.sha256, sha256(&objects::slice(0)[..1 << 20]));
    assert_eq!(of("/nothing").fields[":status"], "404");
    let url = format!("https://{https}/bytes/1MiB");
    let mut curl = Command::new("curl");
    let head = run(curl.args(["--silent", "--insecure", "--head", &url])).to_lowercase();
    assert!(head.contains("200") && !head.contains("alt-svc"), "{head}");
}

#[test]
fn toll_gets_the_objects_of_aioquics_server() {
    const SIZE: usize = 300_000;
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let identity = Identity::generate(CertificateKey::EcdsaP256).unwrap();
    std::fs::write(at("object"), &objects::slice(0)[..SIZE]).unwrap();
    std::fs::write(at("certificate.pem"), &identity.certificate_pem).unwrap();
    std::fs::write(at("key.pem"), &identity.key_pem).unwrap();
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/proofs/http3/serve.py");
    let mut server = Command::new(python)
        .arg(script)
        .args(["object", "certificate.pem", "key.pem"].map(at))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut port).unwrap();
    let url = format!("https://localhost:{}/bytes/{SIZE}B", port.trim());
    let mut load = Command::new(toll_path());
    load.args(["load", &url, "--http", "3", "--streams", "4", "--connections", "2"]);
    load.args(["--connect-to", &format!("127.0.0.1:{}", port.trim())]);
    load.args(["-n", "24", "--verify", "1/1", "--json", "--ca"]).arg(at("certificate.pem"));
    let line: serde_json::Value = serde_json::from_str(&run(&mut load)).unwrap();
    drop(server.stdin.take());
    server.wait().unwrap();
    assert_eq!(line["operations"]["completed"], 24, "{line}");
    assert_eq!(line["operations"]["errors"], serde_json::json!({}), "{line}");
    assert_eq!(line["bytes"]["body"], 24 * SIZE, "{line}");
    assert_eq!(line["receipt"]["obtained"]["http"]["3 on QUIC 1"], 2, "{line}");
}
