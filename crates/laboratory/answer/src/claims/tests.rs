//! Claims about journals made by hand.

use super::*;
use crate::analysis::tests::scene::{CBC, GCM, SPREAD, Scene};
use crate::compare::{ComparedRun, Comparison};
use crate::summary::{Summary, SummaryError};
use study::testing::server;
use study::{ClaimedFigure, LostRows, Params, Published, PublishedUnit};
use trial::Limit;

fn published(unit: PublishedUnit, low: f64, high: f64) -> Published {
    Published {
        name: "large-files".to_owned(),
        who: "A paper".to_owned(),
        source: "A paper, 2014".to_owned(),
        what: "GCM over CBC".to_owned(),
        says: "2 to 2.4x".to_owned(),
        place: Some("Results".to_owned()),
        unit,
        low,
        high,
        is_at_least: false,
        beside: Params::default(),
    }
}

fn row(suite: &str) -> RowOf {
    let mut params = Params::default();
    params.set("load.suite", suite);
    RowOf { case: "bulk".to_owned(), params, best: None }
}

fn claim(published: Published, metric: Metric, over: Option<&str>) -> Claim {
    let measured = Some(ClaimedFigure { metric, of: row(GCM), over: over.map(row), than: None });
    Claim { published, measured, why: Some("another CPU".to_owned()) }
}

/// nginx with AES-GCM, at this multiple of the 4 Gb/s a core that it sends with AES-CBC.
fn scene(times: f64, claims: Vec<Claim>) -> Scene {
    let mut scene = Scene::suites(&[server("nginx")], &[GCM, CBC]);
    scene.measure(0, times * 4e9, &SPREAD);
    scene.measure(1, 4e9, &[1.0; 7]);
    scene.study.claims = claims;
    scene
}

fn judged(scene: &Scene) -> JudgedClaim {
    scene.analysis().claims.remove(0)
}

fn of_ratio(times: f64, low: f64, high: f64) -> ClaimResult {
    let published = published(PublishedUnit::Ratio, low, high);
    let claim = claim(published, Metric::GoodputPerServerCpu, Some(CBC));
    judged(&scene(times, vec![claim])).result
}

#[test]
fn the_whole_interval_decides_a_range() {
    // The interval of the ratio reaches 3% to both sides.
    for (times, result) in [
        (2.2, ClaimResult::Holds),
        (1.9, ClaimResult::DiffersLess),
        (2.5, ClaimResult::DiffersMore),
        (2.02, ClaimResult::NotDecided),
        (2.38, ClaimResult::NotDecided),
    ] {
        assert_eq!(of_ratio(times, 2.0, 2.4), result, "{times}");
    }
}

#[test]
fn claims_of_a_paper_are_decided_together() {
    let of = |low, high| {
        let published = published(PublishedUnit::Ratio, low, high);
        claim(published, Metric::GoodputPerServerCpu, Some(CBC))
    };
    let first = |others: &[f64]| {
        // In other rounds each the ratio is beyond the published one.
        let others = others.iter().map(|share| of(2.2 * share, 2.2 * share));
        judged(&scene(2.2, std::iter::once(of(2.0, 2.4)).chain(others).collect())).result
    };
    assert_eq!(first(&[]), ClaimResult::Holds);
    assert_eq!(first(&[0.985, 1.005]), ClaimResult::Holds);
    assert_eq!(first(&[0.975, 0.985, 0.995, 1.005]), ClaimResult::TooFewTrials);
}

#[test]
fn one_figure_holds_where_the_two_do_not_differ() {
    assert_eq!(of_ratio(2.02, 2.0, 2.0), ClaimResult::Holds);
    assert_eq!(of_ratio(2.1, 2.0, 2.0), ClaimResult::DiffersMore);
    let claim =
        claim(published(PublishedUnit::Ratio, 2.0, 2.0), Metric::GoodputPerServerCpu, Some(CBC));
    let mut wide = scene(2.0, vec![claim]);
    wide.keep(|cell, _| cell == 1);
    wide.measure(0, 8e9, &[1.0, 0.7, 1.3, 0.8, 1.2, 0.9, 1.1]);
    assert_eq!(judged(&wide).result, ClaimResult::NotDecided);
}

