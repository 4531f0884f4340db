//! Headlines in their author's words: with the figures, and only where they hold.

use std::collections::BTreeMap;

use study::headline::{BestOf, Decides, HeadlineTemplates, RowOf, Template};
use study::testing::server;
use study::{Metric, Params};

use super::scene::{CBC, CHACHA, ECDSA, EIGHT, GCM, RSA, SPREAD, Scene};
use super::{SUITE, bulk};
use crate::findings::Headline;

pub(super) const KEY: &str = "target.certificate-key";

fn row(case: &str, key: &str, value: &str) -> RowOf {
    let params = BTreeMap::from([(key.to_owned(), value.to_owned())]).into();
    RowOf { case: case.to_owned(), params, best: None }
}

fn template(text: &str) -> Template {
    Template::new(text, &["one", "other"], &Metric::of_cells().collect::<Vec<_>>()).unwrap()
}

pub(super) fn written(scene: &mut Scene, key: &str, [one, other]: [&str; 2], headline: &str) {
    let case = scene.study.cells[0].case.clone();
    let rows = [("one", one), ("other", other)];
    let rows = rows.map(|(name, value)| (name.to_owned(), row(&case, key, value)));
    scene.study.answers[0].written = Some(HeadlineTemplates {
        rows: rows.into(),
        headline: template(headline),
        decides: Some(Decides {
            rows: ["one", "other"].map(str::to_owned),
            same: template("Both make {{ other.rate_per_server_cpu }}."),
            advice: Some(template("Use the one.")),
        }),
    });
}

fn headline(scene: &Scene) -> Headline {
    scene.analysis().answers[0].headline.clone().unwrap()
}

#[test]
fn an_authors_sentence_has_the_figures() {
    let mut scene = Scene::handshakes();
    let text = "{{ one.rate_per_server_cpu | times(other.rate_per_server_cpu) }} of \
                {{ other.rate_per_server_cpu }}, \
                {{ one.server_cpu_per_operation | more_than(other.server_cpu_per_operation) }} and \
                {{ one.server_cpu_per_operation | percent_more_than(other.server_cpu_per_operation) }} of CPU.";
    written(&mut scene, KEY, [ECDSA, RSA], text);
    let said = headline(&scene);
    // 4,200 and 1,640 handshakes take 238 and 610 us each; less keeps its sign.
    assert_eq!(said.sentence, "2.6x of 1,640/s, −372 µs and −61% of CPU.");
    assert_eq!((said.value.as_str(), said.advice.as_deref()), ("2.6x", Some("Use the one.")));
}

/// Rows of another case need not have the metric of the answer.
#[test]
fn a_sentence_has_figures_of_another_case() {
    let mut scene = Scene::suites(&[server("nginx")], &[GCM, CBC, CHACHA]);
    scene = scene.answer(Metric::GoodputPerServerCpu, SUITE, GCM);
    let other = &mut scene.study.cells[2];
    (other.case, other.load.operation) = ("handshakes".to_owned(), load::Operation::Handshakes);
    scene.measure(0, 8e9, &SPREAD);
    scene.measure(2, 2_000.0, &SPREAD);
    let rows = [("one", row("bulk", SUITE, GCM)), ("other", row("handshakes", SUITE, CHACHA))];
    scene.study.answers[0].written = Some(HeadlineTemplates {
        rows: rows.map(|(name, row)| (name.to_owned(), row)).into(),
        headline: template(
            "{{ one.goodput_per_server_cpu }}, {{ other.server_cpu_per_operation }}.",
        ),
        decides: None,
    });
    assert_eq!(headline(&scene).sentence, "8.00 Gb/s, 500 µs.");
    // Each has to have what is said of it.
    scene.lines.retain(|line| line.place.case == "bulk");
    assert_eq!(scene.analysis().answers[0].headline, None);
}

#[test]
fn a_small_difference_that_is_sure_does_not_read_as_none() {
    let mut scene = Scene::handshakes();
    let text = "{{ one.rate_per_server_cpu | times(other.rate_per_server_cpu) }}.";
    written(&mut scene, KEY, [ECDSA, RSA], text);
    scene.lines.clear();
    scene.measure(0, 1_000_000.0, &SPREAD);
    scene.measure(1, 1_003_000.0, &SPREAD);
    assert_eq!(headline(&scene).sentence, "1.003x.");
}

