//! A running `toll serve`, and what a client needs to ask it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::Deref;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use support::{peer, text, toll};
use tls::Stack;
use units::Bytes;

/// What anything here may take; far more than it does.
pub(crate) const LIMIT: Duration = Duration::from_secs(180);

/// A running `toll serve`.
pub(crate) struct Serve(pub(crate) support::Serve);

impl Deref for Serve {
    type Target = support::Serve;

    fn deref(&self) -> &support::Serve {
        &self.0
    }
}

impl Serve {
    pub(crate) fn start(options: &[&str]) -> Self {
        Self::start_as(toll(), options)
    }

    /// Starts the server on each of its TLS libraries, one after another.
    pub(crate) fn on_each_library(options: &[&str]) -> impl Iterator<Item = Self> {
        Stack::BUILT_IN.into_iter().map(|library| Self::start_on(library, options))
    }

    pub(crate) fn start_on(library: Stack, options: &[&str]) -> Self {
        eprintln!("on {library}");
        Self::start(&[&["--library", library.name()], options].concat())
    }

    /// Starts the server through `command`, to which its arguments are added.
    pub(crate) fn start_as(command: Command, options: &[&str]) -> Self {
        Self(support::Serve::start_by(command, "127.0.0.1", options))
    }

    pub(crate) fn https(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.tls.port())
    }

    pub(crate) fn http(&self, path: &str) -> String {
        format!("http://{}{path}", self.plain)
    }

    pub(crate) fn curl(&self, arguments: &[&str]) -> Output {
        let output = peer("curl")
            .args(["--silent", "--show-error", "--max-time", "50", "--cacert"])
            .arg(self.certificate())
            .args(arguments)
            .output();
        output.expect("curl runs")
    }

    /// The body that curl gets, after checking that it was content.
    pub(crate) fn fetch(&self, arguments: &[&str]) -> Vec<u8> {
        let output = self.curl(&[&["--fail"], arguments].concat());
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        output.stdout
    }

    /// The status code that curl sees.
    pub(crate) fn status(&self, arguments: &[&str]) -> String {
        let output = self
            .curl(&[&["--output", "/dev/null", "--write-out", "%{http_code}"], arguments].concat());
        text(&output.stdout)
    }

    /// A plain connection whose reads and writes have a limit.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect_timeout(&self.plain, LIMIT).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_write_timeout(Some(LIMIT)).unwrap();
        stream
    }

    /// All that the server answers to `request` until it closes.
    pub(crate) fn converse(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        text(&answer)
    }

    /// What `openssl s_client` says about a handshake.
    pub(crate) fn s_client(&self, arguments: &[&str]) -> String {
        let output = peer("openssl")
            .args(["s_client", "-connect", &self.tls.to_string(), "-CAfile"])
            .arg(self.certificate())
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        text(&[output.stdout, output.stderr].concat())
    }

    /// The exit code, which must come by itself.
    pub(crate) fn exit_code(&mut self) -> Option<i32> {
        self.0.process.exit_code()
    }
}

pub(crate) fn object(size: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    objects::write_to(&mut bytes, size.parse::<Bytes>().unwrap()).unwrap();
    bytes
}

/// The exit code and standard error of a `toll serve` that is not to start.
pub(crate) fn refusal(options: &[&str]) -> (Option<i32>, String) {
    let output = toll().arg("serve").args(options).stdin(Stdio::null()).output().unwrap();
    assert!(output.stdout.is_empty());
    (output.status.code(), text(&output.stderr))
}

pub(crate) fn write(path: &Path, content: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}
