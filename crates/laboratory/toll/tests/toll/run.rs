//! `toll run` and `toll report` as a user runs them, with the real servers.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use journal::{Journal, Param, TrialLine};
use support::{Desk, Killed, first_cpu, insta, json_names, processes_with, text, toll, until};

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

fn lines(desk: &Desk) -> Vec<TrialLine> {
    Journal::read(&desk.journal()).unwrap().trials
}

/// Starts the study for a person, and returns when the first trials have ended.
fn start(desk: &Desk) -> Killed {
    let mut run = Killed::piped(&mut desk.run(&[]));
    until("two trials are over", || {
        assert!(run.0.try_wait().unwrap().is_none());
        let journal = desk.results_if_any().map(|folder| folder.join("journal.jsonl"));
        journal
            .and_then(|path| Journal::read(&path).ok())
            .is_some_and(|entries| entries.trials.len() >= 2)
    });
    run
}

/// The servers' private keys went with them, their certificates are there.
fn assert_no_keys(desk: &Desk) {
    let targets = std::fs::read_dir(desk.results().join("targets")).unwrap().flatten();
    for target in targets.map(|target| target.path()) {
        assert!(target.join("server.crt").exists() && !target.join("server.key").exists());
    }
}

/// Every cell of the study has two valid trials, of two rounds.
fn assert_complete(desk: &Desk) {
    let lines = lines(desk);
    let valid: BTreeSet<(String, u32)> = lines
        .iter()
        .filter(|trial| trial.line.valid)
        .map(|trial| &trial.place)
        .map(|place| (place.cell.clone(), place.round))
        .collect();
    assert_eq!(valid.len(), 16, "{valid:?}");
    let orders: Vec<u32> = lines.iter().map(|line| line.place.order).collect();
    assert_eq!(orders, (0..lines.len() as u32).collect::<Vec<_>>());
}

/// Processes that name the folder, as the run and its servers do.
fn processes_of(desk: &Desk) -> Vec<(u32, String)> {
    processes_with(desk.path().to_str().unwrap())
}

