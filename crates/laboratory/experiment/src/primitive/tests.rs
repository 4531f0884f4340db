//! Tables as their readers meet them: the order of parts, what a run keeps, what is discarded, and the
//! sentences, over a meter whose figures are known.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use primitives::instructions::{Bound, Bounded};
use primitives::row::{Measured, NoFigure, Outcome, Reason};
use primitives::sampler::{Quality, Quartiles};
use primitives::{CycleSource, Hardware, Row, RowKey};
use tempfile::TempDir;

use super::*;
use crate::{Ended, Event};
use answer::analysis::Analysis;
use answer::costs::{AlgorithmRow, Costs};
use journal::Results;
use study::Study;
use study::primitive::{Part, Primitives, What};

const STUDY: &str = r#"
schema = 1
question = "?"
reference = "xeon-scalable"
[[primitives]]
name = "ciphers"
algorithms = ["gcm"]
libraries = ["openssl", "aws-lc"]
sizes = ["1KiB", "8KiB"]
hardware = ["all", "none"]
rounds = 2
[[primitives]]
name = "hashes"
algorithms = ["SHA-1"]
libraries = ["openssl", "multibuffer"]
sizes = ["8KiB"]
cache = "cold"
rounds = 1
[[answer]]
primitives = "ciphers"
question = "What does another library bring?"
compare = "library"
baseline = "openssl"
show = "projection"
project = [4]
[[answer]]
primitives = "hashes"
compare = "library"
baseline = "openssl"
"#;

fn study() -> Study {
    study_of(STUDY)
}

fn study_of(text: &str) -> Study {
    file::parse("test.toml", text, &"0-1".parse::<CpuList>().unwrap().into(), None)
        .unwrap_or_else(|e| panic!("{e}"))
}

/// A cost of 2 cycles/byte, of AWS-LC 1 and of many messages 0.5, at 2 GHz.
fn measured(key: &RowKey) -> Measured {
    let messages: u8 = if key.library == "multibuffer" { 16 } else { 1 };
    let cycles = match key.library.as_str() {
        "aws-lc" => 1.0,
        "multibuffer" => 0.5,
        _ => 2.0,
    };
    let bytes = key.size_bytes.unwrap() as f64 * f64::from(messages);
    let quartiles = |median: f64| Quartiles { low: median * 0.9, median, high: median * 1.1 };
    let ops_per_s = 2e9 / (cycles * bytes);
    Measured {
        cycles_per_byte: Some(quartiles(cycles)),
        cycles_per_op: quartiles(cycles * bytes),
        core_hz: 2e9,
        ops_per_s,
        bytes_per_s: Some(ops_per_s * bytes),
        messages_per_op: messages.into(),
        samples: 10,
        dropped_shared: 2,
        dropped_unsteady: 0,
        quality: Quality::Quiet,
        confirmed_by: "another".to_owned(),
    }
}

/// Gives known figures until an interrupt, and keeps what it was asked for.
#[derive(Default)]
struct Known {
    asked: Vec<String>,
    /// After this many parts the user interrupts.
    interrupt_after: Option<usize>,
    /// The library whose result is wrong.
    wrong: Option<&'static str>,
}

impl Meter for Known {
    fn check(&self, _: &Primitives) -> Result<(), String> {
        Ok(())
    }

    fn measure(
        &mut self,
        part: &Part<'_>,
        interrupt: &AtomicBool,
        report: &mut dyn FnMut(Duration),
    ) -> Result<Option<PartReading>, String> {
        report(Duration::ZERO);
        self.asked.push(format!("{}: {}", part.round, part.in_words()));
        interrupt.store(self.interrupt_after == Some(self.asked.len()), Relaxed);
        if let What::Bounds(_) = part.what {
            let bound =
                Bound { of: Bounded::Gcm, cycles_per_byte: 0.5, arithmetic: "one half".to_owned() };
            return Ok(Some(PartReading { rows: Vec::new(), bounds: vec![bound] }));
        }
        let row = |key: RowKey| Row {
            library_title: format!("{} 1", key.library),
            cycles_source: CycleSource::MeasuredFrequency,
            outcome: match self.wrong == Some(key.library.as_str()) {
                true => Outcome::None(NoFigure {
                    why: "no figure: its result is wrong".to_owned(),
                    reason: Reason::Refused,
                }),
                false => Outcome::Measured(Box::new(measured(&key))),
            },
            key,
        };
        let rows = part.rows().into_iter().map(row).collect();
        Ok(Some(PartReading { rows, bounds: Vec::new() }))
    }
}

