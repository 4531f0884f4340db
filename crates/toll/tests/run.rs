//! `toll run` and `toll report` as a user runs them, with the real servers.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use journal::Journal;
use tempfile::TempDir;
use trial::Line;

/// No test waits longer for anything.
const LIMIT: Duration = Duration::from_secs(120);

/// Held while a study runs: two at once disturb each other.
static MACHINE: Mutex<()> = Mutex::new(());

/// Four cells for each server, two trials each: long enough to be interrupted.
const STUDY: &str = r#"
schema = 1
question = "Does a study work?"
trials = 2
[target]
object = "64KiB"
[load]
connections = 4
warmup = "50ms"
duration = "300ms"
[[case]]
name = "handshakes"
load.operation = "handshakes"
load.tls = "1.3"
sweep."target.server" = ["embedded", "nginx"]
sweep."target.certificate-key" = ["rsa:2048", "ecdsa:p256"]
[[case]]
name = "bulk"
sweep."target.server" = ["embedded", "nginx"]
sweep."load.suite" = ["none", "TLS_AES_128_GCM_SHA256"]
[[answer]]
case = "handshakes"
metric = "rate-per-server-cpu"
compare = "target.certificate-key"
baseline = "rsa:2048"
[[answer]]
case = "bulk"
metric = "tls-tax"
compare = "load.suite"
baseline = "none"
"#;

