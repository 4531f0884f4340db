//! `toll serve` under the clients of the field: curl, wrk, ab, h2load, `openssl s_client`, and
//! clients that misbehave.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use units::Bytes;

/// What anything here may take; far more than it does.
const LIMIT: Duration = Duration::from_secs(60);

/// A running `toll serve`, killed when it goes out of scope.
struct Serve {
    child: Child,
    tls: SocketAddr,
    plain: SocketAddr,
    folder: TempDir,
}

impl Serve {
    fn start(options: &[&str]) -> Self {
        Self::start_as(Command::new(env!("CARGO_BIN_EXE_toll")), options)
    }

    /// Starts the server through `command`, to which its arguments are added.
    fn start_as(mut command: Command, options: &[&str]) -> Self {
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

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    fn https(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.tls.port())
    }

    fn http(&self, path: &str) -> String {
        format!("http://{}{path}", self.plain)
    }

    fn curl(&self, arguments: &[&str]) -> Output {
        let output = peer("curl")
            .args(["--silent", "--show-error", "--max-time", "50", "--cacert"])
            .arg(self.certificate())
            .args(arguments)
            .output();
        output.expect("curl runs")
    }

    /// The body that curl gets, after checking that it was content.
    fn fetch(&self, arguments: &[&str]) -> Vec<u8> {
        let output = self.curl(&[&["--fail"], arguments].concat());
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }

    /// The status code that curl sees.
    fn status(&self, arguments: &[&str]) -> String {
        let output = self
            .curl(&[&["--output", "/dev/null", "--write-out", "%{http_code}"], arguments].concat());
        String::from_utf8(output.stdout).unwrap()
    }