#[test]
fn of_words_the_better_side_of_1_holds() {
    let words = |metric| claim(published(PublishedUnit::Words, 0.0, 0.0), metric, Some(CBC));
    for (times, metric, result) in [
        (1.1, Metric::Goodput, ClaimResult::Holds),
        (0.9, Metric::Goodput, ClaimResult::DiffersLess),
        (1.0, Metric::Goodput, ClaimResult::NotDecided),
        // Less is better.
        (1.1, Metric::ServerCpuPerGigabyte, ClaimResult::Holds),
        (0.9, Metric::ServerCpuPerGigabyte, ClaimResult::DiffersMore),
    ] {
        assert_eq!(judged(&scene(times, vec![words(metric)])).result, result, "{times} {metric}");
    }
}

#[test]
fn a_gain_that_is_larger_than_another_is_a_ratio_of_both() {
    // 2.0 times over 1.6 times.
    for (here, there, result) in [
        (2.0, 1.6, ClaimResult::Holds),
        (1.6, 2.0, ClaimResult::DiffersLess),
        (2.0, 2.0, ClaimResult::NotDecided),
    ] {
        let mut scene = Scene::suites(&[server("nginx"), server("haproxy")], &[GCM, CBC]);
        for (at, bits) in [here * 4e9, 4e9, there * 5e9, 5e9].into_iter().enumerate() {
            scene.measure(at, bits, if at % 2 == 0 { &SPREAD } else { &[1.0; 7] });
        }
        let of = |cell: usize| RowOf {
            case: scene.study.cells[cell].case.clone(),
            params: scene.study.cells[cell].params.clone(),
            best: None,
        };
        let measured = ClaimedFigure {
            metric: Metric::GoodputPerServerCpu,
            of: of(0),
            over: Some(of(1)),
            than: Some((of(2), of(3))),
        };
        let published = published(PublishedUnit::Words, 0.0, 0.0);
        scene.study.claims = vec![Claim { published, measured: Some(measured), why: None }];
        let found = judged(&scene);
        assert_eq!(found.result, result, "{here} {there}: {found:?}");
        assert_eq!(found.published, "2 to 2.4x (Results)");
    }
}

#[test]
fn what_is_published_of_a_core_is_in_the_metrics_unit() {
    let claim =
        claim(published(PublishedUnit::GbpsPerCore, 7.0, 9.0), Metric::GoodputPerServerCpu, None);
    let judged = judged(&scene(2.0, vec![claim]));
    assert_eq!(
        (judged.result, judged.here.as_str()),
        (ClaimResult::Holds, "8.00 Gb/s [7.76, 8.24]")
    );
    assert_eq!(judged.why, None);
}

#[test]
fn too_few_trials_and_what_is_absent_prove_nothing() {
    let claim =
        || claim(published(PublishedUnit::Ratio, 2.0, 2.4), Metric::GoodputPerServerCpu, Some(CBC));
    let mut few = scene(2.2, vec![claim()]);
    few.keep(|_, round| round < 5);
    assert_eq!(judged(&few).result, ClaimResult::TooFewTrials);

    let mut absent = scene(2.2, vec![claim()]);
    absent.lines.clear();
    absent.skip(server("nginx"));
    let of_absent = judged(&absent);
    assert_eq!(of_absent.result, ClaimResult::NotMeasurable);
    assert_eq!(of_absent.why.as_deref(), Some("nginx is not installed"));

    let mut cut = scene(2.2, vec![claim()]);
    cut.study.cells.pop();
    let of = |key: &str, case: Option<&str>, what: &str| {
        let lost = LostRows::ByKey { key: key.to_owned(), case: case.map(str::to_owned) };
        Cut::new("fewer suites", what.to_owned()).losing(lost)
    };
    cut.study.cut = vec![
        Cut::new("other settings", "load.suite and load.duration differ in case bulk".to_owned()),
        of("load.suite", Some("another"), "load.suite = CBC alone in another case"),
        of("load.suite", None, "load.suite = GCM alone"),
    ];
    let why = judged(&cut).why.unwrap();
    assert!(why.contains(CBC) && why.contains("load.suite = GCM alone"), "{why}");
    cut.study.cells.clear();
    let why = judged(&cut).why.unwrap();
    assert!(!why.contains('('), "{why}");

    let mut failed = scene(2.2, vec![claim()]);
    (0..7).for_each(|round| failed.fail(0, round));
    assert_eq!(judged(&failed).why.as_deref(), Some("nginx died"));
}