#[test]
fn without_a_difference_the_other_sentence_is_said_and_nothing_advised() {
    let mut scene = Scene::handshakes();
    written(&mut scene, KEY, [ECDSA, RSA], "{{ one.rate }} wins.");
    scene.lines.clear();
    scene.measure(0, 1_640.0, &EIGHT);
    scene.measure(1, 1_640.0, &[0.98, 1.02, 0.99, 1.01, 0.97, 1.03, 1.0, 1.01]);
    let said = headline(&scene);
    assert_eq!(said.sentence, "Both make 1,640/s.");
    assert_eq!((said.value.as_str(), said.advice), ("≈", None));
}

/// As in a table, with a sign; what it means stands once.
#[test]
fn undecided_comparisons_of_a_sentence_are_marked() {
    let mut scene = Scene::suites(&[server("nginx")], &[GCM, CBC]);
    scene = scene.answer(Metric::RatePerServerCpu, SUITE, GCM);
    for cell in 0..2 {
        scene.measure(cell, 8e9, &SPREAD);
    }
    let ratio = "{{ one.rate_per_server_cpu | times(other.rate_per_server_cpu) }}";
    written(&mut scene, SUITE, [CBC, GCM], &format!("It is {ratio}, or {ratio}."));
    scene.study.answers[0].written.as_mut().unwrap().decides = None;
    let said = headline(&scene);
    let once = format!("(≈: {}).", crate::wording::NO_DIFFERENCE);
    assert_eq!(said.sentence.matches("≈ 1").count(), 2, "{}", said.sentence);
    assert!(said.sentence.ends_with(&once) && said.value.starts_with("≈ 1"), "{said:?}");
}

#[test]
fn what_too_few_trials_show_is_not_said() {
    let mut scene = Scene::handshakes();
    written(&mut scene, KEY, [ECDSA, RSA], "{{ one.rate }} wins.");
    scene.keep(|_, round| round < 4);
    assert_eq!(scene.first().headline, None);
}

#[test]
fn a_row_without_a_figure_leaves_the_table_alone() {
    let mut scene = Scene::handshakes();
    written(&mut scene, KEY, [ECDSA, RSA], "{{ one.rate }} wins.");
    for round in 0..7 {
        scene.fail(1, round);
    }
    assert_eq!(scene.first().headline, None);
}

#[test]
fn what_the_rows_leave_open_is_the_same_for_all_and_named() {
    let servers = [server("nginx"), server("embedded")];
    let mut scene = Scene::suites(&servers, &[GCM, CHACHA]);
    scene.study.cells.iter_mut().for_each(|cell| {
        cell.params.set("target.server", cell.target.server.name());
    });
    let mut scene = scene.answer(Metric::GoodputPerServerCpu, SUITE, GCM);
    let text = "{{ one.goodput_per_server_cpu }} and {{ other.goodput_per_server_cpu }}.";
    written(&mut scene, SUITE, [GCM, CHACHA], text);
    // nginx was measured with one of the suites alone.
    scene.measure(0, 30e9, &SPREAD);
    scene.measure(2, 20e9, &SPREAD);
    scene.measure(3, 10e9, &SPREAD);
    assert_eq!(headline(&scene).sentence, "20.0 Gb/s and 10.0 Gb/s (embedded).");
}

#[test]
fn an_answer_of_which_nothing_is_written_has_no_headline() {
    let mut scene = Scene::handshakes().answer(Metric::Rate, KEY, RSA);
    let has_headline =
        |scene: &Scene| scene.analysis().answers.iter().map(|of| of.headline.is_some()).collect();
    let none: Vec<bool> = has_headline(&scene);
    written(&mut scene, KEY, [ECDSA, RSA], "{{ one.rate }}.");
    assert_eq!((none, has_headline(&scene)), (vec![false, false], vec![true, false]));
}