    /// A plain connection whose reads and writes have a limit.
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect_timeout(&self.plain, LIMIT).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_write_timeout(Some(LIMIT)).unwrap();
        stream
    }

    /// All that the server answers to `request` until it closes.
    fn converse(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// What `openssl s_client` says about a handshake.
    fn s_client(&self, arguments: &[&str]) -> String {
        let output = peer("openssl")
            .args(["s_client", "-connect", &self.tls.to_string(), "-CAfile"])
            .arg(self.certificate())
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// The exit code, which must come by itself.
    fn exit_code(&mut self) -> Option<i32> {
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
fn peer(program: &str) -> Command {
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

fn stdout_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

fn object(size: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    objects::write_to(&mut bytes, size.parse::<Bytes>().unwrap()).unwrap();
    bytes
}

/// The exit code and standard error of a `toll serve` that is not to start.
fn refusal(options: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_toll"))
        .arg("serve")
        .args(options)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.stdout.is_empty());
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

fn write(path: &Path, content: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

const GET_1KIB: &str = "GET /bytes/1KiB HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[test]
fn curl_gets_the_generated_objects_over_every_version() {
    let server = Serve::start(&[]);
    for size in ["0B", "1B", "16KiB", "1MiB", "5MiB"] {
        let path = format!("/bytes/{size}");
        let expected = object(size);
        assert!(server.fetch(&[&server.http(&path)]) == expected, "plain {size}");
        for version in [&["--tlsv1.3"][..], &["--tls-max", "1.2"]] {
            let url = server.https(&path);
            assert!(server.fetch(&[version, &[&url]].concat()) == expected, "{version:?} {size}");
        }
    }
}

#[test]
fn curl_keeps_a_connection_for_several_requests() {
    let server = Serve::start(&[]);
    for url in [server.https("/bytes/1KiB"), server.http("/bytes/1KiB")] {
        let format = "%{num_connects}\n";
        let output = server.fetch(&[
            "--write-out",
            format,
            "-o",
            "/dev/null",
            "-o",
            "/dev/null",
            &url,
            &url,
        ]);
        assert_eq!(String::from_utf8(output).unwrap(), "1\n0\n");
    }
}

#[test]
fn head_has_the_length_and_no_content() {
    let server = Serve::start(&[]);
    for url in [server.https("/bytes/3MiB"), server.http("/bytes/3MiB")] {
        let head = String::from_utf8(server.fetch(&["--head", &url])).unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Length: 3145728\r\n"), "{head}");
        assert!(head.ends_with("\r\n\r\n"));
    }
}

#[test]
fn other_methods_and_unknown_paths_get_their_status() {
    let server = Serve::start(&[]);
    let url = server.https("/bytes/1KiB");
    assert_eq!(server.status(&["--data", "x=1", &url]), "405");
    assert_eq!(server.status(&["--request", "DELETE", &url]), "405");
    assert_eq!(server.status(&["--request", "GET", "--data", "body", &url]), "200");
    for path in ["/", "/bytes/", "/bytes/1", "/bytes/2TiB", "/etc/passwd"] {
        assert_eq!(server.status(&[&server.https(path)]), "404", "{path}");
    }
}

#[test]
fn files_are_served_and_nothing_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let large = object("3MiB").split_off(7);
    write(&root.join("inner/large"), &large);
    write(&root.join("bytes/1KiB"), b"a file");
    write(&root.join("empty"), b"");
    write(&folder.path().join("secret"), b"secret");
    std::os::unix::fs::symlink("../secret", root.join("link")).unwrap();
    let server = Serve::start(&["--root", root.to_str().unwrap()]);
    for base in [server.https(""), server.http("")] {
        assert!(server.fetch(&[&format!("{base}/inner/large")]) == large);
        assert_eq!(server.fetch(&[&format!("{base}/bytes/1KiB")]), b"a file");
        assert_eq!(server.fetch(&[&format!("{base}/bytes/2KiB")]), object("2KiB"));
        assert_eq!(server.fetch(&[&format!("{base}/empty")]), b"");
        for path in
            ["/../secret", "/inner/../../secret", "/%2e%2e/secret", "/link", "/inner", "/none"]
        {
            assert_eq!(server.status(&["--path-as-is", &format!("{base}{path}")]), "404", "{path}");
        }
    }
}

#[test]
fn a_file_that_is_cut_short_ends_its_response_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for encrypted in [true, false] {
        std::fs::File::create(&path).unwrap().set_len(1 << 30).unwrap();
        let server = Serve::start(&["--root", folder.path().to_str().unwrap()]);
        let url = if encrypted { server.https("/file") } else { server.http("/file") };
        let mut curl = peer("curl")
            .args(["--silent", "--insecure", "--limit-rate", "10M", "--max-time", "50", &url])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        curl.stdout.as_mut().unwrap().read_exact(&mut [0; 1 << 16]).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
        assert!(!curl.wait_with_output().unwrap().status.success(), "a short body is an error");
        assert_eq!(server.fetch(&[&server.https("/bytes/1KiB")]), object("1KiB"));
    }
}

#[test]
fn wrk_sees_no_error() {
    let server = Serve::start(&[]);
    for url in
        [server.https("/bytes/16KiB"), server.http("/bytes/16KiB"), server.https("/bytes/1MiB")]
    {
        let text = stdout_of(peer("wrk").args(["-t1", "-c16", "-d1s", &url]));
        assert!(text.contains("Requests/sec:"), "{text}");
        assert!(!text.contains("Non-2xx") && !text.contains("Socket errors"), "{text}");
        assert!(!text.contains(" 0 requests in"), "{text}");
    }
}

#[test]
fn ab_keeps_connections_or_not_as_it_asks() {
    let server = Serve::start(&["--certificate-key", "ecdsa:p256"]);
    for base in [format!("https://{}", server.tls), format!("http://{}", server.plain)] {
        for (keep, kept) in [(&["-k"][..], Some("200")), (&[], None)] {
            let url = format!("{base}/bytes/1KiB");
            let text =
                stdout_of(peer("ab").args(["-q", "-n", "200", "-c", "4"]).args(keep).arg(url));
            let field = |name: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(name));
                line.map(|value| value.split_whitespace().next().unwrap().to_owned())
            };
            assert_eq!(field("Complete requests:").as_deref(), Some("200"), "{text}");
            assert_eq!(field("Failed requests:").as_deref(), Some("0"), "{text}");
            assert_eq!(field("Keep-Alive requests:").as_deref(), kept, "{text}");
        }
    }
}

#[test]
fn h2load_agrees_on_http_1() {
    let server = Serve::start(&[]);
    let text = stdout_of(peer("h2load").args([
        "--h1",
        "-n100",
        "-c4",
        &format!("https://{}/bytes/64KiB", server.tls),
    ]));
    assert!(text.contains("Application protocol: http/1.1"), "{text}");
    assert!(text.contains("100 succeeded, 0 failed, 0 errored"), "{text}");
}

#[test]
fn exactly_the_suite_that_was_asked_for_is_negotiated() {
    for (suite, key, version, name) in [
        ("TLS_AES_128_GCM_SHA256", "rsa:2048", "New, TLSv1.3,", "TLS_AES_128_GCM_SHA256"),
        (
            "TLS_CHACHA20_POLY1305_SHA256",
            "ed25519",
            "New, TLSv1.3,",
            "TLS_CHACHA20_POLY1305_SHA256",
        ),
        ("TLS_RSA_WITH_AES_128_CBC_SHA", "rsa:2048", "Protocol  : TLSv1.2", "AES128-SHA"),
        ("AES128-GCM-SHA256", "rsa:1024", "Protocol  : TLSv1.2", "AES128-GCM-SHA256"),
        ("ECDHE-RSA-AES256-SHA384", "rsa:3072", "Protocol  : TLSv1.2", "ECDHE-RSA-AES256-SHA384"),
        (
            "ECDHE-ECDSA-AES128-GCM-SHA256",
            "ecdsa:p256",
            "Protocol  : TLSv1.2",
            "ECDHE-ECDSA-AES128-GCM-SHA256",
        ),
        (
            "ECDHE-ECDSA-AES256-GCM-SHA384",
            "ecdsa:p384",
            "Protocol  : TLSv1.2",
            "ECDHE-ECDSA-AES256-GCM-SHA384",
        ),
        (
            "ECDHE-ECDSA-AES128-GCM-SHA256",
            "ed25519",
            "Protocol  : TLSv1.2",
            "ECDHE-ECDSA-AES128-GCM-SHA256",
        ),
    ] {
        let server = Serve::start(&["--suites", suite, "--certificate-key", key]);
        let text = server.s_client(&["-cipher", "ALL:@SECLEVEL=0"]);
        assert!(text.contains(version), "{suite} {key}: {text}");
        assert!(text.contains(&format!(", Cipher is {name}\n")), "{suite} {key}: {text}");
        assert!(text.contains("Verify return code: 0 (ok)"), "{text}");
    }
}

#[test]
fn the_group_that_was_asked_for_is_used() {
    for (group, name) in
        [("x25519", "X25519"), ("secp256r1", "ECDH, prime256v1"), ("p-384", "ECDH, secp384r1")]
    {
        let server = Serve::start(&["--groups", group]);
        let text = server.s_client(&[]);
        assert!(text.contains(&format!("Server Temp Key: {name}")), "{group}: {text}");
    }
}

#[test]
fn encrypt_then_mac_is_agreed_to_or_not() {
    for setting in ["on", "off"] {
        let server = Serve::start(&["--suites", "AES128-SHA", "--encrypt-then-mac", setting]);
        let text = server.s_client(&["-tlsextdebug"]);
        assert!(text.contains("Cipher is AES128-SHA"), "{text}");
        let agreed = text.contains("TLS server extension \"encrypt-then-mac\"");
        assert_eq!(agreed, setting == "on", "{text}");
        assert!(
            server.fetch(&["--ciphers", "AES128-SHA", &server.https("/bytes/1MiB")])
                == object("1MiB")
        );
    }
}

#[test]
fn sessions_are_resumed_only_where_that_is_on() {
    for (options, resumed) in [
        (&["--tls", "1.2"][..], false),
        (&["--tls", "1.2", "--tickets", "on"], true),
        (&["--tls", "1.2", "--session-cache", "on"], true),
        (&["--tls", "1.3"], false),
        (&["--tls", "1.3", "--session-cache", "on"], false),
    ] {
        let server = Serve::start(options);
        let text = server.s_client(&["-reconnect"]);
        assert!(text.contains("New, TLSv1."), "{text}");
        assert_eq!(text.contains("Reused, TLSv1."), resumed, "{options:?}: {text}");
    }
}

#[test]
fn tickets_of_tls_1_3_are_sent_only_where_they_are_on() {
    for setting in ["on", "off"] {
        let server = Serve::start(&["--tickets", setting]);
        let output = peer("sh")
            .args(["-c", &format!(
                "printf 'GET /bytes/1B HTTP/1.0\\r\\n\\r\\n' | openssl s_client -connect {} -msg -ign_eof",
                server.tls
            )])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("200 OK"), "{text}");
        assert_eq!(text.contains("NewSessionTicket"), setting == "on", "{text}");
    }
}

