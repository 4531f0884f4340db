//! Files for CI: what their readers require of them, and what is refused.

use super::*;

/// A run whose gates are met, failed and inconclusive, in this order.
const GATES: [&str; 6] =
    ["--gate", "regression<=80%", "--gate", "bulk:regression<=5%", "--gate", "handshakes:ratio>=1"];

fn two_runs(desk: &Desk) -> [PathBuf; 2] {
    [desk.run("a", [1.0; 3]), desk.run("b", [0.7, 1.0, 1.0])]
}

/// Runs `toll` with files in a folder of their own, and reads these.
fn exported(
    desk: &Desk,
    command: &str,
    folders: &[&Path],
    arguments: &[&str],
    files: &[(&str, &str)],
) -> (Output, Vec<String>) {
    let folder = tempfile::tempdir_in(desk.0.path()).unwrap();
    let paths: Vec<PathBuf> = files.iter().map(|(_, name)| folder.path().join(name)).collect();
    let mut toll = support::toll();
    toll.arg(command).args(folders).args(arguments);
    for ((option, _), path) in files.iter().zip(&paths) {
        let (option, kind) = option.split_once(' ').unwrap_or((option, ""));
        toll.arg(option).arg(format!("{kind}{}", path.display()));
    }
    let output = toll.output().unwrap();
    let texts: Vec<String> =
        paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    // Nothing else is left there.
    assert_eq!(folder.path().read_dir().unwrap().count(), texts.len());
    (output, texts)
}

