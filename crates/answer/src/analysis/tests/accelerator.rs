//! What an accelerator gives and what offload costs, over rates and costs that are known.

use std::num::NonZeroUsize;

use offload::{Kind, Way};
use study::testing::server;
use study::{Metric, Published, Reference};
use tls::{OrPlain, Version};
use units::Nanos;

use super::SUITE;
use super::scene::{CBC, EIGHT, GCM, Scene};
use crate::findings::Headline;

pub(super) const ACCELERATOR: &str = "target.accelerator";
pub(super) const OFFLOAD: &str = "target.offload";

/// The cells of [`ways`], with their handshakes per second of a server whose CPU is full.
const CELLS: [(&str, Option<Way>, u64, f64); 6] = [
    ("software", None, 0, 1_000.0),
    ("software", Some(Way::Inline), 0, 4_100.0),
    ("ways", Some(Way::Inline), 100, 4_100.0),
    ("ways", Some(Way::Asynchronous), 100, 3_800.0),
    ("ways", Some(Way::Synchronous), 100, 2_100.0),
    ("ways-1ms", Some(Way::Synchronous), 1_000, 400.0),
];

/// Software and the ways of waiting for a model of so many microseconds, in three cases of one core.
pub(super) fn ways(metric: Metric, case: &str, compare: &str, baseline: &str) -> Scene {
    let mut scene = Scene::new("software", &[server("embedded")], ACCELERATOR, &["none", "model"])
        .answer(metric, compare, baseline);
    scene.study.answers[0].case = case.to_owned();
    let template = scene.study.cells[0].clone();
    let cell = |(number, (case, way, us, _)): (usize, &(&str, Option<Way>, u64, f64))| {
        let mut cell = template.clone();
        (cell.case, cell.name) = ((*case).to_owned(), format!("{case}-{number:04}"));
        cell.load.operation = load::Operation::Handshakes;
        cell.load.tls = Some(OrPlain::Tls(Version::Tls12));
        let accelerator = if way.is_some() { Kind::Model } else { Kind::None };
        cell.params.clear();
        match (*case, way) {
            ("software", _) => cell.params.insert(ACCELERATOR.to_owned(), accelerator.to_string()),
            (_, way) => cell.params.insert(OFFLOAD.to_owned(), way.unwrap_or_default().to_string()),
        };
        cell.target.accelerator = accelerator;
        if let Some(way) = way {
            (cell.target.offload, cell.target.accelerator_latency) = (*way, Nanos(us * 1_000));
        }
        cell
    };
    scene.study.cells = CELLS.iter().enumerate().map(cell).collect();
    for (cell, (.., rate)) in CELLS.iter().enumerate() {
        scene.measure(cell, *rate, &EIGHT);
    }
    scene
}

fn gains() -> Scene {
    ways(Metric::Rate, "software", ACCELERATOR, "none")
}

pub(super) fn published(name: &str) -> Published {
    Reference::find("quickassist-8955").unwrap().figure(name).unwrap()
}

fn headline(scene: &Scene) -> Headline {
    scene.first().headline.unwrap()
}

const GAINS: &str = "With a model of a QuickAssist 8955 (40,000 RSA-2048 operations/s, a setting) one core \
                     makes 3.8x the handshakes of software; synchronous offload 2.1x at 100us and 0.40x \
                     at 1ms; a free accelerator 4.1x; offload costs 8% of a handshake";

#[test]
fn all_ways_are_beside_software_at_a_glance() {
    let found = headline(&gains());
    assert_eq!(found.sentence, format!("{GAINS}."));
    assert_eq!(
        (found.value.as_str(), found.unit.as_str()),
        ("3.8x", "the handshakes, with asynchronous offload to a model")
    );
    let mut scene = gains();
    scene.study.answers[0].published =
        ["card-rsa-2048", "software-rsa-2048"].map(published).to_vec();
    assert_eq!(
        headline(&scene).sentence,
        format!(
            "{GAINS}. Intel (2015) had 21,376 per second with RSA-2048 and its card (80% of 8 CPUs) and \
             4,866 per second with RSA-2048 on 20 CPUs."
        )
    );
}

#[test]
fn a_server_that_is_not_tolls_own_is_named() {
    let mut scene = gains();
    for cell in &mut scene.study.cells {
        cell.target.server = targets::by_name("haproxy").unwrap();
    }
    let said = headline(&scene).sentence;
    assert!(said.contains(" a setting) HAProxy on one core makes 3.8x the handshakes "), "{said}");
}

