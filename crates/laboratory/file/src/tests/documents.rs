use super::*;
use ::primitives::sampler::FEWEST;
use load::{Plan, Receive};
use stats::{rounds_to_decide, trials_to_decide};
use std::collections::BTreeSet;

use crate::shipped;
use study::Metric;

pub(super) const GUIDE: &str = include_str!("../../../../../docs/study-files.md");

#[test]
fn quick_is_what_it_says() {
    let study = shipped_at("quick", "0-1", None);
    assert_eq!(study.name, "quick");
    assert_eq!(study.trials, 14);
    let cells: Vec<_> = study
        .cells
        .iter()
        .map(|cell| {
            let params: Vec<_> = cell.params.values().map(ToString::to_string).collect();
            format!("{} {}", cell.name, params.join(" "))
        })
        .collect();
    assert_eq!(
        cells,
        [
            "handshakes-0001 rsa:2048 nginx",
            "handshakes-0002 ecdsa:p256 nginx",
            "handshakes-0003 rsa:2048 embedded",
            "handshakes-0004 ecdsa:p256 embedded",
            "bulk-0001 none nginx",
            "bulk-0002 TLS_AES_128_GCM_SHA256 nginx",
            "bulk-0003 TLS_AES_256_GCM_SHA384 nginx",
            "bulk-0004 TLS_CHACHA20_POLY1305_SHA256 nginx",
            "bulk-0005 TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA nginx",
            "bulk-0006 none embedded",
            "bulk-0007 TLS_AES_128_GCM_SHA256 embedded",
            "bulk-0008 TLS_AES_256_GCM_SHA384 embedded",
            "bulk-0009 TLS_CHACHA20_POLY1305_SHA256 embedded",
            "bulk-0010 TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA embedded",
            "plain-sendfile-0001 true nginx",
            "read-0001 embedded",
        ]
    );
    let cbc = &study.cells[8];
    assert!(!cbc.target.encrypt_then_mac);
    assert_eq!(cbc.load.encrypt_then_mac, Some(false));
    // Plain HTTP by the path of TLS in user space, and beside it by sendfile.
    let (same_path, sendfile) = (&study.cells[4], &study.cells[14]);
    assert_eq!((same_path.target.sendfile, sendfile.target.sendfile), (Some(false), Some(true)));
    assert_eq!(same_path.load, sendfile.load);
    // Nothing but how the client receives.
    let (walked, read) = (&study.cells[10], &study.cells[15]);
    let receive = Some(Receive::Decrypt);
    assert_eq!(
        (Plan { receive, ..walked.load.clone() }, &walked.target),
        (read.load.clone(), &read.target)
    );
    // The cipher of each suite is timed alone.
    let [ciphers, multi_buffer] = &study.primitives.tables[..] else { panic!() };
    // A line where Intel's library is there, and hardly any time.
    assert!(multi_buffer.libraries == ["openssl", "crypto-mb"] && multi_buffer.rounds == 6);
    assert_eq!(study.answers[0].nominal.as_deref(), Some(ciphers.name.as_str()));
    let tls = study.cells[4..14].iter().filter(|cell| !cell.load.is_plain());
    assert!(tls.clone().count() == 8 && tls.clone().all(|cell| cell.record_cipher().is_some()));
    let metrics: Vec<_> = study.answers.iter().map(|answer| answer.metric).collect();
    assert_eq!(
        metrics[..3],
        [Metric::TlsTax, Metric::GoodputPerServerCpu, Metric::RatePerServerCpu]
    );
    assert!(study.forecast().time.seconds() < 60.0, "{}", study.forecast().time);
}

#[test]
fn gcm_vs_cbc_sweeps_as_many_cores_as_there_are() {
    let of = |allowed: &str, scale| shipped_at("gcm-vs-cbc", allowed, scale);
    // On 17 CPUs the load keeps one.
    let large = of("0-31", None);
    let files = |study: &Study| -> Vec<study::Cell> {
        study.cells.iter().filter(|cell| cell.case == "files").cloned().collect()
    };
    assert_eq!(files(&large).len(), 5 * 7 * 2);
    let small = of("0-1", None);
    assert_eq!(files(&small).len(), 7 * 2);
    // The paper's client and toll's, with both suites.
    assert_eq!(small.cells.iter().filter(|cell| cell.find.is_none()).count(), 2 * 2);
    for cell in &files(&large) {
        assert!(!cell.target.encrypt_then_mac && cell.load.encrypt_then_mac != Some(true));
        assert_eq!(cell.load.only_suite().unwrap().key_exchange, tls::KeyExchange::Rsa);
        assert_eq!(cell.load.operation, load::Operation::OneRequestPerConnection);
        let find = cell.find.as_ref().unwrap();
        let ceiling = "first-byte-max <= 2s";
        assert_eq!((find.hold.seconds(), find.ceiling.to_string().as_str()), (93.0, ceiling));
    }
    let published = large.answers.iter().map(|rule| rule.published.len()).sum::<usize>();
    assert_eq!(published, 4);
    let quick = of("0-1", Some("quick"));
    assert!(!quick.cut.is_empty());
    assert!(seconds(&quick) < 300.0, "{:?}", quick.forecast());
}