#[test]
fn records_have_the_size_that_was_asked_for() {
    let server =
        Serve::start(&["--record-size", "512B", "--records-per-write", "3", "--tls", "1.3"]);
    assert!(server.fetch(&[&server.https("/bytes/1MiB")]) == object("1MiB"));
    let output = peer("sh")
        .args(["-c", &format!(
            "printf 'GET /bytes/64KiB HTTP/1.0\\r\\n\\r\\n' | openssl s_client -connect {} -msg -ign_eof",
            server.tls
        )])
        .output()
        .unwrap();
    // 512 bytes of content, one of content type and a tag of 16 make 529, 0x0211.
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("17 03 03 02 11"), "no record of 529 bytes");
    assert!(!text.contains("17 03 03 40 11"), "a record of 16 KiB");
}

#[test]
fn a_given_certificate_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("c.pem"), folder.path().join("k.pem"));
    tls::Identity::generate(tls::CertificateKey::EcdsaP384)
        .unwrap()
        .write(&certificate, &key)
        .unwrap();
    let (certificate, key) = (certificate.to_str().unwrap(), key.to_str().unwrap());
    let server = Serve::start(&["--certificate", certificate, "--key", key]);
    assert_eq!(
        server.fetch(&["--cacert", certificate, &server.https("/bytes/1KiB")]),
        object("1KiB")
    );
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Serve::start(&[]);
    let mut request = String::new();
    for size in 1..=300 {
        request += &format!("GET /bytes/{size}B HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    request += "HEAD /bytes/1MiB HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut stream = server.connect();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let mut rest = answer.as_slice();
    for size in 1..=300 {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {size}\r\nContent-Type: application/octet-stream\r\n\r\n"
        );
        rest = rest.strip_prefix(head.as_bytes()).unwrap();
        rest = rest.strip_prefix(object(&format!("{size}B")).as_slice()).unwrap();
    }
    let head = String::from_utf8_lossy(rest);
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n"), "{head}");
    assert!(head.ends_with("Connection: close\r\n\r\n"), "{head}");
}

