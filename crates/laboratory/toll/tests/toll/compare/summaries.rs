//! A summary in place of a run.

use super::*;

#[test]
fn a_summary_stands_in_for_a_run() {
    let desk = Desk::new();
    let (a, b) = (desk.run("a", [1.0; 3]), desk.run("b", [1.31, 1.0, 0.5]));
    let compared = |a: &Path, b: &Path| -> Value {
        let output = toll("compare", &["--json"], &[a, b]);
        assert_exit(&output, 0);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let (of_a, of_b) = (summary(&desk, &a), summary(&desk, &b));
    assert!(std::fs::metadata(&of_a).unwrap().len() < 4_000);
    let of_runs = compared(&a, &b);
    for found in [compared(&of_a, &b), compared(&a, &of_b), compared(&of_a, &of_b)] {
        for (metric, expected) in [0, 1].map(|i| (&found["metrics"][i], &of_runs["metrics"][i])) {
            assert_eq!(metric["sentence"], expected["sentence"]);
            let cells = |of: &Value| -> Vec<_> {
                let cells = of["cells"].as_array().unwrap().iter();
                cells.map(|cell| (cell["label"].clone(), cell["verdict"].clone())).collect()
            };
            assert_eq!(cells(metric), cells(expected));
        }
        assert_eq!(found["differences"], of_runs["differences"]);
    }
    // Its figures are there, but not the cells that a gate of one run is about.
    for (gate, code) in [("ratio>=0.45", 0), ("handshakes:regression<=5%", 1), ("rate>=1/s", 2)] {
        assert_exit(&toll("compare", &["--gate", gate], &[&of_a, &of_b]), code);
    }
    assert_exit(&toll("compare", &["--metric", "p99"], &[&of_a, &b]), 0);
}

#[test]
fn a_summary_replaces_only_one_of_the_same_run() {
    let desk = Desk::new();
    let (a, b) = (desk.run("a", [1.0; 3]), desk.run("b", [1.0; 3]));
    let journal = b.join("journal.jsonl");
    let later = std::fs::read_to_string(&journal)
        .unwrap()
        .replace("started_unix_ms\":1", "started_unix_ms\":2");
    std::fs::write(&journal, later).unwrap();
    let file = summary(&desk, &a);
    let folder = file.parent().unwrap().to_str().unwrap();
    let write = |run: &PathBuf, code| {
        assert_exit(&toll("report", &["--summary", folder], &[run]), code);
        std::fs::read_to_string(&file).unwrap()
    };
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(write(&a, 0), text);
    assert_eq!(write(&b, 2), text);
    std::fs::write(&file, "{}").unwrap();
    assert_eq!(write(&a, 2), "{}");
}

#[test]
fn a_summary_that_somebody_changed_is_refused() {
    let desk = Desk::new();
    let a = desk.run("a", [1.0; 3]);
    let file = summary(&desk, &a);
    let text = std::fs::read_to_string(&file).unwrap();
    for (changed, words) in [
        (text.replace("\"schema\":1", "\"schema\":7"), "schema 7"),
        (text[..text.len() / 2].to_owned(), "damaged summary"),
        (String::new(), "nothing in it"),
        (text.replace("[0,8", "[0,9"), "was changed"),
        (text.replace("toll of a", "toll of b"), "was changed"),
    ] {
        assert_ne!(changed, text);
        std::fs::write(&file, &changed).unwrap();
        for sides in [[&*a, &*file], [&*file, &*a]] {
            let output = toll("compare", &[], &sides);
            assert_exit(&output, 2);
            let told = said(&output);
            assert!(told.contains(words) && told.trim_end().lines().count() == 1, "{told}");
        }
    }
    assert_exit(&toll("compare", &[], &[&a, &a.join("journal.jsonl")]), 2);
    assert_exit(&toll("report", &["--summary", "/dev/null/x"], &[&a]), 2);
}
