//! Studies of servers that are not toll's own: HAProxy, Apache, a command, an address, and one on another
//! library.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cpus::CpuList;
use tempfile::TempDir;
use trial::{Line, WarningKind};

const TOLL: &str = env!("CARGO_BIN_EXE_toll");
const LIMIT: Duration = Duration::from_secs(120);

/// What a run printed, and the lines of its journal.
struct Ran {
    code: Option<i32>,
    stderr: String,
    lines: Vec<Line>,
    folder: Option<PathBuf>,
}

/// Runs a study with these lines under `[target]` and in its only case.
fn run(folder: &TempDir, target: &str, case: &str) -> Ran {
    let file = folder.path().join("study.toml");
    let text = format!(
        "schema = 1\nquestion = \"?\"\ntrials = 1\n[target]\n{target}\n[load]\nconnections = 4\n\
         warmup = \"50ms\"\nduration = \"800ms\"\n[[case]]\nname = \"c\"\n{case}\n"
    );
    fs::write(&file, text).unwrap();
    let out = folder.path().join("results");
    let mut output =
        Command::new(TOLL).args(["run", "--quiet"]).arg(&file).arg("--out").arg(&out).output();
    let entries = fs::read_dir(&out).map(|entries| entries.flatten().collect::<Vec<_>>());
    let folder = entries.unwrap_or_default().first().map(fs::DirEntry::path);
    // A machine that is busy with others may complete nothing within a window; such a trial is not
    // valid, and is measured again.
    let deadline = Instant::now() + LIMIT;
    while let (Some(folder), Ok(ran)) = (&folder, &output)
        && ran.status.code() == Some(3)
        && Instant::now() < deadline
    {
        output = Command::new(TOLL).args(["run", "--quiet", "--continue"]).arg(folder).output();
    }
    let output = output.unwrap();
    let journal = folder.as_deref().map(|folder| folder.join("journal.jsonl"));
    let text = journal.and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    Ran {
        code: output.status.code(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        lines: text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        folder,
    }
}

impl Ran {
    /// The lines of valid trials, of which there are so many.
    fn valid(&self, number: usize) -> Vec<&Line> {
        assert_eq!(self.code, Some(0), "{} {:?}", self.stderr, self.lines);
        let valid: Vec<_> = self.lines.iter().filter(|line| line.valid).collect();
        assert_eq!(valid.len(), number, "{}", self.stderr);
        assert!(valid.iter().all(|line| line.operations.completed > 0));
        valid
    }
}

/// A server that is not toll's to start.
struct Elsewhere {
    process: Child,
    port: u16,
    certificate: PathBuf,
}

impl Elsewhere {
    fn start(folder: &Path) -> Self {
        let certificate = folder.join("cert.pem");
        let first = CpuList::allowed().unwrap().first(1).to_string();
        let mut process = Command::new(TOLL)
            .args(["serve", "--json", "--listen", "127.0.0.1:0", "--cpus", &first])
            .arg("--write-certificate")
            .arg(&certificate)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let announced: serde_json::Value = serde_json::from_str(&line).unwrap();
        let (_, port) = announced["tls"].as_str().unwrap().rsplit_once(':').unwrap();
        Self { process, port: port.parse().unwrap(), certificate }
    }

    fn target(&self) -> String {
        format!("server = \"address\"\nurl = \"https://127.0.0.1:{}/bytes/16KiB\"", self.port)
    }

    fn trusted(&self) -> String {
        format!("load.ca = \"{}\"", self.certificate.display())
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn haproxy_is_measured_without_its_backend() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(
        &folder,
        "server = \"haproxy\"\nif-missing = \"fail\"\nobject = \"256KiB\"",
        "sweep.\"load.suite\" = [\"none\", \"AES128-SHA\", \"TLS_AES_128_GCM_SHA256\"]",
    );
    for line in ran.valid(3) {
        let cpu = line.cpu_ns;
        assert!(cpu.server.unwrap() > 0 && cpu.backend.unwrap() > 0, "{cpu:?}");
        assert!(line.verdict.evidence.backend_busy.is_some());
        let warned = line.warnings.iter().any(|warning| warning.kind == WarningKind::SharedBackend);
        assert_eq!(warned, CpuList::allowed().unwrap().len() < 3, "{:?}", line.warnings);
    }
    let results = ran.folder.unwrap();
    for target in ["haproxy", "backend"] {
        let files = fs::read_dir(results.join("targets").join(target)).unwrap().flatten();
        let names: Vec<_> = files.map(|file| file.file_name().into_string().unwrap()).collect();
        assert!(names.iter().any(|name| name == "server.crt"), "{names:?}");
        assert!(!names.iter().any(|name| name.ends_with("key") || name.ends_with("pem")));
    }
    let logs = results.join("logs");
    assert!(logs.join("haproxy/output.log").is_file() && logs.join("backend").is_dir());
}

#[test]
fn apache_is_measured_with_what_it_negotiated() {
    let folder = tempfile::tempdir().unwrap();
    let suites = ["TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_AES_128_GCM_SHA256"];
    let ran = run(
        &folder,
        "server = \"apache\"\nif-missing = \"fail\"\nobject = \"64KiB\"\nencrypt-then-mac = true",
        &format!("sweep.\"load.suite\" = {suites:?}\nload.encrypt-then-mac = true"),
    );
    let mut negotiated = Vec::new();
    for line in ran.valid(2) {
        assert!(line.cpu_ns.server.unwrap() > 0, "{:?}", line.cpu_ns);
        assert!(line.receipt.mismatch.is_empty(), "{:?}", line.receipt);
        let libraries = &line.receipt.obtained.library;
        assert!(libraries.iter().any(|library| library.contains("libssl.so")), "{libraries:?}");
        for (suite, connections) in &line.receipt.obtained.suite {
            negotiated.push((suite.clone(), *connections, line.receipt.obtained.encrypt_then_mac));
        }
    }
    negotiated.sort_unstable();
    let [cbc, gcm] = suites.map(str::to_owned);
    assert_eq!(negotiated, [(gcm, 4, Some(false)), (cbc, 4, Some(true))]);
    assert!(ran.folder.unwrap().join("targets/apache/apache.conf").is_file());
}

#[test]
fn a_command_is_measured_with_all_its_processes() {
    let folder = tempfile::tempdir().unwrap();
    // The shell stays, so that the server is its child.
    let target = format!(
        "server = \"command\"\nobject = \"64KiB\"\ncommand = '{TOLL} serve --listen \
         127.0.0.1:{{port}} --certificate {{cert}} --key {{key}} --root {{root}} --cpus {{cpus}}; \
         exit 1'"
    );
    let ran = run(&folder, &target, "");
    let line = &ran.valid(1)[0];
    assert!(line.cpu_ns.server.unwrap() > 0);
    assert!(!line.receipt.obtained.library.is_empty());
}

#[test]
fn an_address_is_measured_and_its_process_accounted_for() {
    let folder = tempfile::tempdir().unwrap();
    let server = Elsewhere::start(folder.path());
    let pid = format!("{}\npid = {}", server.target(), server.process.id());
    let ran = run(&folder, &pid, &server.trusted());
    assert!(ran.valid(1)[0].cpu_ns.server.unwrap() > 0);

    let folder = tempfile::tempdir().unwrap();
    let ran = run(&folder, &server.target(), "load.insecure = true");
    assert_eq!(ran.valid(1)[0].cpu_ns.server, None);
}

#[test]
fn an_address_that_is_not_trusted_not_there_or_not_mine_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = Elsewhere::start(folder.path());
    let refusal = |target: &str, case: &str| {
        let folder = tempfile::tempdir().unwrap();
        let ran = run(&folder, target, case);
        assert_eq!((ran.code, ran.folder), (Some(2), None), "{}", ran.stderr);
        ran.stderr
    };
    let message = refusal(&server.target(), "");
    assert!(message.contains("c-0001: "), "{message}");
    let gone = format!("{}\npid = 4194305", server.target());
    let message = refusal(&gone, &server.trusted());
    assert!(message.contains("target.pid"), "{message}");
    let message = refusal("server = \"address\"\nurl = \"https://192.0.2.1/\"", "");
    assert!(message.contains("write target.i-operate-this-host = true"), "{message}");
}

#[test]
fn the_library_is_in_the_receipt_and_another_than_asked_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let target = "server = \"embedded\"\nobject = \"64KiB\"";
    let ran = run(&folder, target, "");
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
    let ran = run(&folder, target, &sweep);
    let copied = |line: &&Line| line.receipt.asked.library_path.is_some();
    let line = ran.valid(2).into_iter().find(copied).unwrap();
    for library in &line.receipt.obtained.library {
        assert!(library.starts_with(&copy.display().to_string()), "{library}");
    }

    // Of another ABI, which the server passes over.
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("lib");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("libcrypto.so.1.1"), "").unwrap();
    let ran = run(&folder, target, &format!("target.library-path = \"{}\"", other.display()));
    assert_eq!((ran.code, ran.lines.len()), (Some(2), 0), "{}", ran.stderr);
    assert!(ran.stderr.contains("does not use the TLS library in "), "{}", ran.stderr);
}
