//! The answers at a glance.

use study::Metric;
use study::testing::server;
use trial::{Limit, Warning, WarningKind};

use super::projections::sizes;
use super::scene::{CBC, CHACHA, ECDSA, GCM, RSA, SPREAD, Scene};
use super::{NONE, SUITE, bulk, limit};
use crate::findings::Headline;

const NINE: [f64; 9] = [1.0, 0.97, 1.01, 0.99, 1.03, 0.98, 1.02, 1.0, 1.01];

fn headline(scene: &Scene) -> Headline {
    scene.first().headline.unwrap()
}

fn sentence(scene: &Scene) -> String {
    headline(scene).sentence
}

#[test]
fn a_certificate_is_a_factor_with_what_to_do() {
    let headline = headline(&Scene::handshakes());
    assert_eq!(headline.value, "2.6x");
    assert_eq!(headline.unit, "the handshakes per core");
    assert_eq!(
        headline.sentence,
        "An ECDSA P-256 certificate gives 2.6x the handshakes of RSA-2048: 4,200/s against 1,640/s \
         per core."
    );
    assert_eq!(
        headline.advice.unwrap(),
        "Use an ECDSA P-256 certificate; keep RSA-2048 only for clients that cannot verify ECDSA."
    );
}

#[test]
fn what_gives_more_comes_first_whatever_the_baseline() {
    let mut scene = Scene::handshakes();
    let expected = sentence(&scene);
    scene.study.answers[0].baseline = ECDSA.to_owned();
    assert_eq!(sentence(&scene), expected);
}

#[test]
fn a_ratio_across_1_is_no_significant_difference() {
    let mut scene = Scene::handshakes();
    scene.keep(|cell, _| cell == 0);
    scene.measure(1, 1_650.0, &[1.0; 7]);
    let headline = headline(&scene);
    assert_eq!(
        (headline.value.as_str(), headline.unit.as_str()),
        ("≈", "no significant difference")
    );
    assert_eq!(
        headline.sentence,
        "No significant difference between ECDSA P-256 and RSA-2048: 1,650/s and 1,640/s per core."
    );
    assert_eq!(headline.advice, None);
}

#[test]
fn too_few_trials_are_said_to_be_too_few() {
    let mut scene = Scene::handshakes();
    scene.keep(|_, round| round < 5);
    assert_eq!(
        sentence(&scene),
        "Too few trials to compare ECDSA P-256 and RSA-2048: 4,200/s and 1,640/s per core."
    );
    let found = headline(&scene);
    assert_eq!((found.value.as_str(), found.unit.as_str()), ("?", "too few trials"));
    assert_eq!(found.advice, None);
    let mut taxed = bulk(Metric::TlsTax, NONE);
    taxed.keep(|_, round| round < 5);
    let said = sentence(&taxed);
    let too_few = "; too few trials to compare that with the 40.0 Gb/s of plain HTTP.";
    assert!(said.ends_with(too_few), "{said}");
}

#[test]
fn the_tax_is_of_the_suite_that_costs_least_and_the_absolute_cost_comes_first() {
    let headline = headline(&bulk(Metric::TlsTax, NONE));
    assert_eq!(
        (headline.value.as_str(), headline.unit.as_str()),
        ("0.941 s", "of CPU per GB with AES-128-GCM")
    );
    assert_eq!(
        headline.sentence,
        "With AES-128-GCM a core sends 8.50 Gb/s, at 0.941 s of CPU per GB; TLS costs 79% of the 40.0 Gb/s of \
         plain HTTP."
    );
}

