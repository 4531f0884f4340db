//! Answers along a key, published figures beside ours, and what more cores would do.

use cpus::CpuList;
use study::testing::server;

use super::scene::{CBC, EIGHT, GCM, Scene};
use crate::analysis::{Analysis, WhyLeftOut};
use crate::findings::Chart;
use study::reference::Reference;
use study::{Cell, Metric};
use trial::Limit;

use super::{SUITE, limit};

const OBJECT: &str = "target.object";
const CORES: &str = "target.cores";

/// nginx with both suites at these values of another key, what each cell sends in bits per second.
fn scene(key: &str, values: &[&str], sends: impl Fn(&str, &str) -> f64) -> Scene {
    let mut scene =
        Scene::suites(&[server("nginx")], &[CBC, GCM]).answer(Metric::Goodput, SUITE, CBC);
    let suites: Vec<Cell> = std::mem::take(&mut scene.study.cells);
    for value in values {
        for cell in &suites {
            let mut cell = cell.clone();
            cell.name = format!("bulk-{:04}", scene.study.cells.len() + 1);
            cell.params.set(key, value);
            if key == CORES {
                let last = value.parse::<usize>().unwrap() - 1;
                cell.target.cpus = format!("0-{last}").parse().unwrap();
                cell.load.cpus = CpuList::from(64);
            }
            scene.study.cells.push(cell);
        }
    }
    for index in 0..scene.study.cells.len() {
        let params = scene.study.cells[index].params.clone();
        scene.measure(index, sends(&params[key].to_string(), &params[SUITE].to_string()), &EIGHT);
    }
    scene
}

/// 3 Gb/s with CBC, 9 Gb/s with GCM, at four sizes; GCM a tenth less at the smallest.
pub(super) fn sizes() -> Scene {
    let mut scene =
        scene(OBJECT, &["1MiB", "4MiB", "16MiB"], |object, suite| match (suite, object) {
            (CBC, _) => 3e9,
            (_, "1MiB") => 8.1e9,
            _ => 9e9,
        });
    let rule = &mut scene.study.answers[0];
    rule.along = Some(OBJECT.to_owned());
    let figure = Reference::find("xeon-e5-v3-2014").unwrap().figure("nginx-large-files");
    rule.published = figure.into_iter().collect();
    scene
}

#[test]
fn sizes_make_one_answer() {
    let analysis = sizes().analysis();
    let [answer] = analysis.answers.as_slice() else { panic!("{:?}", analysis.answers) };
    let labels: Vec<String> = answer.points.iter().map(|point| point.label_at(OBJECT)).collect();
    assert_eq!(labels, ["1 MiB objects", "4 MiB objects", "16 MiB objects"]);
    assert_eq!(answer.bars().len(), 6);
    assert_eq!(answer.bars()[1].label, "1 MiB objects, AES-128-GCM");
}

/// Sizes at which the second suite sends this multiple of what the first does.
pub(super) fn ratios(ratios: [f64; 4]) -> Scene {
    let objects = ["1KiB", "4KiB", "16KiB", "64KiB"];
    let mut scene = scene(OBJECT, &objects, |object, suite| match suite {
        CBC => 3e9,
        _ => 3e9 * ratios[objects.iter().position(|known| *known == object).unwrap()],
    });
    let rule = &mut scene.study.answers[0];
    (rule.along, rule.show) = (Some(OBJECT.to_owned()), [study::Show::Crossover].into());
    scene
}

#[test]
fn a_crossover_is_the_value_from_which_the_whole_interval_is_above_1() {
    let told = |of: [f64; 4]| {
        let mut answer = ratios(of).first();
        let crossover = answer.crossovers.remove(0);
        let sentence = format!("{}.", crossover.sentence);
        assert_eq!(answer.notes, [sentence.as_str()]);
        let rest = sentence.strip_prefix("AES-128-GCM ").unwrap().replace("AES-128-CBC-SHA", "it");
        (rest, crossover.from)
    };
    let from = |label: &str| Some(label.to_owned());
    let once = told([0.8, 0.9, 1.2, 1.3]);
    assert_eq!(once, ("is ahead of it from 16 KiB objects on.".to_owned(), from("16 KiB objects")));
    let everywhere = told([1.2; 4]);
    assert_eq!(everywhere.1, from("1 KiB objects"));
    assert_eq!(told([0.9; 4]), ("is never ahead of it.".to_owned(), None));
    // Where nothing is decided, nothing is said of never.
    for undecided in [[1.0; 4], [0.9, 0.9, 1.0, 0.9]] {
        assert_eq!(told(undecided), ("is nowhere shown to be ahead of it.".to_owned(), None));
    }
    // Exactly 1 is not ahead.
    assert_eq!(told([0.9, 1.0, 1.0, 1.1]).1, from("64 KiB objects"));
    assert_eq!(
        told([1.2, 0.9, 1.1, 1.3]).0,
        "gets ahead of it more than once: from 1 KiB objects and from 16 KiB objects on."
            .replace("from 1 KiB objects and", "at 1 KiB objects and")
    );
    let hill = told([0.9, 1.1, 1.2, 0.9]);
    assert_eq!(
        hill,
        ("is ahead of it only from 4 KiB objects to 16 KiB objects.".to_owned(), None)
    );
}

