//! Studies of a command, of an address, and of the embedded server on another library.

use std::fs;
use std::path::Path;

use support::{Desk, Serve, first_cpu, text, toll_path};
use targets::{Target, TlsLibrary};
use trial::TrialRecord;

/// What a run printed, and the lines of its journal.
struct Ran {
    code: Option<i32>,
    stderr: String,
    lines: Vec<TrialRecord>,
    desk: Desk,
}

/// Runs a study with these lines under `[target]` and in its only case.
fn run(target: &str, case: &str) -> Ran {
    let desk = Desk::new(&format!(
        "schema = 1\nquestion = \"?\"\ntrials = 1\n[target]\n{target}\n[load]\nconnections = 4\n\
         warmup = \"50ms\"\nduration = \"300ms\"\n[[case]]\nname = \"c\"\n{case}\n"
    ));
    let output = desk.undisturbed(desk.run(&["--quiet"]).output().unwrap());
    let (code, stderr) = (output.status.code(), text(&output.stderr));
    Ran { code, stderr, lines: desk.lines(), desk }
}

impl Ran {
    /// The lines of valid trials, of which there must be `number`.
    fn valid(&self, number: usize) -> Vec<&TrialRecord> {
        assert_eq!(self.code, Some(0), "{} {:?}", self.stderr, self.lines);
        let valid: Vec<_> = self.lines.iter().filter(|line| line.valid).collect();
        assert_eq!(valid.len(), number, "{}", self.stderr);
        assert!(valid.iter().all(|line| line.operations.completed > 0));
        valid
    }
}

/// A server that is not the study's to start.
fn elsewhere() -> Serve {
    Serve::start(&["--cpus", &first_cpu().to_string()])
}

/// The lines of a target that is that server.
fn target(server: &Serve) -> String {
    format!("server = \"address\"\nurl = \"https://{}/bytes/16KiB\"", server.tls)
}

fn trusted(server: &Serve) -> String {
    format!("load.ca = \"{}\"", server.certificate().display())
}

#[test]
fn a_command_is_measured_with_all_its_processes() {
    // The shell stays, so that the server is its child.
    let target = format!(
        "server = \"command\"\nobject = \"64KiB\"\ncommand = '{} serve --listen \
         127.0.0.1:{{port}} --certificate {{cert}} --key {{key}} --root {{root}} --cpus {{cpus}}; \
         exit 1'",
        toll_path().display()
    );
    let ran = run(&target, "");
    let line = &ran.valid(1)[0];
    assert!(line.cpu_ns.server.unwrap() > 0);
    assert!(!line.receipt.obtained.library.is_empty());
}

#[test]
fn an_address_is_measured_and_its_process_accounted_for() {
    let server = elsewhere();
    let pid = format!("{}\npid = {}", target(&server), server.pid());
    let ran = run(&pid, &trusted(&server));
    assert!(ran.valid(1)[0].cpu_ns.server.unwrap() > 0);

    let ran = run(&target(&server), "load.insecure = true");
    // Nobody named it.
    let line = &ran.valid(1)[0];
    assert!(line.cpu_ns.server.unwrap() > 0);
    let found = line.server_process.clone().unwrap().or_why().unwrap();
    let expected = (server.pid(), Some(server.tls.port()));
    assert_eq!((found.pid.to_string(), found.found_at_port), expected);
}

#[test]
fn an_address_that_is_not_trusted_not_there_or_not_mine_is_refused() {
    let server = elsewhere();
    let refusal = |target: &str, case: &str| {
        let ran = run(target, case);
        assert_eq!((ran.code, ran.desk.results_if_any()), (Some(2), None), "{}", ran.stderr);
        ran.stderr
    };
    let message = refusal(&target(&server), "");
    assert!(message.contains("c-0001: "), "{message}");
    let gone = format!("{}\npid = 4194305", target(&server));
    let message = refusal(&gone, &trusted(&server));
    assert!(message.contains("target.pid"), "{message}");
    let message = refusal("server = \"address\"\nurl = \"https://192.0.2.1/\"", "");
    assert!(message.contains("target.i-operate-this-host"), "{message}");
}

