//! Several servers, several cases, and a run without a figure.

use observe::{Fact, ServerProcess};
use study::testing::server;
use study::{Metric, Params};

use super::SUITE;
use super::scene::{CBC, GCM, SPREAD, Scene};

fn two_servers() -> Scene {
    let mut scene = Scene::suites(&[server("nginx"), server("haproxy")], &[GCM, CBC]).answer(
        Metric::GoodputPerServerCpu,
        SUITE,
        GCM,
    );
    (0..4).for_each(|cell| scene.measure(cell, 1e9 * (cell + 1) as f64, &SPREAD));
    scene
}

/// The texts of the table of servers, by column.
fn table(scene: &Scene) -> Vec<Vec<String>> {
    let table = scene.analysis().answered().servers.unwrap();
    let texts = |column: &crate::findings::Column| {
        column.cells.iter().map(|cell| cell.text.clone()).collect()
    };
    table.columns.iter().map(texts).collect()
}

#[test]
fn servers_have_their_figures_whatever_their_trials_decide() {
    let mut scene = two_servers();
    scene.keep(|_, round| round < 3);
    let [.., nginx, haproxy] = &table(&scene)[..] else { panic!() };
    assert_eq!((&nginx[0][..], &haproxy[0][..]), ("1.00 Gb/s", "3.00 Gb/s"));
}

#[test]
fn a_value_that_the_first_server_lacks_has_a_row() {
    let mut scene = two_servers();
    scene.study.cells.remove(1);
    let [.., nginx, haproxy] = &table(&scene)[..] else { panic!() };
    assert_eq!((nginx.len(), haproxy.len()), (2, 2));
    assert_eq!((&nginx[1][..], &haproxy[1][..]), ("", "4.00 Gb/s"));
}

#[test]
fn answers_about_two_cases_have_two_titles() {
    let mut scene = Scene::handshakes();
    for cell in scene.study.cells.clone() {
        let (case, name) = ("again".to_owned(), cell.name.replace("keys", "again"));
        scene.study.cells.push(study::Cell { case, name, ..cell });
    }
    let rule = scene.study.answers[0].clone();
    scene.study.answers.push(study::AnswerRule { case: "again".to_owned(), ..rule });
    (2..4).for_each(|cell| scene.measure(cell, 1e3, &SPREAD));
    let answers = scene.analysis().answered().answers;
    let titles: Vec<&str> = answers.iter().map(|of| of.title.as_str()).collect();
    assert_eq!(titles.len(), 2);
    assert!(titles[0].ends_with(" (keys)") && titles[1].ends_with(" (again)"), "{titles:?}");
}

#[test]
fn a_run_without_a_figure_says_why_wherever_it_is_told() {
    let mut scene = Scene::handshakes();
    (0..2).for_each(|cell| (0..7).for_each(|round| scene.fail(cell, round)));
    let why = scene.analysis().answered().no_figures.unwrap();
    assert!(why.ends_with("; the first: nginx died."), "{why}");
}

#[test]
fn a_server_that_was_found_is_called_by_its_process() {
    let label = |names: &[&str]| {
        let mut scene = Scene::suites(&[server("address")], &[GCM]);
        scene.study.cells[0].params = Params::default();
        scene.measure(0, 1e9, &SPREAD);
        for (trial, name) in scene.lines.iter_mut().zip(names.iter().cycle()) {
            let process =
                ServerProcess { name: (*name).to_owned(), pid: 7, found_at_port: Some(443) };
            trial.line.server_process = Some(Fact::Known(process));
        }
        scene.analysis().cells[0].label.clone()
    };
    assert_eq!(label(&["nginx"]), "nginx");
    // Where another one answered in some trials, neither is named.
    assert_eq!(label(&["nginx", "caddy"]), label(&[]));
    assert!(!label(&[]).contains("nginx"));
}

#[test]
fn bodies_shorter_than_a_record_are_counted_by_operations() {
    let is_of_bytes = |object: &str| {
        let mut scene = Scene::suites(&[server("nginx")], &[GCM]);
        scene.study.cells[0].target.object = object.parse().unwrap();
        scene.measure(0, 1e9, &SPREAD);
        scene.analysis().cells[0].is_of_bytes()
    };
    assert_eq!(["1MiB", "16KiB", "1KiB", "5B"].map(is_of_bytes), [true, true, false, false]);
}
