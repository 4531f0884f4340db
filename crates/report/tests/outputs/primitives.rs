//! What algorithms cost, in the page and on a terminal.

use answer::analysis::Figure;
use answer::findings::{Curve, Dot, Headline, Line};
use answer::primitive::{Answer, Beside, Cost, Costs, Discarded, LowerBound, Projected, Row};
use primitives::instructions::Bounded;
use primitives::row::{NoFigure, Reason};
use primitives::{Cache, CycleSource, Hardware, RowKey};
use report::Style;
use stats::Estimate;

use crate::fabricated::{Fabricated, HOSTILE, whole};

fn figure(samples: &[f64]) -> Figure {
    Figure { estimate: Estimate::of(samples).unwrap(), samples: samples.to_vec() }
}

fn row(library: &str, size_bytes: u64, cost: Option<f64>) -> Row {
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
    Row {
        library_title: format!("{library} {HOSTILE}"),
        no_figure: cost.is_none().then(|| NoFigure {
            why: format!("no figure: its result is not that of {HOSTILE}"),
            reason: Reason::Refused,
        }),
        published: vec![Beside {
            label: "Xeon Scalable".to_owned(),
            cycles_per_byte: 0.65,
            source: HOSTILE.to_owned(),
        }],
        bound: Some(Bounded::Gcm),
        times_the_bound: cost.is_some().then_some(3.25),
        table: "ciphers".to_owned(),
        key,
        cost,
    }
}

fn line(label: &str, is_baseline: bool, costs: [f64; 2]) -> Line {
    let dot = |(size, y): (f64, f64)| Dot {
        x: size,
        y,
        range: Some((y * 0.9, y * 1.1)),
        published: vec![("published: Xeon Scalable, 0.65 cycles/byte".to_owned(), 0.65)],
        ..Dot::default()
    };
    let dots = [1024.0, 8192.0].into_iter().zip(costs).map(dot).collect();
    Line { label: label.to_owned(), is_baseline, is_joined: true, dots }
}

fn run() -> Fabricated {
    let mut run = whole();
    let projected = Projected { row: row("old", 8192, None).key, cores: 4, per_s: 8e9 };
    let headline = Headline {
        value: "2.0x".to_owned(),
        unit: "as fast".to_owned(),
        sentence: "It is twice as fast.".to_owned(),
        advice: None,
    };
    run.costs = Some(Costs {
        planned: 18,
        done: 17,
        answers: vec![Answer {
            question: Some("What does another library bring?".to_owned()),
            headline: Some(headline),
            published: vec!["AES-128-GCM at 8 KiB: 0.65 cycles/byte".to_owned()],
            projected: vec![projected],
            caveats: vec![format!("one lies: {HOSTILE}")],
            primitives: "ciphers".to_owned(),
            compare: "library",
            baseline: "old".to_owned(),
            ratios: Vec::new(),
            curves: vec![Curve {
                title: format!("AES-128-GCM {HOSTILE}"),
                lines: vec![line("old", true, [1.0, 0.6]), line("new", false, [0.5, 0.3])],
                bound: Some(("estimate of AES-128-GCM: 0.200 cycles/byte".to_owned(), 0.2)),
                ..Curve::default()
            }],
        }],
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
        gates: Vec::new(),
    });
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
    assert!(!whole().html().contains("What algorithms cost"));
}

#[test]
fn a_study_of_tables_alone_mentions_no_trials() {
    let mut run = run();
    run.analysis.cells.clear();
    run.analysis.answers.clear();
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
        "3.25x",
        "Xeon Scalable 0.65",
        "no such",
        "8.0 GB/s",
        "not a bound",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains('\u{1b}'));
}
