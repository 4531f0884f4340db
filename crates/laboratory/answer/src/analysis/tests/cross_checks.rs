//! How the agreement of two clients is judged: as a scene of trials has it.

use load::Client;

use super::scene::{SPREAD, all_caveats};
use super::*;
use crate::analysis::{Agreement, CrossCheck};
use trial::{Neighbours, Warning};

/// toll and wrk at nginx, seven trials each: `rate` times toll's, at the cost of `cost` times the
/// server's CPU time per operation. The server is the limit with both.
pub(super) fn scene(rate: f64, cost: f64) -> Scene {
    let mut scene = Scene::clients(&["toll", "wrk"]);
    scene.measure(0, 8e9, &SPREAD);
    scene.measure(1, 8e9 * rate, &SPREAD);
    for round in 0..7 {
        let line = scene.trial(1, round);
        line.cpu_ns.server = line.cpu_ns.server.map(|ns| (ns as f64 * rate * cost) as u64);
        // What keeps answers from comparing them is what a cross-check is about.
        line.receipt.obtained.client = Some("wrk 4.1.0".to_owned());
        scene.trial(0, round).receipt.asked.receive = Some(load::Receive::Walk);
    }
    scene
}

fn check(scene: &Scene) -> CrossCheck {
    let mut checks = scene.analysis().cross_checks;
    assert_eq!(checks.len(), 1);
    checks.remove(0)
}

#[test]
fn clients_that_find_the_same_agree() {
    let check = check(&scene(1.01, 1.02));
    assert_eq!(check.agreement, Agreement::Agrees);
    assert_eq!(
        check.sentence,
        "wrk agrees with toll (nginx, 1 MiB objects): its rate is 0.97% [0.93, 1.05] above toll's, and an \
         operation costs the server 1.02x [1.02, 1.02] as much CPU time; the server's CPU was the \
         limit with both."
    );
    assert_eq!((check.client.as_str(), check.limits.len()), ("wrk", 1));
}

#[test]
fn servers_under_different_congestion_controls_check_nothing() {
    let mut scene = scene(1.01, 1.02);
    for (cell, control) in ["cubic", "bbr"].into_iter().enumerate() {
        for round in 0..7 {
            let obtained = &mut scene.trial(cell, round).receipt.obtained;
            obtained.server_congestion = [(control.to_owned(), 64)].into();
        }
    }
    let check = check(&scene);
    assert_eq!(check.agreement, Agreement::NotMeasured);
    assert!(check.sentence.contains("(bbr with wrk, cubic with toll)"), "{}", check.sentence);
}

#[test]
fn a_disagreement_is_reported() {
    for rate in [0.8, 1.2] {
        let check = check(&scene(rate, 1.0));
        assert_eq!(check.agreement, Agreement::Disagrees, "{rate}");
        assert!(check.sentence.starts_with("wrk disagrees with toll (nginx, "), "{check:?}");
        assert!(check.sentence.contains("though the server's CPU was the limit with both"));
    }
}

#[test]
fn a_client_that_was_the_limit_checks_nothing_and_the_report_says_so() {
    let mut scene = scene(0.5, 1.1);
    for round in 0..5 {
        scene.trial(1, round).verdict_mut().limit = Limit::ClientCpu;
    }
    let found = check(&scene);
    assert_eq!(found.agreement, Agreement::NotComparable);
    assert!(found.sentence.starts_with("wrk cannot check toll's rate (nginx, "), "{found:?}");
    let limits = "with wrk the client's CPU was the limit in 5 of 7 trials, the server's CPU was the \
                  limit in 2 of 7 trials; with toll the server's CPU was the limit in all 7 trials";
    assert!(found.sentence.contains(limits), "{}", found.sentence);

    // One trial is enough, and toll's own client is no exception.
    let mut scene = self::scene(1.0, 1.0);
    scene.trial(0, 3).verdict_mut().limit = Limit::ClientCpu;
    assert_eq!(check(&scene).agreement, Agreement::NotComparable);
}

#[test]
fn a_limit_that_is_not_known_is_not_the_servers() {
    let mut scene = scene(1.0, 1.0);
    (0..4).for_each(|round| scene.trial(0, round).verdict_mut().limit = Limit::Unknown);
    assert_eq!(check(&scene).agreement, Agreement::NotComparable);
    scene.trial(0, 0).verdict_mut().limit = Limit::ServerCpu;
    assert_eq!(check(&scene).agreement, Agreement::Agrees, "three of seven are noise");
}

#[test]
fn an_undecided_interval_is_no_agreement() {
    let mut wide = scene(1.0, 1.0);
    for (round, factor) in [(0, 0.8), (1, 0.8), (2, 1.2), (3, 1.2)] {
        wide.trial(1, round).scale_rate(factor);
    }
    let found = check(&wide);
    assert_eq!(found.agreement, Agreement::Undecided);
    assert!(
        found.sentence.starts_with("These trials do not show whether wrk agrees with toll "),
        "{found:?}"
    );
    // One pair has no interval.
    let mut one = scene(1.0, 1.0);
    one.keep(|_, round| round == 0);
    assert_eq!(check(&one).agreement, Agreement::Undecided);
}

#[test]
fn what_is_not_valid_checks_nothing() {
    let mut scene = scene(1.0, 1.0);
    (0..7).for_each(|round| scene.fail(1, round));
    let found = check(&scene);
    assert_eq!((found.agreement, &found.rate_ratio), (Agreement::NotMeasured, &None));
    assert!(found.sentence.contains("is not checked with wrk: no trial of bulk-0002 is valid"));
    assert!(found.sentence.contains("nginx died"), "{}", found.sentence);
    scene.lines.clear();
    assert!(check(&scene).sentence.ends_with("no trial of bulk-0001 was run."));
}

#[test]
fn a_shared_core_is_mentioned_where_costs_differ() {
    const WHY: &str = "share a core";
    let mut scene = scene(1.0, 1.3);
    assert!(!check(&scene).sentence.contains(WHY));
    let warning = Warning::neighbours(Neighbours::Siblings).unwrap();
    scene.trial(0, 0).warnings.push(warning.clone());
    assert!(check(&scene).sentence.contains(WHY));
    let mut same = self::scene(1.0, 1.0);
    same.trial(0, 0).warnings.push(warning);
    assert!(!check(&same).sentence.contains(WHY));
}

#[test]
fn an_answer_over_loads_of_other_clients_says_so() {
    let mut scene = scene(1.0, 1.0).answer(Metric::Rate, "load.client", "toll");
    let told = |scene: &Scene| all_caveats(&scene.first());
    assert!(told(&scene).contains("wrk made some of it. toll did not verify its counts"));
    for cell in &mut scene.study.cells {
        cell.load.client = Client::Ab;
    }
    assert!(told(&scene).contains("ab made the load; toll did not verify its counts."));
    for cell in &mut scene.study.cells {
        cell.load.client = Client::Toll;
    }
    assert!(!told(&scene).contains("did not verify"));
}
