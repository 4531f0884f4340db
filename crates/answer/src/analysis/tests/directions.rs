//! A headline and its table say the same: the figures of a headline are read as a person reads them, by
//! the words and the names around them, and looked up among those of the table.

use proptest::prelude::*;
use stats::{Decision, Direction};
use study::Metric;
use study::testing::server;
use units::Quantity;

use super::accelerator::{ACCELERATOR, OFFLOAD, lone_and_busy, published, ways};
use super::projections::ratios;
use super::scene::{CBC, CHACHA, ECDSA, GCM, RSA, Scene};
use super::{NONE, SUITE};
use crate::analysis::{Answer, Bar, Figure};
use crate::findings::Headline;
use crate::wording::{brief, factor};

const ROUNDS: usize = 7;
const SERVERS: [&str; 2] = ["embedded", "nginx"];

/// Both servers with these values of a key.
fn both_servers(compare: &str, values: &[&str]) -> Scene {
    let servers = SERVERS.map(server);
    let mut scene = Scene::new("both", &servers, compare, values);
    for cell in &mut scene.study.cells {
        cell.params.insert("target.server".to_owned(), cell.target.server.to_string());
    }
    scene
}

/// What each cell does, and how much more or less of it in each round.
fn measured(cells: usize) -> impl Strategy<Value = Vec<(f64, Vec<f64>)>> {
    let rounds = prop::collection::vec(0.9f64..1.1, ROUNDS);
    prop::collection::vec(((1e3f64..4e3), rounds), cells)
}

fn measure(scene: &mut Scene, unit: f64, cells: &[(f64, Vec<f64>)]) {
    for (cell, (figure, rounds)) in cells.iter().enumerate() {
        scene.measure(cell, figure * unit, rounds);
    }
}

/// The headline with the answers that it is of.
fn found(scene: &Scene) -> (Headline, Vec<Answer>) {
    let answers = scene.analysis().answers;
    (answers[0].headline.clone().unwrap(), answers)
}

/// The shares of a text, below zero where its words say so.
fn shares(text: &str) -> Vec<f64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut sign = None;
    let mut found = Vec::new();
    for (place, word) in words.iter().enumerate() {
        match *word {
            "costs" => sign = Some(1.0),
            "saves" => sign = Some(-1.0),
            _ => {}
        }
        let word = word.trim_matches(|c: char| "(),;:.".contains(c));
        if let Some(share) = word.strip_suffix('%').and_then(|word| word.parse::<f64>().ok()) {
            let is_more = words.get(place + 1) == Some(&"more");
            let sign = if is_more { Some(-1.0) } else { sign };
            found.push(sign.unwrap_or_else(|| panic!("no direction of {word}: {text}")) * share);
        }
    }
    found
}

/// As a headline rounds it.
fn rounded(share: &Figure) -> f64 {
    let text = brief(Quantity::Share, share.median());
    text.trim_end_matches('%').parse().unwrap()
}

/// The bars that a sentence names, in its order.
fn named<'a>(sentence: &str, bars: &'a [Bar]) -> Vec<&'a Bar> {
    let place = |bar: &'a Bar| Some((sentence.find(bar.label.as_str())?, bar));
    let mut named: Vec<_> = bars.iter().filter_map(place).collect();
    named.sort_by_key(|(place, _)| *place);
    named.into_iter().map(|(_, bar)| bar).collect()
}

/// Round by round.
fn quotient(one: &Bar, other: &Bar) -> Figure {
    let samples = |bar: &Bar| bar.figure.clone().unwrap().samples;
    let pairs = samples(one).into_iter().zip(samples(other));
    Figure::of(pairs.map(|(one, other)| one / other).collect()).unwrap()
}

/// Where nothing else is compared.
fn is_shown(ratio: &Figure) -> bool {
    Decision::of_interval(&ratio.estimate, 1.0).is_sure()
}

/// Those of these units that numbers of a text have.
fn units<'u>(text: &str, units: &[&'u str]) -> Vec<&'u str> {
    let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '/');
    let has = |unit: &&&str| {
        let mut parts = text.match_indices(**unit);
        parts.any(|(at, _)| {
            text[..at].ends_with(|c: char| c.is_ascii_digit()) && is_end(&text[at + unit.len()..])
        })
    };
    units.iter().filter(has).copied().collect()
}