/// A folder with a study file, and room for results.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new(study: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("small.toml"), study).unwrap();
        Self { folder }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("results")
    }

    fn run(&self, arguments: &[&str]) -> Command {
        let mut command = toll(&["run"]);
        command.arg(self.folder.path().join("small.toml")).arg("--out").arg(self.out());
        command.args(arguments);
        command
    }

    /// The one result folder that was made.
    fn results(&self) -> PathBuf {
        let folders: Vec<PathBuf> =
            std::fs::read_dir(self.out()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(folders.len(), 1, "{folders:?}");
        assert!(folders[0].to_str().unwrap().ends_with("Z-small"), "{folders:?}");
        folders[0].clone()
    }

    fn lines(&self) -> Vec<Line> {
        Journal::read(&self.results().join("journal.jsonl")).unwrap()
    }

    /// Starts the study for a person, and returns when the first trials have ended.
    fn start(&self, deadline: Instant) -> Child {
        let mut run = self.run(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let trials = || -> usize {
            let Ok(mut folders) = std::fs::read_dir(self.out()) else { return 0 };
            let journal = folders.next().map(|entry| entry.unwrap().path().join("journal.jsonl"));
            journal.and_then(|path| Journal::read(&path).ok()).map_or(0, |lines| lines.len())
        };
        while trials() < 2 {
            assert!(Instant::now() < deadline && run.try_wait().unwrap().is_none());
            sleep(Duration::from_millis(10));
        }
        run
    }

    fn go_on(&self) -> Output {
        toll(&["run", "--continue"]).arg(self.results()).output().unwrap()
    }

    /// The servers' private keys went with them, their certificates are there.
    fn assert_no_keys(&self) {
        let targets = std::fs::read_dir(self.results().join("targets")).unwrap().flatten();
        for target in targets.map(|target| target.path()) {
            assert!(target.join("server.crt").exists() && !target.join("server.key").exists());
        }
    }

    /// Every cell of the study has two valid trials, of two rounds.
    fn assert_complete(&self) {
        let lines = self.lines();
        let valid: BTreeSet<(String, u32)> = lines
            .iter()
            .filter(|line| line.valid)
            .map(|line| line.place.as_ref().unwrap())
            .map(|place| (place.cell.clone(), place.round))
            .collect();
        assert_eq!(valid.len(), 16, "{valid:?}");
        let orders: Vec<u32> =
            lines.iter().map(|line| line.place.as_ref().unwrap().order).collect();
        assert_eq!(orders, (0..lines.len() as u32).collect::<Vec<_>>());
    }
}

fn toll(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toll"));
    command.args(arguments);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn read(path: PathBuf) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Numbers and command lines of processes that name `folder`, as those of the servers do.
fn processes_of(folder: &Path) -> Vec<(String, String)> {
    let folder = folder.to_str().unwrap();
    let command_line = |entry: std::fs::DirEntry| {
        let bytes = std::fs::read(entry.path().join("cmdline")).ok()?;
        let pid = entry.file_name().into_string().ok()?;
        Some((pid, String::from_utf8_lossy(&bytes).replace('\0', " ")))
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(command_line)
        .filter(|(_, command)| command.contains(folder))
        .collect()
}

fn kill(signal: &str, pid: &str) {
    assert!(Command::new("kill").args([signal, pid]).status().unwrap().success());
}

fn machine() -> std::sync::MutexGuard<'static, ()> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_study_measures_every_cell_and_leaves_its_folder_and_nothing_else() {
    let _machine = machine();
    let desk = Desk::new(STUDY);
    let output = desk.run(&["--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = desk.lines();
    assert_eq!(text(&output.stdout), read(desk.results().join("journal.jsonl")));
    desk.assert_complete();
    for line in &lines {
        let place = line.place.as_ref().unwrap();
        assert!(line.valid && line.verdict.evidence.server_busy.is_some(), "{line:?}");
        assert_eq!(line.receipt.mismatch, []);
        let obtained = &line.receipt.obtained;
        match place.params.get("load.suite").map(String::as_str) {
            Some("none") => assert!(obtained.tls.is_empty()),
            Some(suite) => assert_eq!(obtained.suite.keys().collect::<Vec<_>>(), [suite]),
            None => {
                let key = &place.params["target.certificate-key"];
                assert_eq!(obtained.certificate_key.keys().collect::<Vec<_>>(), [key]);
            }
        }
        let log = read(desk.results().join(line.latency_ns.file.as_ref().unwrap()));
        assert!(log.contains("\nTag=whole,"), "{log}");
    }
    let results = desk.results();
    assert!(serde_json::from_str::<observe::Machine>(&read(results.join("machine.json"))).is_ok());
    assert_eq!(read(results.join("cells.csv")).lines().count(), 1 + 8);
    assert!(read(results.join("report.html")).contains("Does a study work?"));
    for name in ["embedded", "embedded-2", "nginx", "nginx-2"] {
        assert!(results.join("logs").join(name).is_dir(), "{name}");
    }
    assert_eq!(processes_of(desk.folder.path()), []);
    desk.assert_no_keys();
}

#[test]
fn a_person_gets_the_answers_first_and_the_report_can_be_had_again() {
    let _machine = machine();
    let desk = Desk::new(STUDY);
    let output = desk.run(&[]).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    let place = |what: &str| said.find(what).unwrap_or_else(|| panic!("no `{what}` in {said}"));
    assert!(place(" answers (rsa:2048 certificate") < place("One core of this machine makes "));
    assert!(place("One core of this machine makes ") < place("report.html"), "{said}");
    assert!(place("TLS takes ") < place("report.html"), "{said}");
    assert!(!said.contains('\x1b') && output.stderr.is_empty(), "{said}");

    let results = desk.results();
    let (html, csv) = (read(results.join("report.html")), read(results.join("cells.csv")));
    std::fs::remove_file(results.join("report.html")).unwrap();
    std::fs::remove_file(results.join("cells.csv")).unwrap();
    let output = toll(&["report"]).arg(&results).output().unwrap();
    let again = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let answers = &said[place("One core of this machine makes ")..place("Report: ")];
    assert!(again.contains(answers), "{again}\n\nbefore:\n\n{said}");
    assert_eq!((read(results.join("report.html")), read(results.join("cells.csv"))), (html, csv));

    let output = toll(&["report", "--json"]).arg(&results).output().unwrap();
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["trials"]["done"], &found["trials"]["valid"]), (&16.into(), &16.into()));
    assert_eq!(found["answers"].as_array().unwrap().len(), 4);

    let quiet = toll(&["run", "--quiet", "--continue"]).arg(&results).output().unwrap();
    assert_eq!(quiet.status.code(), Some(0), "{}", text(&quiet.stderr));
    assert!(text(&quiet.stdout).contains(answers), "a complete run has nothing to measure");
    assert_eq!(desk.lines().len(), 16);
}

#[test]
fn an_interrupted_run_keeps_what_was_measured_and_goes_on() {
    let _machine = machine();
    let desk = Desk::new(STUDY);
    let deadline = Instant::now() + LIMIT;
    let run = desk.start(deadline);
    // The run itself and its servers.
    assert!(processes_of(desk.folder.path()).len() > 1);
    let busy = desk.go_on();
    assert_eq!(busy.status.code(), Some(2));
    assert!(text(&busy.stderr).contains("is being written by another toll"));
    kill("-INT", &run.id().to_string());
    let output = finish(run, deadline);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{said}{}", text(&output.stderr));
    assert!(said.contains("Interrupted. To measure the rest: toll run --continue "), "{said}");
    assert!(desk.results().join("report.html").exists());
    let before = desk.lines();
    assert!((2..16).contains(&before.len()));
    assert_eq!(processes_of(desk.folder.path()), []);
    desk.assert_no_keys();

    let output = desk.go_on();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    desk.assert_complete();
    assert_eq!(desk.lines()[..before.len()], before);
}

#[test]
fn a_killed_run_loses_the_trial_under_way_only_and_goes_on() {
    let _machine = machine();
    let desk = Desk::new(STUDY);
    let deadline = Instant::now() + LIMIT;
    let run = desk.start(deadline);
    kill("-KILL", &run.id().to_string());
    finish(run, deadline);
    while !processes_of(desk.folder.path()).is_empty() {
        assert!(Instant::now() < deadline, "{:?}", processes_of(desk.folder.path()));
        sleep(Duration::from_millis(20));
    }
    desk.assert_no_keys();
    assert!(desk.lines().len() >= 2);
    let output = desk.go_on();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    desk.assert_complete();
}

#[test]
fn a_server_that_dies_ends_the_run_with_what_was_measured() {
    let _machine = machine();
    let desk = Desk::new(STUDY);
    let deadline = Instant::now() + LIMIT;
    let run = desk.start(deadline);
    let processes = processes_of(desk.folder.path());
    let (pid, _) = processes.iter().find(|(_, command)| command.contains(" serve ")).unwrap();
    kill("-KILL", pid);
    let output = finish(run, deadline);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains(" died (signal: 9 (SIGKILL))") && said.lines().count() == 1, "{said}");
    assert!(said.contains(desk.results().to_str().unwrap()), "{said}");
    assert!(desk.lines().len() >= 2 && desk.results().join("report.html").exists());
    assert_eq!(processes_of(desk.folder.path()), []);
    desk.assert_no_keys();
    let output = desk.go_on();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    desk.assert_complete();
}

/// A process that is killed when the test ends, however it ends.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_maximum_that_was_not_the_servers_is_marked() {
    let _machine = machine();
    let cpu = cpus::CpuList::allowed().unwrap().as_slice()[0].to_string();
    let shared = STUDY
        .replace("[target]\n", &format!("[target]\ncpus = \"{cpu}\"\n"))
        .replace("[load]\n", &format!("[load]\ncpus = \"{cpu}\"\n"))
        .replace("\"300ms\"", "\"400ms\"")
        .replace(", \"nginx\"", "");
    let desk = Desk::new(&shared);
    let _hog = Killed(
        Command::new("taskset")
            .args(["-c", &cpu, "sh", "-c", "while :; do :; done"])
            .spawn()
            .unwrap(),
    );
    let output = desk.run(&[]).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    let found = toll(&["report", "--json"]).arg(desk.results()).output().unwrap();
    let found: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
    for cell in found["cells"].as_array().unwrap() {
        let mark = cell["mark"].as_str().unwrap();
        assert!(["client-bound", "not-server-bound"].contains(&mark), "{cell}");
    }
    for answer in found["answers"].as_array().unwrap() {
        assert_ne!(answer["caveats"], serde_json::json!([]), "{answer}");
    }
    let html = read(desk.results().join("report.html"));
    assert!(html.contains("client-bound") || html.contains("not server-bound"));
}

