//! Studies with `[[primitives]]` as a user runs them, with the real libraries.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use journal::Journal;
use tempfile::TempDir;

/// No test waits longer for anything.
const LIMIT: Duration = Duration::from_secs(120);

/// Held while something is measured: two at once disturb each other.
static MACHINE: Mutex<()> = Mutex::new(());

const STUDY: &str = r#"
schema = 1
question = "Does a table work?"
reference = "xeon-scalable"
[[primitives]]
name = "ciphers"
algorithms = ["AES-128-GCM", "AES-128-CBC encrypt"]
libraries = ["openssl", "aws-lc"]
sizes = ["64B", "8KiB"]
rounds = 2
samples = 3
[[answer]]
primitives = "ciphers"
question = "What does another library bring?"
compare = "library"
baseline = "openssl"
project = [4]
"#;

/// A folder with a study file, and room for results.
struct Desk {
    folder: TempDir,
    _machine: MutexGuard<'static, ()>,
}

impl Desk {
    fn new(study: &str) -> Self {
        let machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("small.toml"), study).unwrap();
        Self { folder, _machine: machine }
    }

    fn run(&self, arguments: &[&str]) -> Command {
        let mut command = toll(&["run"]);
        command.arg(self.folder.path().join("small.toml"));
        command.arg("--out").arg(self.folder.path().join("results")).args(arguments);
        command
    }

    /// The one result folder, where there is one.
    fn results(&self) -> Option<PathBuf> {
        let mut folders = std::fs::read_dir(self.folder.path().join("results")).ok()?;
        folders.next().map(|entry| entry.unwrap().path())
    }

    fn journal(&self) -> PathBuf {
        self.results().unwrap().join("journal.jsonl")
    }

    fn lines(&self) -> Vec<journal::primitive::Line> {
        Journal::entries(&self.journal()).unwrap().primitives
    }

    fn page(&self) -> String {
        std::fs::read_to_string(self.results().unwrap().join("report.html")).unwrap()
    }

    fn report(&self) -> serde_json::Value {
        let output = toll(&["report", "--json"]).arg(self.results().unwrap()).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
    }

    fn go_on(&self) -> Output {
        toll(&["run", "--continue"]).arg(self.results().unwrap()).output().unwrap()
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

#[test]
fn the_gates_of_answers_decide_the_exit_code() {
    for (gate, code) in [("ratio >= 0.001", 0), ("ratio >= 1000", 1)] {
        let desk = Desk::new(&format!("{STUDY}gate = \"{gate}\"\n"));
        let output = desk.run(&[]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(told.contains(&format!("Gate {gate} (ciphers: times as fast) ")), "{told}");
    }
}

#[test]
fn a_table_is_measured_kept_and_reported() {
    let desk = Desk::new(STUDY);
    let output = desk.run(&[]).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    assert!(said.contains("What does another library bring?"), "{said}");
    assert!(said.contains("as fast as OpenSSL"), "{said}");
    let lines = desk.lines();
    assert_eq!(lines.len(), 2 * 2 * 2 * 2);
    for line in &lines {
        let journal::primitive::Outcome::Measured(figure) = &line.outcome else {
            panic!("{line:?}")
        };
        assert!(figure.cycles_per_byte.unwrap().median > 0.0 && figure.core_hz > 1e8, "{line:?}");
        assert!(!figure.confirmed_by.is_empty(), "{line:?}");
    }
    let page = desk.page();
    for part in ["What does another library bring?", "Projected, not measured.", "Xeon Scalable"] {
        assert!(page.contains(part), "{part}");
    }
    // Everything behind the journal can be had again from it.
    std::fs::remove_file(desk.results().unwrap().join("report.html")).unwrap();
    let report = desk.report();
    assert_eq!(desk.page(), page);
    let found = &report["primitives"];
    assert_eq!((found["done"].as_u64(), found["planned"].as_u64()), (Some(16), Some(16)));
    assert_eq!(found["rows"].as_array().unwrap().len(), 8);
    assert!(found["discarded"].as_array().unwrap().is_empty());
}

#[test]
fn a_dry_run_names_commands_and_time_and_does_nothing() {
    let desk = Desk::new(STUDY);
    let output = desk.run(&["--dry-run"]).output().unwrap();
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("toll bench \"AES-128-CBC encrypt\" AES-128-GCM --library openssl"),
        "{said}"
    );
    assert!(said.contains("primitives in ") && said.contains("about "), "{said}");
    assert!(desk.results().is_none());
}

#[test]
fn wrong_tables_are_one_line_with_their_place() {
    let desk = Desk::new(&STUDY.replace("\"aws-lc\"", "\"aws-lcc\""));
    let output = desk.run(&[]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said.contains("small.toml, line 8: primitives ciphers: libraries: `aws-lcc`"),
        "{said}"
    );
    assert!(said.contains("did you mean `aws-lc`?") && said.lines().count() == 1, "{said}");
    drop(desk);
    let desk = Desk::new(&STUDY.replace("\"aws-lc\"", "\"/no/such/libcrypto.so\""));
    let output = desk.run(&[]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("/no/such/libcrypto.so: there is no such file"), "{said}");
}

#[test]
fn a_run_that_was_killed_goes_on() {
    let desk = Desk::new(&STUDY.replace("rounds = 2", "rounds = 40").replace("= 3", "= 20"));
    let mut run = desk.run(&["--quiet"]).stdout(Stdio::null()).spawn().unwrap();
    wait_for_lines(&desk, &mut run);
    run.kill().unwrap();
    run.wait().unwrap();
    let before = desk.lines();
    assert!(!before.is_empty() && before.len() < 40 * 8);
    // To go on with all of it would take longer than a test needs: fewer rounds are left.
    let path = desk.results().unwrap().join("cells.json");
    let read = std::fs::read_to_string(&path).unwrap();
    assert!(read.contains("\"rounds\": 40"), "{read}");
    let rounds = before.iter().map(|line| line.round).max().unwrap() + 2;
    std::fs::write(&path, read.replace("\"rounds\": 40", &format!("\"rounds\": {rounds}")))
        .unwrap();
    let output = desk.go_on();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let after = desk.lines();
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(desk.report()["primitives"]["done"], rounds * 8);
}

#[test]
fn an_interrupt_keeps_whole_parts() {
    let desk = Desk::new(&STUDY.replace("rounds = 2", "rounds = 40").replace("= 3", "= 20"));
    let mut run = desk.run(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_lines(&desk, &mut run);
    let id = run.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("toll run --continue"), "{}", text(&output.stdout));
    assert_eq!(desk.lines().len() % 8, 0);
    assert!(desk.page().contains("This run is incomplete"), "it says so");
}

/// Waits until a part is in the journal.
fn wait_for_lines(desk: &Desk, run: &mut Child) {
    let deadline = Instant::now() + LIMIT;
    let has_lines = || {
        let path = desk.results().map(|folder| folder.join("journal.jsonl"));
        let entries = path.and_then(|path| Journal::entries(&path).ok());
        entries.is_some_and(|entries| !entries.primitives.is_empty())
    };
    while !has_lines() {
        assert!(Instant::now() < deadline && run.try_wait().unwrap().is_none());
        sleep(Duration::from_millis(10));
    }
}

/// A figure that was made better by hand is not believed.
#[test]
fn a_forged_line_is_discarded_and_told() {
    let desk = Desk::new(STUDY);
    assert!(desk.run(&["--quiet"]).output().unwrap().status.success());
    let journal = std::fs::read_to_string(desk.journal()).unwrap();
    let forged: Vec<String> = journal
        .lines()
        .map(|line| {
            let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
            let is_it = line["role"] == "primitive"
                && line["library"] == "aws-lc"
                && line["size_bytes"] == 8192
                && line["algorithm"] == "AES-128-GCM";
            if is_it {
                for part in ["low", "median", "high"] {
                    line["cycles_per_byte"][part] = 0.001.into();
                }
            }
            line.to_string()
        })
        .collect();
    std::fs::write(desk.journal(), forged.join("\n") + "\n").unwrap();
    let output = toll(&["report"]).arg(desk.results().unwrap()).output().unwrap();
    let said = text(&output.stdout);
    assert!(said.contains("Discarded lines of the journal"), "{said}");
    assert!(said.contains("cycles_per_byte is not cycles_per_op over the bytes"), "{said}");
    let found = desk.report()["primitives"].clone();
    assert_eq!(found["discarded"].as_array().unwrap().len(), 2);
    assert_eq!(found["done"], 14);
    assert!(desk.page().contains("Discarded lines of the journal"));
}

/// A libcrypto whose SHA-256 has one bit turned, and which is right in everything else.
fn lying_libcrypto(folder: &Path) -> PathBuf {
    let source = folder.join("lie.c");
    std::fs::write(
        &source,
        r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stddef.h>
        int EVP_DigestFinal_ex(void *ctx, unsigned char *out, unsigned *len) {
            int (*real)(void *, unsigned char *, unsigned *) = dlsym(RTLD_NEXT, "EVP_DigestFinal_ex");
            int ok = real(ctx, out, len);
            out[0] ^= 1;
            return ok;
        }
        "#,
    )
    .unwrap();
    let library = folder.join("libcrypto-lies.so");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wl,--no-as-needed", "-o"])
        .arg(&library)
        .arg(&source)
        .args(["-lcrypto", "-ldl"])
        .status()
        .unwrap();
    assert!(status.success());
    library
}

#[test]
fn a_library_that_lies_is_refused_and_no_number() {
    let folder = tempfile::tempdir().unwrap();
    let lying = lying_libcrypto(folder.path());
    let desk = Desk::new(&format!(
        "schema = 1\nquestion = \"Who lies?\"\n[[primitives]]\nname = \"hashes\"\n\
         algorithms = [\"SHA-256\"]\nlibraries = [\"openssl\", \"{}\"]\nsizes = [\"64B\"]\n\
         rounds = 1\nsamples = 3\n[[answer]]\nprimitives = \"hashes\"\ncompare = \"library\"\n\
         baseline = \"openssl\"\n",
        lying.display()
    ));
    let output = desk.run(&[]).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}{}", text(&output.stderr));
    assert!(said.contains("no figure: its result is not that of "), "{said}");
    assert!(said.contains("refused"), "{said}");
    let report = desk.report();
    let rows = report["primitives"]["rows"].as_array().unwrap();
    let of = |library: &str| rows.iter().find(|row| row["library"] == library).unwrap();
    assert!(of("openssl")["cost"].is_object());
    let lied = of(lying.to_str().unwrap());
    assert!(lied["cost"].is_null() && lied["no_figure"].is_string(), "{lied}");
    assert!(desk.page().contains("no figure: its result is not that of "));
}

/// A library that is not here leaves the others theirs.
#[test]
#[cfg(target_arch = "x86_64")]
fn what_is_not_available_is_said_and_the_rest_measured() {
    let desk = Desk::new(
        "schema = 1\nquestion = \"?\"\n[[primitives]]\nname = \"hashes\"\nalgorithms = [\"SHA-256\"]\n\
         libraries = [\"openssl\", \"multibuffer-avx512\"]\nsizes = [\"64B\"]\nhardware = \"none\"\n\
         rounds = 1\nsamples = 3\n",
    );
    let output = desk.run(&[]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = desk.report();
    let rows = report["primitives"]["rows"].as_array().unwrap();
    assert!(rows[0]["cost"].is_object(), "{rows:?}");
    assert!(rows[1]["no_figure"].as_str().unwrap().starts_with("not available here: "), "{rows:?}");
}