/// How long all of it takes at most.
pub(super) fn seconds(study: &Study) -> f64 {
    // What a trial takes beside its windows is 80 ms.
    let forecast = study.forecast();
    let trials = (forecast.held + forecast.searching) as f64;
    forecast.time.seconds() + 0.08 * trials + study.primitives.forecast().seconds()
}

#[test]
fn quick_takes_at_most_75_seconds() {
    let quick = shipped_at("quick", "0-1", None);
    assert!(seconds(&quick) <= 68.0, "{:?}", quick.forecast());
    assert_eq!(quick.until.unwrap().at_most.to_string(), "75s");
}

#[test]
fn quick_handshakes_take_four_minutes_and_compare_what_they_measure() {
    let study = shipped_at("handshakes", "0-1", None);
    let quick = shipped_at("handshakes", "0-1", Some("quick"));
    assert_eq!(quick.cells.len(), 2 * 2 * 2 + 2 * 6);
    assert!(seconds(&quick) <= 240.0, "{:?}", quick.forecast());
    let compared = |study: &Study, case: &str| {
        let of_case = study.answers.iter().filter(|rule| rule.case == case);
        of_case.map(|rule| rule.compare.clone()).collect::<Vec<_>>()
    };
    let paper = ["target.certificate-key", "load.operation", "target.certificate-key"];
    assert_eq!(compared(&quick, "paper"), paper);
    assert_eq!(compared(&study, "keys"), ["target.certificate-key", "load.group"]);
    // The quick one has one group.
    assert_eq!(compared(&quick, "keys"), ["target.certificate-key"]);
}

#[test]
fn offload_compares_the_ways_and_is_quick() {
    let study = shipped_at("offload", "0-1", None);
    let quick = shipped_at("offload", "0-1", Some("quick"));
    let others = 3 + 5 + 2;
    // The real device first.
    let multi_buffer = |connections: usize| 4 * (2 * 2 * connections) + 2;
    assert_eq!(study.cells.len(), multi_buffer(4) + 2 + 2 * 3 * 4 + 2 * 2 * 2 + others);
    assert_eq!(quick.cells.len(), multi_buffer(2) + 2 + 2 * 3 * 2 + 2 * 2 + others);
    assert_eq!(study.cells.iter().map(|cell| cell.load.connections).max(), Some(512));
    assert!(study.cells[0].case == "multi-buffer" && study.answers[0].case == "multi-buffer");
    assert!(seconds(&quick) <= 300.0, "{:?}", quick.forecast());
    assert_eq!(quick.answers, study.answers);
    for cell in study.cells.iter().filter(|cell| cell.case == "ways-1ms") {
        let accelerator = cell.target.accelerator().unwrap();
        let has_device = accelerator.way != offload::Way::Inline;
        assert_eq!(accelerator.latency.exact() == "1ms", has_device, "{accelerator}");
    }
    // The paper's load, with a card and without.
    let large = shipped_at("offload", "0-31", None);
    let paper = large.cells.iter().filter(|cell| cell.case == "keys");
    assert_eq!(paper.clone().count(), 2 * 2 * 5 * 2);
    let is_model = |cell: &&study::Cell| cell.target.accelerator().is_some();
    assert_eq!(paper.filter(is_model).count(), 2 * 5 * 2);
    let published = large.answers.iter().flat_map(|rule| &rule.published);
    assert!(published.clone().any(|of| of.says.starts_with("21,376 ")));
    assert!(published.clone().any(|of| of.says.starts_with("50 Gb/s ")));
    assert!(published.clone().any(|of| of.says.starts_with("up to 12 times the ECDH")));
}

