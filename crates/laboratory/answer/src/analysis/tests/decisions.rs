//! What is decided once is said alike everywhere, and nothing is said of too few trials.

use stats::{Decision, Direction};
use study::{Metric, Param};

use super::projections::{of_cores, projected, ratios};
use super::scene::{CBC, CHACHA, ECDSA, GCM, RSA, SPREAD, Scene, all_caveats};
use super::{NONE, SUITE, bulk, written};
use crate::analysis::decisions::Decisions;
use crate::analysis::{Agreement, Point, row};

#[test]
fn one_to_five_trials_decide_nothing() {
    for rounds in 1..6 {
        let mut scenes =
            [Scene::handshakes(), bulk(Metric::GoodputPerServerCpu, GCM), ratios([2.0; 4])];
        for scene in &mut scenes {
            scene.keep(|_, round| round < rounds);
            let bars = scene.first().bars();
            let decisions = bars.iter().filter_map(|bar| Some(bar.ratio.as_ref()?.decision));
            assert!(decisions.clone().count() > 0);
            assert!(decisions.into_iter().all(|of| of == Decision::TooFew));
        }
    }
}

#[test]
fn a_crossover_takes_as_many_trials_as_its_comparisons() {
    for (rounds, is_decided) in [(1, false), (2, false), (5, false), (6, true)] {
        let mut scene = ratios([0.8, 0.9, 1.2, 1.3]);
        scene.keep(|_, round| round < rounds);
        let answer = scene.first();
        let [crossover] = &answer.crossovers[..] else { panic!() };
        assert_eq!(crossover.from.is_some(), is_decided, "{rounds}");
        assert_eq!(crossover.sentence.contains("too few trials"), !is_decided);
    }
}

#[test]
fn a_tax_of_one_trial_takes_nothing() {
    let mut scene = bulk(Metric::TlsTax, NONE);
    scene.keep(|_, round| round < 1);
    let answer = scene.first();
    assert!(
        answer.bars().iter().all(|bar| {
            bar.ratio.as_ref().is_some_and(|ratio| ratio.decision == Decision::TooFew)
        })
    );
}

#[test]
fn a_cross_check_of_two_pairs_agrees_with_nothing() {
    let check = |rounds| {
        let mut scene = Scene::clients(&["toll", "wrk"]);
        scene.measure(0, 8e9, &SPREAD[..rounds]);
        scene.measure(1, 8e9, &SPREAD[..rounds]);
        scene.analysis().cross_checks.remove(0).agreement
    };
    let undecided = Agreement::Undecided;
    assert_eq!([1, 2, 5].map(check), [undecided; 3]);
    assert_eq!(check(6), Agreement::Agrees);
}

#[test]
fn cross_checks_are_decided_together() {
    let agreement = |others: usize| {
        let clients = ["toll", "wrk", "ab", "h2load", "s_time", "shb"];
        let mut scene = Scene::clients(&clients[..2 + others]);
        scene.measure(0, 8e9, &[1.0; 7]);
        scene.measure(1, 8e9, &SPREAD);
        for other in 0..others {
            // In other rounds each it is beyond the tolerance.
            let is_beyond = |round: usize| (21 + other) >> round & 1 == 1;
            let factors = [0, 1, 2, 3, 4, 5, 6].map(|of| if is_beyond(of) { 1.1 } else { 1.0 });
            scene.measure(2 + other, 8e9, &factors);
        }
        scene.analysis().cross_checks.remove(0).agreement
    };
    assert_eq!(
        [0, 2, 4].map(agreement),
        [Agreement::Agrees, Agreement::Agrees, Agreement::Undecided]
    );
}

#[test]
fn a_projection_ends_where_trials_show_that_more_cores_do_not_help() {
    let stops = |rounds| {
        let mut scene = of_cores(&["1", "2", "4"], |cores| cores.min(2.0));
        scene.keep(|_, round| round < rounds);
        projected(&mut scene).projections[1].stops_helping
    };
    assert_eq!([1, 2, 5].map(stops), [None; 3]);
    assert_eq!(stops(7), Some(2));
}

#[test]
fn the_comparisons_of_an_answer_are_as_many_as_the_study_says() {
    let mut said = Scene::handshakes();
    let more = "{{ one.server_cpu_per_operation | times(other.server_cpu_per_operation) }}.";
    written::written(&mut said, written::KEY, [ECDSA, RSA], more);
    let mut two = bulk(Metric::GoodputPerServerCpu, GCM);
    let suite = |name| [(SUITE.to_owned(), Param::of(SUITE, name))].into_iter().collect();
    two.study.answers[0].only = [GCM, CBC].map(suite).into();
    let scenes = [
        (Scene::handshakes(), 1),
        (said, 2),
        (two, 1),
        (bulk(Metric::GoodputPerServerCpu, GCM), 6),
        (bulk(Metric::TlsTax, NONE), 6),
        (ratios([1.0; 4]), 4),
    ];
    for (scene, family) in scenes {
        let rule = &scene.study.answers[0];
        assert_eq!(rule.comparisons(&scene.study.params(&rule.case)), [family]);
        let entries = scene.entries();
        let cells = row::of_cells(&scene.study, &entries, &scene.targets);
        let decisions = Decisions::of(&scene.study.answers, &cells).into();
        let compared = Point::all(&scene.study, &cells, &decisions);
        assert!(compared.iter().flatten().all(|of| of.family() == family));
    }
}

#[test]
fn what_is_ahead_by_itself_may_be_chance_among_others() {
    // Seven of seven rounds: shown where it is the only comparison, and not among six that differ in theirs.
    let mut scene = Scene::suites(&[study::testing::server("nginx")], &[GCM, CBC]);
    scene = scene.answer(Metric::GoodputPerServerCpu, SUITE, GCM);
    scene.measure(0, 8e9, &SPREAD);
    scene.measure(1, 4e9, &SPREAD);
    let ratio = |scene: &Scene| {
        let bars = scene.first().bars();
        bars.iter().find(|bar| bar.label.contains("CBC")).unwrap().ratio.clone().unwrap()
    };
    assert_eq!(ratio(&scene).decision, Decision::Sure(Direction::Below));
    let mut among = Scene::suites(&[study::testing::server("nginx")], &[GCM, NONE, CHACHA, CBC]);
    among = among.answer(Metric::GoodputPerServerCpu, SUITE, GCM);
    let turned = |by: usize| (0..7).map(|round| SPREAD[(round + by) % 7]).collect::<Vec<_>>();
    among.measure(0, 8e9, &SPREAD);
    among.measure(1, 8e9, &turned(1));
    among.measure(2, 8e9, &turned(2));
    among.measure(3, 4e9, &SPREAD);
    assert_eq!(ratio(&among).decision, Decision::TooFew);
    let few = all_caveats(&among.first());
    assert!(few.contains("do not decide 6 comparisons together: measure at least 8."), "{few}");
    assert!(!among.analysis().quality.unwrap().is_good);
}

#[test]
fn the_baseline_may_be_either() {
    for (baseline, decision) in [(RSA, Direction::Above), (ECDSA, Direction::Below)] {
        let mut scene = Scene::handshakes();
        scene.study.answers[0].baseline = baseline.to_owned();
        let bars = scene.first().bars();
        let decisions: Vec<_> = bars.iter().filter_map(|bar| bar.ratio.as_ref()).collect();
        let [only] = &decisions[..] else { panic!("{decisions:?}") };
        assert_eq!(only.decision, Decision::Sure(decision));
    }
}
