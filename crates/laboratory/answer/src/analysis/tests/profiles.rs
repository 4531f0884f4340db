//! What samples of the servers' CPU time say, over profiles that are known.

use observe::Fact;
use profile::{Class, Futexes};

use super::scene::SPREAD;
use super::*;
use crate::findings::{Bars, Chart, Headline, Series, ShownAnswer, Table};

const SEND: &str = "target.send";

/// nginx with user TLS and with kTLS sendfile, in this order: shares of 10,000 samples.
pub(super) fn sending(user: &[(Class, u64)], kernel: &[(Class, u64)]) -> Scene {
    let mut scene = Scene::new("files", &[server("nginx")], SEND, &["user", "ktls-sendfile"])
        .answer(Metric::GoodputPerServerCpu, SEND, "user");
    scene.measure(0, 8e9, &SPREAD);
    scene.measure(1, 10e9, &SPREAD);
    scene.sample(0, user);
    scene.sample(1, kernel);
    scene
}

pub(super) const USER: [(Class, u64); 4] = [
    (Class::SymmetricCrypto, 3_810),
    (Class::HttpServer, 2_090),
    (Class::Copies, 2_100),
    (Class::TcpIp, 2_000),
];
pub(super) const KERNEL: [(Class, u64); 4] = [
    (Class::SymmetricCrypto, 3_800),
    (Class::HttpServer, 2_600),
    (Class::Copies, 300),
    (Class::TcpIp, 3_300),
];

/// The last answer, which is about the samples.
fn answer(scene: &Scene) -> ShownAnswer {
    let answer = scene.analysis().answered().answers.pop().unwrap();
    assert_eq!(answer.title, "Where the servers' CPU time goes");
    answer
}

fn headline(scene: &Scene) -> Headline {
    answer(scene).headline.unwrap()
}

fn remarks(scene: &Scene) -> Vec<(bool, String)> {
    let ShownAnswer { doubts, notes, .. } = answer(scene);
    let notes = notes.into_iter().map(|note| (false, note));
    doubts.into_iter().map(|doubt| (true, doubt.text)).chain(notes).collect()
}

fn profile(scene: &mut Scene, cell: usize) -> &mut profile::Profile {
    let name = scene.study.cells[cell].name.clone();
    let lines = scene.lines.iter_mut().filter(|trial| trial.place.cell == name);
    { lines }.find_map(|trial| trial.line.profile.as_mut()).unwrap()
}

#[test]
fn the_class_that_changes_most_is_named_with_the_share_of_crypto() {
    let told = headline(&sending(&USER, &KERNEL));
    assert_eq!(
        (told.value.as_str(), told.unit.as_str()),
        ("21% → 3%", "of the server's CPU time: copies")
    );
    assert_eq!(
        told.sentence,
        "From user TLS to kTLS sendfile, copies fall from 21% to 3% of the server's CPU time (nginx, 1 MiB \
         objects); crypto stays at 38%."
    );
    // The other way round, and with crypto that changes too.
    let mut less = KERNEL;
    less[0].1 = 2_000;
    less[3].1 = 5_100;
    let told = headline(&sending(&less, &USER));
    assert!(
        told.sentence.contains("TCP/IP falls from 51% to 20% ")
            && told.sentence.contains("; crypto rises from 20% to 38%."),
        "{told:?}"
    );
    let told = headline(&sending(&USER, &[(Class::SymmetricCrypto, 9_000), (Class::TcpIp, 1_000)]));
    assert!(told.sentence.contains("symmetric crypto rises from 38% to 90% of the"), "{told:?}");
    assert!(told.sentence.ends_with("objects)."), "crypto is said once: {told:?}");
}

#[test]
fn a_change_within_chance_is_no_change() {
    let mut other = USER;
    other[2].1 = 2_250;
    let told = headline(&sending(&USER, &other));
    assert_eq!((told.value.as_str(), told.unit.as_str()), ("≈", "no class of work differs"));
    // Beyond two points, but not beyond the chance of so few samples.
    let few = |copies| [(Class::Copies, copies), (Class::TcpIp, 1_000 - copies)];
    assert_eq!(headline(&sending(&few(300), &few(330))).value, "≈");
    assert_eq!(headline(&sending(&few(300), &few(400))).value, "30% → 40%");
}

#[test]
fn what_the_study_does_not_compare_has_the_largest_class_of_its_first_cell() {
    let mut scene = sending(&USER, &KERNEL);
    scene.study.answers.clear();
    let told = headline(&scene);
    assert_eq!(
        (told.value.as_str(), told.unit.as_str()),
        ("38%", "of the server's CPU time: symmetric crypto")
    );
    assert!(scene.analysis().profile_changes.is_empty());
}