/// `toll report --json` of the results.
fn report(desk: &Desk) -> serde_json::Value {
    let output = toll().args(["report", "--json"]).arg(desk.results()).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_study_measures_every_cell_and_leaves_its_folder_and_nothing_else() {
    let desk = Desk::new(STUDY);
    let output = desk.run(&["--json"]).output().unwrap();
    assert_eq!(text(&output.stdout), desk.file("journal.jsonl"));
    let output = desk.undisturbed(output);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_complete(&desk);
    for TrialLine { place, line } in lines(&desk).iter().filter(|trial| trial.line.valid) {
        assert!(line.evidence().unwrap().server_busy.is_some(), "{line:?}");
        assert_eq!(line.receipt.mismatch, []);
        let obtained = &line.receipt.obtained;
        match place.params.get("load.suite") {
            Some(Param::Plain) => assert!(obtained.tls.is_empty()),
            Some(suite) => {
                assert_eq!(obtained.suite.keys().collect::<Vec<_>>(), [&suite.to_string()]);
            }
            None => {
                let key = place.params["target.certificate-key"].to_string();
                assert_eq!(obtained.certificate_key.keys().collect::<Vec<_>>(), [&key]);
            }
        }
        let log = desk.file(line.latency_ns.file.as_ref().unwrap());
        assert!(log.contains("\nTag=whole,"), "{log}");
    }
    let results = desk.results();
    assert!(serde_json::from_str::<observe::Machine>(&desk.file("machine.json")).is_ok());
    assert_eq!(desk.file("cells.csv").lines().count(), 1 + 8);
    assert!(desk.file("report.html").contains("a study"));
    for name in ["embedded", "embedded-2", "nginx", "nginx-2"] {
        assert!(results.join("logs").join(name).is_dir(), "{name}");
    }
    assert_eq!(processes_of(&desk), []);
    assert_no_keys(&desk);
}

const FIRST_TABLE: &str = "Rate of one core, by certificate key";

#[test]
fn a_person_gets_the_answers_first_and_the_report_can_be_had_again() {
    let desk = Desk::new(STUDY);
    let output = desk.undisturbed(desk.run(&["-v"]).output().unwrap());
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    let place = |what: &str| said.find(what).unwrap_or_else(|| panic!("no `{what}` in {said}"));
    // How well the figures hold first, with the intervals in the tables under that.
    let places = [FIRST_TABLE, "Servers compared", "report.html"];
    assert!(places.map(place).is_sorted(), "{said}");
    let noted = text(&output.stderr);
    assert!(noted.contains(" answers (rsa:2048 certificate"), "{noted}");
    assert!(!said.contains('\x1b') && !noted.contains('\x1b'), "{said}{noted}");

    let results = desk.results();
    let (html, csv) = (desk.file("report.html"), desk.file("cells.csv"));
    std::fs::remove_file(results.join("report.html")).unwrap();
    std::fs::remove_file(results.join("cells.csv")).unwrap();
    let output = toll().arg("report").arg(&results).output().unwrap();
    let again = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let answers = &said[place(FIRST_TABLE)..place("Report: ")];
    assert!(again.contains(answers), "{again}\n\nbefore:\n\n{said}");
    assert_eq!((desk.file("report.html"), desk.file("cells.csv")), (html, csv));

    let found = report(&desk);
    assert_eq!(found["trials"]["valid"], 16);
    let trials = lines(&desk).len();
    assert_eq!(found["answers"].as_array().unwrap().len(), 4);

    let quiet = toll().args(["run", "--quiet", "--continue"]).arg(&results).output().unwrap();
    assert_eq!(quiet.status.code(), Some(0), "{}", text(&quiet.stderr));
    assert!(text(&quiet.stdout).contains(answers), "a complete run has nothing to measure");
    assert_eq!(lines(&desk).len(), trials);
}

#[test]
fn an_interrupted_run_keeps_what_was_measured_and_goes_on() {
    let desk = Desk::new(STUDY);
    let run = start(&desk);
    // The run itself and its servers.
    assert!(processes_of(&desk).len() > 1);
    let busy = desk.go_on();
    assert_eq!(busy.status.code(), Some(2));
    assert!(text(&busy.stderr).contains("another toll"));
    run.send("-INT");
    let output = run.finish();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{said}{}", text(&output.stderr));
    assert!(said.contains("toll run --continue "), "{said}");
    assert!(desk.results().join("report.html").exists());
    let before = lines(&desk);
    assert!((2..16).contains(&before.len()));
    assert_eq!(processes_of(&desk), []);
    assert_no_keys(&desk);

    let output = desk.undisturbed(desk.go_on());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_complete(&desk);
    assert_eq!(lines(&desk)[..before.len()], before);
}

#[test]
fn a_server_is_warmed_up_once_before_its_first_trial() {
    // Each process is warmed up, so this one is kept.
    let study = STUDY.replace("[target]", "[target]\nwarmup = \"100s\"");
    let study = format!("restart = \"never\"\n{study}").replace("\"300ms\"", "\"100ms\"");
    let desk = Desk::new(&study.replace("[\"embedded\", \"nginx\"]", "[\"embedded\"]"));
    let dry = text(&desk.run(&["--dry-run"]).output().unwrap().stdout);
    // Two servers, for there are two kinds of certificate, and one suite that has cells of its own.
    assert!(dry.contains("about 5.0"), "{dry}");
    let run = Killed::piped(&mut desk.run(&[]));
    until("the journal is there", || {
        desk.results_if_any().is_some_and(|it| it.join("journal.jsonl").exists())
    });
    // All trials of the study would take less than this.
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(lines(&desk).len(), 0, "a trial began before the warm-up was over");
    run.send("-INT");
    let output = run.finish();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
}

#[test]
fn a_killed_run_loses_the_trial_under_way_only_and_goes_on() {
    let desk = Desk::new(STUDY);
    let run = start(&desk);
    run.send("-KILL");
    run.finish();
    until("its processes are gone", || processes_of(&desk).is_empty());
    assert_no_keys(&desk);
    assert!(lines(&desk).len() >= 2);
    let output = desk.undisturbed(desk.go_on());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_complete(&desk);
}

#[test]
fn a_server_that_dies_ends_the_run_with_what_was_measured() {
    let desk = Desk::new(STUDY);
    let run = start(&desk);
    let processes = processes_of(&desk);
    let (pid, _) = processes.iter().find(|(_, command)| command.contains(" serve ")).unwrap();
    support::run(Command::new("kill").args(["-KILL", &pid.to_string()]));
    let output = run.finish();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("toll: ")).collect();
    let [error] = errors[..] else { panic!("{said}") };
    assert!(error.contains("SIGKILL") && said.ends_with(&format!("{error}\n")), "{said}");
    assert!(error.contains(desk.results().to_str().unwrap()), "{said}");
    assert!(lines(&desk).len() >= 2 && desk.results().join("report.html").exists());
    assert_eq!(processes_of(&desk), []);
    assert_no_keys(&desk);
    let output = desk.undisturbed(desk.go_on());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_complete(&desk);
}

#[test]
fn a_maximum_that_was_not_the_servers_is_marked() {
    let cpu = first_cpu().to_string();
    let shared = STUDY
        .replace("[target]\n", &format!("[target]\ncpus = \"{cpu}\"\n"))
        .replace("[load]\n", &format!("[load]\ncpus = \"{cpu}\"\n"))
        .replace("\"300ms\"", "\"400ms\"")
        .replace(", \"nginx\"", "");
    let desk = Desk::new(&shared);
    let busy = ["-c", &cpu, "sh", "-c", "while :; do :; done"];
    let _hog = Killed::start(Command::new("taskset").args(busy));
    let output = desk.run(&[]).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    let found = report(&desk);
    for cell in found["cells"].as_array().unwrap() {
        let mark = cell["mark"].as_str().unwrap();
        assert!(["client-bound", "not-server-bound"].contains(&mark), "{cell}");
    }
    for answer in found["answers"].as_array().unwrap() {
        assert_ne!(answer["caveats"], serde_json::json!([]), "{answer}");
    }
    let html = desk.file("report.html");
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
    for (gate, code, result) in [
        ("[\"ratio >= 0.01\", \"ratio <= 100\"]", 0, "met by 1 cell"),
        ("\"ratio >= 100\"", 1, "NOT met by 1 of 1 cell"),
    ] {
        let desk = Desk::new(&study(gate));
        let output = desk.run(&["--only", "case=handshakes", "--trials", "6"]).output().unwrap();
        let told = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(told.contains(&format!("(handshakes: rate of one core) {result}")), "{told}");
        // The report judges the same.
        let again = toll().arg("report").arg(desk.results()).output().unwrap();
        assert_eq!(again.status.code(), Some(code));
    }
}