#[test]
fn what_is_sent_more_with_tls_is_no_cost() {
    let mut scene = Scene::suites(&[server("embedded"), server("nginx")], &[NONE, GCM]).answer(
        Metric::TlsTax,
        SUITE,
        NONE,
    );
    for cell in &mut scene.study.cells {
        let name = cell.target.server.to_string();
        cell.params.insert("target.server".to_owned(), name);
    }
    for (cell, figure) in [27e9, 18.4e9, 12.1e9, 13.7e9].into_iter().enumerate() {
        scene.measure(cell, figure, &SPREAD);
    }
    let mixed = sentence(&scene);
    let of_nginx = "nginx: 584 ms of CPU per GB, sends 13% more than plain HTTP).";
    assert!(mixed.ends_with(of_nginx), "{mixed}");
    scene.study.cells.rotate_left(2);
    let found = headline(&scene);
    let said = found.sentence;
    assert!(
        said.contains("; that is 13% more than the 12.1 Gb/s of plain HTTP (nginx; "),
        "{said}"
    );
    assert!(said.ends_with("toll's own server: 435 ms of CPU per GB, costs 32%)."), "{said}");
}

/// Of these rounds the medians are 4 and 2, and the median of the ratios is 4.
const UNEVEN: [[f64; 7]; 2] =
    [[4.0, 4.0, 4.0, 4.0, 8.0, 8.0, 8.0], [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]];

#[test]
fn figures_whose_quotient_is_another_ratio_are_left_to_the_table() {
    let mut taxed =
        Scene::suites(&[server("nginx")], &[NONE, GCM]).answer(Metric::TlsTax, SUITE, NONE);
    taxed.measure(0, 1e9, &UNEVEN[0]);
    taxed.measure(1, 1e9, &UNEVEN[1]);
    assert!(sentence(&taxed).ends_with("; TLS costs 75% of what it sends in plain."));
    let mut handshakes = Scene::handshakes();
    handshakes.measure(0, 1e3, &UNEVEN[1]);
    handshakes.measure(1, 1e3, &UNEVEN[0]);
    assert_eq!(
        sentence(&handshakes),
        "An ECDSA P-256 certificate gives 4.0x the handshakes of RSA-2048."
    );
}

#[test]
fn of_several_suites_the_best_is_named_where_it_is_shown_to_be() {
    let scene = bulk(Metric::GoodputPerServerCpu, GCM);
    let found = headline(&scene);
    assert_eq!(
        (found.value.as_str(), found.unit.as_str()),
        ("8.50 Gb/s", "per core with AES-128-GCM")
    );
    assert_eq!(
        found.sentence,
        "A core sends the most with AES-128-GCM: 8.50 Gb/s, 3.9x as much as with AES-128-CBC-SHA."
    );
    // The details do not repeat what to do.
    let details = scene.analysis().findings(&scene.lines).answers.remove(0);
    assert!(details.remarks.iter().all(|remark| remark.label != "What to do"), "{details:?}");
    // The answer about the tax would say the same: it is said once.
    let mut both = scene.clone();
    both.study.answers.insert(0, bulk(Metric::TlsTax, NONE).study.answers.remove(0));
    let advice: Vec<bool> = both
        .analysis()
        .answers
        .iter()
        .map(|of| of.headline.as_ref().unwrap().advice.is_some())
        .collect();
    assert_eq!(advice, [false, true]);
    let advice = "Prefer AES-128-GCM; keep ChaCha20-Poly1305 for clients without AES instructions.";
    assert_eq!(found.advice.unwrap(), advice);
}

#[test]
fn suites_alike_are_not_ranked() {
    let scene = |figures: [f64; 3]| {
        let suites = [GCM, "TLS_AES_256_GCM_SHA384", CHACHA];
        let mut scene = Scene::suites(&[server("nginx")], &suites).answer(
            Metric::GoodputPerServerCpu,
            SUITE,
            GCM,
        );
        for (cell, figure) in figures.into_iter().enumerate() {
            let mut factors = NINE;
            factors.rotate_left(3 * cell);
            scene.measure(cell, figure, &factors);
        }
        scene
    };
    assert_eq!(
        sentence(&scene([8.5e9, 8.55e9, 4.7e9])),
        "A core sends the most with AES-128-GCM and AES-256-GCM, with no significant difference \
         between them: 8.50 Gb/s, 1.79x as much as with ChaCha20-Poly1305."
    );
    let alike = headline(&scene([8.5e9, 8.55e9, 8.52e9]));
    assert_eq!(alike.unit, "no significant difference");
    assert!(
        alike
            .sentence
            .starts_with("No significant difference between AES-128-GCM, AES-256-GCM and")
    );
}

