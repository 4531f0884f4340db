//! A running `toll serve`, and what a client needs to ask it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use units::Bytes;

/// What anything here may take; far more than it does.
pub(crate) const LIMIT: Duration = Duration::from_secs(180);

/// A running `toll serve`, killed when it goes out of scope.
pub(crate) struct Serve {
    pub(crate) child: Child,
    pub(crate) tls: SocketAddr,
    pub(crate) plain: SocketAddr,
    pub(crate) folder: TempDir,
}

impl Serve {
    pub(crate) fn start(options: &[&str]) -> Self {
        Self::start_as(Command::new(env!("CARGO_BIN_EXE_toll")), options)
    }

    /// Starts the server through `command`, to which its arguments are added.
    pub(crate) fn start_as(mut command: Command, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut child = command
            .args(["serve", "--json", "--listen", "127.0.0.1:0", "--listen-plain", "127.0.0.1:0"])
            .arg("--write-certificate")
            .arg(folder.path().join("certificate.pem"))
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, receiver) = mpsc::channel();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            let mut line = String::new();
            let _ = stdout.read_line(&mut line);
            let _ = sender.send(line);
        });
        let line = receiver.recv_timeout(LIMIT).unwrap_or_default();
        let Ok(ready) = serde_json::from_str::<serde_json::Value>(&line) else {
            let _ = child.kill();
            panic!(
                "no server: {}",
                String::from_utf8_lossy(&child.wait_with_output().unwrap().stderr)
            );
        };
        assert_eq!(ready["pid"], child.id());
        assert!(ready["openssl"].as_str().unwrap().starts_with("OpenSSL"));
        let address = |key: &str| ready[key].as_str().unwrap().parse().unwrap();
        Self { tls: address("tls"), plain: address("plain"), child, folder }
    }

    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
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
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }

    /// The status code that curl sees.
    pub(crate) fn status(&self, arguments: &[&str]) -> String {
        let output = self
            .curl(&[&["--output", "/dev/null", "--write-out", "%{http_code}"], arguments].concat());
        String::from_utf8(output.stdout).unwrap()
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
        String::from_utf8_lossy(&answer).into_owned()
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
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// The exit code, which must come by itself.
    pub(crate) fn exit_code(&mut self) -> Option<i32> {
        let begin = Instant::now();
        while begin.elapsed() < LIMIT {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the server does not end");
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program of the field; a missing one fails the test with what to install.
pub(crate) fn peer(program: &str) -> Command {
    let package = match program {
        "ab" => "apache2-utils",
        "h2load" => "nghttp2-client",
        other => other,
    };
    let found = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    });
    assert!(found, "{program} is missing; install it with: apt-get install {package}");
    Command::new(program)
}

pub(crate) fn stdout_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

pub(crate) fn object(size: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    objects::write_to(&mut bytes, size.parse::<Bytes>().unwrap()).unwrap();
    bytes
}

/// The exit code and standard error of a `toll serve` that is not to start.
pub(crate) fn refusal(options: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_toll"))
        .arg("serve")
        .args(options)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.stdout.is_empty());
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

pub(crate) fn write(path: &Path, content: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}
