//! What programs get: each name of it.

use std::sync::Arc;

use profile::Class;
use study::headline::BestOf;
use study::testing::server;
use study::{Metric, Show};

use super::scene::{CBC, CHACHA, EIGHT, GCM, Scene};
use super::written::name_the_best;
use super::{NONE, SUITE, bills, bulk, ciphers, cross_checks, hit_rates, predictions, profiles};
use super::{projections, users};
use crate::analysis::{Analysis, ImpossibleLoad, SearchEnd, SearchPath, SearchStep};

/// Scenes in which each part of an analysis is there.
fn scenes() -> Vec<Scene> {
    let mut tax = bulk(Metric::TlsTax, NONE);
    tax.sample(0, &[(Class::Loopback, 2_000), (Class::TcpIp, 8_000)]);
    tax.sample(1, &[(Class::Loopback, 500), (Class::TcpIp, 9_500)]);
    tax.fail(3, 0);
    let mut crossovers = projections::sizes();
    crossovers.study.answers[0].show = [Show::Crossover].into();
    let mut cores = projections::of_cores(&["1", "2", "3", "4"], |cores| cores);
    cores.study.answers[0].project = vec![32];
    let mut servers = Scene::suites(&[server("nginx"), server("embedded")], &[GCM, CHACHA, CBC])
        .answer(Metric::GoodputPerServerCpu, SUITE, CBC);
    name_the_best(&mut servers, BestOf::All);
    (0..6).for_each(|cell| servers.measure(cell, 1e9 * (cell + 1) as f64, &EIGHT));
    vec![
        tax,
        crossovers,
        cores,
        servers,
        users::users(Metric::Rate),
        bills::bill(&bills::ALL),
        ciphers::ciphers(1.0),
        cross_checks::scene(1.0, 1.0),
        hit_rates::resumption(600.0, 40.0),
        predictions::pages([Some(12.5), Some(0.3)]),
        profiles::sending(&profiles::USER, &profiles::KERNEL),
    ]
}

#[test]
fn names() {
    let mut found: Vec<Analysis> = scenes().iter().map(Scene::analysis).collect();
    Arc::make_mut(&mut found[0].cells[0]).search = Some(SearchPath {
        maximize: Metric::Goodput,
        over: "load.connections",
        limit: "p99 <= 2s".to_owned(),
        end: SearchEnd::Found { load: "8".to_owned() },
        path: vec![SearchStep {
            order: 0,
            load: "8".to_owned(),
            at: 8.0,
            figure: 1.0,
            seen: None,
            holds: true,
            is_held: true,
            invalid: Some("suite".to_owned()),
        }],
        impossible: vec![ImpossibleLoad { load: "16".to_owned(), why: "too few".to_owned() }],
    });
    let found = found.iter().map(|of| serde_json::to_value(of).unwrap());
    let of_data = ["params", "common", "limits", "other_limits", "shares", "ns_per_operation"];
    let of_data = [&of_data[..], &["ns_per_byte", "kernel_threads", "beside"]].concat();
    let names = support::json_names(&found.collect::<Vec<_>>(), &of_data);
    // A figure has the same names wherever it stands.
    let is_of_figure = |name: &&str| {
        name.contains(".interval")
            || [".samples", ".n", ".median"].iter().any(|end| name.ends_with(end))
    };
    let (of_figures, names): (Vec<&str>, Vec<&str>) = names.lines().partition(is_of_figure);
    let figures = "answers[].bars[].figure.";
    let of_figures = of_figures.into_iter().filter(|name| name.starts_with(figures));
    support::insta::assert_snapshot!([names, of_figures.collect()].concat().join("\n"));
}