struct Desk {
    _parent: TempDir,
    results: Results,
}

impl Desk {
    fn new() -> Self {
        let parent = tempfile::tempdir().unwrap();
        let results = Results::create(parent.path(), "test", SystemTime::UNIX_EPOCH).unwrap();
        Self { _parent: parent, results }
    }

    fn run(&self, study: &Study, meter: &mut Known) -> Ended {
        let events = Cell::new(0);
        let mut report = |_: Event<'_>| events.set(events.get() + 1);
        let interrupt = AtomicBool::new(false);
        run(&study.primitives, &self.results, meter, &interrupt, &mut report).unwrap()
    }

    fn journal(&self) -> PathBuf {
        self.results.folder().join("journal.jsonl")
    }

    fn found(&self, study: &Study) -> Costs {
        self.analysis(study).costs
    }

    fn analysis(&self, study: &Study) -> Analysis {
        Analysis::of(study, &self.results.entries().unwrap(), &[], None)
    }

    /// Changes the journal's text from outside.
    fn forge(&self, change: impl Fn(&str) -> String) {
        let text = std::fs::read_to_string(self.journal()).unwrap();
        let forged = change(&text);
        assert_ne!(forged, text);
        std::fs::write(self.journal(), forged).unwrap();
    }
}

/// The parts of the bounds exist where the processor's instructions are known.
fn without_bounds(asked: &[String]) -> Vec<&str> {
    let parts = asked.iter().map(String::as_str);
    parts.filter(|part| !part.contains("instructions allow")).collect()
}

#[test]
fn rounds_are_interleaved_over_tables_and_every_other_runs_backwards() {
    let (desk, mut meter) = (Desk::new(), Known::default());
    assert_eq!(desk.run(&study(), &mut meter), Ended::Complete);
    assert_eq!(
        without_bounds(&meter.asked),
        [
            "0: ciphers, hardware all, warm caches",
            "0: ciphers, hardware none, warm caches",
            "0: hashes, hardware all, cold caches",
            "1: ciphers, hardware none, warm caches",
            "1: ciphers, hardware all, warm caches",
        ]
    );
    let found = desk.found(&study());
    // 2 algorithms of 2 libraries at 2 sizes and 2 levels in 2 rounds, and 2 hashes.
    assert_eq!((found.done, found.planned), (2 * 2 * 2 * 2 * 2 + 2, 34));
    assert!(found.is_whole() && found.discarded.is_empty());
    assert!(study().primitives.forecast().seconds() < 10.0);
}

#[test]
fn a_run_resumes_after_the_last_whole_part() {
    let (desk, study) = (Desk::new(), study());
    let mut first = Known { interrupt_after: Some(3), ..Known::default() };
    assert_eq!(desk.run(&study, &mut first), Ended::Interrupted);
    // A crash within the lines of a part: the part is measured again, and its last lines count.
    desk.forge(|text| {
        let lines: Vec<&str> = text.lines().collect();
        lines[..lines.len() - 1].join("\n") + "\n{\"torn"
    });
    let incomplete = desk.found(&study);
    assert!(!incomplete.is_whole());
    let mut second = Known::default();
    assert_eq!(desk.run(&study, &mut second), Ended::Complete);
    let all = desk.found(&study);
    assert!(all.is_whole());
    assert_eq!(second.asked.len(), study.primitives.parts().len() - 2);
    // Nothing is left, so nothing is measured.
    let mut third = Known::default();
    assert_eq!(desk.run(&study, &mut third), Ended::Complete);
    assert!(third.asked.is_empty());
    let (whole, mut meter) = (Desk::new(), Known::default());
    whole.run(&study, &mut meter);
    let whole = whole.found(&study);
    assert_eq!(Costs { started_unix_ms: all.started_unix_ms, ..whole }, all);
}

