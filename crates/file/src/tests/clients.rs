//! Other clients than toll's: what they make of a study's keys, and how they check its cells.

use load::{Arrival, Client, KeyExchangeMode, Operation, Receive};
use peers::Peer;
use tls::{Suite, Version};
use units::Nanos;

use super::*;
use study::{Cell, Only};

const WRK: Client = Client::Wrk;

/// What holds for all cases, and toll needs, but no other client knows.
const TOLLS: [&str; 7] = [
    "key-exchange = \"fixed\"",
    "receive = \"walk\"",
    "verify = \"1/8\"",
    "warmup = \"200ms\"",
    "duration = \"1s\"",
    "encrypt-then-mac = false",
    "arrival = \"closed\"",
];

fn find<'a>(study: &'a Study, name: &str) -> &'a Cell {
    study.cells.iter().find(|cell| cell.name == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn a_swept_client_has_the_same_server_and_leaves_out_what_it_does_not_know() {
    let study = parse(&with(
        &TOLLS,
        &[
            "load.suite = \"TLS_AES_128_GCM_SHA256\"",
            "sweep.\"load.client\" = [\"toll\", \"wrk\", \"ab\", \"h2load\"]",
        ],
    ));
    let [toll, wrk, ..] = &study.cells[..] else { panic!("{study:?}") };
    assert_eq!((toll.load.client, wrk.load.client), (Client::Toll, WRK));
    assert_eq!((toll.load.receive(), wrk.load.receive()), (Receive::Walk, Receive::Decrypt));
    assert_eq!((toll.load.warmup(), wrk.load.warmup()), (Nanos(200_000_000), Nanos(0)));
    assert_eq!(wrk.load.arrival, Arrival::CLOSED);
    assert_eq!(toll.load.key_exchange, Some(KeyExchangeMode::Fixed));
    assert_eq!(wrk.load.key_exchange, None);
    // wrk cannot be told a suite, so the server of all offers no other.
    let suite = Suite::parse("TLS_AES_128_GCM_SHA256").unwrap();
    let only = Only { version: Some(Version::Tls13), suite: Some(suite), group: None };
    assert!(study.cells.iter().all(|cell| cell.only == only));
    assert_eq!(read_back(&study), study);
}

#[test]
fn a_server_chooses_where_toll_alone_makes_the_load() {
    let study = parse(&with(&["suite = \"TLS_AES_128_GCM_SHA256\""], &[]));
    assert_eq!(study.cells[0].only, Only::default());
}

#[test]
fn what_a_client_cannot_do_is_refused() {
    let client = |client: &str, lines: &[&str]| {
        let client = format!("load.client = \"{client}\"");
        refusal(&with(&[], &[&[client.as_str()], lines].concat()))
    };
    for (name, lines, expected) in [
        ("wrk", &["load.receive = \"walk\""][..], "decrypts everything, which contradicts"),
        ("ab", &["load.key-exchange = \"fixed\""], "makes fresh keys, which contradicts"),
        ("h2load", &["load.arrival = \"poisson 9/s\""], "as soon as it has its answer"),
        ("h2load", &["load.arrival = \"paced 1Mb/s\""], "as soon as it has its answer"),
        ("wrk", &["load.warmup = \"1s\""], "has no warm-up, which contradicts"),
        ("wrk", &["load.verify = \"1/8\""], "verifies nothing, which contradicts"),
        ("wrk", &["load.resumption = \"50%\"", "target.tickets = true"], "resumes no share"),
        ("wrk", &["load.duration = \"600ms\""], "load.client = wrk: wrk runs for whole seconds"),
        ("wrk", &["load.operation = \"handshakes\""], "wrk cannot make handshakes"),
        ("s_time", &[], "s_time makes handshakes only"),
        ("siege", &[], "load.client: `siege` is not a valid value; write one of: toll, wrk, ab"),
    ] {
        let message = client(name, lines);
        assert!(message.contains(expected), "{name}: {message}");
    }
    assert!(client("wkr", &[]).ends_with("did you mean wrk?"));
}

#[test]
fn a_cross_check_repeats_each_cell_of_the_answers_that_the_program_can_make() {
    let quick = crate::parse("quick.toml", QUICK, &allowed()).unwrap();
    let (study, left_out) = crate::with_cross_check(&quick, Peer::Wrk).unwrap();
    assert_eq!(study.cells[..quick.cells.len()], quick.cells);
    assert_eq!(left_out, []);
    assert_eq!(study.cells.len(), 3 * quick.cells.len());
    // It is a study like any other: what a result folder holds of it is read back.
    assert_eq!(read_back(&study), study);

    for cell in &quick.cells {
        let program = match cell.load.operation {
            Operation::Handshakes => "s-time",
            _ => "wrk",
        };
        let toll = find(&study, &format!("{}-{program}-0001", cell.name));
        let other = find(&study, &format!("{}-{program}-0002", cell.name));
        assert_eq!(toll.load.client, Client::Toll);
        assert_eq!(other.load.client.to_string().replace('_', "-"), program);
        assert_eq!((&toll.target, toll.load.duration), (&other.target, other.load.duration));
        assert_eq!(toll.load.duration, Nanos(1_000_000_000), "whole seconds, rounded up");
        assert_eq!(toll.only, Only::of(&cell.target, &cell.load));
        assert_eq!(toll.load.connections, other.load.connections);
        assert_eq!(toll.load.cpus, other.load.cpus);
        assert_eq!((toll.load.receive(), other.load.receive()), (Receive::Walk, Receive::Decrypt));
    }
}

#[test]
fn what_a_program_cannot_check_is_left_out_with_its_reason() {
    let text = with(
        &["duration = \"1s\""],
        &[
            "sweep.\"load.arrival\" = [\"closed\", \"poisson 100/s\"]",
            "[[case]]",
            "name = \"unasked\"",
            "load.suite = \"none\"",
            "[[answer]]",
            "case = \"bulk\"",
            "metric = \"rate\"",
            "compare = \"load.arrival\"",
            "baseline = \"closed\"",
        ],
    );
    let (study, left_out) = crate::with_cross_check(&parse(&text), Peer::Ab).unwrap();
    let told: Vec<_> = left_out.iter().map(|out| (out.cell.as_str(), out.why.as_str())).collect();
    assert_eq!(told, [("bulk-0002", "ab asks again as soon as it has its answer")]);
    let names: Vec<_> = study.cells[3..].iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(names, ["bulk-0001-ab-0001", "bulk-0001-ab-0002"]);

    let message = crate::with_cross_check(&parse(&text), Peer::STime).unwrap_err();
    assert!(
        message.starts_with("s_time can check no cell of this study: bulk-0001: "),
        "{message}"
    );
    assert!(message.contains("s_time makes handshakes only"), "{message}");
}

#[test]
fn programs_that_would_do_something_else_do_not_check() {
    for (lines, why) in [
        (
            &["load.suite = \"AES128-SHA\"", "target.encrypt-then-mac = true"][..],
            "wrk offers encrypt-then-MAC, to which the target agrees",
        ),
        (
            &["load.operation = \"one-request-per-connection\"", "target.tickets = true"],
            "wrk resumes sessions wherever the target lets it",
        ),
        (&["load.resumption = \"9%\"", "target.tickets = true"], "wrk resumes no share"),
        (&["sweep.\"load.client\" = [\"toll\", \"wrk\"]"], "compares clients already"),
    ] {
        let message = crate::with_cross_check(&parse(&with(&[], lines)), Peer::Wrk).unwrap_err();
        assert!(message.contains(why), "{message}");
    }
}
