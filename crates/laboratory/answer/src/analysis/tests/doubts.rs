//! What is not valid, not there, or not the server's doing.

use super::scene::{CBC, GCM, SPREAD, Scene, all_caveats};
use crate::Mark;
use crate::analysis::TrialCounts;
use journal::{Role, TrialLine};
use load::{Receive, Wakeups};
use study::Metric;
use study::testing::server;
use trial::{Limit, Warning, WarningKind};

use super::{NONE, SUITE, bulk, limit};

#[test]
fn one_client_bound_trial_marks_the_figure_and_says_what_to_do() {
    let mut scene = Scene::handshakes();
    limit(&mut scene, 1, 2, Limit::ClientCpu);
    limit(&mut scene, 1, 3, Limit::AcceptQueue);
    let analysis = scene.analysis();
    assert_eq!((analysis.cells[0].mark, analysis.cells[1].mark), (None, Some(Mark::ClientBound)));
    let limits = [(Limit::AcceptQueue, 1), (Limit::ClientCpu, 1), (Limit::ServerCpu, 5)];
    assert_eq!(analysis.cells[1].limits, limits.into());
    let answer = &analysis.answers[0];
    assert_eq!(answer.bars()[1].mark, Some(Mark::ClientBound));
    assert_eq!(
        answer.caveats,
        [
            "In 1 of 7 trials with ECDSA P-256 the client's CPU was the limit: do not take this as \
             the server's maximum; give the client more CPUs (--cpus).",
            "In 1 of 7 trials with ECDSA P-256 the server's accept queue was full: raise the \
             server's backlog (nginx: listen ... backlog=16384) and the kernel's (sysctl -w \
             net.core.somaxconn=16384), or lower --connections.",
        ]
    );
    limit(&mut scene, 1, 2, Limit::ServerCpu);
    assert_eq!(scene.analysis().cells[1].mark, Some(Mark::NotServerBound));
}

#[test]
fn what_limited_at_most_a_tenth_of_the_trials_is_no_doubt() {
    let mut scene = Scene::handshakes();
    scene.lines.clear();
    for (cell, figure) in [(0, 1_640.0), (1, 4_200.0)] {
        scene.measure(cell, figure, &[1.0; 10]);
    }
    limit(&mut scene, 1, 2, Limit::ClientCpu);
    let analysis = scene.clone().analysis();
    assert_eq!((analysis.cells[1].mark, analysis.cells[1].limits[&Limit::ClientCpu]), (None, 1));
    assert_eq!(analysis.answers[0].caveats, [""; 0]);
    limit(&mut scene, 1, 3, Limit::Noise);
    let analysis = scene.analysis();
    assert_eq!(analysis.cells[1].mark, Some(Mark::ClientBound));
    assert_eq!(analysis.answers[0].caveats.len(), 2);
}

#[test]
fn what_limited_many_cells_is_reported_once() {
    let mut scene = bulk(Metric::GoodputPerServerCpu, GCM);
    limit(&mut scene, 0, 0, Limit::Noise);
    limit(&mut scene, 1, 0, Limit::Noise);
    let two = scene.clone().first().caveats;
    assert!(two[0].starts_with("In 1 of 8 trials over plain HTTP and in 1 of 8 trials with "));
    limit(&mut scene, 3, 5, Limit::Noise);
    let three = scene.first().caveats;
    assert!(three[0].starts_with("In 3 of 32 trials other work on the CPUs was the limit: "));
}

#[test]
fn a_tax_is_as_weak_as_the_plain_http_that_it_is_taken_from() {
    let mut scene = bulk(Metric::TlsTax, NONE);
    limit(&mut scene, 0, 0, Limit::ClientCpu);
    let marks: Vec<_> = scene.first().bars().iter().map(|bar| bar.mark).collect();
    assert_eq!(marks, [Some(Mark::ClientBound); 3]);
}