#[test]
fn a_published_figure_of_another_key_is_not_beside_this_one() {
    let mut scene = gains();
    scene.study.answers[0].published =
        ["software-rsa-2048", "software-rsa-4096"].map(published).to_vec();
    assert!(headline(&scene).sentence.contains("RSA-2048 on 20 CPUs and 2,072 per second"));
    for cell in &mut scene.study.cells {
        cell.params.insert("target.certificate-key".to_owned(), "rsa:2048".to_owned());
    }
    assert!(headline(&scene).sentence.ends_with("4,866 per second with RSA-2048 on 20 CPUs."));
}

#[test]
fn what_is_no_model_of_the_card_is_not_called_one() {
    let mut scene = gains();
    scene.study.cells[3].target.accelerator_count = NonZeroUsize::new(2).unwrap();
    let said = headline(&scene).sentence;
    assert!(said.starts_with("With a model of an accelerator (80,000 RSA-2048 "), "{said}");
}

#[test]
fn cells_that_differ_in_more_than_the_accelerator_are_not_beside_software() {
    let mut scene = gains();
    scene.study.cells[4].load.connections += 1;
    let said = headline(&scene).sentence;
    assert!(said.contains("synchronous offload 0.40x at 1ms;"), "{said}");
    scene.study.cells[3].target.session_cache = true;
    let said = headline(&scene).sentence;
    assert!(said.starts_with("The server makes 4.1x as many handshakes"), "{said}");
}

#[test]
fn what_is_not_shown_is_not_stated() {
    const WIDE: [f64; 8] = [0.5, 1.0, 2.0, 1.0, 0.7, 1.3, 1.0, 1.0];
    let mut scene = gains();
    scene.keep(|cell, _| cell != 4 && cell != 3);
    scene.measure(3, 3_900.0, &WIDE);
    scene.measure(4, 1_000.0, &WIDE);
    let said = headline(&scene).sentence;
    assert!(said.contains("synchronous offload no significant difference at 100us"), "{said}");
    assert!(said.contains("offload costs no significant part of a handshake"), "{said}");
    let mut few = gains();
    few.keep(|_, round| round < 5);
    let said = headline(&few).sentence;
    assert!(said.starts_with("Too few trials to compare"), "{said}");
}

#[test]
fn the_cost_of_offload_is_asynchronous_minus_inline() {
    let scene = ways(Metric::ServerCpuPerOperation, "ways", OFFLOAD, "inline");
    let said = scene.first().sentence;
    let cost = "The cost of offload, asynchronous minus inline, is 19.3 [18.7, 19.9] µs of the server's CPU per \
                handshake, 7.9% [7.9, 7.9] of the inline one.";
    assert!(said.contains(cost), "{said}");
    let found = headline(&scene);
    assert_eq!(
        (found.value.as_str(), found.unit.as_str()),
        ("19.3 µs", "of the server's CPU per handshake")
    );
    assert_eq!(
        found.sentence,
        "Offload to a model with a latency of 100us costs 19.3 µs of the server's CPU per handshake, 8% of \
         the inline one."
    );
}

#[test]
fn what_offload_saves_is_not_called_a_cost() {
    let mut gains = gains();
    gains.keep(|cell, _| cell != 3);
    gains.measure(3, 4_400.0, &EIGHT);
    let said = headline(&gains).sentence;
    assert!(said.contains("; offload saves 7% of a handshake."), "{said}");
    let mut costs = ways(Metric::ServerCpuPerOperation, "ways", OFFLOAD, "inline");
    costs.keep(|cell, _| cell != 3);
    costs.measure(3, 4_400.0, &EIGHT);
    let found = headline(&costs);
    assert_eq!(found.value, "16.6 µs less");
    assert!(found.sentence.contains("saves 16.6 µs of the server's CPU"), "{}", found.sentence);
}

#[test]
fn the_cost_of_offload_names_a_server_that_is_not_tolls_own() {
    let mut scene = ways(Metric::ServerCpuPerOperation, "ways", OFFLOAD, "inline");
    for cell in &mut scene.study.cells {
        cell.target.server = targets::by_name("haproxy").unwrap();
    }
    assert!(headline(&scene).sentence.ends_with(" (HAProxy)."), "{}", headline(&scene).sentence);
}

#[test]
fn the_cost_of_the_key_is_software_minus_inline() {
    let scene = ways(Metric::ServerCpuPerOperation, "software", ACCELERATOR, "none");
    let said = scene.first().sentence;
    assert!(said.contains("The cost of the key, software minus inline, is 756 ["), "{said}");
    assert_eq!(
        headline(&scene).sentence,
        "The private key costs 756 µs of the server's CPU per handshake, 76% of the one in software."
    );
}

