//! Studies with `[[primitives]]` as a user runs them, with the real libraries.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;

use journal::Journal;
use support::{Desk, Killed, text, toll, until};

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
show = "projection"
project = [4]
"#;

/// A folder with a study of tables.
struct Tables(Desk);

impl Deref for Tables {
    type Target = Desk;

    fn deref(&self) -> &Desk {
        &self.0
    }
}

impl Tables {
    fn new(study: &str) -> Self {
        Self(Desk::new(study))
    }

    fn lines(&self) -> Vec<journal::primitive::RowLine> {
        Journal::read(&self.journal()).unwrap().primitives
    }

    fn page(&self) -> String {
        self.file("report.html")
    }

    fn report(&self) -> serde_json::Value {
        let output = toll().args(["report", "--json"]).arg(self.results()).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
    }

    /// Starts the study, and returns when a part is in the journal.
    fn start(&self, arguments: &[&str]) -> Killed {
        let mut run = Killed::piped(&mut self.run(arguments));
        until("a part is in the journal", || {
            assert!(run.0.try_wait().unwrap().is_none());
            let path = self.results_if_any().map(|folder| folder.join("journal.jsonl"));
            let entries = path.and_then(|path| Journal::read(&path).ok());
            entries.is_some_and(|entries| !entries.primitives.is_empty())
        });
        run
    }
}

#[test]
fn the_gates_of_answers_decide_the_exit_code() {
    for (gate, code) in [("ratio >= 0.001", 0), ("ratio >= 1000", 1)] {
        let desk =
            Desk::new(&format!("{}gate = \"{gate}\"\n", STUDY.replace("rounds = 2", "rounds = 6")));
        let output = desk.run(&[]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(told.contains(&format!("Gate {gate} (ciphers: times as fast) ")), "{told}");
    }
}

/// How much longer AWS-LC takes in the slower run: no noise of the original reaches that far.
const SLOWER: f64 = 100.0;

/// A copy of a run in which AWS-LC takes longer, as consistent as the original.
fn far_slower(results: &Path, copy: &Path) {
    std::fs::create_dir(copy).unwrap();
    for file in ["study.toml", "cells.json", "machine.json", "journal.jsonl"] {
        std::fs::copy(results.join(file), copy.join(file)).unwrap();
    }
    let journal = std::fs::read_to_string(results.join("journal.jsonl")).unwrap();
    let slower = journal.lines().map(|line| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        if line["library"] == "aws-lc" {
            let times = |value: &mut serde_json::Value, factor: f64| {
                *value = (value.as_f64().unwrap() * factor).into();
            };
            for cost in ["cycles_per_byte", "cycles_per_op"] {
                for part in ["low", "median", "high"] {
                    times(&mut line[cost][part], SLOWER);
                }
            }
            for rate in ["ops_per_s", "bytes_per_s"] {
                times(&mut line[rate], 1.0 / SLOWER);
            }
        }
        format!("{line}\n")
    });
    std::fs::write(copy.join("journal.jsonl"), slower.collect::<String>()).unwrap();
}

/// The fields of a line of CSV.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    for c in line.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            _ => fields.last_mut().unwrap().push(c),
        }
    }
    fields
}