#[test]
fn what_was_not_received_alike_is_not_compared() {
    let received = |of: fn(&mut trial::Receipt)| {
        let mut scene = bulk(Metric::GoodputPerServerCpu, GCM);
        for TrialLine { line, .. } in &mut scene.lines {
            line.receipt.asked.receive = Some(Receive::Walk);
        }
        for round in 0..8 {
            of(&mut scene.trial(3, round).receipt);
        }
        scene.first()
    };
    let alike = received(|_| {});
    assert!(alike.bars()[3].ratio.is_some() && alike.caveats.is_empty(), "{:?}", alike.caveats);
    let decrypted = received(|receipt| receipt.asked.receive = Some(Receive::Decrypt));
    let by_wrk = received(|receipt| receipt.obtained.client = Some("wrk 4.1.0".to_owned()));
    for (answer, how) in [(decrypted, "decrypt"), (by_wrk, "by wrk 4.1.0")] {
        assert!(answer.bars()[3].ratio.is_none() && answer.bars()[3].figure.is_some());
        let expected = format!("they were not received in the same way ({how} with ");
        assert!(answer.caveats.iter().any(|told| told.contains(&expected)), "{:?}", answer.caveats);
    }
}

#[test]
fn what_another_way_of_waking_up_cost_the_server_is_not_compared() {
    let mut scene = bulk(Metric::GoodputPerServerCpu, GCM);
    for TrialLine { line, .. } in &mut scene.lines {
        line.receipt.asked.wakeups = Some(Wakeups::Coalesced);
    }
    assert!(scene.first().bars()[3].ratio.is_some());
    for round in 0..8 {
        scene.trial(3, round).receipt.asked.wakeups = Some(Wakeups::Each);
    }
    let apart = scene.first();
    assert!(apart.bars()[3].ratio.is_none() && apart.bars()[3].figure.is_some());
    let told = "their clients woke up in different ways (each with ";
    assert!(apart.caveats.iter().any(|caveat| caveat.contains(told)), "{:?}", apart.caveats);
}

#[test]
fn servers_under_different_congestion_controls_are_not_compared() {
    let under = |names: [&str; 2]| {
        let mut scene = bulk(Metric::GoodputPerServerCpu, GCM);
        for TrialLine { line, .. } in &mut scene.lines {
            line.receipt.obtained.server_congestion = [(names[0].to_owned(), 64)].into();
        }
        for round in 0..8 {
            let obtained = &mut scene.trial(3, round).receipt.obtained;
            obtained.server_congestion = [(names[1].to_owned(), 64)].into();
        }
        scene
    };
    let alike = under(["cubic", "cubic"]).first();
    assert!(alike.bars()[3].ratio.is_some() && alike.caveats.is_empty(), "{:?}", alike.caveats);
    let mut scene = under(["cubic", "bbr"]);
    let apart = scene.first();
    assert!(apart.bars()[3].ratio.is_none() && apart.bars()[3].figure.is_some());
    assert!(apart.caveats.iter().any(|told| told.contains("(bbr with ")), "{:?}", apart.caveats);
    // What was asked for may differ.
    scene.study.cells[3].target.congestion = Some("bbr".parse().unwrap());
    assert!(scene.first().bars()[3].ratio.is_some());
}

#[test]
fn rates_that_differ_widely_are_marked() {
    let mut scene = Scene::handshakes();
    let usual = scene.trial(1, 3).rate_per_s;
    scene.trial(1, 3).rate_per_s = usual.map(|rate| rate * 0.7);
    let cells = scene.analysis().cells;
    assert_eq!((cells[0].mark, cells[1].mark), (None, Some(Mark::Spread)));
    scene.trial(1, 3).rate_per_s = usual.map(|rate| rate * 0.9);
    assert_eq!(scene.analysis().cells[1].mark, None);
}

