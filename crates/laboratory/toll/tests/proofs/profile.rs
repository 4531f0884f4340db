//! Where a real server's CPU time goes.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use journal::{Param, Role, TrialLine};
use profile::{Class, Recording};
use rustix::process::{Pid, getpgid};
use support::{
    Desk, Killed, is_running, processes_with, text, toll, toll_path, until, write_program,
};

const STUDY: &str = r#"
schema = 1
question = "Where do the cycles go?"
trials = 1
[target]
object = "1MiB"
[load]
connections = 4
warmup = "100ms"
duration = "300ms"
[[case]]
name = "bulk"
sweep."target.server" = ["embedded", "nginx"]
sweep."load.suite" = ["none", "TLS_AES_128_GCM_SHA256"]
"#;

/// Whether CPUs can be sampled here; a line where they cannot.
fn can_sample() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let event = profile::Event::CpuClock;
    match Recording::start(event, &support::first_cpu(), &data) {
        Ok(_) => true,
        Err(why) => {
            eprintln!("skipped: {why}");
            false
        }
    }
}

fn profiles(lines: &str) -> Vec<TrialLine> {
    let lines = lines.lines().map(|line| serde_json::from_str::<TrialLine>(line).unwrap());
    lines.filter(|trial| trial.place.role == Role::Profile).collect()
}

#[test]
fn plain_http_needs_no_crypto_and_tls_does() {
    if !can_sample() {
        return;
    }
    let desk = Desk::new(STUDY);
    let output = desk.run(&["--profile", "--json"]).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    let profiles = profiles(&said);
    assert_eq!(profiles.len(), 4);
    for trial in &profiles {
        let profile = trial.line.profile.as_ref().unwrap();
        let share = |class| profile.share(class).unwrap_or_default();
        let crypto = share(Class::SymmetricCrypto) + share(Class::CryptoWithoutSymbols);
        let is_plain = trial.place.params["load.suite"] == Param::Plain;
        assert_eq!(crypto < 0.01, is_plain, "{profile:?}");
        // Plain objects go from a file to the socket; encrypted ones are copied into the kernel.
        assert!(is_plain || share(Class::Copies) > 0.02, "{profile:?}");
        assert!(share(Class::TcpIp) > 0.02, "{profile:?}");
        assert!(share(Class::Loopback) > 0.0 && share(Class::Other) < 0.1, "{profile:?}");
        assert_eq!(trial.line.window_ns / 1_000_000_000, 2);
        let counts_futexes = observe::FutexCalls::open(&0.into()).is_ok();
        assert_eq!(profile.futexes.known().is_some(), counts_futexes, "{:?}", profile.futexes);
        let name = format!("profile/{}", trial.place.cell);
        assert!(desk.file(&format!("{name}.folded")).lines().count() > 10);
        assert!(desk.file(&format!("{name}.svg")).contains("<svg"));
    }
    let words = desk.go_on();
    let words = text(&words.stdout);
    assert!(words.contains("CPU time goes"), "{words}");
    let page = desk.file("report.html");
    assert_eq!(page.matches("<img src=\"data:image").count(), 4);
    assert!(page.contains("per byte"), "a stack for each cell");
    assert!(!page.contains("belongs to another trial"), "stacks and journal are of one trial");
    // They are no measured trials: each cell still has one.
    let report = toll().arg("report").arg(desk.results()).arg("--json").output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    for cell in report["cells"].as_array().unwrap() {
        assert_eq!(cell["trials"]["done"], 1, "{cell}");
        assert!(cell["cycles"]["samples"].as_u64().unwrap() > 0);
    }
}

/// A folder with toll and a `perf` that does this, before all other programs.
fn with_perf(script: &str) -> (tempfile::TempDir, String) {
    let programs = tempfile::tempdir().unwrap();
    symlink(toll_path(), programs.path().join("toll")).unwrap();
    write_program(&programs.path().join("perf"), script);
    let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").unwrap());
    (programs, path)
}

#[test]
fn a_perf_that_fails_is_named_and_all_else_is_measured() {
    let desk = Desk::new(STUDY);
    let (_programs, path) = with_perf("echo 'Error: no such event' >&2\nexit 129");
    let output =
        desk.run(&["--profile", "--only", "server=embedded"]).env("PATH", path).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    let why = "perf record failed: Error: no such event";
    let is_refusal = !can_sample();
    let said = text(&output.stderr) + &said;
    assert!(is_refusal || said.matches(&format!("{why}.")).count() == 1, "{said}");
}

/// As after `kill -9` and a crash, and as a terminal's Ctrl-C, which goes to toll's whole group.
#[test]
fn perf_ends_with_toll_and_is_not_in_its_group() {
    if !can_sample() {
        return;
    }
    let desk = Desk::new(&STUDY.replace("trials = 1", "trials = 2"));
    let only = ["--profile", "--only", "server=embedded", "--only", "suite=none"];
    let mut run = Killed::piped(&mut desk.run(&only));
    let folder = desk.path().to_str().unwrap().to_owned();
    let perf = || {
        let of_run = processes_with(&folder).into_iter();
        of_run.filter(|(_, line)| line.starts_with("perf record ")).map(|(pid, _)| pid).next()
    };
    until("perf samples", || perf().is_some());
    let perf = perf().unwrap();
    let group = |pid| getpgid(Pid::from_raw(i32::try_from(pid).unwrap())).unwrap();
    assert_ne!(group(perf), group(run.pid()));
    run.send("-KILL");
    assert_eq!(run.exit_code(), None);
    until("no perf", || !is_running(perf));
    until("no process", || processes_with(&folder).is_empty());
}

#[test]
fn lost_samples_and_few_samples_are_marked() {
    if !can_sample() {
        return;
    }
    let desk =
        Desk::new(&STUDY.replace("connections = 4", "connections = 4\narrival = \"uniform 20/s\""));
    let perf = support::run(Command::new("sh").args(["-c", "command -v perf"]));
    let perf = Path::new(perf.trim());
    let (_programs, path) = with_perf(&format!(
        "[ \"$1\" = report ] && echo 'LOST_SAMPLES events: 7 ( 0.1%)'\nexec {} \"$@\"",
        perf.display()
    ));
    let only = ["--profile", "--only", "server=embedded", "--only", "suite=none"];
    let output = desk.run(&only).env("PATH", path).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    let page = desk.file("report.html");
    for words in ["of the 1000 samples that are needed", "7 samples were lost", "(unreliable)"] {
        assert!(page.contains(words), "{words}: {said}");
    }
}
