//! Clients of the field, asking a server for a generated object.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::text;

/// What curl says of a transfer over TLS from a server with this certificate, and the body.
#[track_caller]
pub fn curl(
    server: SocketAddr,
    certificate: &Path,
    object: &str,
    options: &[&str],
) -> (String, Vec<u8>) {
    let output = Command::new("curl")
        .args(["--silent", "--verbose", "--max-time", "10", "--cacert"])
        .arg(certificate)
        .args(options)
        .arg(format!("https://{server}/bytes/{object}"))
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    (said, output.stdout)
}

/// What OpenSSL's client prints of a connection that asks for an object and is then closed.
pub fn s_client(server: SocketAddr, options: &[&str]) -> String {
    let mut client = Command::new("timeout")
        .args(["10", "openssl", "s_client", "-connect", &server.to_string()])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Tickets come before the answer; the server closes after it.
    let mut stdin = client.stdin.take().unwrap();
    stdin.write_all(b"GET /bytes/1000B HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut output = Vec::new();
    client.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    drop(stdin);
    client.wait().unwrap();
    text(&output)
}

/// A program of the field; a missing one fails the test with what to install.
#[track_caller]
pub fn peer(program: &str) -> Command {
    let package = match program {
        "ab" => "apache2-utils",
        "h2load" => "nghttp2-client",
        "vgdb" => "valgrind",
        other => other,
    };
    let found = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    });
    assert!(found, "{program} is missing; install it with: apt-get install {package}");
    Command::new(program)
}
