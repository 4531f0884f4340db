//! `toll run` with searches, scales and parts, as a user runs it, with the embedded server.

use std::process::Output;

use journal::{Journal, Role, TrialLine};
use support::{Desk, Serve, text, toll_output, toll_within};

const STUDY: &str = r#"
schema = 1
question = "How much while nobody waits?"
trials = 2
[target]
server = "embedded"
object = "1KiB"
[load]
warmup = "50ms"
[find]
maximize = "rate"
to = 4
while = "errors <= 50%"
step = "300ms"
hold = "400ms"
[[case]]
name = "most"
sweep."target.certificate-key" = ["rsa:2048", "ecdsa:p256"]
[[answer]]
case = "most"
metric = "rate"
compare = "target.certificate-key"
baseline = "rsa:2048"
[scale.quick]
trials = 1
sweep."target.certificate-key" = ["ecdsa:p256"]
"#;

fn lines(desk: &Desk, role: Role) -> Vec<TrialLine> {
    let lines = Journal::read(&desk.journal()).unwrap().trials;
    lines.into_iter().filter(|line| line.place.role == role).collect()
}

/// The output of a run that succeeds.
fn said(output: &Output) -> String {
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    said
}

#[test]
fn the_load_is_searched_for_and_what_was_found_is_measured() {
    let desk = Desk::new(STUDY);
    let output = desk.run(&[]).output().unwrap();
    // The forecast is beside the answers.
    let (answers, beside) = (said(&output), text(&output.stderr));
    assert!(beside.contains("Forecast: 4 trials") && !answers.contains("Forecast"), "{beside}");
    let steps = lines(&desk, Role::Search);
    assert!(steps.len() >= 4, "{steps:?}");
    for line in &steps {
        let sought = line.place.find.as_ref().unwrap();
        assert_eq!(
            (sought.over.as_str(), sought.limit.as_str()),
            ("load.connections", "errors <= 50%")
        );
        assert!(line.line.window_ns >= 300_000_000 && line.line.window_ns < 400_000_000);
    }
    let held = lines(&desk, Role::Measure);
    let csv = desk.file("cells.csv");
    for cell in ["most-0001", "most-0002"] {
        let of_cell: Vec<_> =
            held.iter().map(|line| &line.place).filter(|p| p.cell == cell).collect();
        assert_eq!(of_cell.len(), 2, "{of_cell:?}");
        let loads: Vec<&str> =
            of_cell.iter().map(|place| place.find.as_ref().unwrap().load.as_str()).collect();
        assert_eq!(loads[0], loads[1]);
        let row = csv.lines().find(|row| row.contains(cell)).unwrap();
        assert!(row.ends_with(&format!(",found,{},", loads[0])), "{row}");
    }
    assert!(held.iter().all(|line| line.line.window_ns >= 400_000_000));
    let html = desk.file("report.html");
    assert!(html.contains("class=\"chart search\""));
    assert_eq!(html.matches("<figure class=\"chart search\">").count(), 2);
}

#[test]
fn a_limit_that_nothing_meets_is_told_as_such_everywhere() {
    let hard = STUDY.replace("errors <= 50%", "first-byte-max <= 1us");
    let desk = Desk::new(&hard);
    let said = said(&desk.run(&[]).output().unwrap());
    assert!(said.contains("infeasible (best "), "{said}");
    assert_eq!(lines(&desk, Role::Measure), []);
    let steps = lines(&desk, Role::Search);
    assert!(steps.iter().all(|line| !line.place.find.as_ref().unwrap().holds));
    assert_eq!(steps.len(), 2 * 2, "the smallest load is tried twice");
    let csv = desk.file("cells.csv");
    assert_eq!(csv.matches(",infeasible,infeasible,,").count(), 2, "{csv}");
    let html = desk.file("report.html");
    // In the table, in the chart and beside the path.
    assert!(html.matches("infeasible (best ").count() >= 3 * 2, "{html}");
    let again = desk.go_on();
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    assert_eq!(lines(&desk, Role::Search).len(), 4);
}

#[test]
fn a_search_whose_steps_are_not_valid_is_not_infeasible_and_is_taken_up_again() {
    // No window is long enough for a connection to end, which is a mismatch.
    let study = STUDY
        .replace("[load]\n", "[load]\nrequests-per-connection = \"1000000\"\n")
        .replace("step = \"300ms\"", "step = \"100ms\"");
    let desk = Desk::new(&study);
    let mut output = desk.run(&[]).output().unwrap();
    // A continued run makes one step, which is not valid either.
    for steps in [2, 3] {
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{said}{}", text(&output.stderr));
        assert_eq!(lines(&desk, Role::Measure), []);
        let made = lines(&desk, Role::Search);
        assert_eq!(made.len(), 2 * steps, "{said}");
        assert!(made.iter().all(|step| !step.line.receipt.mismatch.is_empty()));
        let csv = desk.file("cells.csv");
        assert_eq!(csv.matches(",not-measured,invalid,,").count(), 2, "{csv}");
        assert!(!said.contains("infeasible"), "{said}");
        assert!(!desk.file("report.html").contains("every trial is in the figures"));
        output = desk.go_on();
    }
}