#[test]
fn a_cost_is_lowest_with_the_best() {
    let scene = bulk(Metric::ServerCpuPerGigabyte, GCM);
    let found = headline(&scene);
    assert_eq!(
        found.sentence,
        "The server CPU per GB is lowest with AES-128-GCM: 0.941 s/GB against 3.64 s/GB with \
         AES-128-CBC-SHA."
    );
}

#[test]
fn a_rate_that_the_client_limited_is_not_the_servers() {
    let mut scene = Scene::handshakes();
    scene.study.answers[0].metric = Metric::Rate;
    assert!(sentence(&scene).ends_with("4,200/s against 1,640/s."), "{}", sentence(&scene));
    limit(&mut scene, 1, 2, Limit::ClientCpu);
    let limited = "Something other than the server was the limit in some trials.";
    assert!(sentence(&scene).ends_with(limited), "{}", sentence(&scene));
    // What a core does, it does whatever the limit is.
    scene.study.answers[0].metric = Metric::RatePerServerCpu;
    assert!(!sentence(&scene).ends_with(limited));
    let mut scene = sizes();
    limit(&mut scene, 0, 0, Limit::ClientCpu);
    assert!(sentence(&scene).ends_with(limited), "{}", sentence(&scene));
}

#[test]
fn clients_that_receive_in_other_ways_are_compared_all_the_same() {
    let mut scene = Scene::clients(&["toll", "wrk"]).answer(
        Metric::ServerCpuPerGigabyte,
        "load.client",
        "toll",
    );
    scene.measure(0, 8e9, &SPREAD);
    scene.measure(1, 4e9, &SPREAD);
    assert!(
        sentence(&scene).starts_with(
            "The server CPU per GB is 2.0x as high with wrk as with toll's client: 2.00 s/GB \
             against 1.00 s/GB"
        ),
        "{}",
        sentence(&scene)
    );
}

#[test]
fn servers_of_one_question_share_a_headline() {
    let servers = [server("embedded"), server("nginx")];
    let mut scene = Scene::new("keys", &servers, "target.certificate-key", &[RSA, ECDSA]).answer(
        Metric::RatePerServerCpu,
        "target.certificate-key",
        RSA,
    );
    for cell in &mut scene.study.cells {
        cell.load.operation = load::Operation::Handshakes;
        let name = cell.target.server.to_string();
        cell.params.insert("target.server".to_owned(), name);
    }
    for (cell, figure) in [1_000.0, 2_500.0, 900.0, 1_800.0].into_iter().enumerate() {
        scene.measure(cell, figure, &SPREAD);
    }
    let analysis = scene.analysis();
    let headlines: Vec<_> =
        analysis.answers.iter().map(|answer| answer.headline.as_ref()).collect();
    let [Some(headline), None] = headlines[..] else { panic!("{headlines:?}") };
    assert_eq!(
        headline.sentence,
        "An ECDSA P-256 certificate gives 2.5x the handshakes of RSA-2048: 2,500/s against 1,000/s \
         per core (toll's own server; nginx: 2.0x)."
    );
    // The servers are compared with each other, value by value.
    let [grid] = &analysis.findings(&scene.lines).grids[..] else { panic!("one grid") };
    let texts = |column: usize| -> Vec<(&str, &str)> {
        let cells = &grid.columns[column].cells;
        cells.iter().map(|cell| (cell.text.as_str(), cell.more.as_str())).collect()
    };
    assert_eq!(texts(0), [("toll's own server", ""), ("nginx", "")]);
    assert_eq!(grid.columns[1].name, "RSA-2048");
    assert_eq!(texts(1), [("1,000", ""), ("900", "0.90x")]);
    assert_eq!(texts(2), [("2,500", ""), ("1,800", "0.72x")]);
    // A difference that is not shown is marked so.
    scene.keep(|cell, _| cell != 2);
    scene.measure(2, 1_000.0, &[1.01, 0.99, 0.98, 1.0, 1.01, 1.02, 1.0]);
    let grids = scene.analysis().findings(&scene.lines).grids;
    assert!(grids[0].columns[1].cells.iter().any(|cell| cell.more.starts_with("≈ ")), "{grids:?}");
}