#[test]
fn quick_video_takes_five_minutes_at_a_gigabit_per_second() {
    let mut quick = shipped_at("ktls", "0-1", Some("quick"));
    quick.cells.retain(|cell| cell.case.starts_with("video-"));
    assert!(seconds(&quick) <= 300.0, "{:?}", quick.forecast());
    let modes = 3;
    assert_eq!(quick.cells.len(), 2 * modes);
    for cell in &quick.cells {
        assert_eq!(cell.load.connections, 5_000);
        assert_eq!(cell.load.arrival.to_string(), "paced 1Gb/s");
        let files = study::files(&cell.target, &cell.load).unwrap();
        let asked_for = (cell.load.warmup().seconds() + cell.load.duration.seconds()) * 1e9 / 8.0;
        let is_on_disk = cell.case == "video-disk";
        assert_eq!(files.storage == load::Storage::Disk, is_on_disk);
        // Each comes from the disk.
        assert!(!is_on_disk || files.total().0 as f64 > asked_for, "{files}");
    }
    let full = shipped_at("ktls", "0-1", None);
    assert_eq!(full.cells.iter().filter(|cell| cell.case == "video-disk").count(), 3 * modes);
}

#[test]
fn shipped_studies_are_named_with_their_questions() {
    for (name, question) in shipped() {
        let study = shipped_at(name, "0-7", None);
        assert_eq!(read_back(&study), study);
        assert_eq!((study.name.as_str(), study.question), (name, question));
    }
}

#[test]
fn the_readme_lists_the_shipped_studies() {
    let readme = include_str!("../../../../../README.md");
    let rows = readme.lines().skip_while(|line| !line.starts_with("| `toll run ...`")).skip(2);
    let names = rows.map_while(|line| line.strip_prefix("| `")?.split('`').next());
    let mut listed: Vec<&str> = names.collect();
    let mut built_in: Vec<&str> = shipped().into_iter().map(|(name, _)| name).collect();
    listed.sort_unstable();
    built_in.sort_unstable();
    assert_eq!(listed, built_in);
}

/// An answer that is repeated for each step between releases is one.
#[test]
fn shipped_studies_have_one_to_three_headlines_in_their_authors_words() {
    for (name, _) in shipped() {
        let study = shipped_at(name, "0-1", None);
        let written = study.answers.iter().filter_map(|answer| answer.written.as_ref());
        let written: BTreeSet<String> = written.map(|of| of.headline.to_string()).collect();
        let written = written.len();
        let is_measured = study.include.is_empty();
        assert!(!is_measured || (1..=3).contains(&written), "{name}: {written}");
    }
}

#[test]
fn the_guides_example_is_a_study() {
    let (_, rest) = GUIDE.split_once("## An example\n\n```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let study = parse(example);
    assert_eq!(study.cells.len(), 2 * 2 + 3);
    assert_eq!(study.answers.len(), 2);
}

/// The row of a key in the guide's table behind `heading`.
fn row(heading: &str, key: &str) -> &'static str {
    let (_, rest) = GUIDE.split_once(heading).unwrap_or_else(|| panic!("{heading}"));
    let table = rest.split("\n\n").find(|part| part.starts_with('|')).unwrap();
    table
        .lines()
        .find(|line| line.starts_with(&format!("| `{key}` |")))
        .unwrap_or_else(|| panic!("{key} is not in the table behind {heading}"))
}

#[test]
fn the_guide_has_every_metric() {
    for metric in Metric::of_cells() {
        assert!(row("The metrics", metric.name()).len() > metric.name().len() + 10);
    }
}

/// What is measured in memory has all parts of the handshakes that the answers are about.
#[test]
fn the_study_of_handshakes_has_the_parts_of_each_handshake() {
    let study = shipped_at("handshakes", "0-1", None);
    let keys: Vec<_> = study.cells.iter().filter(|cell| cell.case == "keys").collect();
    assert_eq!(keys.len(), 2 * 4 * 6);
    let table = study.primitives.tables.iter().find(|table| table.name == "in-memory").unwrap();
    for cell in keys {
        let parts = [cell.private_key_operation(), cell.handshake_in_memory()];
        assert!(parts.iter().all(|part| table.algorithms.contains(&part.unwrap())), "{parts:?}");
    }
    let hit_rates = |case: &str| study.cells.iter().filter(|cell| cell.case == case).count();
    assert_eq!(hit_rates("resumption"), 2 * 2 * 5);
    assert_eq!(hit_rates("resumption-tls12-tickets"), 2 * 5);
    assert_eq!(hit_rates("resumption-tls12-sessions"), 2 * 5);
}