#[test]
fn a_trial_that_was_made_again_is_one_trial() {
    let mut scene = Scene::handshakes();
    let name = scene.study.cells[1].name.clone();
    let is_it = |trial: &&TrialLine| trial.place.cell == name && trial.place.round == 1;
    let mut again = scene.lines.iter().find(is_it).unwrap().clone();
    again.place.order = 99;
    scene.fail(1, 1);
    scene.lines.push(again);
    let analysis = scene.analysis();
    assert_eq!(analysis.cells[1].trials, TrialCounts { planned: 7, done: 7, valid: 7 });
    assert_eq!((analysis.cells[1].mark, analysis.invalid.len()), (None, 1));
}

#[test]
fn a_server_that_was_there_once_was_not_left_out() {
    let mut scene = Scene::handshakes();
    scene.keep(|cell, round| cell == 0 || round < 3);
    let record = |skipped: Option<&str>| journal::TargetRecord {
        name: "nginx".to_owned(),
        server: "nginx".to_owned(),
        settings: String::new(),
        version: None,
        skipped: skipped.map(str::to_owned),
        not_sampled: None,
        cells: vec!["keys-0002".to_owned()],
    };
    scene.targets = vec![record(None), record(Some("nginx is not installed"))];
    let cell = &scene.analysis().cells[1];
    assert_eq!(cell.trials, TrialCounts { planned: 7, done: 3, valid: 3 });
    assert_eq!(cell.mark, Some(Mark::Incomplete));
}

#[test]
fn a_server_that_kept_its_process_is_named() {
    let mut scene = Scene::handshakes();
    let caveats = |scene: &Scene| scene.first().caveats;
    assert_eq!(caveats(&scene), [""; 0]);
    let name = scene.study.cells[1].name.clone();
    let kept = |trial: &&mut TrialLine| trial.place.cell == name;
    scene.lines.iter_mut().filter(kept).for_each(|trial| trial.place.process = Some(3));
    let expected = "nginx ran as one process in all rounds: the intervals leave out how processes \
                    of one program differ.";
    assert_eq!(caveats(&scene), [expected]);
    // A run that was continued has started it again, under another name.
    scene.lines[13].place.target = Some("nginx-9".to_owned());
    assert_eq!(caveats(&scene), [""; 0]);
    // A journal of an earlier version says nothing of it.
    scene.lines.iter_mut().for_each(|trial| trial.place.process = None);
    assert_eq!(caveats(&scene), [""; 0]);
}

#[test]
fn an_invalid_trial_drops_out_and_is_listed() {
    let mut scene = Scene::handshakes();
    scene.fail(1, 1);
    // Neither counts its limit nor its rate.
    scene.trial(1, 1).verdict_mut().limit = Limit::ClientCpu;
    scene.trial(1, 1).rate_per_s = Some(1e9);
    let analysis = scene.analysis();
    let [_, cell] = analysis.cells.as_slice() else { panic!() };
    assert_eq!(cell.trials, TrialCounts { planned: 7, done: 7, valid: 6 });
    assert_eq!(cell.mark, Some(Mark::SomeInvalid));
    let rate = cell.figure(Metric::Rate).unwrap();
    assert_eq!(rate.samples, [4200.0, 4200.0, 4242.0, 4284.0, 4158.0, 4200.0]);
    let answer = &analysis.answers[0];
    assert_eq!(answer.bars()[1].figure.as_ref().unwrap().estimate.n, 6);
    assert_eq!(answer.bars()[1].ratio.as_ref().unwrap().estimate.n, 6);
    assert_eq!(
        answer.caveats,
        ["Not valid and not in the figures: 1 of 7 trials with ECDSA P-256; the first: nginx \
             died."]
    );
    let [invalid] = analysis.invalid.as_slice() else { panic!("{:?}", analysis.invalid) };
    assert_eq!((invalid.cell.as_str(), invalid.order), ("keys-0002", 3));
    assert_eq!(invalid.why, "nginx died");
    assert_eq!(analysis.trials, TrialCounts { planned: 14, done: 14, valid: 13 });
}

