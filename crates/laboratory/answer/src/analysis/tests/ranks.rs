//! The shares of ranks, as a report shows them.

use trial::{ClientFigures, RankFigures};

use super::scene::{SPREAD, Scene};
use crate::findings::{Section, Table};
use study::testing::server;

fn rank(number: usize, completed: u64, begun_within_ns: u64) -> RankFigures {
    RankFigures {
        rank: number,
        host: format!("lg{number}"),
        cpus: "0-3".parse().unwrap(),
        source: Some("eth1".parse().unwrap()),
        to: [10, 1, 1, 1].into(),
        connections: 32,
        completed,
        errors: [("reset".to_owned(), 2)].into(),
        body: completed * 1_000,
        window_ns: 1_000_000_000,
        begun_within_ns,
        silence_ns: 250_000_000,
        client: ClientFigures {
            cpu_ns: Some(500_000_000),
            busy: Some(0.25 * number as f64),
            ..ClientFigures::default()
        },
    }
}

fn sections(scene: &Scene) -> Vec<Section> {
    let mut found = scene.analysis().answered().tables;
    found.retain(|section| section.title == "Shares of the ranks");
    found
}

fn scene() -> Scene {
    let nginx = server("nginx");
    let mut scene = Scene::new("bulk", &[nginx], "load.suite", &["a"]);
    scene.measure(0, 8e9, &SPREAD);
    scene
}

fn column<'a>(table: &'a Table, name: &str) -> Vec<&'a str> {
    let column = table.columns.iter().find(|column| column.name == name).unwrap();
    column.cells.iter().map(|cell| cell.text.as_str()).collect()
}

#[test]
fn each_rank_has_its_share_of_the_valid_trials() {
    let mut scene = scene();
    for (index, trial) in scene.lines.iter_mut().enumerate() {
        let begun = 1_000_000 * (1 + index as u64);
        trial.line.ranks = vec![rank(1, 1_000, begun), rank(2, 3_000, 400_000)];
    }
    let trials = scene.lines.len() as u64;
    scene.lines[0].line.valid = false;
    scene.lines[0].line.ranks[0].completed = 1_000_000;
    let table = &sections(&scene)[0].tables[0];
    assert_eq!(column(table, "rank"), ["rank 1 on lg1", "rank 2 on lg2"]);
    assert_eq!(column(table, "share of completed"), ["25.0%", "75.0%"]);
    assert_eq!(column(table, "completed"), ["1,000", "3,000"]);
    assert_eq!(column(table, "errors"), [&*(2 * (trials - 1)).to_string(); 2]);
    assert_eq!(column(table, "goodput"), ["8.00 Mb/s", "24.0 Mb/s"]);
    assert_eq!(column(table, "busy"), ["25.0%", "50.0%"]);
    assert_eq!(column(table, "begun within"), [format!("{trials}ms"), "400µs".to_owned()]);
    assert_eq!(column(table, "source"), ["eth1"; 2]);
}

#[test]
fn a_load_that_was_made_here_has_no_ranks() {
    assert_eq!(sections(&scene()), []);
}