/// Algorithms are rows as cells are: every output, gate and comparison has them.
#[test]
fn algorithms_are_rows_of_every_output() {
    // A ratio between two runs takes seven samples of each.
    let desk = Tables::new(&STUDY.replace("rounds = 2", "rounds = 7"));
    let output = desk.run(&["--quiet"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let results = desk.results();
    let csv = desk.file("cells.csv");
    let mut lines = csv.lines().map(fields);
    let header = lines.next().unwrap();
    let column = |name: &str| header.iter().position(|column| column == name).unwrap();
    let rows: Vec<Vec<String>> = lines.collect();
    assert_eq!(rows.len(), 8, "{csv}");
    for row in &rows {
        assert_eq!(
            (row[column("case")].as_str(), row[column("trials_valid")].as_str()),
            ("ciphers", "7")
        );
        assert!(row[column("cycles_per_byte_median")].parse::<f64>().unwrap() > 0.0, "{row:?}");
        assert!(row[column("rate_per_s_median")].is_empty(), "{row:?}");
    }
    let is_it = |row: &&Vec<String>| {
        row[column("algorithm")] == "AES-128-GCM" && row[column("size")] == "8KiB"
    };
    assert_eq!(rows.iter().filter(is_it).count(), 2);
    let report =
        |arguments: &[&str]| toll().arg("report").arg(&results).args(arguments).output().unwrap();
    let metrics = report(&["--openmetrics"]).stdout;
    let metrics = String::from_utf8_lossy(&metrics).into_owned();
    let cycles = metrics.lines().filter(|line| line.starts_with("toll_cycles_per_byte{"));
    assert_eq!(cycles.clone().count(), 8 * 3, "{metrics}");
    assert!(cycles.clone().any(|line| line.contains("param_library=\"aws-lc\"")), "{metrics}");
    for (gate, code) in [
        ("cycles-per-byte<=1000000 cycles/byte", 0),
        ("ciphers:cycles-per-byte<=0.0001 cycles/byte", 1),
        ("ciphers-0001:bytes-per-second>=0.0001GB/s", 0),
        ("ciphers:rate>=1/s", 2),
        ("cipers:cycles-per-byte<=1 cycles/byte", 2),
    ] {
        let output = report(&["--gate", gate]);
        assert_eq!(output.status.code(), Some(code), "{gate}: {}", text(&output.stderr));
    }
    let slower = desk.out().join("slower");
    far_slower(&results, &slower);
    let compare = |arguments: &[&str]| {
        toll().arg("compare").args([&results, &slower]).args(arguments).output().unwrap()
    };
    let compared: serde_json::Value = serde_json::from_slice(&compare(&["--json"]).stdout).unwrap();
    let pairs = compared["metrics"][0]["cells"].as_array().unwrap();
    assert_eq!(
        (compared["metrics"][0]["metric"].as_str(), pairs.len()),
        (Some("cycles-per-byte"), 8)
    );
    for pair in pairs {
        let expected = if pair["params"]["library"] == "aws-lc" { SLOWER } else { 1.0 };
        assert!((pair["ratio"]["median"].as_f64().unwrap() - expected).abs() < 1e-9, "{pair}");
    }
    for (gate, code) in
        [("ratio<=1.5", 1), ("ratio<=10000", 0), ("cycles-per-byte<=0.0001 cycles/byte", 1)]
    {
        let output = compare(&["--gate", gate]);
        assert_eq!(output.status.code(), Some(code), "{gate}: {}", text(&output.stderr));
    }
}

#[test]
fn a_table_is_measured_kept_and_reported() {
    let desk = Tables::new(STUDY);
    let output = desk.run(&[]).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    for part in ["oo few rounds", "OpenSSL", "4 cores", "to OpenSSL"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let lines = desk.lines();
    assert_eq!(lines.len(), 2 * 2 * 2 * 2);
    for line in &lines {
        let figure = line.row.outcome.measured().unwrap_or_else(|| panic!("{line:?}"));
        assert!(figure.cycles_per_byte.unwrap().median > 0.0 && figure.core_hz > 1e8, "{line:?}");
        assert!(!figure.confirmed_by.is_empty(), "{line:?}");
    }
    let page = desk.page();
    for part in ["What does another library bring?", "oo few rounds", "Xeon Scalable"] {
        assert!(page.contains(part), "{part}");
    }
    // Everything behind the journal can be had again from it.
    std::fs::remove_file(desk.results().join("report.html")).unwrap();
    assert!(toll().arg("report").arg(desk.results()).output().unwrap().status.success());
    assert_eq!(desk.page(), page);
    let report = desk.report();
    let found = &report["primitives"];
    assert_eq!((found["done"].as_u64(), found["planned"].as_u64()), (Some(16), Some(16)));
    assert_eq!(found["rows"].as_array().unwrap().len(), 8);
    assert!(found["discarded"].as_array().unwrap().is_empty());
}

#[test]
fn a_dry_run_names_commands_and_time_and_does_nothing() {
    let desk = Tables::new(STUDY);
    let output = desk.run(&["--dry-run"]).output().unwrap();
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("toll bench \"AES-128-CBC encrypt\" AES-128-GCM --library openssl"),
        "{said}"
    );
    assert!(said.contains("primitives in ") && said.contains("about "), "{said}");
    assert!(desk.results_if_any().is_none());
}

#[test]
fn wrong_tables_are_one_line_with_their_place() {
    let desk = Tables::new(&STUDY.replace("\"aws-lc\"", "\"aws-lcc\""));
    let output = desk.run(&[]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("small.toml, line 8: ") && said.contains("`aws-lcc`"), "{said}");
    assert!(said.contains("did you mean `aws-lc`?") && said.lines().count() == 1, "{said}");
    drop(desk);
    let desk = Tables::new(&STUDY.replace("\"aws-lc\"", "\"/no/such/libcrypto.so\""));
    let output = desk.run(&[]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("/no/such/libcrypto.so"), "{said}");
}

#[test]
fn a_run_that_was_killed_goes_on() {
    let desk = Tables::new(&STUDY.replace("rounds = 2", "rounds = 40").replace("= 3", "= 20"));
    drop(desk.start(&["--quiet"]));
    let before = desk.lines();
    assert!(!before.is_empty() && before.len() < 40 * 8);
    // To go on with all of it would take longer than a test needs: fewer rounds are left.
    let path = desk.results().join("cells.json");
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
    let desk = Tables::new(&STUDY.replace("rounds = 2", "rounds = 40").replace("= 3", "= 20"));
    let run = desk.start(&[]);
    run.send("-INT");
    let output = run.finish();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("toll run --continue"), "{}", text(&output.stdout));
    assert_eq!(desk.lines().len() % 8, 0);
    assert!(desk.page().contains("incomplete"), "it says so");
}

/// A figure that was made better by hand is not believed.
#[test]
fn a_forged_line_is_discarded_and_told() {
    let desk = Tables::new(STUDY);
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
    let output = toll().arg("report").arg(desk.results()).output().unwrap();
    let said = text(&output.stdout);
    assert!(said.contains("Discarded lines"), "{said}");
    assert!(said.contains("cycles_per_byte"), "{said}");
    let found = desk.report()["primitives"].clone();
    assert_eq!(found["discarded"].as_array().unwrap().len(), 2);
    assert_eq!(found["done"], 14);
    assert!(desk.page().contains("Discarded lines"));
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
    let desk = Tables::new(&format!(
        "schema = 1\nquestion = \"Who lies?\"\n[[primitives]]\nname = \"hashes\"\n\
         algorithms = [\"SHA-256\"]\nlibraries = [\"openssl\", \"{}\"]\nsizes = [\"64B\"]\n\
         rounds = 1\nsamples = 3\n[[answer]]\nprimitives = \"hashes\"\ncompare = \"library\"\n\
         baseline = \"openssl\"\n",
        lying.display()
    ));
    let output = desk.run(&[]).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}{}", text(&output.stderr));
    assert!(said.contains("no figure: "), "{said}");
    assert!(said.contains("refused"), "{said}");
    let report = desk.report();
    let rows = report["primitives"]["rows"].as_array().unwrap();
    let of = |library: &str| rows.iter().find(|row| row["library"] == library).unwrap();
    assert!(of("openssl")["cost"].is_object());
    let lied = of(lying.to_str().unwrap());
    assert!(lied["cost"].is_null() && lied["no_figure"].is_string(), "{lied}");
    assert!(desk.page().contains("no figure: "));
}

/// A library that is not here leaves the others theirs.
#[test]
#[cfg(target_arch = "x86_64")]
fn what_is_not_available_is_said_and_the_rest_measured() {
    let desk = Tables::new(
        "schema = 1\nquestion = \"?\"\n[[primitives]]\nname = \"hashes\"\nalgorithms = [\"SHA-256\"]\n\
         libraries = [\"openssl\", \"multibuffer-avx512\"]\nsizes = [\"64B\"]\nhardware = \"none\"\n\
         rounds = 1\nsamples = 3\n",
    );
    let output = desk.run(&[]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = desk.report();
    let rows = report["primitives"]["rows"].as_array().unwrap();
    assert!(rows[0]["cost"].is_object(), "{rows:?}");
    assert!(rows[1]["no_figure"].as_str().unwrap().starts_with("not available"), "{rows:?}");
}