#[test]
fn a_crossover_is_marked_in_a_chart_of_the_ratios() {
    let scene = ratios([0.8, 0.9, 1.2, 1.3]);
    let charts = scene.analysis().answered().answers.remove(0).charts;
    let curves = charts.iter().filter_map(|chart| match chart {
        Chart::Curve(curve) => Some(curve),
        Chart::Bars(_) => None,
    });
    let [curve] = curves.collect::<Vec<_>>()[..] else { panic!("{charts:?}") };
    let mark = ("AES-128-GCM is ahead from 16 KiB objects on".to_owned(), 16_384.0);
    assert_eq!(curve.marks, [mark]);
    let dots: Vec<(f64, f64)> = curve.lines[0].dots.iter().map(|dot| (dot.x, dot.y)).collect();
    assert_eq!((dots.len(), dots[3]), (4, (65_536.0, 1.3)));
    assert_eq!(curve.bound.as_ref().unwrap().1, 1.0);
}

#[test]
fn without_a_baseline_the_others_have_their_figures() {
    let mut scene = sizes();
    for (cell, round) in
        [0, 2, 4].into_iter().flat_map(|cell| (0..8).map(move |round| (cell, round)))
    {
        scene.fail(cell, round);
    }
    let answer = scene.first();
    let figures = answer.shown().filter(|bar| bar.figure.is_some());
    assert_eq!(figures.count(), 3);
}

#[test]
fn what_limits_one_size_is_said_with_that_size() {
    let mut scene = sizes();
    limit(&mut scene, 1, 2, Limit::ClientCpu);
    let answer = scene.first();
    assert!(
        answer.caveats.iter().any(|caveat| caveat.starts_with("1 MiB objects: ")),
        "{:?}",
        answer.caveats
    );
}

#[test]
fn a_published_figure_stands_in_the_row_that_it_is_of() {
    for along in [Some(OBJECT.to_owned()), None] {
        let mut scene = sizes();
        scene.study.answers[0].along = along;
        let table = scene.analysis().answered().answers.remove(0).tables.remove(0);
        let published = table.columns.iter().find(|column| column.name == "published").unwrap();
        let texts: Vec<&str> = published.cells.iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(texts, ["", "2 to 2.4x", "", "2 to 2.4x", "", "2 to 2.4x"]);
    }
}

/// The analysis of a scene of cores, projected to 32.
pub(super) fn projected(scene: &mut Scene) -> Analysis {
    scene.study.answers[0].project = vec![32];
    scene.analysis()
}

pub(super) fn of_cores(cores: &[&str], one: impl Fn(f64) -> f64) -> Scene {
    scene(CORES, cores, |cores, suite| {
        let factor = if suite == CBC { 3e9 } else { 9e9 };
        factor * one(cores.parse().unwrap())
    })
}

#[test]
fn from_one_core_only_a_straight_line_follows() {
    let analysis = projected(&mut of_cores(&["1"], |cores| cores));
    let [cbc, gcm] = analysis.projections.as_slice() else { panic!("{:?}", analysis.projections) };
    assert_eq!(cbc.label, "AES-128-CBC-SHA, nginx");
    assert_eq!(
        gcm.notes,
        [
            "Beyond 1 core it is a projection, not a measurement: linear, from 1 core, is an upper bound.",
            "No scaling law is fitted: a scaling law takes 4 numbers of cores or more, and there \
             are 1."
        ]
    );
    assert!((gcm.cores.last().unwrap().linear / 288e9 - 1.0).abs() < 1e-9);
    assert_eq!(gcm.cores.last().unwrap().law, None);
}

#[test]
fn what_a_core_gives_and_what_an_operation_takes_are_not_projected() {
    for metric in [Metric::GoodputPerServerCpu, Metric::ServerCpuPerGigabyte] {
        let mut scene = of_cores(&["1", "2"], |cores| cores);
        scene.study.answers[0].metric = metric;
        assert_eq!(projected(&mut scene).projections, []);
    }
}

#[test]
fn noise_is_no_cap_and_makes_a_core_look_worse_than_it_is() {
    let mut scene = of_cores(&["1", "2"], |cores| cores);
    for (cell, round) in (0..4).flat_map(|cell| (0..8).map(move |round| (cell, round))) {
        scene.trial(cell, round).verdict_mut().limit = Limit::Noise;
    }
    let analysis = projected(&mut scene);
    let gcm = &analysis.projections[1];
    let words = gcm.notes.join(" ");
    assert!(words.contains("A core can do more than that: other work"), "{words}");
    assert!(!words.contains("did not exceed"), "{words}");
    assert!((gcm.cores.last().unwrap().linear / 288e9 - 1.0).abs() < 1e-9);
}