#[test]
fn a_dry_run_tells_what_it_would_do_and_touches_nothing() {
    let desk = Desk::new(STUDY);
    let output = desk.run(&["--dry-run"]).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said.contains("8 cells, ") && said.contains(" 16 trials"), "{said}");
    assert!(said.contains("  handshakes-0002  embedded (CPU "), "{said}");
    assert!(said.contains(", ecdsa:p256), handshakes from CPU "), "{said}");
    assert!(said.contains("  toll serve --json --listen 127.0.0.1:0 "), "{said}");
    assert!(said.contains("/targets/embedded-2/server.key"), "{said}");
    assert!(desk.results_if_any().is_none() && processes_of(&desk).is_empty());
}

#[test]
fn quick_is_a_study_that_toll_brings_along() {
    let folder = tempfile::tempdir().unwrap();
    let output =
        toll().args(["run", "quick", "--dry-run"]).current_dir(folder.path()).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said.contains("16 cells, ") && said.contains(" 224 trials"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_wrong_request_ends_in_one_line_before_anything_starts() {
    let desk = Desk::new(&STUDY.replace("\"300ms\"", "300"));
    let file = desk.study();
    let nothing = desk.path();
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
        let output = toll().args(&arguments).current_dir(desk.path()).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(output.stdout, b"");
        assert!(said.contains(expected) && said.lines().count() == 1, "{arguments:?}: {said}");
    }
    assert!(desk.results_if_any().is_none());
}

#[test]
fn results_of_another_machine_are_not_gone_on_with() {
    let desk = Desk::new(STUDY);
    let run = start(&desk);
    run.send("-INT");
    run.finish();
    let (path, before) = (desk.results().join("machine.json"), lines(&desk).len());
    let mut machine: observe::Machine = serde_json::from_str(&desk.file("machine.json")).unwrap();
    let assert_refused = |machine: &observe::Machine, difference: &str| {
        std::fs::write(&path, serde_json::to_string(machine).unwrap()).unwrap();
        let output = desk.go_on();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(difference), "{said}");
        assert_eq!(lines(&desk).len(), before);
    };
    let limits = machine.cgroup.clone().unwrap();
    if limits.cpu_quota.known().is_some() {
        let quota = serde_json::json!({ "quota_us": 12_500, "period_us": 100_000 });
        let cpu_quota = serde_json::from_value(quota).unwrap();
        let limits = Some(observe::CgroupLimits { cpu_quota, ..limits });
        let limited = observe::Machine { cgroup: limits, ..machine.clone() };
        assert_refused(&limited, "CPU quota: 0.12 CPUs (12.5ms in each 100ms) before, ");
    }
    machine.openssl = "OpenSSL 0.9.7".to_owned();
    assert_refused(&machine, "OpenSSL 0.9.7");
}

#[test]
fn the_built_in_studies_are_listed_with_their_questions_and_times() {
    let output = toll().args(["run", "--list"]).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let quick = said.lines().find(|line| line.starts_with("quick ")).unwrap();
    assert!(quick.ends_with('?'), "{quick}");
    let output = toll().args(["run", "--list", "--json"]).output().unwrap();
    let listed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    insta::assert_snapshot!(json_names([&listed], &[]));
    let studies = listed["studies"].as_array().unwrap();
    let names: Vec<_> = studies.iter().map(|of| of["study"].as_str().unwrap()).collect();
    for name in ["quick", "primitives", "handshakes", "ktls"] {
        assert!(names.contains(&name) && said.contains(name), "{name}: {names:?}");
    }
    // The time is that of a dry run, and a scale takes less than the whole.
    let seconds = |study: &str, form: usize| {
        let study = studies.iter().find(|of| of["study"] == study).unwrap();
        (study["forms"][form]["scale"].clone(), study["forms"][form]["seconds"].as_u64().unwrap())
    };
    let (scale, short) = seconds("post-quantum", 1);
    let dry = ["run", "post-quantum", "--scale", scale.as_str().unwrap(), "--dry-run"];
    let dry = text(&toll().args(dry).output().unwrap().stdout);
    assert!(dry.contains(&format!("about {short}s")), "{short}: {dry}");
    let ((whole, long), (scale, short)) = (seconds("handshakes", 0), seconds("handshakes", 1));
    assert!(whole.is_null() && scale == "quick" && short < long, "{short} {long}");
    let both = toll().args(["run", "quick", "--list"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2), "{}", text(&both.stderr));
}