/// How many times as much one cell of a scene does as another, round by round.
fn times(scene: &Scene, one: usize, other: usize) -> Figure {
    let rates = |cell: usize| {
        let name = &scene.study.cells[cell].name;
        let lines = scene.lines.iter().filter(move |trial| trial.place.cell == *name);
        lines.map(|trial| trial.line.rate_per_s)
    };
    Figure::of(rates(one).zip(rates(other)).map(|(one, other)| one / other).collect()).unwrap()
}

/// Whether a text says what a ratio of the table is, or that there is no difference, which among several comparisons
/// may be so where an interval lies beyond 1.
fn tells(text: &str, ratio: &Figure) -> bool {
    text == factor(ratio.median()) || text == "no significant difference"
}

/// What stands between two pieces of a text.
fn between<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no {before}: {text}"));
    rest.split_once(after).unwrap_or_else(|| panic!("no {after}: {text}")).0
}

/// What the sentence says in brackets of the other server.
fn of_nginx(sentence: &str) -> &str {
    let (_, rest) = sentence.split_once("nginx: ").unwrap();
    rest.split_once(").").unwrap().0
}

proptest! {
    // Each case is a journal or more.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_tax(cells in measured(4)) {
        let mut scene = both_servers(SUITE, &[NONE, GCM]).answer(Metric::TlsTax, SUITE, NONE);
        measure(&mut scene, 5e6, &cells);
        let (headline, answers) = found(&scene);
        let table: Vec<&Figure> =
            answers.iter().map(|answer| answer.bars[0].figure.as_ref().unwrap()).collect();
        let is_shown = |of: &&Figure| Decision::of_interval(&of.estimate, 0.0).is_sure();
        let expected: Vec<f64> = table.iter().copied().filter(is_shown).map(rounded).collect();
        prop_assert_eq!(shares(&headline.sentence), expected, "{}", headline.sentence);
        // What it costs stands first, and is that of the same cell.
        let cells = scene.analysis().cells;
        let cell = cells.iter().find(|cell| cell.cell == answers[0].bars[0].cell).unwrap();
        let median = |metric| cell.figures.get(metric).unwrap().median();
        let cost = brief(Quantity::Nanos, median(Metric::ServerCpuPerGigabyte) * 1e9);
        prop_assert_eq!(units(&headline.sentence, &[" s", " ms", " µs"]).len(), 1, "{}", headline.sentence);
        prop_assert_eq!(units(&headline.sentence, &[" Gb/s", " Mb/s"]).len(), 1, "{}", headline.sentence);
        let sent = brief(Quantity::BitsPerSecond, median(Metric::GoodputPerServerCpu));
        let start = format!("With AES-128-GCM a core sends {sent}, at {cost} of CPU per GB");
        prop_assert!(headline.sentence.starts_with(&start), "{}", headline.sentence);
        prop_assert_eq!(headline.value, cost);
    }

    #[test]
    fn two_cells(cells in measured(4), metric in 0..4usize, is_inverted: bool) {
        let baseline = if is_inverted { ECDSA } else { RSA };
        let metric = [
            Metric::Rate,
            Metric::RatePerServerCpu,
            Metric::ServerCpuPerOperation,
            Metric::ServerCpus,
        ][metric];
        let key = "target.certificate-key";
        let mut scene = both_servers(key, &[RSA, ECDSA]).answer(metric, key, baseline);
        for cell in &mut scene.study.cells {
            cell.load.operation = load::Operation::Handshakes;
        }
        measure(&mut scene, 1.0, &cells);
        let (headline, answers) = found(&scene);
        let times = units(&headline.sentence, &[" s", " ms", " µs", " ns"]);
        prop_assert!(times.len() <= 1, "{}", headline.sentence);
        let names = named(&headline.sentence, &answers[0].bars);
        let [first, second] = names[..] else { panic!("{headline:?}") };
        let ratio = quotient(first, second);
        match headline.value.as_str() {
            "≈" => prop_assert!(!is_shown(&ratio), "{:?}", headline),
            value => {
                prop_assert_eq!(value, factor(ratio.median()), "{}", headline.sentence);
                prop_assert!(headline.sentence.contains(value), "{}", headline.sentence);
                let label = |bar: &Bar| {
                    let alike = answers[1].bars.iter().find(|other| other.label == bar.label);
                    alike.unwrap().clone()
                };
                let other = quotient(&label(first), &label(second));
                let said = of_nginx(&headline.sentence);
                match is_shown(&other) {
                    true => prop_assert_eq!(said, factor(other.median())),
                    false => prop_assert_eq!(said, "no significant difference"),
                }
            }
        }
    }

    #[test]
    fn several_cells(cells in measured(3), is_cost: bool) {
        let metric =
            if is_cost { Metric::ServerCpuPerGigabyte } else { Metric::GoodputPerServerCpu };
        let mut scene = Scene::suites(&[server("nginx")], &[GCM, CHACHA, CBC]);
        measure(&mut scene, 1e7, &cells);
        scene = scene.answer(metric, SUITE, GCM);
        let (headline, answers) = found(&scene);
        if headline.value == "≈" {
            return Ok(());
        }
        let names = named(&headline.sentence, &answers[0].bars);
        let ratio = quotient(names[0], names[names.len() - 1]).median();
        let figure = |bar: &Bar| brief(metric.row().quantity, bar.figure.as_ref().unwrap().median());
        match is_cost {
            // The lowest first, each with its figure after it.
            true if headline.sentence.contains("lowest") => {
                prop_assert!(ratio < 1.0, "{}", headline.sentence);
                prop_assert_eq!(&headline.value, &figure(names[0]));
                prop_assert!(headline.sentence.contains(&figure(names[names.len() - 1])));
            }
            // Where the first is shown to be ahead of the last.
            _ if !headline.sentence.contains("x as") => {}
            _ => prop_assert!(headline.sentence.contains(&factor(ratio)), "{}", headline.sentence),
        }
    }

    #[test]
    fn along_a_key(gains in prop::array::uniform4(0.3f64..3.0), is_crossover: bool) {
        let mut scene = ratios(gains);
        scene.study.answers[0].crossover = is_crossover;
        let (headline, answers) = found(&scene);
        let points = &answers[0].curve.as_ref().unwrap().points;
        let table: Vec<f64> = points
            .iter()
            .flat_map(|point| point.bars.iter().filter_map(|bar| bar.ratio.as_ref()))
            .map(|ratio| ratio.median())
            .collect();
        if is_crossover {
            let from = points.iter().position(|point| point.label == headline.value);
            let (before, after) = table.split_at(from.unwrap_or(table.len()));
            prop_assert!(after.iter().all(|ratio| *ratio > 1.0), "{:?}: {:?}", headline, table);
            let last = before.last().is_some_and(|ratio| *ratio > 1.0);
            prop_assert!(from.is_none() || !last, "{:?}: {:?}", headline, table);
            return Ok(());
        }
        let ends = [f64::min, f64::max].map(|of| table.iter().copied().reduce(of).unwrap());
        let [least, most] = ends.map(factor);
        let expected = if least == most { most } else { format!("{least} to {most}") };
        prop_assert_eq!(&headline.value, &expected);
        // It is said of the suite that is compared with the other.
        let place = |name| headline.sentence.find(name).unwrap();
        prop_assert!(place("AES-128-GCM") < place("AES-128-CBC-SHA"), "{}", headline.sentence);
    }

    #[test]
    fn the_cost_of_offload(inline in 1e3f64..4e3, rounds in prop::collection::vec(0.9f64..1.1, ROUNDS)) {
        let mut scene = ways(Metric::ServerCpuPerOperation, "ways", OFFLOAD, "inline");
        scene.keep(|cell, _| cell != 3);
        scene.measure(3, inline * 1.5, &rounds);
        let (headline, answers) = found(&scene);
        let bar = answers[0].bars.iter().find(|bar| bar.label.contains("async")).unwrap();
        let ratio = bar.ratio.as_ref().unwrap();
        let cost = ratio.map(|ratio| ratio - 1.0).unwrap();
        let expected = if is_shown(ratio) { vec![rounded(&cost)] } else { Vec::new() };
        prop_assert_eq!(shares(&headline.sentence), expected, "{}", headline.sentence);
        prop_assert_eq!(headline.value.ends_with(" less"), ratio.decision == Decision::Sure(Direction::Below), "{:?}", headline);
    }

    #[test]
    fn gains_of_an_accelerator(
        rates in prop::array::uniform6(500f64..4e3),
        rounds in prop::collection::vec(0.9f64..1.1, 8)
    ) {
        let mut scene = ways(Metric::Rate, "software", ACCELERATOR, "none");
        scene.lines.clear();
        for (cell, rate) in rates.into_iter().enumerate() {
            let mut rounds = rounds.clone();
            rounds.rotate_left(cell);
            scene.measure(cell, rate, &rounds);
        }
        let (Headline { sentence, value, .. }, _) = found(&scene);
        if !sentence.starts_with("With a model") {
            return Ok(());
        }
        // Software, inline, its like in the other case, asynchronous and synchronous, and synchronous at 1 ms.
        prop_assert_eq!(&value, &factor(times(&scene, 3, 0).median()), "{}", sentence);
        prop_assert_eq!(between(&sentence, " one core makes ", " the handshakes"), &value);
        let free = between(&sentence, "a free accelerator ", "; offload");
        prop_assert!(tells(free, &times(&scene, 1, 0)), "{}", sentence);
        let short = between(&sentence, "synchronous offload ", " at 100us");
        prop_assert!(tells(short, &times(&scene, 4, 0)), "{}", sentence);
        let long = between(&sentence, " at 100us and ", " at 1ms");
        prop_assert!(tells(long, &times(&scene, 5, 0)), "{}", sentence);
        // What a handshake costs is the inverse of how many there are.
        let cost = rounded(&times(&scene, 1, 3).map(|ratio| ratio - 1.0).unwrap());
        match shares(&sentence)[..] {
            [] => prop_assert!(sentence.contains("costs no significant part"), "{}", sentence),
            [said] => prop_assert_eq!(said, cost, "{}", sentence),
            _ => panic!("{sentence}"),
        }
    }

    #[test]
    fn ways_of_waiting(
        rates in prop::array::uniform6(500f64..4e3),
        rounds in prop::collection::vec(0.9f64..1.1, 8)
    ) {
        let mut scene = lone_and_busy(Metric::Rate);
        scene.study.answers[0].along = Some("load.connections".to_owned());
        scene.lines.clear();
        // Inline, asynchronous and synchronous with one connection, two cells of software, and with 64.
        for (cell, rate) in [0, 1, 2, 5, 6, 7].into_iter().zip(rates) {
            let mut rounds = rounds.clone();
            rounds.rotate_left(cell);
            scene.measure(cell, rate, &rounds);
        }
        let (Headline { sentence, value, .. }, _) = found(&scene);
        let (_, asynchronous) = sentence.split_once(": asynchronous ").unwrap();
        let (asynchronous, synchronous) = asynchronous.split_once(", synchronous ").unwrap();
        for (text, [lone, busy]) in [(asynchronous, [1, 6]), (synchronous, [2, 7])] {
            let (first, rest) = text.split_once(" (1 connection) to ").unwrap();
            prop_assert!(tells(first, &times(&scene, lone, 0)), "{}", sentence);
            let (last, _) = rest.split_once(" (64 connections)").unwrap();
            prop_assert!(tells(last, &times(&scene, busy, 5)), "{}", sentence);
        }
        let last = times(&scene, 6, 5).median();
        prop_assert!(value == "≈" || value == factor(last), "{}: {}", value, sentence);
    }

    #[test]
    fn cores_of_a_device(cells in measured(2)) {
        let mut scene = Scene::suites(&[server("embedded")], &[CBC, GCM]).answer(
            Metric::GoodputPerServerCpu,
            SUITE,
            CBC,
        );
        measure(&mut scene, 1e7, &cells);
        scene.study.answers[0].published = vec![published("nominal-aes-128")];
        let (Headline { sentence, value, .. }, answers) = found(&scene);
        let (first, second) = sentence.split_once(" (nominal); ").unwrap();
        let number = |text: &str| text.split(' ').next().unwrap().parse::<f64>().unwrap();
        let counts = [number(first), number(second)];
        prop_assert_eq!(number(&value), counts[0]);
        for (count, bar) in counts.into_iter().zip(&answers[0].bars) {
            // The fewer, the more a core sends: together they send what the device does.
            let sent = count * bar.figure.as_ref().unwrap().median();
            prop_assert!((sent / 50e9 - 1.0).abs() < 0.11, "{}: {:?}", sentence, bar.figure);
        }
    }
}