#[test]
fn from_four_numbers_of_cores_on_a_law_is_fitted_with_its_interval() {
    let analysis =
        projected(&mut of_cores(&["1", "2", "4", "8"], |n| n / (1.0 + 0.05 * (n - 1.0))));
    let gcm = &analysis.projections[1];
    let law = gcm.cores.last().unwrap().law.as_ref().unwrap();
    let expected = 9e9 * 32.0 / (1.0 + 0.05 * 31.0);
    assert!((law.median() / expected - 1.0).abs() < 0.01, "{law:?}");
    assert_eq!(law.estimate.n, 8);
    assert!(law.estimate.interval.low < expected && expected < law.estimate.interval.high);
    let words = gcm.notes.join(" ");
    assert!(words.contains("Beyond 8 cores it is a projection"), "{words}");
    assert!(words.contains("the law assumes that the same limits remain"), "{words}");
    let answer = analysis.answered().answers.remove(0);
    let table = answer.tables.iter().find(|table| table.count.contains("GCM")).unwrap();
    let last = |name| {
        let column = table.columns.iter().find(|column| column.name == name).unwrap();
        column.cells.last().unwrap().text.clone()
    };
    assert_eq!(
        (last("cores"), last("measured"), last("linear")),
        ("32".into(), "".into(), "288.00".into())
    );
}

#[test]
fn rounds_that_follow_no_law_are_counted_with_their_reasons() {
    use WhyLeftOut::{Misfit, NotPositive, TooFewCores};
    let mut scene = of_cores(&["1", "2", "4", "8"], |n| n / (1.0 + 0.05 * (n - 1.0)));
    // Eight cores with GCM: slow in one round, idle in another, not valid in a third.
    scene.trial(7, 1).goodput_bps = scene.trial(7, 1).goodput_bps.map(|bits| bits / 2);
    scene.trial(7, 2).goodput_bps = Some(0);
    scene.fail(7, 3);
    let gcm = projected(&mut scene).projections.remove(1);
    assert_eq!(gcm.left_out.0, [(Misfit, 1), (NotPositive, 1), (TooFewCores, 1)].into());
    assert_eq!(gcm.cores.last().unwrap().law.as_ref().unwrap().estimate.n, 5);
    assert_eq!(serde_json::to_value(&gcm).unwrap()["left_out"]["misfit"], 1);
    let is_about_rounds = |note: &&String| note.contains("of 8 rounds");
    assert_eq!(gcm.notes.iter().filter(is_about_rounds).count(), 1, "{:?}", gcm.notes);
}

#[test]
fn a_roof_fits_no_law_and_ends_the_straight_line() {
    let mut scene = of_cores(&["1", "2", "4", "8"], |n| n.min(2.0));
    for index in 4..scene.study.cells.len() {
        for round in 0..8 {
            scene.trial(index, round).verdict_mut().limit = Limit::Unknown;
        }
    }
    let analysis = projected(&mut scene);
    let gcm = &analysis.projections[1];
    let words = gcm.notes.join(" ");
    assert!(words.contains("do not follow the scaling law"), "{words}");
    assert!(words.contains("The rate did not exceed 18.0 Gb/s"), "{words}");
    assert!(words.contains("Beyond 2 cores more do not help."), "{words}");
    assert_eq!(gcm.stops_helping, Some(2));
    assert!((gcm.cores.last().unwrap().linear / 18e9 - 1.0).abs() < 1e-9);
}

#[test]
fn cores_that_disturb_each_other_are_less_efficient_and_a_busy_client_proves_nothing() {
    let mut scene = of_cores(&["1", "2", "4"], |n| n / (1.0 + 0.05 * (n - 1.0)));
    let of_four = 5;
    for round in 0..8 {
        scene.trial(of_four, round).verdict_mut().limit = Limit::ClientCpu;
    }
    let rule = &mut scene.study.answers[0];
    (rule.along, rule.show) = (Some(CORES.to_owned()), [study::Show::Projection].into());
    let analysis = scene.analysis();
    let efficiency = |projection: usize| -> Vec<Option<f64>> {
        let cores = analysis.projections[projection].cores.iter();
        cores.map(|at| at.efficiency.as_ref().map(|of| of.median())).collect()
    };
    let [None, Some(two), Some(four)] = efficiency(0)[..] else { panic!("{:?}", efficiency(0)) };
    assert!((two - 1.0 / 1.05).abs() < 1e-9 && (four - 1.0 / 1.15).abs() < 1e-9, "{two} {four}");
    assert_eq!(efficiency(1)[2], None);
}
