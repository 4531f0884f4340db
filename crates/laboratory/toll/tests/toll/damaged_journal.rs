//! A journal whose lines cannot all be believed: the others keep their figures, and are enough for
//! `toll report`, `toll compare` and `toll run --continue`.

use std::path::Path;
use std::process::Output;

use support::{Desk, text, toll};

const STUDY: &str = r#"
schema = 1
question = "What is left of a damaged journal?"
trials = 3
[target]
server = "embedded"
object = "16KiB"
[load]
connections = 2
warmup = "50ms"
duration = "200ms"
[[case]]
name = "all"
"#;

fn output(arguments: &[&str], folders: &[&Path]) -> Output {
    toll().args(arguments).args(folders).output().unwrap()
}

fn warnings(ended: &Output) -> Vec<String> {
    text(&ended.stderr)
        .lines()
        .filter_map(|line| Some(line.split_once("toll: warning: ")?.1.to_owned()))
        .collect()
}

/// The figures that `toll report` finds, with its warnings.
fn figures(results: &Path) -> (String, Vec<String>) {
    let ended = output(&["report"], &[results]);
    assert!(matches!(ended.status.code(), Some(0 | 3)), "{}", text(&ended.stderr));
    (std::fs::read_to_string(results.join("cells.csv")).unwrap(), warnings(&ended))
}

#[test]
fn what_cannot_be_believed_is_named_and_in_no_figure() {
    let desk = Desk::new(STUDY);
    // A trial that a busy machine spoiled is no matter here.
    desk.run(&["--quiet"]).output().unwrap();
    let results = desk.results();
    let (before, warned) = figures(&results);
    assert_eq!(warned, Vec::<String>::new());

    let journal = results.join("journal.jsonl");
    let whole = std::fs::read_to_string(&journal).unwrap();
    let lines: Vec<serde_json::Value> =
        whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let write = |lines: &[serde_json::Value]| {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&journal, text).unwrap();
    };

    // A line that contradicts itself is in no figure, and the run is not whole.
    let mut other_rates = lines.clone();
    other_rates[0]["rate_per_s"] = (lines[0]["rate_per_s"].as_f64().unwrap() * 10.0).into();
    other_rates[2]["goodput_bps"] = 5.into();
    write(&other_rates);
    let ended = output(&["report"], &[&results]);
    assert_eq!(ended.status.code(), Some(3));
    let [warned] = &warnings(&ended)[..] else { panic!("{}", text(&ended.stderr)) };
    assert!(warned.contains("2 lines") && warned.contains(": line 1 ("), "{warned}");

    // What was not measured does not count.
    let mut more = lines.clone();
    more.push(lines[2].clone());
    more.push(lines[0].clone());
    more[4]["cell"] = "all-0009".into();
    more[4]["order"] = 9.into();
    write(&more);
    let (figures_of_more, warned) = figures(&results);
    assert_eq!(figures_of_more, before);
    let [second, unknown] = &warned[..] else { panic!("{warned:?}") };
    assert!(second.ends_with(": trial 2 of all-0001"), "{second}");
    assert!(unknown.ends_with(": trial 9 of all-0009"), "{unknown}");
    let compared = output(&["compare"], &[&results, &results]);
    assert_eq!(warnings(&compared).len(), 4, "{warned:?}");

    // What is damaged is measured again.
    let mut damaged = lines;
    damaged[0]["window_ns"] = 0.into();
    damaged[1]["cpu_ns"]["server"] = 1_000_000_000_000_000_u64.into();
    write(&damaged);
    let (_, warned) = figures(&results);
    let [warned] = &warned[..] else { panic!("{warned:?}") };
    assert!(warned.contains("2 lines") && warned.contains(": line 1 ("), "{warned}");
    let went_on = output(&["run", "--quiet", "--continue"], &[&results]);
    assert_eq!(warnings(&went_on).len(), 1);
    let lines = std::fs::read_to_string(&journal).unwrap();
    assert_eq!(lines.lines().count(), 3 + 2, "{lines}");
}