#[test]
fn a_cost_that_is_not_shown_has_no_figure_at_a_glance() {
    let mut scene = ways(Metric::ServerCpuPerOperation, "ways", OFFLOAD, "inline");
    scene.keep(|cell, _| cell != 3);
    scene.measure(3, 4_100.0, &EIGHT);
    let found = headline(&scene);
    assert_eq!((&*found.value, &*found.unit), ("≈", "no significant difference"));
    let said = "Offload to a model with a latency of 100us costs no significant part of the server's CPU \
                per handshake.";
    assert_eq!(found.sentence, said);
    scene.keep(|_, round| round < 5);
    let found = headline(&scene);
    assert_eq!((&*found.value, &*found.unit), ("?", "too few trials"));
}

/// The ways of waiting with one connection, which pays for waking up, and with 64.
pub(super) fn lone_and_busy(metric: Metric) -> Scene {
    let mut scene = ways(metric, "ways", OFFLOAD, "inline");
    let mut lone = scene.study.cells[2..5].to_vec();
    for cell in &mut lone {
        (cell.name, cell.load.connections) = (format!("{}-lone", cell.name), 1);
    }
    for (cells, connections) in [(&mut lone[..], "1"), (&mut scene.study.cells[2..5], "64")] {
        for cell in cells {
            cell.params.insert("load.connections".to_owned(), connections.to_owned());
        }
    }
    scene.study.cells.splice(0..0, lone);
    for (cell, rate) in [(0, 4_100.0), (1, 3_000.0), (2, 900.0)] {
        scene.measure(cell, rate, &EIGHT);
        for round in 0..8 {
            scene.trial(cell, round).verdict.evidence.server_busy = Some(0.5);
            let later = if cell == 0 { 0 } else { 150_000 };
            scene.trial(cell, round).latency_ns.p50 = Some(400_000 + later);
        }
    }
    scene
}

#[test]
fn along_connections_the_ways_are_beside_inline() {
    let mut scene = lone_and_busy(Metric::Rate);
    scene.study.answers[0].along = Some("load.connections".to_owned());
    let found = headline(&scene);
    assert_eq!(
        found.sentence,
        "Handshakes against inline offload to a model, with a latency of 100us: asynchronous 0.73x (1 \
         connection) to 0.93x (64 connections), synchronous 0.22x (1 connection) to 0.51x (64 connections)."
    );
    let unit = "the handshakes of inline offload, asynchronous, 64 connections";
    assert_eq!((&*found.value, &*found.unit), ("0.93x", unit));
}

#[test]
fn where_a_server_waited_its_wake_ups_are_not_the_cost_at_a_glance() {
    let scene = lone_and_busy(Metric::ServerCpuPerOperation);
    let lone = scene.first().sentence;
    assert!(lone.contains("minus inline, is 89.4 ["), "{lone}");
    let ends = "A lone handshake ends 150 [150, 150] µs after an inline one with asynchronous offload to a \
                model, whose latency is 100us; 150 [150, 150] µs after";
    assert!(lone.contains(ends), "{lone}");
    let found = headline(&scene).sentence;
    assert!(found.ends_with(" 8% of the inline one (64 connections)."), "{found}");
}

#[test]
fn what_was_used_of_the_models_rate_is_beside_it() {
    let mut scene = ways(Metric::Rate, "ways", OFFLOAD, "inline");
    assert!(!scene.first().sentence.contains("Of the model's set rate"));
    for round in 0..8 {
        scene.trial(3, round).verdict.evidence.accelerator_busy = Some(0.095);
    }
    let used = "Of the model's set rate the server used 9.5% [9.5, 9.5] of 40,000 RSA-2048 operations/s with \
                asynchronous offload to a model.";
    let said = scene.first().sentence;
    assert!(said.ends_with(used), "{said}");
}

#[test]
fn a_devices_throughput_is_so_many_cores() {
    let mut scene = Scene::suites(&[server("embedded")], &[CBC, GCM]).answer(
        Metric::GoodputPerServerCpu,
        SUITE,
        CBC,
    );
    scene.measure(0, 4e9, &EIGHT);
    scene.measure(1, 10e9, &[1.0; 8]);
    scene.study.answers[0].published = vec![published("nominal-aes-128")];
    let said = scene.first().sentence;
    let cores = "That is what 12.5 [12.1, 12.9] such cores send with AES-128-CBC-SHA and 5.00 [5.00, 5.00] \
                 such cores send with AES-128-GCM.";
    assert!(said.ends_with(cores), "{said}");
    let found = headline(&scene);
    assert_eq!(
        found.sentence,
        "13 cores like this one send with AES-128-CBC-SHA what a device does nominally: Intel (2015) had 50 \
         Gb/s of AES-128 on a card (nominal); 5.0 with AES-128-GCM."
    );
    assert_eq!(found.value, "13");
}
