//! Other clients than toll's: what they make of a study's keys, and how they check its cells.

use load::{Arrival, Client, KeyExchangeMode, Operation, Receive, Wakeups};
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
    let only = Only {
        version: Some(Version::Tls13),
        suite: Some(suite),
        group: None,
        in_callgrind: false,
    };
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
    let refused = [
        ("wrk", "load.receive = 'walk'"),
        ("ab", "load.key-exchange = 'fixed'"),
        ("h2load", "load.arrival = 'poisson 9/s'"),
        ("h2load", "load.arrival = 'paced 1Mb/s'"),
        ("wrk", "load.warmup = '1s'"),
        ("wrk", "load.verify = '1/8'"),
        ("wrk", "load.resumption = '50%'\ntarget.tickets = true"),
        ("wrk", "load.duration = '600ms'"),
        ("wrk", "load.operation = 'handshakes'"),
        ("s_time", ""),
        ("siege", ""),
        ("wkr", ""),
    ];
    assert_golden!(refused.map(|(client, lines)| {
        let lines = format!("load.client = '{client}'\n{lines}");
        (lines.clone(), refusal(&with(&[], &[&lines])))
    }));
}

#[test]
fn a_cross_check_repeats_each_cell_of_the_answers_that_the_program_can_make() {
    let quick = crate::parse("quick.toml", QUICK, &allowed(), None).unwrap();
    let (study, left_out) = crate::with_cross_check(&quick, Peer::Wrk).unwrap();
    assert_eq!(study.cells[..quick.cells.len()], quick.cells);
    assert_eq!(left_out, []);
    let is_of_an_answer =
        |cell: &&Cell| quick.answers.iter().any(|answer| answer.case == cell.case);
    let asked: Vec<&Cell> = quick.cells.iter().filter(is_of_an_answer).collect();
    assert_eq!(study.cells.len(), quick.cells.len() + 2 * asked.len());
    // It is a study like any other: what a result folder holds of it is read back.
    assert_eq!(read_back(&study), study);

    for cell in asked {
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
        assert_eq!((toll.load.wakeups(), other.load.wakeups()), (Wakeups::Each, Wakeups::Each));
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
    let cells: Vec<_> = left_out.iter().map(|out| out.cell.as_str()).collect();
    assert_eq!(cells, ["bulk-0002"]);
    let names: Vec<_> = study.cells[3..].iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(names, ["bulk-0001-ab-0001", "bulk-0001-ab-0002"]);
}

#[test]
fn programs_that_would_do_something_else_do_not_check() {
    let cases = [
        (Peer::STime, ""),
        (Peer::Wrk, "load.suite = 'AES128-SHA'\ntarget.encrypt-then-mac = true"),
        (Peer::Wrk, "load.operation = 'one-request-per-connection'\ntarget.tickets = true"),
        (Peer::Wrk, "load.resumption = '9%'\ntarget.tickets = true"),
        (Peer::Wrk, "sweep.'load.client' = ['toll', 'wrk']"),
    ];
    assert_golden!(cases.map(|(program, lines)| {
        let refused = crate::with_cross_check(&parse(&with(&[], &[lines])), program).unwrap_err();
        (format!("--cross-check {program}\n{lines}"), refused)
    }));
}