#[test]
fn a_request_may_come_in_single_bytes() {
    let server = Serve::start(&[]);
    let mut stream = server.connect();
    stream.set_nodelay(true).unwrap();
    for byte in GET_1KIB.bytes() {
        stream.write_all(&[byte]).unwrap();
    }
    let mut answer = [0; 15];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
}

#[test]
fn a_client_that_closes_its_direction_gets_its_answer() {
    let server = Serve::start(&[]);
    let mut stream = server.connect();
    stream.write_all(b"GET /bytes/8MiB HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.ends_with(&object("8MiB")));
}

#[test]
fn what_is_no_request_gets_its_status_and_the_end() {
    let server = Serve::start(&[]);
    let long = "x".repeat(9_000);
    for (request, status) in [
        ("GET /bytes/1KiB HTTP/1.1\r\n\r\n".to_owned(), "400 Bad Request"),
        ("nonsense\r\n\r\n".to_owned(), "400 Bad Request"),
        ("GET / HTTP/3.0\r\nHost: a\r\n\r\n".to_owned(), "505 HTTP Version Not Supported"),
        (
            format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n"),
            "431 Request Header Fields Too Large",
        ),
        (format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), "414 URI Too Long"),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello".to_owned(),
            "405 Method Not Allowed",
        ),
        (
            "GET /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
            "404 Not Found",
        ),
    ] {
        let answer = server.converse(request.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request:.40}: {answer}");
        assert!(answer.contains("Connection: close\r\n"), "{answer}");
    }
}