#[test]
fn what_is_surely_worse_is_said_and_not_advised() {
    let mut scene = Scene::handshakes();
    let text = "{{ one.rate_per_server_cpu | times(other.rate_per_server_cpu) }}.";
    written(&mut scene, KEY, [RSA, ECDSA], text);
    let said = headline(&scene);
    assert_eq!((said.sentence.as_str(), said.advice), ("0.39x.", None));
}

/// It is compared by the goodput that it is taken from.
#[test]
fn the_lower_tax_is_advised() {
    let advice = |rows| {
        let mut scene = bulk(Metric::TlsTax, "none");
        written(&mut scene, SUITE, rows, "{{ one.goodput }}.");
        headline(&scene).advice
    };
    assert_eq!(advice([GCM, CBC]).as_deref(), Some("Use the one."));
    assert_eq!(advice([CBC, GCM]), None);
}

#[test]
fn figures_of_a_sentence_share_a_unit() {
    let mut scene = Scene::handshakes();
    let text = "{{ one.server_cpu_per_operation }}, {{ other.server_cpu_per_operation }}.";
    written(&mut scene, KEY, [RSA, ECDSA], text);
    scene.lines.clear();
    scene.measure(0, 500.0, &SPREAD);
    scene.measure(1, 4_000.0, &SPREAD);
    assert_eq!(headline(&scene).sentence, "2.00 ms, 0.250 ms.");
}

#[test]
fn a_rate_that_the_client_limited_is_marked() {
    let mut scene = Scene::handshakes();
    let text = "{{ one.rate }} and {{ other.rate }}.";
    written(&mut scene, KEY, [ECDSA, RSA], text);
    assert!(headline(&scene).sentence.ends_with("/s."));
    for round in 0..7 {
        scene.trial(1, round).verdict_mut().limit = trial::Limit::ClientCpu;
    }
    assert!(headline(&scene).sentence.contains("was the limit"));
}

#[test]
fn an_answer_that_cannot_be_said_has_no_headline_beside_one_that_can() {
    let mut scene = Scene::handshakes().answer(Metric::P99, KEY, RSA);
    written(&mut scene, KEY, [ECDSA, RSA], "{{ one.rate }}.");
    let mut other = scene.study.answers[0].written.clone().unwrap();
    // What no handshake has.
    other.headline = template("{{ one.memory_bandwidth }}.");
    other.decides = None;
    scene.study.answers[1].written = Some(other);
    let answers = scene.analysis().answers;
    assert!(answers[0].headline.is_some() && answers[1].headline.is_none());
}

#[test]
fn the_best_row_is_found_and_named() {
    let mut scene = bulk(Metric::GoodputPerServerCpu, CBC);
    let mut best = row("bulk", SUITE, CBC);
    (best.params, best.best) = (Params::default(), Some(BestOf::All));
    let text =
        "{{ best.name }}: {{ best.goodput_per_server_cpu | times(cbc.goodput_per_server_cpu) }}";
    scene.study.answers[0].written = Some(HeadlineTemplates {
        headline: Template::new(text, &["best", "cbc"], &Metric::of_cells().collect::<Vec<_>>())
            .unwrap(),
        rows: [("best".to_owned(), best), ("cbc".to_owned(), row("bulk", SUITE, CBC))].into(),
        decides: None,
    });
    assert_eq!(headline(&scene).sentence, "plain HTTP: 18x.");
    let these = |suites: &[&str]| {
        let suites = suites.iter().map(|of| row("bulk", SUITE, of).params);
        Some(BestOf::These(suites.collect()))
    };
    for (best, sentence) in
        [(&[CHACHA, CBC][..], "ChaCha20-Poly1305: 2.1x."), (&["none"], "plain HTTP: 18x.")]
    {
        let mut scene = scene.clone();
        let written = scene.study.answers[0].written.as_mut().unwrap();
        written.rows.get_mut("best").unwrap().best = these(best);
        assert_eq!(headline(&scene).sentence, sentence);
    }
    let mut alike = scene.clone();
    alike.keep(|cell, _| cell > 1);
    alike.measure(1, 4.7e9, &EIGHT);
    let named = "ChaCha20-Poly1305: 2.1x. Not shown to be worse: AES-128-GCM.";
    assert_eq!(headline(&alike).sentence, named);
    scene.keep(|cell, _| cell > 1);
    assert_eq!(headline(&scene).sentence, "ChaCha20-Poly1305: 2.1x.");
}