#[test]
fn a_load_for_which_there_are_too_few_descriptors_ends_the_search_everywhere() {
    let server = Serve::pinned(&[]);
    let study = STUDY
        .replace("\"embedded\"\nobject = \"1KiB\"", "\"address\"\nurl = \"URL\"")
        .replace("URL", &format!("http://{}/bytes/1KiB", server.plain))
        .replace("[load]\n", "[load]\ntls = \"none\"\narrival = \"paced 50ms\"\n")
        .replace("to = 4", "from = 32\nto = 4096")
        .replace("sweep.\"target.certificate-key\" = [\"rsa:2048\", \"ecdsa:p256\"]\n", "")
        .split("[[answer]]")
        .next()
        .unwrap()
        .to_owned();
    let desk = Desk::new(&study);
    // Room for 16 tables of 8 connections on each CPU.
    let mut limited = toll_within(72);
    limited.arg("run").arg(desk.study()).arg("--out").arg(desk.out());
    let continued = |descriptors| {
        let mut continued = toll_within(descriptors);
        continued.args(["run", "--continue"]).arg(desk.results()).output().unwrap()
    };
    // On a busy machine a window may hold too little.
    let mut output = limited.output().unwrap();
    for _ in 0..5 {
        if output.status.code() == Some(3) {
            output = continued(72);
        }
    }
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let impossible = Journal::read(&desk.journal()).unwrap().impossible;
    assert!(!impossible.is_empty(), "{said}");
    let held = lines(&desk, Role::Measure);
    let load_of = |trial: &TrialLine| trial.place.find.as_ref().unwrap().load.clone();
    let load = load_of(held.last().unwrap());
    let found = |said: &str| {
        let csv = desk.file("cells.csv");
        assert!(csv.trim_end().ends_with(&format!(",found,{load},")), "{csv}{said}");
    };
    found(&said);
    let report = toll_output(&["report", desk.results().to_str().unwrap()]);
    found(&text(&report.stdout));
    // There are as few still: the search ends where it did.
    let again = continued(72);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    let after = Journal::read(&desk.journal()).unwrap();
    assert_eq!(after.impossible.len(), impossible.len() + 1);
    assert_eq!(lines(&desk, Role::Measure), held);
    found(&text(&again.stdout));
    // With twice as many it goes on.
    let freed = continued(80);
    assert!(matches!(freed.status.code(), Some(0 | 3)), "{}", text(&freed.stderr));
    let more = load_of(lines(&desk, Role::Measure).last().unwrap());
    assert!(more.parse::<u64>().unwrap() > load.parse().unwrap(), "{more} after {load}");
}

#[test]
fn a_shorter_form_says_what_it_cut() {
    let desk = Desk::new(STUDY);
    let output = desk.run(&["--scale", "quick", "--trials", "3"]).output().unwrap();
    let (said, beside) = (said(&output), text(&output.stderr));
    assert!(!beside.contains("Note: cut: "), "{beside}");
    for cut in [
        "scale quick: trials = 1 instead of 2",
        "scale quick: target.certificate-key = ecdsa:p256 instead of rsa:2048, ecdsa:p256",
        "trials = 3 instead of 1",
    ] {
        assert!(desk.file("report.html").contains(&format!("<li>{cut}</li>")), "{cut}");
    }
    // The terminal has one line of it.
    let lines_of_cut = said.lines().filter(|line| line.starts_with("Not the whole study: "));
    assert_eq!(lines_of_cut.count(), 1, "{said}");
    assert_eq!(lines(&desk, Role::Measure).len(), 3);
    let output = desk.run(&["--scale", "quik"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("did you mean quick?"), "{}", text(&output.stderr));
}

#[test]
fn a_part_of_a_study_is_forecast_and_told() {
    let part = ["run", "quick", "--only", "suite=none", "--trials", "3", "--dry-run"];
    let told = said(&toll_output(&part));
    assert!(told.contains("2 cells, 3 trials each, 6 trials in all"), "{told}");
    assert!(told.contains("Note: cut: 2 of 16 cells, only suite=none"), "{told}");
    let output = toll_output(&["run", "quick", "--only", "siute=none", "--dry-run"]);
    assert_eq!(output.status.code(), Some(2));
    let error = text(&output.stderr);
    assert!(error.contains("siute") && error.lines().count() == 1, "{error}");
    let desk = Desk::new(STUDY);
    let told = said(&desk.run(&["--dry-run"]).output().unwrap());
    assert!(
        told.contains("load.connections from 1 to 4 ") && told.contains("errors <= 50%"),
        "{told}"
    );
    assert!(told.contains("4 trials "), "{told}");
}

#[test]
fn to_go_on_with_another_server_is_refused_as_a_wrong_request() {
    let desk = Desk::new(STUDY);
    said(&desk.run(&["--only", "certificate-key=ecdsa:p256"]).output().unwrap());
    let folder = desk.results();
    let journal = desk.file("journal.jsonl");
    let kept: Vec<&str> = journal.lines().collect();
    std::fs::write(folder.join("journal.jsonl"), kept[..kept.len() - 1].join("\n") + "\n").unwrap();
    let targets = desk.file("targets.json").replace("\"version\": \"", "\"version\": \"another ");
    std::fs::write(folder.join("targets.json"), targets).unwrap();
    let output = desk.go_on();
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("new run"), "{error}");
    assert_eq!(desk.file("journal.jsonl").lines().count(), kept.len() - 1);
}