#[test]
fn a_head_that_trickles_and_an_idle_connection_end() {
    let server = Serve::start(&["--timeout", "500ms"]);
    let mut idle = server.connect();
    let mut slow = server.connect();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n").unwrap();
    let mut trickling = slow.try_clone().unwrap();
    let trickle = std::thread::spawn(move || {
        // Until the server has had enough, or far beyond that.
        (0..3000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            trickling.write_all(b"a").is_err()
        })
    });
    let mut answer = Vec::new();
    let _ = slow.read_to_end(&mut answer);
    assert!(
        answer.starts_with(b"HTTP/1.1 408 Request Timeout"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    assert!(trickle.join().unwrap(), "the trickle never ended");
    assert_eq!(idle.read_to_end(&mut Vec::new()).unwrap(), 0);
}

#[test]
fn a_client_that_does_not_read_is_dropped() {
    let server = Serve::start(&["--timeout", "500ms"]);
    let mut stream = server.connect();
    stream.write_all(b"GET /bytes/1TiB HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    // The server's descriptors tell: the connection's goes away although nothing was read.
    let descriptors =
        || std::fs::read_dir(format!("/proc/{}/fd", server.child.id())).unwrap().count();
    stream.read_exact(&mut [0; 1024]).unwrap();
    let connected = descriptors();
    let begin = Instant::now();
    while descriptors() >= connected {
        assert!(begin.elapsed() < LIMIT, "the connection is kept");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(server.fetch(&[&server.http("/bytes/1KiB")]), object("1KiB"));
}

#[test]
fn one_large_download_does_not_starve_others() {
    let server = Serve::start(&["--cpus", "0"]);
    let mut greedy: Vec<_> = (0..4)
        .map(|_| {
            peer("curl")
                .args([
                    "--silent",
                    "--insecure",
                    "--output",
                    "/dev/null",
                    &server.https("/bytes/1TiB"),
                ])
                .spawn()
                .unwrap()
        })
        .collect();
    for _ in 0..5 {
        assert_eq!(server.fetch(&[&server.https("/bytes/1KiB")]), object("1KiB"));
    }
    for curl in &mut greedy {
        assert!(curl.try_wait().unwrap().is_none(), "a large download ended early");
        curl.kill().unwrap();
        curl.wait().unwrap();
    }
}

#[test]
fn garbage_instead_of_tls_and_broken_handshakes_do_no_harm() {
    let server = Serve::start(&[]);
    let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 5000], &hello[..], &[0x16], &[]] {
        let mut stream = TcpStream::connect_timeout(&server.tls, LIMIT).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        // An alert or a reset: the server ends it either way.
        let _ = stream.read_to_end(&mut Vec::new());
        let mut reset = connection_that_resets(&server);
        reset.write_all(bytes).unwrap();
    }
    assert_eq!(server.fetch(&[&server.https("/bytes/1KiB")]), object("1KiB"));
}

/// A connection that is reset, not closed, when it is dropped.
fn connection_that_resets(server: &Serve) -> TcpStream {
    let stream = TcpStream::connect_timeout(&server.tls, LIMIT).unwrap();
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    stream
}

#[test]
fn without_descriptors_connections_wait_and_are_served_later() {
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 24; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_toll")]);
    let server = Serve::start_as(limited, &["--cpus", "0"]);
    let hoard: Vec<_> = (0..40).map(|_| server.connect()).collect();
    let mut waiting = server.connect();
    waiting.write_all(GET_1KIB.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    drop(hoard);
    let mut answer = [0; 15];
    waiting.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
}

#[test]
fn a_busy_port_is_named() {
    let server = Serve::start(&[]);
    for cpus in ["0", "0,1"] {
        let (code, text) = refusal(&["--cpus", cpus, "--listen", &server.tls.to_string()]);
        if text.contains("is not available to this process") {
            continue;
        }
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
            "is a suite of TLS 1.3, which --tls leaves out",
        ),
        (
            &["--suites", "AES128-SHA", "--tls", "1.2,1.3"],
            "--tls offers TLS 1.3, and --suites names no suite of it",
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
        (&["--timeout", "0s"], "--timeout 0s would end every connection"),
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
        (&["--record-size", "32KiB"], "take 512B to 16KiB"),
        (&["--records-per-write", "0"], "take 1 to 64"),
        (&["--tls", "1.1"], "write 1.2 or 1.3"),
        (&["--certificate-key", "rsa:512"], "write rsa:1024"),
        (&["--tickets", "perhaps"], "--tickets"),
        (&["--groups", "secp521r1"], "is no group that toll knows"),
    ] {
        let (code, text) = refusal(options);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(expected), "{options:?}: {text}");
    }
}

#[test]
fn ctrl_c_finishes_the_transfer_in_flight() {
    for encrypted in [true, false] {
        let mut server = Serve::start(&[]);
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
        server.signal("-INT");
        let output = curl.wait_with_output().unwrap();
        assert!(output.status.success());
        first.extend(output.stdout);
        assert!(first == object("64MiB"));
        assert_eq!(server.exit_code(), Some(0));
        assert_eq!((&idle).read(&mut [0]).unwrap(), 0);
        let mut noise = String::new();
        server.child.stderr.take().unwrap().read_to_string(&mut noise).unwrap();
        assert_eq!(noise, "");
    }
}

#[test]
fn a_second_ctrl_c_ends_at_once() {
    let mut server = Serve::start(&[]);
    let mut stream = server.connect();
    stream.write_all(b"GET /bytes/1TiB HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    stream.read_exact(&mut [0; 1024]).unwrap();
    server.signal("-TERM");
    std::thread::sleep(Duration::from_millis(300));
    server.signal("-TERM");
    assert_eq!(server.exit_code(), Some(130));
}