#[test]
fn the_gates_of_answers_decide_the_exit_code() {
    let study = |gate: &str| {
        let study = STUDY.replace("sweep.\"target.server\" = [\"embedded\", \"nginx\"]\n", "");
        let study = study.replace("[target]", "[target]\nserver = \"embedded\"");
        let baseline = "baseline = \"rsa:2048\"\n";
        study.replace(baseline, &format!("{baseline}gate = {gate}\n"))
    };
    let _machine = machine();
    for (gate, code, result) in [
        ("[\"ratio >= 0.01\", \"ratio <= 100\"]", 0, "met by 1 cell"),
        ("\"ratio >= 100\"", 1, "NOT met by 1 of 1 cell"),
    ] {
        let desk = Desk::new(&study(gate));
        let output = desk.run(&["--only", "case=handshakes"]).output().unwrap();
        let told = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(told.contains(&format!("(handshakes: rate of one core) {result}")), "{told}");
        // The report judges the same.
        let again = toll(&["report"]).arg(desk.results()).output().unwrap();
        assert_eq!(again.status.code(), Some(code));
    }
}

#[test]
fn a_dry_run_tells_what_it_would_do_and_touches_nothing() {
    let desk = Desk::new(STUDY);
    let output = desk.run(&["--dry-run"]).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        said.starts_with("Does a study work?\n\n8 cells, 2 trials each, 16 trials in all"),
        "{said}"
    );
    assert!(said.contains("  handshakes-0002  embedded (CPU "), "{said}");
    assert!(said.contains(", ecdsa:p256), handshakes from CPU "), "{said}");
    assert!(said.contains("  toll serve --json --listen 127.0.0.1:0 "), "{said}");
    assert!(said.contains("/targets/embedded-2/server.key"), "{said}");
    assert!(!desk.out().exists() && processes_of(desk.folder.path()).is_empty());
}