#[test]
fn without_figures_that_is_the_headline() {
    let mut scene = bulk(Metric::GoodputPerServerCpu, CBC);
    scene.lines.clear();
    let headline = headline(&scene);
    assert_eq!((headline.value.as_str(), headline.unit.as_str()), ("none", "not measured"));
    assert!(headline.sentence.starts_with("Not measured"), "{}", headline.sentence);
    assert_eq!(scene.analysis().quality, None);
}

#[test]
fn along_a_key_it_is_the_range_of_ratios() {
    let scene = sizes();
    let found = headline(&scene);
    assert_eq!((found.value.as_str(), found.unit.as_str()), ("2.7x to 3.0x", "the goodput"));
    assert_eq!(
        found.sentence,
        "The server sends 2.7x (1 MiB objects) to 3.0x (16 MiB objects) as much with AES-128-GCM as \
         with AES-128-CBC-SHA."
    );
    assert_eq!(found.advice.unwrap(), "Prefer AES-128-GCM.");
}

#[test]
fn the_quality_is_good_noisy_wide_or_of_too_few_trials() {
    let quality = |scene: &Scene| scene.analysis().quality.unwrap();
    let mut scene = Scene::handshakes();
    let good = quality(&scene);
    assert_eq!((good.is_good, good.sentence.as_str()), (true, "Good: intervals within 3%."));
    for round in 0..4 {
        let kind = WarningKind::ForeignWork;
        let warning = Warning { kind, ..scene_warning() };
        scene.trial(0, round).warnings.push(warning);
    }
    let noisy = quality(&scene);
    assert!(!noisy.is_good);
    assert!(
        noisy
            .sentence
            .starts_with("Noisy: 4 of 14 trials shared their CPUs with other work; rerun"),
        "{}",
        noisy.sentence
    );
    let mut few = Scene::handshakes();
    few.keep(|_, round| round < 5);
    assert!(quality(&few).sentence.starts_with("Too few trials: 5 trials for some figures"));
    let mut wide = Scene::handshakes();
    wide.keep(|cell, _| cell == 0);
    wide.measure(1, 4_200.0, &[1.0, 1.3, 0.8, 1.0, 1.1, 0.9, 1.0]);
    let wide = quality(&wide);
    assert!(!wide.is_good && wide.sentence.starts_with("Wide: intervals reach up to "), "{wide:?}");
}

fn scene_warning() -> Warning {
    Warning {
        kind: WarningKind::Steal,
        seen: "other programs used the CPUs".into(),
        likely_cause: "they run".into(),
        remedy: "stop them".into(),
    }
}

#[test]
fn columns_follow_the_metrics_of_the_answers() {
    let names = |scene: &Scene| -> Vec<String> {
        let findings = scene.analysis().findings(&scene.lines);
        assert_eq!(findings.overview[0].count, "in windows of 1.00 s");
        assert!(
            findings.measured.ends_with("of 4 cells in windows of 1.00 s"),
            "{}",
            findings.measured
        );
        let columns = findings.overview[0].columns.iter().filter(|column| !column.is_empty());
        columns
            .filter(|column| column.is_number)
            .map(|c| format!("{} {}", c.name, c.unit))
            .collect()
    };
    let bytes = names(&bulk(Metric::GoodputPerServerCpu, GCM)).join(", ");
    assert!(bytes.contains("goodput Gb/s") && bytes.contains("server CPU s/GB"), "{bytes}");
    assert!(!bytes.contains("rate"), "{bytes}");
    // The same trials, where requests are what is asked about.
    let requests = names(&bulk(Metric::Rate, GCM)).join(", ");
    assert!(requests.contains("rate /s") && requests.contains("one core /s"), "{requests}");
    assert!(!requests.contains("Gb/s") && !requests.contains("s/GB"), "{requests}");
    let other = names(&bulk(Metric::ServerCpus, GCM)).join(", ");
    assert!(other.contains("CPUs"), "{other}");
}
