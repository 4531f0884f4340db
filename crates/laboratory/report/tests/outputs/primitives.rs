//! What algorithms cost, in the page and on a terminal.

use std::collections::BTreeMap;
use std::sync::Arc;

use answer::analysis::{Answer, Figure, Point, Projected, Row, RowFigure};
use answer::costs::{AlgorithmRow, Cost, Costs, Discarded, LowerBound, PublishedCost};
use answer::findings::Headline;
use primitives::instructions::Bounded;
use primitives::row::{NoFigure, Reason};
use primitives::{Cache, CycleSource, Hardware, RowKey};
use report::Style;
use study::{AnswerRule, Metric, Param, Params};
use units::Bytes;

use crate::fabricated::{Fabricated, HOSTILE, whole};

fn figure(samples: &[f64]) -> Figure {
    Figure::of(samples.to_vec()).unwrap()
}

fn row(library: &str, size_bytes: u64, cost: Option<f64>) -> AlgorithmRow {
    let key = RowKey {
        algorithm: "AES-128-GCM".parse().unwrap(),
        library: library.to_owned(),
        size_bytes: Some(size_bytes),
        hardware: Hardware::All,
        cache: Cache::Warm,
        threads: 1,
    };
    let cost = cost.map(|cycles| Cost {
        cycles: figure(&[cycles, cycles * 1.01, cycles * 0.99]),
        ns_per_op: figure(&[cycles * size_bytes as f64 / 2.5]),
        rounds: vec![0, 1, 2],
        low: cycles * 0.9,
        high: cycles * 1.1,
        core_hz: 2.5e9,
        ops_per_s: 2.5e9 / cycles / size_bytes as f64,
        bytes_per_s: Some(2.5e9 / cycles),
        rates: vec![2.5e9 / cycles; 3],
        messages_per_op: 1,
        taken: 40,
        dropped: 10,
        disturbed_rounds: usize::from(library == "disturbed"),
        contention_unknown: false,
        confirmed_by: HOSTILE.to_owned(),
    });
    AlgorithmRow {
        name: "ciphers-0001".to_owned(),
        params: Params::default(),
        planned: 3,
        done: 3,
        library_title: format!("{library} {HOSTILE}"),
        no_figure: cost.is_none().then(|| NoFigure {
            why: format!("no figure: its result is not that of {HOSTILE}"),
            reason: Reason::Refused,
        }),
        published: vec![published()],
        bound: Some(Bounded::Gcm),
        times_the_bound: cost.is_some().then_some(3.25),
        table: "ciphers".to_owned(),
        key,
        cost,
    }
}

/// A cost per byte of a library at a size: what is timed, and what is estimated of it.
fn of(library: &str, size_bytes: u64, cost: f64) -> RowFigure {
    let params = [("size", format!("{}KiB", size_bytes / 1024)), ("library", library.to_owned())];
    let params: BTreeMap<String, String> =
        params.map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
    let row = AlgorithmRow { params: params.into(), ..row(library, size_bytes, Some(0.65)) };
    RowFigure {
        row: Arc::new(Row::of_algorithm(&row)),
        value: Param::of("library", library),
        label: library.to_owned(),
        is_baseline: library == "old",
        figure: Some(figure(&[cost * 0.9, cost, cost * 1.1])),
        ratio: None,
        mark: None,
        projected: vec![Projected { cores: 4, per_s: 8e9 }],
    }
}

fn published() -> PublishedCost {
    PublishedCost {
        label: "Xeon Scalable".to_owned(),
        cycles_per_byte: 0.65,
        source: HOSTILE.to_owned(),
    }
}

fn answer() -> Answer {
    let rule = AnswerRule {
        question: Some("What does another library bring?".to_owned()),
        along: Some("size".to_owned()),
        at: vec![Bytes(8192)],
        ..AnswerRule::new("ciphers", Metric::CyclesPerByte, "library", "old")
    };
    let rule = Arc::new(rule);
    let point = |size: u64, factor: f64| Point {
        rule: rule.clone(),
        place: 99,
        common: BTreeMap::from([
            ("cipher".to_owned(), format!("AES-128-GCM {HOSTILE}")),
            ("size".to_owned(), format!("{}KiB", size / 1024)),
        ])
        .into(),
        figures: vec![of("old", size, 0.6 * factor), of("new", size, 0.3 * factor)],
        decisions: Arc::default(),
    };
    Answer {
        headline: Some(Headline {
            value: "2.0x".to_owned(),
            unit: "as fast".to_owned(),
            sentence: "It is twice as fast.".to_owned(),
            advice: None,
        }),
        caveats: vec![format!("one lies: {HOSTILE}").into()],
        ..Answer::plain(vec![point(1024, 1.5), point(8192, 1.0)])
    }
}

fn run() -> Fabricated {
    let mut run = whole();
    run.analysis.answers.push(answer());
    run.analysis.costs = Costs {
        planned: 18,
        done: 17,
        rows: vec![
            row("old", 8192, Some(0.6)),
            row("disturbed", 8192, Some(0.3)),
            row("liar", 8192, None),
        ],
        bounds: vec![LowerBound {
            of: Bounded::Gcm,
            cycles_per_byte: figure(&[0.2, 0.2]),
            arithmetic: "the greater of two".to_owned(),
            beaten: Some("beaten by ring: not a bound".to_owned()),
        }],
        discarded: vec![Discarded { of: HOSTILE.to_owned(), why: "no such row".to_owned() }],
        cycles_source: Some(CycleSource::MeasuredFrequency),
        started_unix_ms: Some(1),
    };
    run
}

#[test]
fn the_page_has_answers_drawings_tables_and_what_was_left_out() {
    let page = run().html();
    for part in [
        "What does another library bring?",
        "It is twice as fast.",
        "17 of 18 figures of primitives were measured",
        "dashed is the estimate of AES-128-GCM: 0.200 ",
        "published: Xeon Scalable, 0.65 ",
        "0.600",
        "0.540 to 0.660",
        "30 of 40",
        "no figure: its result is not that of ",
        "the greater of two",
        "beaten by ring: not a bound",
        "Discarded lines of the journal",
        "0.300!",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<script>alert"), "texts are no markup");
    assert!(!whole().html().contains("What a cost is"));
}

#[test]
fn a_study_of_tables_alone_mentions_no_trials() {
    let mut run = run();
    run.analysis.cells.clear();
    run.analysis.answers.retain(|answer| answer.rule().case == "ciphers");
    run.lines.clear();
    let page = run.html();
    for heading in ["Every trial", "Where the CPU time went", "There is no answer"] {
        assert!(!page.contains(heading), "{heading}");
    }
}

#[test]
fn the_terminal_has_them_too() {
    let text = run().terminal(200, Style::Plain);
    for part in [
        "It is twice as fast.",
        "refused",
        "0.300!",
        "3.3x",
        "Xeon Scalable 0.65",
        "no such",
        "8.00 GB/s",
        "not a bound",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains('\u{1b}'));
}
