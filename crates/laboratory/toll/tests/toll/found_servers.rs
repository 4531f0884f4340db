//! Servers whose process toll finds by itself or by a name, and those whose it does not.

use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};

use observe::{Fact, ServerProcess};
use support::{Serve, text, toll, toll_path};
use trial::TrialRecord;

/// The options of a short load.
const SHORT: [&str; 9] =
    ["load", "--insecure", "--json", "-c", "2", "-d", "200ms", "--warmup", "50ms"];

fn load(mut toll: Command, url: &str, options: &[&str]) -> Output {
    toll.args(SHORT).arg(url).args(options).output().unwrap()
}

fn line(output: &Output) -> TrialRecord {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

/// Why the server's process is not known.
#[track_caller]
fn unknown(line: &TrialRecord) -> &str {
    assert_eq!(line.cpu_ns.server, None);
    match line.server_process.as_ref().unwrap() {
        Fact::Unknown { not_available_here: why } => why,
        Fact::Known(found) => panic!("{found}"),
    }
}

#[test]
fn the_process_that_listens_is_found_and_its_cpu_time_counts() {
    let server = Serve::pinned(&["--quic", "--library", "rustls-ring"]);
    let url = format!("https://{}/bytes/1KiB", server.tls);
    for http in ["1.1", "3"] {
        let line = line(&load(toll(), &url, &["--http", http]));
        let expected = ServerProcess {
            name: "toll".to_owned(),
            pid: server.process.pid(),
            found_at_port: Some(server.tls.port()),
        };
        assert_eq!(line.server_process, Some(Fact::Known(expected)), "{http}");
        assert!(line.cpu_ns.server > Some(0), "{http}");
        assert!(line.evidence().unwrap().server_busy.is_some(), "{http}");
    }
}

#[test]
fn a_server_that_has_started_toll_is_not_counted() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in socket.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    let line = line(&load(toll(), &format!("http://{address}/"), &[]));
    let own = std::process::id().to_string();
    assert!(unknown(&line).contains(&own), "{}", unknown(&line));
}

/// Answers requests on a connection with an empty body.
fn serve(mut stream: std::net::TcpStream) {
    use std::io::{Read, Write};
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|read| read > 0) {
        if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
            return;
        }
    }
}

#[test]
fn an_ordinary_user_reads_what_is_lacking_and_may_name_the_process() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: needs root, which can be another user");
    }
    let server = Serve::pinned(&[]);
    let url = format!("https://{}/bytes/1KiB", server.tls);
    let user = || {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(toll_path());
        command
    };
    let unnamed = line(&load(user(), &url, &[]));
    assert!(unknown(&unnamed).contains("as root"), "{}", unknown(&unnamed));
    let named = line(&load(user(), &url, &["--server-pid", &server.pid()]));
    assert!(named.cpu_ns.server > Some(0), "{:?}", named.server_process);
}

#[test]
fn a_process_is_named_by_its_file_or_its_program_and_two_of_a_name_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let name = format!("t{}", std::process::id());
    let program = folder.path().join(&name);
    symlink(toll_path(), &program).unwrap();
    let start = || Serve::start_by(Command::new(&program), "127.0.0.1", &[]);
    let server = start();
    let url = format!("https://{}/bytes/1KiB", server.tls);
    let file = folder.path().join("server.pid");
    std::fs::write(&file, format!("{}\n", server.pid())).unwrap();
    let file = file.to_str().unwrap();
    for named in [&name, file] {
        let line = line(&load(toll(), &url, &["--server-pid", named]));
        let process = line.server_process.unwrap().or_why().unwrap();
        assert_eq!((process.pid, process.found_at_port), (server.process.pid(), None), "{named}");
    }
    let second = start();
    let refused = load(toll(), &url, &["--server-pid", &name]);
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!([&server, &second].iter().all(|of| said.contains(&of.pid())), "{said}");
    // The one that was found by its port is the one that listens there.
    let line = line(&load(toll(), &url, &[]));
    assert_eq!(line.server_process.unwrap().or_why().unwrap().pid, server.process.pid());
}