#[test]
fn an_answer_has_figures_ratios_and_what_was_published() {
    let (desk, study) = (Desk::new(), study());
    desk.run(&study, &mut Known::default());
    let analysis = desk.analysis(&study);
    // Two algorithms with all instructions and with none, at 8 KiB.
    let bars = || analysis.answers[..4].iter().flat_map(answer::analysis::Answer::shown);
    let ratios = bars()
        .filter_map(|bar| Some((bar.row.params["size"].to_string(), bar.ratio.as_ref()?.median())));
    assert_eq!(ratios.collect::<Vec<_>>(), vec![("8KiB".to_owned(), 2.0); 4]);
    // Two libraries of each, times four cores.
    let projected = bars().flat_map(|bar| {
        bar.projected.iter().map(|of| (bar.row.params["library"].to_string(), of.per_s))
    });
    let projected: Vec<_> = projected.collect();
    assert_eq!(projected.len(), 8);
    for (library, per_s) in [("aws-lc", 8e9), ("openssl", 4e9)] {
        assert!(projected.contains(&(library.to_owned(), per_s)), "{library}");
    }
    let hashes = analysis.answers[4].shown().find_map(|bar| bar.ratio.as_ref());
    assert_eq!(hashes.unwrap().median(), 4.0);
    let found = &analysis.costs;
    let published = |is_it: &dyn Fn(&AlgorithmRow) -> bool| -> Vec<f64> {
        let row = found.rows.iter().find(|row| is_it(row)).unwrap();
        row.published.iter().map(|of| of.cycles_per_byte).collect()
    };
    let is_gcm = |row: &AlgorithmRow| {
        row.key.algorithm.name() == "AES-128-GCM" && row.key.size_bytes == Some(8192)
    };
    assert_eq!(published(&is_gcm), [0.77, 0.65]);
    // Published over many messages with data in memory, which only the second is.
    let of =
        |library: &str| published(&|row| row.table == "hashes" && row.key.library == library).len();
    assert_eq!((of("openssl"), of("multibuffer")), (0, 2));
}

/// What an author writes, of enough rounds and of too few.
#[test]
fn an_author_words_the_answer_where_it_can_be_decided() {
    let authored = |rounds: u32, rows: &str| {
        let text = STUDY.replace("rounds = 2", &format!("rounds = {rounds}"));
        let text = text.replacen("show = \"projection\"\nproject = [4]\n", rows, 1);
        let (desk, study) = (Desk::new(), study_of(&text));
        desk.run(&study, &mut Known::default());
        desk.analysis(&study).answers[0].headline.clone()
    };
    const ROWS: &str = "decides = [\"aws\", \"old\"]\nrows.aws = { library = \"aws-lc\" }\n\
         rows.old = { library = \"openssl\" }\nsame = \"-\"\nadvice = \"Use it.\"\n\
         headline = \"{{ old.cycles_per_byte | times(aws.cycles_per_byte) }}: \
         {{ aws.cycles_per_byte }}, {{ aws.bytes_per_second }}\"\n";
    let headline = authored(8, ROWS).unwrap();
    assert_eq!(headline.sentence, "2.0x: 1.00 cycles/byte, 2.00 GB/s.");
    assert_eq!((headline.value.as_str(), headline.advice.as_deref()), ("2.0x", Some("Use it.")));
    // Two rounds decide nothing.
    assert_eq!(authored(2, ROWS), None);
    // What the answer does not compare itself is decided with its own: where the rounds of all agree, by six of them.
    let other = ROWS.replace("rows.old = {", "rows.old = { algorithm = \"AES-256-GCM\",");
    let rate = "{{ aws.bytes_per_second | times(old.bytes_per_second) }}";
    let other = other.replace("{{ aws.bytes_per_second }}", rate);
    assert_eq!(authored(5, &other), None);
    assert!(authored(6, &other).unwrap().sentence.starts_with("2.0x: "));
}

#[test]
fn a_wrong_result_is_refused_and_no_number() {
    let (desk, study) = (Desk::new(), study());
    let mut meter = Known { wrong: Some("aws-lc"), ..Known::default() };
    desk.run(&study, &mut meter);
    let found = desk.found(&study);
    assert!(!found.is_whole());
    let refused: Vec<_> = found.rows.iter().filter(|row| row.is_refused()).collect();
    assert_eq!(refused.len(), 8);
    assert!(refused.iter().all(|row| row.cost.is_none() && row.key.library == "aws-lc"));
    let analysis = desk.analysis(&study);
    let answer = &analysis.answers[0];
    assert!(!answer.caveats.is_empty());
    assert!(answer.shown().all(|bar| bar.ratio.is_none()));
}

