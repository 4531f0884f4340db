//! Answers along the users of a session, and what Little's law allows.

use load::Operation;
use study::Metric;
use study::testing::server;

use super::scene::{SPREAD, Scene};
use crate::findings::{self, Chart, Curve};

const AES: &str = "target.aes";
const USERS: &str = "load.connections";

/// Of 1, 10 and 100 users, whose pages take 1 ms of one core without AES instructions and 0.8 ms with
/// them, at 100 users 5% more, and who think for 3 ms.
pub(super) fn users(metric: Metric) -> Scene {
    let tomcat = server("tomcat");
    let mut scene =
        Scene::new("shop", &[tomcat; 3], AES, &["off", "on"]).answer(metric, AES, "off");
    scene.study.answers[0].along = Some(USERS.to_owned());
    for (place, cell) in scene.study.cells.iter_mut().enumerate() {
        cell.load.operation = Operation::Session;
        let users = ["1", "10", "100"][place / 2];
        cell.params.set(USERS, users);
    }
    for cell in 0..scene.study.cells.len() {
        scene.measure(cell, 8e9, &SPREAD);
    }
    for trial in &mut scene.lines {
        let line = &mut trial.line;
        let users = trial.place.params[USERS].count().unwrap() as f64;
        let page = if trial.place.params[AES].to_string() == "on" { 0.8e6 } else { 1e6 };
        let page = if users == 100.0 { 1.05 * page } else { page };
        let per_second = (users / (page + 3e6)).min(1.0 / page) * 1e9;
        line.operations.completed = per_second.round() as u64;
        line.rate_per_s = Some(per_second);
        line.cpu_ns.server = Some((page * line.operations.completed as f64) as u64);
        line.latency_ns.mean = Some((users / per_second * 1e9 - 3e6) as u64);
        line.littles_law = serde_json::from_value(serde_json::json!({
            "users": users as u64, "rate_per_s": per_second, "response_ns": 0,
            "think_ns": 3_000_000, "users_by_law": users, "deviation": 0.0, "judged": true,
        }))
        .unwrap();
    }
    scene
}

fn chart(scene: &Scene) -> Curve {
    let mut findings = scene.analysis().answered();
    match findings.answers[0].charts.remove(0) {
        Chart::Curve(curve) => curve,
        other => panic!("{other:?}"),
    }
}

#[test]
fn users_and_pages_are_what_a_session_has() {
    let scene = users(Metric::Rate);
    let label = &scene.first().bars()[0].label;
    assert!(label.contains("1 user"), "{label}");
    let findings = scene.analysis().answered();
    let columns: Vec<&str> =
        findings.tables[0].tables[0].columns.iter().map(|column| column.name.as_str()).collect();
    assert!(columns.contains(&"server CPU per page"), "{columns:?}");
    let Chart::Bars(split) = &findings.charts[0] else { panic!() };
    assert_eq!(split.title, "CPU time per page");
    assert!(split.rows[0].label.contains("1 user"), "{split:?}");
}

#[test]
fn the_rate_has_bounds_that_meet_at_the_knee() {
    let curve = chart(&users(Metric::Rate));
    assert_eq!(curve.x_axis, "users (logarithmic)");
    assert_eq!(curve.y_axis, "pages per second; higher is better");
    let [off, on] = curve.lines.as_slice() else { panic!("{curve:?}") };
    assert_eq!((off.is_baseline, on.is_baseline), (true, false));
    assert_eq!(off.dots.iter().map(|dot| dot.x).collect::<Vec<_>>(), [1.0, 10.0, 100.0]);
    let [of_off, of_on] = curve.limits.as_slice() else { panic!("{curve:?}") };
    assert_eq!((of_off.line, of_on.line), (0, 1));
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-3;
    // 1 ms of work and 3 ms of thought: 4 users keep the core busy.
    let (words, (users, most)) = of_off.knee.as_ref().unwrap();
    assert_eq!(words, "no AES instructions: knee at 4.0 users");
    assert!(near(*users, 4.0) && near(*most, 1_000.0), "{users} {most}");
    let (first, last) = (of_off.points[0], of_off.points[of_off.points.len() - 1]);
    assert!(near(first.1, 250.0) && near(last.1, 1_000.0), "{first:?} {last:?}");
    let [note] = curve.notes.as_slice() else { panic!("{:?}", curve.notes) };
    assert!(
        note.contains("allows N users of 1 core, at most min(N / (D + Z), cores / D)"),
        "{note}"
    );
    assert!(note.contains("D is the server's CPU time per page"), "{note}");
    let d = "D = 1ms, Z = 3ms, N* = 4.0 with no AES instructions (D at ";
    assert!(note.contains(d), "{note}");
}

#[test]
fn what_lacks_a_bar_at_one_point_takes_no_other_ones_place() {
    let whole = users(Metric::Rate);
    let mut answer = whole.first();
    answer.points[0].figures.remove(0);
    let findings::Curve { lines, limits, .. } =
        crate::analysis::findings::curves::chart(&answer).unwrap();
    let dots = |line: usize| lines[line].dots.iter().map(|dot| dot.x).collect::<Vec<_>>();
    let labels: Vec<&str> = lines.iter().map(|line| line.label.as_str()).collect();
    assert_eq!(labels, ["AES instructions", "no AES instructions"]);
    assert_eq!((dots(0), dots(1)), (vec![1.0, 10.0, 100.0], vec![10.0, 100.0]));
    assert_eq!(limits.iter().map(|limit| limit.line).collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn the_response_time_has_bounds_from_below() {
    let curve = chart(&users(Metric::ResponseTime));
    let points = &curve.limits[0].points;
    let (first, last) = (points[0], points[points.len() - 1]);
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-3;
    assert!(near(first.1, 1e6) && near(last.1, 97e6), "{first:?} {last:?}");
    assert!(curve.notes[0].contains("at least max(D, N x D / cores - Z)"), "{:?}", curve.notes);
    for (dots, limit) in curve.lines.iter().zip(&curve.limits) {
        let (dot, bound) = (dots.dots.last().unwrap(), limit.points.last().unwrap());
        assert!(dot.y >= bound.1, "no figure crosses its bound");
    }
}

#[test]
fn without_a_closed_loop_there_are_no_bounds() {
    let mut scene = users(Metric::Rate);
    for trial in &mut scene.lines {
        trial.line.littles_law = None;
    }
    let curve = chart(&scene);
    assert!(curve.limits.is_empty() && curve.notes.is_empty(), "{:?}", curve.notes);
    let cpu = chart(&users(Metric::ServerCpus));
    assert!(cpu.limits.is_empty());
    assert_eq!(cpu.title, "Server CPU use");
}
