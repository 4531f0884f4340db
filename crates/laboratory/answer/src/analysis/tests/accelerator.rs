//! What an accelerator gives and what offload costs, over rates and costs that are known.

use offload::{Kind, Way};
use stats::{Decision, Direction};
use study::testing::server;
use study::{Metric, Reference};
use tls::{OrPlain, Version};
use units::Nanos;

use super::SUITE;
use super::scene::{CBC, EIGHT, GCM, Scene};
use crate::analysis::Derived;

const ACCELERATOR: &str = "target.accelerator";
const OFFLOAD: &str = "target.offload";

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
fn ways(metric: Metric, case: &str, compare: &str, baseline: &str) -> Scene {
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
            ("software", _) => cell.params.set(ACCELERATOR, &accelerator.to_string()),
            (_, way) => cell.params.set(OFFLOAD, &way.unwrap_or_default().to_string()),
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

/// What follows under a name, rounded to whole units, with its decision.
fn following(scene: &Scene, name: &str) -> Vec<(f64, Option<Decision>)> {
    let answer = scene.first();
    let of = |(_, of): (&str, &Derived)| {
        let unit = if of.unit == "share" { 0.01 } else { 1e3 };
        ((of.figure.median() / unit).round(), of.decision)
    };
    answer.following(name).into_iter().map(of).collect()
}

const ABOVE: Option<Decision> = Some(Decision::Sure(Direction::Above));

#[test]
fn the_cost_of_offload_is_asynchronous_minus_inline() {
    let mut scene = ways(Metric::ServerCpuPerOperation, "ways", OFFLOAD, "inline");
    assert_eq!(following(&scene, "offload"), [(19.0, ABOVE), (8.0, ABOVE)]);
    // What it saves is below nothing.
    scene.keep(|cell, _| cell != 3);
    scene.measure(3, 4_400.0, &EIGHT);
    let below = Some(Decision::Sure(Direction::Below));
    assert_eq!(following(&scene, "offload"), [(-17.0, below), (-7.0, below)]);
    scene.keep(|cell, _| cell != 3);
    scene.measure(3, 4_100.0, &EIGHT);
    let decisions = |scene: &Scene| {
        following(scene, "offload").into_iter().map(|(_, decision)| decision).collect::<Vec<_>>()
    };
    assert_eq!(decisions(&scene), [Some(Decision::NoDifference); 2]);
    scene.keep(|_, round| round < 5);
    assert_eq!(decisions(&scene), [Some(Decision::TooFew); 2]);
}

#[test]
fn the_cost_of_the_key_is_software_minus_inline() {
    let scene = ways(Metric::ServerCpuPerOperation, "software", ACCELERATOR, "none");
    assert_eq!(following(&scene, "the key"), [(756.0, ABOVE), (76.0, ABOVE)]);
}

/// The ways of waiting with one connection, which pays for waking up, and with 64.
fn lone_and_busy(metric: Metric) -> Scene {
    let mut scene = ways(metric, "ways", OFFLOAD, "inline");
    let mut lone = scene.study.cells[2..5].to_vec();
    for cell in &mut lone {
        (cell.name, cell.load.connections) = (format!("{}-lone", cell.name), 1);
    }
    for (cells, connections) in [(&mut lone[..], "1"), (&mut scene.study.cells[2..5], "64")] {
        for cell in cells {
            cell.params.set("load.connections", connections);
        }
    }
    scene.study.cells.splice(0..0, lone);
    for (cell, rate) in [(0, 4_100.0), (1, 3_000.0), (2, 900.0)] {
        scene.measure(cell, rate, &EIGHT);
        for round in 0..8 {
            scene.trial(cell, round).verdict_mut().evidence.server_busy = Some(0.5);
            let later = if cell == 0 { 0 } else { 150_000 };
            scene.trial(cell, round).latency_ns.whole.p50 = Some(400_000 + later);
        }
    }
    scene
}

#[test]
fn a_lone_handshake_ends_later_than_an_inline_one() {
    let scene = lone_and_busy(Metric::ServerCpuPerOperation);
    assert_eq!(following(&scene, "ends later"), [(150.0, None); 2]);
    let busy = scene.analysis().answers.remove(1);
    assert!(busy.following("ends later").is_empty());
}

#[test]
fn what_was_used_of_the_models_rate_is_beside_it() {
    let mut scene = ways(Metric::Rate, "ways", OFFLOAD, "inline");
    scene.study.answers[0].show = [study::Show::DeviceUse].into();
    assert!(scene.first().derived.is_empty());
    for round in 0..8 {
        scene.trial(3, round).verdict_mut().evidence.accelerator_busy = Some(0.095);
    }
    let answer = scene.first();
    let [(with, used)] = answer.following("40,000 RSA-2048 operations/s")[..] else { panic!() };
    assert_eq!((with, used.figure.median()), ("with asynchronous offload to a model", 0.095));
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
    let nominal = Reference::find("quickassist-8955").unwrap().figure("nominal-aes-128");
    scene.study.answers[0].published = nominal.into_iter().collect();
    let answer = scene.first();
    let cores = answer.following("such cores").into_iter();
    let cores: Vec<f64> = cores.map(|(_, of)| of.figure.median()).collect();
    assert_eq!(cores, [12.5, 5.0]);
}