#[test]
fn a_throughput_that_the_client_limited_is_not_the_servers() {
    let of = |metric| {
        let mut scene =
            scene(2.2, vec![claim(published(PublishedUnit::Ratio, 2.0, 2.4), metric, Some(CBC))]);
        (0..3).for_each(|round| scene.trial(0, round).verdict_mut().limit = Limit::ClientCpu);
        judged(&scene)
    };
    let limited = of(Metric::Goodput);
    assert_eq!(limited.result, ClaimResult::NotMeasurable);
    assert!(limited.why.unwrap().contains("3 of 7 trials"));
    assert_eq!(of(Metric::GoodputPerServerCpu).result, ClaimResult::Holds);
}

#[test]
fn what_other_work_disturbed_decides_nothing() {
    for (disturbed, result) in [(0, ClaimResult::DiffersMore), (1, ClaimResult::NotDecided)] {
        let claim = claim(
            published(PublishedUnit::Ratio, 1.0, 1.5),
            Metric::GoodputPerServerCpu,
            Some(CBC),
        );
        let mut scene = scene(2.2, vec![claim]);
        (0..disturbed).for_each(|round| scene.trial(1, round).verdict_mut().limit = Limit::Noise);
        assert_eq!(judged(&scene).result, result, "{disturbed}");
    }
}

#[test]
fn rows_that_were_received_differently_are_not_divided() {
    let claim =
        claim(published(PublishedUnit::Ratio, 2.0, 2.4), Metric::GoodputPerServerCpu, Some(CBC));
    let mut scene = scene(2.2, vec![claim]);
    for (cell, how) in [(0, load::Receive::Walk), (1, load::Receive::Decrypt)] {
        (0..7).for_each(|round| scene.trial(cell, round).receipt.asked.receive = Some(how));
    }
    assert_eq!(judged(&scene).result, ClaimResult::NotMeasurable);
}

/// Whether the claim of a scene about its first row over its second is decided, by the run and by its summary, and
/// whether its answer has that ratio.
fn are_divided(scene: &Scene) -> [bool; 3] {
    let by_summary =
        judge(&scene.study.claims, &summary(scene).rows.iter().collect::<Vec<_>>(), &[]).remove(0);
    let is_decided = |of: &JudgedClaim| of.result != ClaimResult::NotMeasurable;
    [
        is_decided(&judged(scene)),
        is_decided(&by_summary),
        scene.first().bars().iter().any(|bar| bar.ratio.is_some()),
    ]
}

#[test]
fn rows_that_were_each_received_in_both_ways_are_divided_nowhere() {
    let of_ways = |ways: [load::Receive; 2]| {
        let claim = claim(published(PublishedUnit::Ratio, 2.0, 2.4), Metric::Goodput, Some(CBC));
        let mut scene = scene(2.2, vec![claim]).answer(Metric::Goodput, "load.suite", CBC);
        for trial in &mut scene.lines {
            let way = ways[usize::from(trial.place.round % 2 == 0)];
            trial.line.receipt.asked.receive = Some(way);
        }
        are_divided(&scene)
    };
    use load::Receive::{Decrypt, Walk};
    assert_eq!(of_ways([Walk, Walk]), [true; 3]);
    assert_eq!(of_ways([Walk, Decrypt]), [false; 3]);
}

#[test]
fn congestion_controls_that_were_asked_for_are_divided_everywhere() {
    let of_controls = |asked: [Option<&str>; 2]| {
        let mut scene = scene(2.2, vec![]).answer(Metric::Goodput, "load.suite", CBC);
        for ((place, control), asked) in ["cubic", "bbr"].into_iter().enumerate().zip(asked) {
            scene.study.cells[place].target.congestion = asked.map(|name| name.parse().unwrap());
            for round in 0..7 {
                let obtained = &mut scene.trial(place, round).receipt.obtained;
                obtained.server_congestion = [(control.to_owned(), 64)].into();
            }
        }
        let published = published(PublishedUnit::Ratio, 2.0, 2.4);
        scene.study.claims = vec![claim(published, Metric::Goodput, Some(CBC))];
        are_divided(&scene)
    };
    assert_eq!(of_controls([None, None]), [false; 3]);
    assert_eq!(of_controls([Some("cubic"), Some("bbr")]), [true; 3]);
}