#[test]
fn a_profile_that_is_not_to_be_relied_on_is_compared_with_nothing_and_marked() {
    type Spoil = fn(&mut profile::Profile);
    let few: Spoil = |profile| profile.server = [(Class::Copies, 999)].into();
    let lost: Spoil = |profile| profile.lost = 3;
    for (spoil, words) in [
        (few, "the shares are unreliable: there are only 999 of the 1000 samples that are needed"),
        (lost, "the shares are unreliable: 3 samples were lost"),
    ] {
        let mut scene = sending(&USER, &KERNEL);
        spoil(profile(&mut scene, 1));
        assert!(scene.analysis().profile_changes.is_empty());
        let (told, remarks) = (headline(&scene), remarks(&scene));
        assert!(told.value == "38%" && told.sentence.contains("user TLS"), "{told:?}");
        let is_it = |(is_caveat, text): &(bool, String)| {
            *is_caveat && text.contains("kTLS sendfile") && text.contains(words)
        };
        assert!(remarks.iter().any(is_it), "{remarks:?}");
        let [Chart::Bars(chart)] = &answer(&scene).charts[..] else { panic!() };
        let labels: Vec<&str> = chart.rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!(labels, ["user TLS", "kTLS sendfile (unreliable)"]);
        let shares = &shares(&scene).columns;
        let samples = shares.iter().find(|column| column.name == "samples").unwrap();
        assert_eq!(samples.cells.iter().map(|of| of.is_bad).collect::<Vec<_>>(), [false, true]);
        spoil(profile(&mut scene, 0));
        assert_eq!(headline(&scene).value, "?");
    }
}

#[test]
fn the_profile_of_another_cell_says_nothing_of_this_one() {
    let mut scene = sending(&USER, &KERNEL);
    let params = scene.study.cells[1].params.clone();
    scene.lines.iter_mut().find(|trial| trial.line.profile.is_some()).unwrap().place.params =
        params;
    let analysis = scene.analysis();
    assert!(analysis.cells[0].profiles.is_empty() && !analysis.cells[1].profiles.is_empty());
    let not_sampled = (true, "Not sampled: files: nginx, user TLS.".to_owned());
    assert!(remarks(&scene).contains(&not_sampled), "{:?}", remarks(&scene));
}

fn chart(scene: &Scene) -> Bars {
    match &answer(scene).charts[..] {
        [Chart::Bars(chart)] => chart.clone(),
        other => panic!("{other:?}"),
    }
}

fn shares(scene: &Scene) -> Table {
    let tables = scene.analysis().answered().tables;
    let section = tables.into_iter().find(|of| of.title == "Where the CPU time goes").unwrap();
    section.tables.into_iter().find(|table| table.title == "Shares").unwrap()
}

#[test]
fn each_cell_is_a_stack_of_its_classes_in_time_per_byte() {
    let mut scene = sending(&USER, &KERNEL);
    profile(&mut scene, 0).server.insert(Class::Scheduler, 50);
    let chart = chart(&scene);
    assert_eq!(chart.axis, "ns of the server's CPU time per byte; lower is better");
    assert!(chart.is_stacked && !chart.is_share);
    let [user, kernel] = &chart.rows[..] else { panic!() };
    let series: Vec<Series> = user.bars.iter().map(|bar| bar.series).collect();
    let classes = [Class::SymmetricCrypto, Class::HttpServer, Class::Copies, Class::TcpIp];
    let expected = classes.map(Series::Class).into_iter().chain([Series::Rest]);
    assert_eq!(series, expected.collect::<Vec<_>>(), "what is below 1% has one colour");
    // A CPU-second for 8 and for 10 Gb: 1 and 0.8 ns per byte.
    let times = |row: &crate::findings::BarRow| -> Vec<f64> {
        row.bars.iter().map(|bar| bar.figure.as_ref().unwrap().median()).collect()
    };
    for (row, ns, copies) in [(user, 1.0, 0.21 / 1.005), (kernel, 0.8, 0.024)] {
        assert!((times(row).iter().sum::<f64>() - ns).abs() < 0.001, "{row:?}");
        assert!((times(row)[2] - copies).abs() < 0.001, "{row:?}");
    }
    assert_eq!(times(kernel)[4], 0.0);
    // Bytes came, but no response was completed.
    let mut unfinished = sending(&USER, &KERNEL);
    for trial in &mut unfinished.lines {
        trial.line.operations.completed = 0;
    }
    assert_eq!(times(&self::chart(&unfinished).rows[1]), times(kernel)[..], "bytes have a time");
}

#[test]
fn stacks_of_handshakes_are_in_time_per_handshake() {
    let mut scene = Scene::handshakes();
    scene.sample(0, &[(Class::AsymmetricCrypto, 8_000), (Class::TcpIp, 2_000)]);
    scene.sample(1, &[(Class::AsymmetricCrypto, 4_000), (Class::TcpIp, 6_000)]);
    assert_eq!(chart(&scene).axis, "µs of the server's CPU time per handshake; lower is better");
    let told = headline(&scene);
    assert!(
        told.sentence
            .starts_with("From RSA-2048 to ECDSA P-256, asymmetric crypto falls from 80% to 40% "),
        "{told:?}"
    );
}