/// Has the first answer of suites say which of these is the best.
pub(super) fn name_the_best(scene: &mut Scene, of: BestOf) {
    let best = RowOf { best: Some(of), params: Params::default(), ..row("bulk", SUITE, CBC) };
    scene.study.answers[0].written = Some(HeadlineTemplates {
        headline: Template::new("{{ best.name }}", &["best"], &[]).unwrap(),
        rows: [("best".to_owned(), best)].into(),
        decides: None,
    });
}

#[test]
fn what_has_too_few_trials_is_neither_the_best_nor_as_good() {
    let mut scene = bulk(Metric::GoodputPerServerCpu, CBC);
    name_the_best(&mut scene, BestOf::All);
    assert_eq!(headline(&scene).sentence, "plain HTTP.");
    // One trial of ChaCha20, far ahead, and five of AES-GCM, far behind.
    scene.keep(|cell, round| cell != 2 && (cell != 1 || round < 5));
    scene.measure(2, 90e9, &[1.0]);
    let too_few = "plain HTTP. Too few trials: AES-128-GCM and ChaCha20-Poly1305.";
    assert_eq!(headline(&scene).sentence, too_few);
    scene.keep(|_, round| round < 5);
    assert_eq!(scene.first().headline, None);
}

#[test]
fn along_a_key_the_best_is_compared_with_each_too() {
    let mut scene = Scene::suites(&[server("nginx")], &[GCM, CHACHA, CBC]);
    for cell in &mut scene.study.cells {
        cell.params.set("target.object", "1MiB");
    }
    let mut scene = scene.answer(Metric::GoodputPerServerCpu, SUITE, GCM);
    scene.study.answers[0].along = Some("target.object".to_owned());
    name_the_best(&mut scene, BestOf::All);
    for (cell, bps) in [4e9, 2e9, 8e9].into_iter().enumerate() {
        scene.measure(cell, bps, &EIGHT);
    }
    assert_eq!(headline(&scene).sentence, "AES-128-CBC-SHA.");
}

#[test]
fn an_answer_of_which_only_the_baseline_is_left_says_nothing() {
    let mut scene = Scene::suites(&[server("nginx"), server("embedded")], &[GCM]);
    scene = scene.answer(Metric::GoodputPerServerCpu, "target.server", "embedded");
    scene.measure(1, 8e9, &SPREAD);
    scene.skip(server("nginx"));
    let of =
        |scene: &Scene| scene.analysis().answers.into_iter().filter_map(|of| of.headline).count();
    assert_eq!(of(&scene), 0);
    scene.study.answers.push(scene.study.answers[0].clone());
    let row = |name| [("one".to_owned(), row("bulk", "target.server", name))].into();
    let text = "{{ one.goodput_per_server_cpu }}";
    let written =
        |name| Some(HeadlineTemplates { headline: template(text), rows: row(name), decides: None });
    (scene.study.answers[0].written, scene.study.answers[1].written) =
        (written("embedded"), written("nginx"));
    assert_eq!(of(&scene), 1, "what was left out makes no second headline");
}

#[test]
fn what_has_nothing_to_be_compared_with_is_left_out_where_others_answer() {
    let servers = [server("nginx"), server("embedded")];
    let mut scene = Scene::suites(&servers, &[GCM, CBC]);
    scene = scene.answer(Metric::GoodputPerServerCpu, "target.server", "embedded");
    let mut suites = scene.study.answers[0].clone();
    (suites.compare, suites.baseline) = (SUITE.to_owned(), GCM.to_owned());
    scene.study.answers.push(suites);
    (0..4).for_each(|cell| scene.measure(cell, 8e9, &SPREAD));
    let rules =
        |scene: &Scene| scene.analysis().answers.iter().map(|of| of.place()).collect::<Vec<_>>();
    assert_eq!(rules(&scene), [0, 0, 1, 1]);
    scene.keep(|cell, _| cell > 1);
    scene.skip(server("nginx"));
    assert_eq!(rules(&scene), [1]);
}