#[test]
fn the_library_is_in_the_receipt_and_another_than_asked_is_refused() {
    let target = "server = \"embedded\"\nobject = \"64KiB\"";
    let ran = run(target, "");
    let system = &ran.valid(1)[0].receipt.obtained.library;
    assert_eq!(system.len(), 2, "{system:?}");

    let folder = tempfile::tempdir().unwrap();
    let copy = fs::canonicalize(folder.path()).unwrap().join("lib");
    fs::create_dir(&copy).unwrap();
    for library in system {
        let path = Path::new(library.split(" (").next().unwrap());
        fs::copy(path, copy.join(path.file_name().unwrap())).unwrap();
    }
    let sweep = format!("sweep.\"target.library-path\" = [\"system\", \"{}\"]", copy.display());
    let ran = run(target, &sweep);
    let copied = |line: &&TrialRecord| line.receipt.asked.library_path.is_some();
    let line = ran.valid(2).into_iter().find(copied).unwrap();
    for library in &line.receipt.obtained.library {
        assert!(library.starts_with(&copy.display().to_string()), "{library}");
    }

    // Of another ABI, which the server passes over.
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("lib");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("libcrypto.so.1.1"), "").unwrap();
    let ran = run(target, &format!("target.library-path = \"{}\"", other.display()));
    assert_eq!((ran.code, ran.lines.len()), (Some(2), 0), "{}", ran.stderr);
    assert!(ran.stderr.contains("does not use the TLS library in "), "{}", ran.stderr);
}

#[test]
fn the_embedded_servers_library_is_what_was_asked_for() {
    let built = Target { library: TlsLibrary::Built, ..Target::default() };
    let is_built =
        built.library_folder().is_some_and(|folder| folder.join("libssl.so.3").is_file());
    let libraries: Vec<_> = tls::Stack::BUILT_IN
        .map(tls::Stack::name)
        .into_iter()
        .chain(is_built.then_some("openssl-built"))
        .collect();
    let ran = run(
        "server = \"embedded\"\ncertificate-key = \"ecdsa:p256\"\ntickets = true",
        &format!(
            "load.operation = \"handshakes\"\nload.tls = \"1.3\"\n\
             sweep.\"target.library\" = {libraries:?}\n\
             sweep.\"load.resumption\" = [\"0%\", \"100%\"]"
        ),
    );
    for line in ran.valid(2 * libraries.len()) {
        let asked = line.receipt.asked.library.as_deref().unwrap();
        let obtained = line.receipt.obtained.library.join(", ");
        let expected = match asked {
            "openssl" => "libssl.so",
            "openssl-built" => "openssl/lib/libssl.so",
            "rustls-ring" => "with ring",
            _ => "with AWS-LC",
        };
        assert!(obtained.contains(expected), "{asked}: {obtained}");
        assert!(line.traffic.unwrap().bytes_sent > 200.0, "{:?}", line.traffic);
    }
}

/// A server that has only the other group of the key exchange.
#[test]
fn a_group_that_the_server_does_not_take_gives_no_figure() {
    for (group, other) in [("x25519", "X25519MLKEM768"), ("X25519MLKEM768", "x25519")] {
        let server = Serve::start(&["--library", "rustls-aws-lc", "--groups", other]);
        let case = format!(
            "load.operation = \"handshakes\"\nload.tls = \"1.3\"\nload.group = \"{group}\"\n{}",
            trusted(&server)
        );
        let ran = run(&target(&server), &case);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.lines.is_empty() && ran.stderr.contains("handshake"), "{}", ran.stderr);
    }
}

#[test]
fn a_group_that_the_servers_library_lacks_is_left_out_and_named() {
    let ran = run(
        "server = \"embedded\"",
        "load.operation = \"handshakes\"\nload.group = \"X25519MLKEM768\"\n\
         sweep.\"target.library\" = [\"openssl\", \"rustls-ring\", \"rustls-aws-lc\"]",
    );
    let version = tls::openssl_version();
    let is_old = ["3.0.", "3.1.", "3.2.", "3.3.", "3.4."].iter().any(|old| version.contains(old));
    ran.valid(if is_old { 1 } else { 2 });
    let targets = fs::read_to_string(ran.desk.results().join("targets.json")).unwrap();
    let named =
        |library: &str| targets.contains(&format!("{library}, which lacks X25519MLKEM768; "));
    assert!(named("embedded runs on rustls-ring") && named(")") == is_old, "{targets}");
}

#[test]
fn an_openssl_that_is_not_built_is_skipped_with_a_line() {
    // Beside no folder `target`.
    let folder = tempfile::tempdir().unwrap();
    let toll = folder.path().join("toll");
    fs::copy(toll_path(), &toll).unwrap();
    let study = folder.path().join("built.toml");
    let lines = "schema = 1\nquestion = \"?\"\ntrials = 1\n[target]\nserver = \"embedded\"\n[load]\n\
                connections = 4\nwarmup = \"50ms\"\nduration = \"500ms\"\n[[case]]\nname = \"c\"\n\
                sweep.\"target.library\" = [\"openssl\", \"openssl-built\"]\n";
    fs::write(&study, lines).unwrap();
    let output = std::process::Command::new(&toll)
        .current_dir(&folder)
        .args(["run", "built.toml", "--out", "results"])
        .output()
        .unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.code() != Some(2), "{said}");
    let skipped = "Skipped: a newer OpenSSL is not built (looked for ";
    assert!(said.contains(skipped) && said.contains("make openssl"), "{said}");
}