#[test]
fn files_for_ci_are_written_beside_what_is_printed() {
    let desk = Desk::new();
    let [a, b] = two_runs(&desk);
    let files = [
        ("--markdown", "summary.md"),
        ("--junit", "gates.xml"),
        ("--benchmark-json bigger=", "rates.json"),
    ];
    let (output, texts) = exported(&desk, "compare", &[&a, &b], &GATES, &files);
    assert_exit(&output, 1);
    assert!(said(&output).contains("Gate regression<=80% met"), "{}", said(&output));
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn a_run_and_its_report_have_the_same_files() {
    let desk = Desk::new();
    let run = desk.run("a", [1.0; 3]);
    let gates = ["--gate", "goodput>=5Gb/s"];
    let files = [
        ("--markdown", "summary.md"),
        ("--junit", "gates.xml"),
        ("--benchmark-json", "rates.json"),
    ];
    let (reported, texts) = exported(&desk, "report", &[&run], &gates, &files);
    assert_exit(&reported, 0);
    let continued = [&["--quiet", "--continue", run.to_str().unwrap()][..], &gates].concat();
    let (ended, same) = exported(&desk, "run", &[], &continued, &files);
    assert_exit(&ended, 0);
    assert_eq!(texts, same);
    insta::assert_snapshot!(texts.join("\n"));
}

/// What of a gate's outcome JUnit's readers count: tests, failures, errors, skipped.
fn counts(xml: &str) -> [usize; 4] {
    let attribute = |name: &str| {
        let (_, rest) =
            xml.split_once("<testsuites ").unwrap().1.split_once(&format!(" {name}=\"")).unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    ["tests", "failures", "errors", "skipped"].map(attribute)
}

#[test]
fn a_gate_is_a_test_case() {
    let desk = Desk::new();
    let [a, b] = two_runs(&desk);
    let junit = |folders: &[&Path], arguments: &[&str]| {
        let command = if folders.len() == 2 { "compare" } else { "report" };
        let (_, texts) = exported(&desk, command, folders, arguments, &[("--junit", "gates.xml")]);
        texts.concat()
    };
    let xml = junit(&[&a, &b], &GATES);
    assert_eq!(counts(&xml), [3, 1, 0, 1], "{xml}");
    assert!(xml.contains("<failure message=\"Gate bulk:regression&lt;=5% NOT met"), "{xml}");
    assert!(xml.contains("<skipped message=\"Gate handshakes:ratio&gt;=1 inconclusive"), "{xml}");
    // Between two machines no gate on times decides.
    write_quota(&a, &Value::Null);
    write_quota(&b, &json!({"quota_us": 50_000, "period_us": 100_000}));
    let xml = junit(&[&a, &b], &["--gate", "regression<=5%"]);
    assert_eq!(counts(&xml), [1, 0, 0, 1], "{xml}");
    assert!(xml.contains("The machines of A and B differ: CPU quota none in A"), "{xml}");
    // A run that is not whole does not look like one that passed.
    let broken = desk.run("broken", [1.0, -1.0, 1.0]);
    let xml = junit(&[&broken], &["--gate", "handshakes:rate>=1/s"]);
    assert_eq!(counts(&xml), [2, 0, 1, 0], "{xml}");
    assert!(
        xml.contains(
            "<error message=\"This run is not whole: 7 of 21 measurements are not valid.\""
        ),
        "{xml}"
    );
}

#[test]
fn figures_of_one_kind_are_in_one_file() {
    let desk = Desk::new();
    let run = Quick { servers: 1.0, algorithms: 1.0 }.run(&desk, "quick");
    let entries = |text: &str| -> Vec<Value> { serde_json::from_str(text).unwrap() };
    let files =
        [("--benchmark-json bigger=", "rates.json"), ("--benchmark-json smaller=", "costs.json")];
    let (output, texts) = exported(&desk, "report", &[&run], &[], &files);
    assert_exit(&output, 0);
    let [rates, costs] = &texts[..] else { panic!("{texts:?}") };
    for (text, words) in [(rates, "per-server-cpu"), (costs, "cycles-per-")] {
        let entries = entries(text);
        let mut names = std::collections::BTreeSet::new();
        for entry in &entries {
            let name = entry["name"].as_str().unwrap();
            assert!(name.contains(words) && names.insert(name.to_owned()), "{name}");
            assert!(entry["value"].as_f64().unwrap() > 0.0, "{entry}");
            assert!(!entry["unit"].as_str().unwrap().is_empty(), "{entry}");
            // As the action reads it: a sign, and what JavaScript's Number takes.
            let range = entry["range"].as_str().unwrap().strip_prefix("± ").unwrap();
            assert!(range.parse::<f64>().is_ok(), "{entry}");
            assert!(entry["extra"].as_str().unwrap().contains("interval"), "{entry}");
        }
        assert!(!entries.is_empty());
    }
    // Another run has the same names and units, whatever its figures are.
    let slower = Quick { servers: 0.001, algorithms: 1e-4 }.run(&desk, "slower");
    let (_, later) = exported(&desk, "report", &[&slower], &[], &files);
    let series = |text: &String| -> Vec<_> {
        entries(text).into_iter().map(|of| (of["name"].clone(), of["unit"].clone())).collect()
    };
    assert_eq!(
        later.iter().map(series).collect::<Vec<_>>(),
        texts.iter().map(series).collect::<Vec<_>>()
    );
    let (mixed, none) =
        exported(&desk, "report", &[&run], &[], &[("--benchmark-json", "all.json")]);
    assert_exit(&mixed, 2);
    assert!(
        none.is_empty() && said(&mixed).contains("write --benchmark-json bigger="),
        "{}",
        said(&mixed)
    );
}

#[test]
fn a_figure_that_was_not_measured_is_in_no_file() {
    let desk = Desk::new();
    let broken = desk.run("broken", [1.0, -1.0, 1.0]);
    let (output, texts) =
        exported(&desk, "report", &[&broken], &[], &[("--benchmark-json", "rates.json")]);
    assert_exit(&output, 3);
    let entries: Vec<Value> = serde_json::from_str(&texts[0]).unwrap();
    assert_eq!(entries.len(), 2, "{entries:?}");
    let nothing = desk.run("nothing", [-1.0; 3]);
    let files = [("--benchmark-json", "rates.json"), ("--markdown", "summary.md")];
    let (output, texts) = exported(&desk, "report", &[&nothing], &[], &files);
    assert_exit(&output, 3);
    // The other file is written all the same.
    assert!(texts.len() == 1 && texts[0].contains("No trial is valid"), "{texts:?}");
}

#[test]
fn a_file_that_is_stdout_is_alone_there() {
    let desk = Desk::new();
    let [a, b] = two_runs(&desk);
    let continued = ["--continue", a.to_str().unwrap()];
    for place in ["-", "/dev/stdout"] {
        let arguments = ["--gate", "ratio>=0.1", "--junit", place];
        let output = toll("compare", &arguments, &[&a, &b]);
        assert_exit(&output, 0);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with("<?xml") && text.ends_with("</testsuites>\n"), "{text}");
        for (command, folders, others) in
            [("report", &[&*a][..], &[][..]), ("run", &[][..], &continued[..])]
        {
            let arguments = [others, &["--benchmark-json", place]].concat();
            let output = toll(command, &arguments, folders);
            assert_exit(&output, 0);
            serde_json::from_slice::<Vec<Value>>(&output.stdout).unwrap();
        }
    }
}

#[test]
fn what_cannot_be_written_is_refused_before_anything_is_measured() {
    let desk = Desk::new();
    let file = desk.0.path().join("small.toml");
    std::fs::write(&file, STUDY).unwrap();
    let out = desk.0.path().join("out");
    let gate = ["--gate", "rate>=1/s"];
    let here = desk.0.path().to_str().unwrap();
    let (md, missing) = (format!("{here}/a.md"), format!("{here}/missing/gates.xml"));
    let smaller = format!("smaller={md}");
    let rows: [(&[&str], &str); 9] = [
        (&["--markdown", &missing], "missing: No such file or directory"),
        (&["--markdown", here], "it is no file"),
        (&["--markdown", ""], "give a file, or - for stdout"),
        (&["--junit", &md], "--junit: there is no gate"),
        (&["--markdown", &md, "--benchmark-json", &md], "is written by two options"),
        (&["--markdown", "-", "--benchmark-json", "/dev/stdout"], "is written by two options"),
        (&["--markdown", "-", "--json"], "--json prints to stdout too"),
        (&["--benchmark-json", &smaller], "of all figures more is better"),
        (&["--benchmark-json", "bigger="], "give a file, or - for stdout"),
    ];
    for (arguments, words) in rows {
        let gates = if words.contains("no gate") { &[][..] } else { &gate };
        let arguments = [&["--out", out.to_str().unwrap()], arguments, gates].concat();
        let output = toll("run", &arguments, &[&file]);
        assert_exit(&output, 2);
        assert!(said(&output).contains(words), "{words}: {}", said(&output));
    }
    assert!(!out.exists() && !Path::new(&md).exists());
    // A plan and a study that includes others have no such files.
    let output = toll("run", &["papers", "--markdown", &md, "--dry-run"], &[]);
    assert_exit(&output, 2);
    assert!(said(&output).contains("--markdown"), "{}", said(&output));
}

#[test]
fn a_full_disk_takes_the_file_and_not_the_measurement() {
    const SCRIPT: &str = r#"
        mount -t tmpfs -o size=64k none /mnt || exit 99
        echo earlier >/mnt/summary.md
        head -c 65536 /dev/zero >/mnt/full
        "$1" run --continue "$2" --markdown /mnt/summary.md
        echo "code $?"
        cat /mnt/summary.md
        ls /mnt
    "#;
    let desk = Desk::new();
    let run = desk.run("a", [1.0; 3]);
    let output = crate::full_disk::run_script(SCRIPT, &[&run]);
    let text = said(&output);
    assert!(text.contains("Everything is in ") && run.join("report.html").is_file(), "{text}");
    assert!(text.contains("code 3\nearlier\nfull\nsummary.md\n"), "{text}");
    let why = "toll: /mnt/summary.md: No space left on device";
    assert!(text.contains(why) && text.contains("toll report"), "{text}");
}

#[test]
fn a_link_stays_one() {
    let desk = Desk::new();
    let run = desk.run("a", [1.0; 3]);
    let [file, link] = ["file.md", "link.md"].map(|name| desk.0.path().join(name));
    std::fs::write(&file, "earlier").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert_exit(&toll("report", &["--markdown", link.to_str().unwrap()], &[&run]), 0);
    assert!(link.is_symlink() && !std::fs::read_to_string(&file).unwrap().contains("earlier"));
}

/// The workflow of docs/compare-runs.md; the proofs have actionlint read it.
const WORKFLOW: &str = include_str!("../../../../../../docs/ci/compare-builds.yml");

#[test]
fn the_page_shows_the_workflow_and_its_options_are_there() {
    let page = include_str!("../../../../../../docs/compare-runs.md");
    assert!(page.contains(&format!("```yaml\n{WORKFLOW}```\n")), "copy the file into the page");
    let mut checked = 0;
    for command in ["run", "compare"] {
        let help = said(&toll(command, &["--help"], &[]));
        for step in WORKFLOW.split("\n      - ") {
            let Some((_, words)) = step.split_once(&format!("toll {command} ")) else { continue };
            let options = words.split_whitespace().filter(|word| word.starts_with("--"));
            for option in options {
                assert!(help.contains(&format!("{option} ")), "toll {command} {option}");
                checked += 1;
            }
        }
    }
    assert!(checked >= 5, "{checked}");
}
