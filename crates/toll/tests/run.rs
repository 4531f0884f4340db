//! `toll run quick` as a user runs it, with the real servers.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use study::{Journal, Line};

/// No test waits longer for anything.
const LIMIT: Duration = Duration::from_secs(120);

/// Held while a study runs: two at once disturb each other.
static MACHINE: Mutex<()> = Mutex::new(());

fn toll(arguments: &[&str], out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toll"));
    command.arg("run").args(arguments).arg("--out").arg(out);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The one result folder that a run made.
fn result_folder(out: &Path) -> PathBuf {
    let folders: Vec<PathBuf> =
        std::fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    assert!(folders[0].to_str().unwrap().ends_with("Z-quick"), "{folders:?}");
    folders[0].clone()
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

/// Starts the study for a person, and returns when the first trials have ended.
fn start_quick(out: &Path, deadline: Instant) -> Child {
    let mut run =
        toll(&["quick"], out).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let trials = || -> usize {
        let Ok(mut folders) = std::fs::read_dir(out) else { return 0 };
        let journal = folders.next().map(|entry| entry.unwrap().path().join("journal.jsonl"));
        journal.and_then(|path| Journal::read(&path).ok()).map_or(0, |lines| lines.len())
    };
    while trials() < 2 {
        assert!(Instant::now() < deadline && run.try_wait().unwrap().is_none());
        sleep(Duration::from_millis(20));
    }
    run
}

fn kill(signal: &str, pid: &str) {
    assert!(Command::new("kill").args([signal, pid]).status().unwrap().success());
}

fn has_nginx() -> bool {
    targets::find(&"nginx".parse().unwrap()).is_some()
}

fn expected_cells() -> BTreeSet<String> {
    let servers = if has_nginx() { &["embedded", "nginx"][..] } else { &["embedded"] };
    let work = ["handshakes", "plain-objects", "tls-objects"];
    let cells = servers.iter().flat_map(|server| work.map(|work| format!("{work}-{server}")));
    cells.collect()
}

#[test]
fn quick_measures_every_cell_and_leaves_a_journal_and_nothing_else() {
    let _machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let out = tempfile::tempdir().unwrap();
    let output = toll(&["quick", "--json"], out.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let folder = result_folder(out.path());
    let journal = Journal::read(&folder.join("journal.jsonl")).unwrap();
    let printed: Vec<Line> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(journal, printed);

    let places: Vec<_> = journal.iter().map(|line| line.place.as_ref().unwrap()).collect();
    let cells: BTreeSet<String> = places.iter().map(|place| place.cell.clone()).collect();
    assert_eq!(cells, expected_cells());
    assert_eq!(journal.len(), 3 * cells.len());
    for (i, (line, place)) in journal.iter().zip(&places).enumerate() {
        assert_eq!((place.order as usize, place.round as usize), (i, i / cells.len()));
        assert!(line.valid && line.verdict.evidence.server_busy.is_some(), "{line:?}");
        assert_eq!(line.receipt.mismatch, []);
        match place.case.as_str() {
            "plain-objects" => assert!(line.receipt.obtained.tls.is_empty()),
            _ => {
                let suites: Vec<_> = line.receipt.obtained.suite.keys().collect();
                assert_eq!(suites, ["TLS_AES_128_GCM_SHA256"]);
                let keys: Vec<_> = line.receipt.obtained.certificate_key.keys().collect();
                assert_eq!(keys, ["rsa:2048"]);
            }
        }
    }
    let machine = std::fs::read(folder.join("machine.json")).unwrap();
    assert!(serde_json::from_slice::<observe::Machine>(&machine).is_ok());
    assert!(folder.join("logs/embedded").is_dir());
    assert_eq!(processes_of(out.path()), []);
}

#[test]
fn an_interrupt_keeps_what_was_measured_and_stops_the_servers() {
    let _machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let out = tempfile::tempdir().unwrap();
    let deadline = Instant::now() + LIMIT;
    let run = start_quick(out.path(), deadline);
    // The run itself and its servers.
    assert!(processes_of(out.path()).len() > 1);
    kill("-INT", &run.id().to_string());
    let output = finish(run, deadline);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{said}{}", text(&output.stderr));
    assert!(said.contains("limited by ") && said.contains("Medians of the rounds"), "{said}");
    let lines = Journal::read(&result_folder(out.path()).join("journal.jsonl")).unwrap();
    assert!((2..3 * expected_cells().len()).contains(&lines.len()));
    assert_eq!(processes_of(out.path()), []);
}

#[test]
fn a_server_that_dies_ends_the_run_with_what_was_measured() {
    let _machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let out = tempfile::tempdir().unwrap();
    let deadline = Instant::now() + LIMIT;
    let run = start_quick(out.path(), deadline);
    let processes = processes_of(out.path());
    let (pid, _) = processes.iter().find(|(_, command)| command.contains(" serve ")).unwrap();
    kill("-KILL", pid);
    let output = finish(run, deadline);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.starts_with("toll: embedded died (signal: 9 (SIGKILL))"), "{said}");
    let folder = result_folder(out.path());
    assert!(said.contains(folder.to_str().unwrap()) && said.lines().count() == 1, "{said}");
    assert!(Journal::read(&folder.join("journal.jsonl")).unwrap().len() >= 2);
    assert_eq!(processes_of(out.path()), []);
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
    let out = tempfile::tempdir().unwrap();
    let unwritable = Path::new("/dev/null/results");
    for (study, out, expected) in [
        ("quik", out.path(), "`quik` is no study that toll brings along; it brings: quick"),
        ("quick", unwritable, "/dev/null/results: "),
    ] {
        let output = toll(&[study], out).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert_eq!(output.stdout, b"");
        assert!(said.contains(expected) && said.lines().count() == 1, "{said}");
    }
    assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 0);
}