/// What a server's own QUIC does is not visible, and no reason to leave it uncompared with TCP.
#[test]
fn a_congestion_control_over_quic_is_not_known() {
    let of_quic = |quic: bool| {
        let mut scene = scene(2.2, vec![]).answer(Metric::Goodput, "load.suite", CBC);
        for (place, control) in ["cubic", "not visible"].into_iter().enumerate() {
            for round in 0..7 {
                let obtained = &mut scene.trial(place, round).receipt.obtained;
                obtained.server_congestion = [(control.to_owned(), 64)].into();
                obtained.quic = (quic && place == 1).then(Default::default);
            }
        }
        let published = published(PublishedUnit::Ratio, 2.0, 2.4);
        scene.study.claims = vec![claim(published, Metric::Goodput, Some(CBC))];
        are_divided(&scene)
    };
    assert_eq!((of_quic(true), of_quic(false)), ([true; 3], [false; 3]));
}

fn summary(scene: &Scene) -> Summary {
    Summary::of(&ComparedRun { machine: None, ..scene.run() }, Some(1_795_000_000_000), "0.1.0")
}

/// A scene with a claim, and its summary.
fn summarized() -> (Scene, Summary) {
    let claim =
        claim(published(PublishedUnit::Ratio, 2.0, 2.4), Metric::GoodputPerServerCpu, Some(CBC));
    let scene = scene(2.2, vec![claim]).answer(Metric::TlsTax, "load.suite", GCM);
    let summary = summary(&scene);
    (scene, summary)
}

#[test]
fn a_summary_is_read_as_it_was_written_and_judges_the_same() {
    let (scene, summary) = summarized();
    let text = summary.text().unwrap();
    assert_eq!(Summary::read(&text).unwrap(), summary);
    assert!(text.len() < 3000, "{text}");
    let of_run = judged(&scene);
    let of_summary =
        judge(&scene.study.claims, &summary.rows.iter().collect::<Vec<_>>(), &summary.cut)
            .remove(0);
    assert_eq!((of_summary.result, of_summary.here), (of_run.result, of_run.here));
}

#[test]
fn a_run_whose_begin_is_not_known_is_not_taken_for_another() {
    let (_, summary) = summarized();
    let begun = |started_unix_ms| {
        let mut summary = summary.clone();
        summary.started_unix_ms = started_unix_ms;
        summary
    };
    let (one, unknown) = (begun(Some(1)), begun(None));
    assert!(one.is_of_run_of(&one) && !one.is_of_run_of(&begun(Some(2))));
    assert!(!unknown.is_of_run_of(&unknown) && !unknown.is_of_run_of(&one));
}

#[test]
fn a_summary_that_is_cut_short_edited_or_of_another_form_is_refused() {
    let text = summarized().1.text().unwrap();
    let refused = |text: &str| Summary::read(text).unwrap_err();
    assert_eq!(refused(&text.replace("\"schema\":1", "\"schema\":2")), SummaryError::Schema(2));
    for cut in [0, 1, text.len() / 2, text.len() - 3] {
        assert!(matches!(refused(&text[..cut]), SummaryError::Damaged(_)), "{cut}");
    }
    assert!(matches!(refused("[]"), SummaryError::Damaged(_)));
    assert!(matches!(refused("{\"schema\":1}"), SummaryError::Damaged(_)));
    // The trials that make it hold, a little faster: it would differ.
    let row = text.lines().find(|line| line.contains("\"bulk-0001\"")).unwrap();
    let forged = text.replace(row, &row.replace("[0,8", "[0,9"));
    assert_ne!(forged, text);
    assert_eq!(refused(&forged), SummaryError::Changed);
}

#[test]
fn a_summary_compares_as_its_run_does() {
    let (scene, summary) = summarized();
    let (run, other) = (scene.run(), ComparedRun::from(summary));
    let whole = Comparison::of(&run, &run, &[]);
    for (a, b) in [(&run, &other), (&other, &run), (&other, &other)] {
        let comparison = Comparison::of(a, b, &[]);
        assert_eq!((&comparison.only, &comparison.differences), (&vec![], &vec![]));
        let [metric] = &comparison.metrics[..] else { panic!("{comparison:?}") };
        assert_eq!(metric.metric, whole.metrics[0].metric);
        let near = |x: f64, y: f64| (x / y - 1.0).abs() < 1e-5;
        for (own, expected) in metric.cells.iter().zip(&whole.metrics[0].cells) {
            assert_eq!((own.verdict, &own.label), (expected.verdict, &expected.label));
            let [own, expected] = [own, expected]
                .map(|of| stats::Estimate::from(of.ratio.as_ref().unwrap()).interval);
            assert!(near(own.low, expected.low));
        }
    }
}