#[test]
fn without_a_valid_baseline_there_are_figures_and_no_comparison() {
    let mut scene = Scene::handshakes();
    for round in 0..7 {
        scene.fail(0, round);
    }
    let answer = scene.first();
    assert_eq!(
        answer.caveats,
        ["Not measured with RSA-2048: none of its 7 trials is valid; the first: nginx died; \
          nothing is compared with it."]
    );
    assert_eq!((answer.bars()[0].mark, &answer.bars()[0].figure), (Some(Mark::NotMeasured), &None));
    assert!(answer.bars()[1].figure.is_some() && answer.bars()[1].ratio.is_none());
}

#[test]
fn a_tax_without_plain_is_not_measured() {
    let mut scene = bulk(Metric::TlsTax, NONE);
    scene.keep(|cell, _| cell != 0);
    let answer = scene.first();
    assert!(answer.bars().iter().all(|bar| bar.figure.is_none()));
    let plain = "Not measured over plain HTTP: no trial was run; nothing is compared with it.";
    assert!(answer.caveats.iter().any(|caveat| caveat == plain), "{:?}", answer.caveats);
    scene.study.answers[0].baseline = "1.3".to_owned();
    let caveats = all_caveats(&scene.first());
    assert!(caveats.contains("there is no suite 1.3"), "{caveats}");
}

#[test]
fn nothing_measured_is_said_with_its_reason() {
    let mut scene = Scene::handshakes();
    scene.lines.clear();
    let answer = scene.first();
    assert_eq!(answer.headline, None);
    assert_eq!(answer.bars().len(), 2);
    let mut scene = Scene::handshakes();
    scene.keep(|cell, round| cell == 0 && round == 0);
    scene.fail(0, 0);
    assert_eq!(
        scene.first().caveats[..2],
        [
            "Not measured with RSA-2048: its only trial is not valid: nginx died; nothing is compared with it.",
            "Not measured with ECDSA P-256: no trial was run."
        ]
    );
}

#[test]
fn cpu_time_that_is_not_known_is_not_0() {
    let mut scene = Scene::handshakes();
    for TrialLine { line, .. } in &mut scene.lines {
        line.cpu_ns.server = None;
    }
    let analysis = scene.analysis();
    let cell = &analysis.cells[0];
    let has = |metric| cell.figure(metric).is_some();
    assert!(!has(Metric::RatePerServerCpu) && !has(Metric::ServerCpuPerOperation));
    assert!(has(Metric::Rate) && has(Metric::ClientCpuPerOperation));
    let caveats = all_caveats(&analysis.answers[0]);
    assert!(caveats.contains("the server's CPU time is not known"), "{caveats}");
    let mut scene = Scene::handshakes();
    scene.trial(0, 3).cpu_ns.server = Some(0);
    let answer = scene.first();
    assert_eq!(answer.bars()[0].figure.as_ref().unwrap().estimate.n, 6);
    assert_eq!(
        answer.caveats,
        ["In 1 of 7 trials with RSA-2048 the server's CPU time is not known; the figures use the \
          others."]
    );
}

#[test]
fn a_skipped_target_is_neither_planned_nor_answered() {
    let mut scene = Scene::suites(&[server("embedded"), server("nginx")], &[GCM, CBC]).answer(
        Metric::GoodputPerServerCpu,
        SUITE,
        GCM,
    );
    scene.measure(0, 8.5e9, &SPREAD);
    scene.measure(1, 2.2e9, &SPREAD);
    scene.skip(server("nginx"));
    let analysis = scene.analysis();
    assert_eq!(analysis.trials, TrialCounts { planned: 14, done: 14, valid: 14 });
    assert_eq!(analysis.cells.len(), 4);
    assert_eq!(analysis.cells[2].trials, TrialCounts::default());
    assert_eq!(analysis.cells[2].mark, Some(Mark::NotMeasured));
    assert_eq!(analysis.cells[2].label, "nginx, AES-128-GCM");
    let shown = analysis.answered();
    let rows: Vec<usize> = shown
        .overview
        .iter()
        .chain(&shown.tables[0].tables)
        .map(crate::findings::Table::rows)
        .collect();
    assert_eq!((rows, shown.evidence.len()), (vec![2, 2], 2));
    let [answer] = analysis.answers.as_slice() else { panic!("{:?}", analysis.answers) };
    assert_eq!(answer.common()["target.server"].to_string(), "embedded");
    assert_eq!(answer.bars().len(), 2);
}