#[test]
fn shipped_studies_have_rounds_enough_for_the_comparisons_of_their_answers() {
    let mut short = Vec::new();
    // On one core and on many: what a study sweeps over cores depends on the machine.
    for (allowed, (name, _)) in
        ["0-1", "0-63"].iter().flat_map(|all| shipped().into_iter().map(move |of| (all, of)))
    {
        let text = StudyFile::find(name).unwrap().text;
        let table: toml::Table = text.parse().unwrap();
        let scales = table.get("scale").and_then(toml::Value::as_table);
        let scales = scales.into_iter().flat_map(|scales| scales.keys().map(String::as_str));
        // A proof that all of it works, which its file calls no measurement.
        let scales = scales.filter(|scale| (name, *scale) != ("ktls", "vm")).map(Some);
        for scale in scales.chain([None]) {
            let study = shipped_at(name, allowed, scale);
            // A gate can be about each row by itself, or about all of them in two runs, which are judged together.
            let of_gates = rounds_to_decide(1).max(trials_to_decide(study.rows().len()) as u32);
            let needed = rounds_to_decide(study.most_comparisons()).max(of_gates);
            if study.trials < needed && !study.cells.is_empty() {
                short.push(format!("{name} {scale:?}: {} of {needed}", study.trials));
            }
            for table in &study.primitives.tables {
                let needed =
                    study.most_comparisons_of(table).map_or(0, rounds_to_decide).max(of_gates);
                if table.rounds < needed {
                    short.push(format!(
                        "{name} {scale:?}, {}: {} of {needed}",
                        table.name, table.rounds
                    ));
                }
                // With fewer the figures of a quiet machine would be marked as disturbed.
                assert!(usize::from(table.samples) >= FEWEST, "{name} {scale:?}, {}", table.name);
            }
        }
    }
    assert!(short.is_empty(), "{short:#?}");
}

#[test]
fn the_study_that_is_written_to_be_changed_is_one_and_the_guide_begins_with_one() {
    let (_, shortest) = GUIDE.split_once("```toml\n").unwrap();
    let (shortest, _) = shortest.split_once("```").unwrap();
    assert!(shortest.lines().count() <= 10, "{shortest}");
    for text in [crate::NEW, shortest] {
        let study = crate::parse("new.toml", text, &allowed(), None).unwrap();
        assert_eq!((study.cells.len(), study.trials), (2, 7));
    }
}

#[test]
fn a_study_is_found_with_and_without_its_ending() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let text = |name: &str| crate::StudyFile::find(&path(name)).map(|file| file.text);
    std::fs::write(path("mine.toml"), "a").unwrap();
    std::fs::write(path("other"), "b").unwrap();
    assert_eq!(text("mine").unwrap(), "a");
    assert_eq!(text("mine.toml").unwrap(), "a");
    assert_eq!(text("other").unwrap(), "b");
    assert!(text("none").is_err() && text("none.toml").is_err());
}

/// With this machine's own release and three more.
#[test]
fn quick_upgrade_takes_four_minutes_and_says_each_step() {
    let text = StudyFile::find("upgrade").unwrap().text;
    let made = || ["debian-12", "debian-13", "debian-testing"].map(str::to_owned).into();
    let study = |scale| crate::read("upgrade.toml", &text, &machine("0-1"), scale, made());
    let quick = study(Some("quick")).unwrap_or_else(|flaw| panic!("{}", flaw.what));
    assert_eq!(quick.cells.len(), 2 * (2 + 1 + 2 + 1 + 1) * 4);
    assert!(seconds(&quick) <= 240.0, "{:?}", quick.forecast());
    let of_steps = |study: &Study| {
        let answers = study.answers.iter().filter(|rule| rule.written.is_some());
        answers.map(|rule| rule.baseline.clone()).collect::<Vec<_>>()
    };
    assert_eq!(of_steps(&quick), ["debian-12", "debian-13"].repeat(2));
    let counted = study(Some("count")).unwrap_or_else(|flaw| panic!("{}", flaw.what));
    assert!(counted.cells.iter().all(|cell| cell.load.counter().is_some()));
    assert_eq!((counted.cells.len(), of_steps(&counted).len()), (5 * 4, 2));
}