#[test]
fn kernel_threads_stand_apart_from_the_server() {
    let mut scene = sending(&USER, &KERNEL);
    profile(&mut scene, 1).kernel_threads.insert("ksoftirqd".to_owned(), 1_200);
    let shares = shares(&scene);
    let column = shares.columns.iter().find(|column| column.name == "besides: ksoftirqd").unwrap();
    let texts: Vec<&str> = column.cells.iter().map(|cell| cell.text.as_str()).collect();
    assert_eq!(texts, ["", "12.0%"]);
    let is_it = |(_, text): &(bool, String)| text.contains("ksoftirqd 12.0%");
    assert!(remarks(&scene).iter().any(is_it), "{:?}", remarks(&scene));
    assert_eq!(chart(&scene), chart(&sending(&USER, &KERNEL)), "they are not the server's");
}

#[test]
fn futex_calls_have_a_column_or_a_reason() {
    let mut scene = sending(&USER, &KERNEL);
    let is_it =
        |(_, text): &(bool, String)| text.contains("futex calls") && text.contains("not here");
    assert!(remarks(&scene).iter().any(is_it), "{:?}", remarks(&scene));
    for cell in [0, 1] {
        profile(&mut scene, cell).futexes = Fact::Known(Futexes { calls: 50, operations: 200 });
    }
    assert!(!remarks(&scene).iter().any(is_it));
    let shares = shares(&scene);
    let column = shares.columns.iter().find(|of| of.name == "futex calls per operation").unwrap();
    let texts: Vec<&str> = column.cells.iter().map(|cell| cell.text.as_str()).collect();
    assert_eq!(texts, ["0.250", "0.250"]);
}

#[test]
fn what_limits_the_rules_is_said_with_its_remedy() {
    let mut scene = sending(&USER, &KERNEL);
    profile(&mut scene, 0).lacks_frame_pointers = true;
    profile(&mut scene, 1).server = [
        (Class::CryptoWithoutSymbols, 3_800),
        (Class::Loopback, 700),
        (Class::Other, 600),
        (Class::Copies, 4_900),
    ]
    .into();
    let all = remarks(&scene);
    for (is_caveat, cell, words) in [
        (true, "kTLS sendfile", "6.0% fit no rule: add your own with --profile-rules"),
        (false, "kTLS sendfile", "make openssl, and target.library = \"openssl-built\""),
        (false, "kTLS sendfile", "a client on another host would not use that time"),
        (false, "user TLS", "build it with CFLAGS=-fno-omit-frame-pointer"),
    ] {
        let is_it = |(of, text): &&(bool, String)| {
            *of == is_caveat && text.contains(cell) && text.contains(words)
        };
        assert_eq!(all.iter().filter(is_it).count(), 1, "{words}: {all:?}");
    }
    // Local labels of assembly have no names either; they are few.
    profile(&mut scene, 1).server =
        [(Class::CryptoWithoutSymbols, 10), (Class::SymmetricCrypto, 9_990)].into();
    assert!(remarks(&scene).iter().all(|(_, text)| !text.contains("make openssl")));
}

#[test]
fn the_share_that_tls_takes_says_what_loopback_contributes() {
    let mut scene = bulk(Metric::TlsTax, NONE);
    assert!(scene.analysis().answers[0].loopback.is_none(), "nothing was sampled");
    scene.sample(0, &[(Class::Loopback, 2_000), (Class::TcpIp, 8_000)]);
    scene.sample(1, &[(Class::Loopback, 500), (Class::TcpIp, 9_500)]);
    let answer = scene.first();
    let loopback = answer.loopback.unwrap();
    let [cell] = &loopback.cells[..] else { panic!("{loopback:?}") };
    assert_eq!((cell.plain, cell.tls), (0.2, 0.05));
    // 8.5 of 40 Gb/s are kept; without the client's half 8.5 x 0.8 of 40 x 0.95.
    assert!((cell.tax - (1.0 - 8.5 / 40.0)).abs() < 1e-9, "{cell:?}");
    assert!((cell.tax_without - (1.0 - 6.8 / 38.0)).abs() < 1e-9, "{cell:?}");
    assert_eq!(
        loopback.sentence,
        "On loopback the server's CPU runs the client's half of TCP (nginx, 1 MiB objects): 20% of its time \
         over plain HTTP, and 5% with AES-128-GCM. Without that, TLS would take 82% with AES-128-GCM."
    );
    let shown = scene.analysis().answered().answers.remove(0);
    assert!(shown.notes.contains(&loopback.sentence), "{:?}", shown.notes);
    // Of plain HTTP nothing is known.
    profile(&mut scene, 0).lost = 1;
    assert!(scene.first().loopback.is_none());
    let mut silent = bulk(Metric::TlsTax, NONE);
    silent.study.answers[0].show.clear();
    assert!(silent.first().loopback.is_none());
}

#[test]
fn two_answers_about_the_same_cells_say_once_what_changes() {
    let mut scene = sending(&USER, &KERNEL).answer(Metric::Rate, SEND, "ktls-sendfile");
    assert_eq!(scene.analysis().profile_changes.len(), 1);
    scene.study.answers.remove(0);
    let [change] = &scene.analysis().profile_changes[..] else { panic!() };
    assert!(change.sentence.contains("copies rise from 3% to 21%"), "{change:?}");
}