/// Every figure of a line, made false from outside.
#[test]
fn forged_lines_are_discarded() {
    let study = study();
    for (honest, forged, why) in [
        (
            "\"cycles_per_byte\":{\"low\":1.8,\"median\":2.0",
            "\"cycles_per_byte\":{\"low\":0.1,\"median\":0.2",
            "over the bytes",
        ),
        ("\"cycles_per_op\":{\"low\":", "\"cycles_per_op\":{\"low\":9", "in no order"),
        ("\"core_hz\":2000000000.0", "\"core_hz\":4000000000.0", "is not core_hz"),
        ("\"ops_per_s\":", "\"ops_per_s\":9", "ops_per_s"),
        ("\"bytes_per_s\":1000000000.0", "\"bytes_per_s\":3000000000.0", "bytes_per_s"),
        ("\"messages_per_op\":1", "\"messages_per_op\":2", "over the bytes"),
        ("\"samples\":10", "\"samples\":0", "no sample"),
        ("\"confirmed_by\":\"another\"", "\"confirmed_by\":\"openssl 1\"", "no second library"),
        ("\"size_bytes\":1024", "\"size_bytes\":2048", "no such row"),
        ("\"algorithm\":\"AES-128-GCM\"", "\"algorithm\":\"AES-128-CTR\"", "no such row"),
        ("\"library\":\"openssl\"", "\"library\":\"ring\"", "no such row"),
        ("\"hardware\":\"all\"", "\"hardware\":\"sse\"", "no such row"),
        ("\"cache\":\"warm\"", "\"cache\":\"cold\"", "no such row"),
        ("\"threads\":1", "\"threads\":2", "no such row"),
        ("\"table\":\"ciphers\"", "\"table\":\"other\"", "no such row"),
        ("\"round\":0", "\"round\":7", "no such round"),
    ] {
        let desk = Desk::new();
        desk.run(&study, &mut Known::default());
        let honest_rows = desk.found(&study).rows;
        // The first row of the table: bounds come before it.
        desk.forge(|text| {
            let start = text.find("\"role\":\"primitive\"").unwrap();
            let (before, rest) = text.split_at(start);
            format!("{before}{}", rest.replacen(honest, forged, 1))
        });
        let found = desk.found(&study);
        assert_eq!(found.discarded.len(), 1, "{forged}");
        assert!(found.discarded[0].why.contains(why), "{forged}: {:?}", found.discarded);
        assert!(!found.is_whole(), "{forged}");
        let of_first = |rows: &[AlgorithmRow]| rows[0].cost.as_ref().unwrap().cycles.samples.len();
        assert_eq!(of_first(&honest_rows), of_first(&found.rows) + 1, "{forged}");
        // What was discarded is measured again.
        let mut again = Known::default();
        desk.run(&study, &mut again);
        assert_eq!(without_bounds(&again.asked).len(), 1, "{forged}");
        assert!(desk.found(&study).is_whole(), "{forged}");
    }
}

#[test]
fn a_bound_that_is_no_cost_is_discarded() {
    if primitives::instructions::all().is_empty() {
        return;
    }
    let (desk, study) = (Desk::new(), study());
    desk.run(&study, &mut Known::default());
    desk.forge(|text| {
        text.replacen("\"cycles_per_byte\":0.5,\"arith", "\"cycles_per_byte\":-0.5,\"arith", 1)
    });
    let found = desk.found(&study);
    assert_eq!(found.discarded.len(), 1);
    assert_eq!(found.bounds[0].cycles_per_byte.samples, [0.5]);
}

#[test]
fn a_bound_above_what_a_library_costs_is_none() {
    if primitives::instructions::all().is_empty() {
        return;
    }
    let (desk, study) = (Desk::new(), study());
    desk.run(&study, &mut Known::default());
    assert_eq!(desk.found(&study).bounds[0].beaten, None);
    desk.forge(|text| {
        text.replace("\"cycles_per_byte\":0.5,\"arith", "\"cycles_per_byte\":1.5,\"arith")
    });
    let beaten = desk.found(&study).bounds[0].beaten.clone();
    assert!(beaten.unwrap().contains("aws-lc 1"));
}

