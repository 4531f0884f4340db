//! Ranks: what a study says of them, and what is refused.

use super::*;

/// A study of a server elsewhere with these ranks, whose first begins at line 11; `load` stands under
/// `[load]`, `case` in the case.
fn with_ranks(ranks: &[&str], load: &str, case: &str) -> String {
    let head = "schema = 1\nquestion = \"?\"\n[hosts]\ncontrol = \"10.0.0.0/24\"\n[target]\n\
                server = \"address\"\nurl = \"https://10.1.1.1/\"\ni-operate-this-host = true\n[load]\n";
    let ranks: String = ranks.iter().map(|rank| format!("[[rank]]\n{rank}\n")).collect();
    format!("{head}{load}\n{ranks}[[case]]\nname = \"all\"\n{case}\n")
}

const ONE: &str = "host = \"lg1\"\ncpus = \"0-3\"\nsource = \"10.1.1.2\"\nto = \"10.1.1.1\"";
const TWO: &str = "host = \"lg2\"\ncpus = \"0\"\nsource = \"eth1\"";

/// Ranks and lines under `[load]`, and why they are refused.
fn refused(ranks: &[&str], load: &str) -> (String, String) {
    let shown: String = ranks.iter().map(|rank| format!("[[rank]]\n{rank}\n")).collect();
    (format!("{shown}[load]\n{load}"), refusal(&with_ranks(ranks, load, "")))
}

#[test]
fn ranks_make_the_load_and_fewer_of_them_can_be_swept() {
    let study = parse(&with_ranks(&[ONE, TWO], "", ""));
    assert_eq!(study.hosts.control.as_deref(), Some("10.0.0.0/24"));
    assert_eq!(study.hosts.shell.to_string(), "ssh");
    let values = |rank: &load::Rank| {
        let source = rank.source.as_ref().unwrap();
        format!("{} {} {source} {:?}", rank.host, rank.cpus, rank.to)
    };
    let values: Vec<String> = study.ranks.iter().map(values).collect();
    assert_eq!(values, ["lg1 0-3 10.1.1.2 Some(10.1.1.1)", "lg2 0 eth1 None"]);
    assert_eq!(study.cells[0].load.ranks.map(|ranks| ranks.get()), Some(2));
    assert_eq!(read_back(&study), study);

    let swept = parse(&with_ranks(&[ONE, TWO], "", "sweep.\"load.ranks\" = [1, 2]"));
    let ranks = swept.cells.iter().map(|cell| cell.load.ranks.unwrap().get());
    assert_eq!(ranks.collect::<Vec<_>>(), [1, 2]);
    assert_eq!(swept.cells[0].params["load.ranks"].to_string(), "1");

    let none = parse(&with_ranks(&[], "", ""));
    assert_eq!((none.ranks.len(), none.cells[0].load.ranks), (0, None));
}

#[test]
fn ranks_that_cannot_be_are_refused_with_their_line() {
    assert_golden!([
        refused(&["cpus = '0'"], ""),
        refused(&["host = 'lg1'"], ""),
        refused(&[ONE, "host = 'lg1'\ncpus = '3-4'"], ""),
        refused(&["host = 'me@lg1'\ncpus = '0'"], ""),
        refused(&["host = 'lg1'\ncpus = '0'\nhostt = 'a'"], ""),
        refused(&["host = 'lg1'\ncpus = '0'\nto = '10.1.1.9'"], ""),
        refused(&[TWO], "client = 'wrk'"),
        refused(&[TWO], "client = 'ab'"),
        refused(&[ONE, TWO], "ranks = 3"),
        refused(&[ONE, TWO], "cpus = '0'"),
        refused(&[ONE, TWO], "count = 100"),
        refused(&[ONE, TWO], "source = '127.0.0.1'"),
        refused(&[ONE, TWO], "connections = 1"),
        refused(&[], "ranks = 1"),
    ]);
}

#[test]
fn a_rank_on_another_machine_is_not_let_load_its_own_loopback() {
    let study = |from: &str, to: &str| {
        let text = with_ranks(&[TWO], "", "");
        assert!(text.contains(from), "{text}");
        text.replace(from, to)
    };
    let started = "server = \"embedded\"\n\n";
    let elsewhere = "server = \"address\"\nurl = \"https://10.1.1.1/\"\n\
                     i-operate-this-host = true\n";
    assert_golden!([
        ("embedded", refusal(&study(elsewhere, started))),
        ("https://127.0.0.1/", refusal(&study("https://10.1.1.1/", "https://127.0.0.1/"))),
    ]);
    // A rank beside the server is as good as a load from here.
    parse(&study(elsewhere, started).replace("lg2", "localhost"));
    let there = "server = \"embedded\"\nhost = \"me@server\"\nlisten = [\"10.1.1.1\"]\n";
    parse(&study(elsewhere, there));
}

#[test]
fn a_load_of_ranks_is_not_cross_checked() {
    let study = parse(&with_ranks(&[ONE], "", ""));
    assert!(crate::with_cross_check(&study, peers::Peer::Wrk).is_err());
}