#[test]
fn quick_is_a_study_that_toll_brings_along() {
    let folder = tempfile::tempdir().unwrap();
    let output = toll(&["run", "quick", "--dry-run"]).current_dir(folder.path()).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said.contains("14 cells, 9 trials each, 126 trials in all"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Waits for the end of a process that writes little.
fn finish(mut process: Child, deadline: Instant) -> Output {
    let status = loop {
        if let Some(status) = process.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            process.kill().unwrap();
        }
        sleep(Duration::from_millis(20));
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    process.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
    process.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
    Output { status, stdout, stderr }
}

#[test]
fn a_wrong_request_ends_in_one_line_before_anything_starts() {
    let desk = Desk::new(&STUDY.replace("\"300ms\"", "300"));
    let out = desk.out();
    let file = desk.folder.path().join("small.toml");
    let nothing = desk.folder.path();
    for (arguments, expected) in [
        (vec!["run".as_ref(), "quik".as_ref()], "quick"),
        (vec!["run".as_ref(), file.as_os_str()], "small.toml, line 10: "),
        (vec!["run".as_ref(), "--continue".as_ref(), nothing.as_os_str()], "study.toml: "),
        (vec!["report".as_ref(), nothing.as_os_str()], "study.toml: "),
        (
            vec!["run".as_ref(), "quick".as_ref(), "--out".as_ref(), "/dev/null/x".as_ref()],
            "/dev/null/x: ",
        ),
    ] {
        let output = toll(&[]).args(&arguments).current_dir(desk.folder.path()).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(output.stdout, b"");
        assert!(said.contains(expected) && said.lines().count() == 1, "{arguments:?}: {said}");
    }
    assert!(!out.exists());
}

#[test]
fn results_of_another_machine_are_not_gone_on_with() {
    let _machine = machine();
    let desk = Desk::new(STUDY);
    let deadline = Instant::now() + LIMIT;
    let run = desk.start(deadline);
    kill("-INT", &run.id().to_string());
    finish(run, deadline);
    let (path, before) = (desk.results().join("machine.json"), desk.lines().len());
    let mut machine: observe::Machine = serde_json::from_str(&read(path.clone())).unwrap();
    machine.openssl = "OpenSSL 0.9.7".to_owned();
    std::fs::write(&path, serde_json::to_string(&machine).unwrap()).unwrap();
    let output = desk.go_on();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("not the machine that was measured before")
            && said.contains("OpenSSL 0.9.7 before"),
        "{said}"
    );
    assert_eq!(desk.lines().len(), before);
}