#[test]
fn disturbed_and_lacking_rounds_are_reported() {
    let (desk, study) = (Desk::new(), study());
    desk.run(&study, &mut Known { interrupt_after: Some(3), ..Known::default() });
    desk.forge(|text| text.replace("\"quality\":\"quiet\"", "\"quality\":\"disturbed\""));
    let answers = desk.analysis(&study).answers;
    let caveats: String =
        answers.iter().flat_map(|answer| &answer.caveats).map(|of| &*of.text).collect();
    assert!(caveats.contains("too high") && caveats.contains("1 of 2 rounds"), "{caveats}");
}

#[test]
fn a_ratio_is_of_rounds_that_both_have() {
    let (desk, study) = (Desk::new(), study());
    desk.run(&study, &mut Known::default());
    // A round of the baseline's first row at the size of the answer goes.
    desk.forge(|text| {
        let is_it = |line: &str| line.contains("\"size_bytes\":8192");
        let gone = text.lines().position(is_it).unwrap();
        let left = text.lines().enumerate().filter(|(at, _)| *at != gone);
        left.map(|(_, line)| format!("{line}\n")).collect()
    });
    let answers = desk.analysis(&study).answers;
    let ratio = |answer: &answer::analysis::Answer| {
        answer.shown().find_map(|bar| Some(bar.ratio.as_ref()?.samples.clone())).unwrap()
    };
    assert_eq!((ratio(&answers[0]), ratio(&answers[1])), (vec![2.0], vec![2.0, 2.0]));
}

#[test]
fn a_difference_is_shown_by_enough_rounds_alone() {
    for (rounds, baseline, is_shown) in
        [(3, "openssl", false), (5, "openssl", false), (6, "openssl", true), (6, "aws-lc", true)]
    {
        let text = STUDY.replace("rounds = 2", &format!("rounds = {rounds}"));
        let text =
            text.replacen("baseline = \"openssl\"", &format!("baseline = \"{baseline}\""), 1);
        let (desk, study) = (Desk::new(), study_of(&text));
        desk.run(&study, &mut Known::default());
        let answers = desk.analysis(&study).answers;
        let bars = answers[..4].iter().flat_map(answer::analysis::Answer::shown);
        let mut decisions = bars.filter_map(|bar| Some(bar.ratio.as_ref()?.decision));
        assert!(decisions.all(|of| of.is_sure() == is_shown));
        // What was asked for says so before anything is measured.
        let notes = Tables(&study).notes();
        let of_ciphers = notes.iter().filter(|note| note.contains("ciphers"));
        assert_eq!(of_ciphers.count(), usize::from(!is_shown), "{notes:?}");
    }
}

#[test]
fn a_gate_that_no_run_can_meet_gets_a_note() {
    let gated = |rounds: u32| {
        let text = STUDY.replace("rounds = 1", &format!("rounds = {rounds}"));
        study_of(&(text + "gate = \"ratio >= 2\"\n"))
    };
    for (rounds, is_met) in [(5, false), (6, true)] {
        let (desk, study) = (Desk::new(), gated(rounds));
        desk.run(&study, &mut Known::default());
        let [gate] = &desk.analysis(&study).gates[..] else { panic!() };
        assert_eq!(gate.result == answer::gate::Reached::Met, is_met, "{gate:?}");
        let notes = Tables(&study).notes();
        let note = notes.iter().any(|note| note.starts_with("primitives hashes: 5 rounds "));
        assert_eq!(note, !is_met, "{notes:?}");
    }
}

#[test]
fn what_is_on_one_cpu_alone_has_a_bound() {
    if primitives::instructions::all().is_empty() {
        return;
    }
    let (desk, study) = (Desk::new(), study());
    desk.run(&study, &mut Known::default());
    for row in desk.found(&study).rows {
        let is_bound =
            row.key.algorithm.name() == "AES-128-GCM" && row.key.hardware == Hardware::All;
        assert_eq!(row.times_the_bound.is_some(), is_bound, "{row:?}");
    }
}

#[test]
fn commands_can_be_repeated_by_hand() {
    let study = study_of(&STUDY.replace("rounds = 2", "rounds = 2\nthreads = 2"));
    let parts = study.primitives.parts();
    let part = parts.iter().find(|part| matches!(part.what, What::Table { .. })).unwrap();
    assert_eq!(
        part.command(),
        "taskset -c 0-1 toll bench AES-128-GCM AES-256-GCM --library openssl --library aws-lc --size 1KiB \
         --size 8KiB --threads 2 --cache warm --hardware all --samples 10 --json"
    );
}