#[test]
fn a_single_trial_has_no_interval_and_proves_no_difference() {
    let mut scene = Scene::handshakes();
    scene.study.trials = 1;
    scene.keep(|_, round| round == 0);
    let answer = scene.first();
    assert!(!answer.bars()[0].figure.as_ref().unwrap().has_interval());
    let caveat = "One valid trial gives no interval and proves no difference: measure at least 6.";
    assert_eq!(answer.caveats, [caveat]);
}

#[test]
fn an_interrupted_run_answers_with_what_it_has() {
    let mut scene = Scene::handshakes();
    scene.keep(|cell, round| round < 3 || (round == 3 && cell == 0));
    // The trial that was cut is none.
    scene.trial(0, 3).interrupted = true;
    let analysis = scene.analysis();
    assert_eq!(analysis.trials, TrialCounts { planned: 14, done: 6, valid: 6 });
    assert_eq!(analysis.cells[0].mark, Some(Mark::Incomplete));
    let answer = &analysis.answers[0];
    assert_eq!(
        answer.caveats,
        [
            "The run is not complete: it has 3 of 7 trials with RSA-2048 and 3 of 7 trials with \
             ECDSA P-256.",
            "With 3 valid trials an interval covers the true median with a probability of 75%, not \
             95%: measure at least 6.",
        ]
    );
}

#[test]
fn pairs_are_of_the_same_round() {
    let mut scene = Scene::handshakes();
    scene.keep(|cell, round| (cell == 0) == (round < 4) || round == 0);
    let answer = scene.first();
    assert_eq!(answer.bars()[1].ratio.as_ref().unwrap().samples, [4200.0 / 1640.0]);
    let caveat = "Some figures are from one valid trial, which gives no interval and proves no \
                  difference: measure at least 6.";
    assert_eq!(answer.caveats.last().unwrap(), caveat);
    scene.keep(|cell, round| (cell, round) != (0, 0));
    let answer = scene.first();
    assert_eq!(answer.bars()[1].ratio, None);
    assert_eq!(
        answer.caveats[0],
        "No comparison of ECDSA P-256 with RSA-2048: no round has a valid trial with ECDSA P-256 \
         and one with RSA-2048."
    );
}

#[test]
fn searches_and_unknown_cells_are_left_out() {
    let scene = Scene::handshakes();
    let mut more = scene.clone();
    let mut search = more.lines[0].clone();
    search.place.role = Role::Search;
    let mut unknown = more.lines[0].clone();
    unknown.place.cell = "another-0001".to_owned();
    more.lines.extend([search, unknown]);
    assert_eq!(more.analysis(), scene.analysis());
}

#[test]
fn each_kind_of_warning_is_shown_once_the_most_frequent_first() {
    let mut scene = Scene::handshakes();
    let rare = Warning::connections_not_kept(100, 100).unwrap();
    let mut common = rare.clone();
    common.kind = WarningKind::Steal;
    for round in 0..3 {
        scene.trial(1, round).warnings = vec![common.clone(), common.clone()];
    }
    scene.trial(0, 0).warnings.push(rare.clone());
    let later = Warning { seen: "other words".to_owned(), ..common.clone() };
    scene.trial(0, 6).warnings.push(later);
    let warnings = scene.analysis().warnings;
    let told: Vec<_> = warnings.iter().map(|r| (&r.warning, r.trials)).collect();
    assert_eq!(told, [(&common, 4), (&rare, 1)]);
}
