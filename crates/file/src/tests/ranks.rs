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

fn refused(ranks: &[&str], load: &str) -> String {
    refusal(&with_ranks(ranks, load, ""))
}

#[test]
fn ranks_make_the_load_and_fewer_of_them_can_be_swept() {
    let study = parse(&with_ranks(&[ONE, TWO], "", ""));
    assert_eq!(study.hosts.control.as_deref(), Some("10.0.0.0/24"));
    assert_eq!(study.hosts.shell.to_string(), "ssh");
    let words = |rank: &load::Rank| {
        let source = rank.source.as_ref().unwrap();
        format!("{} {} {source} {:?}", rank.host, rank.cpus, rank.to)
    };
    let words: Vec<String> = study.ranks.iter().map(words).collect();
    assert_eq!(words, ["lg1 0-3 10.1.1.2 Some(10.1.1.1)", "lg2 0 eth1 None"]);
    assert_eq!(study.cells[0].load.ranks.map(|ranks| ranks.get()), Some(2));
    assert_eq!(read_back(&study), study);

    let swept = parse(&with_ranks(&[ONE, TWO], "", "sweep.\"load.ranks\" = [1, 2]"));
    let ranks = swept.cells.iter().map(|cell| cell.load.ranks.unwrap().get());
    assert_eq!(ranks.collect::<Vec<_>>(), [1, 2]);
    assert_eq!(swept.cells[0].params["load.ranks"], "1");

    let none = parse(&with_ranks(&[], "", ""));
    assert_eq!((none.ranks.len(), none.cells[0].load.ranks), (0, None));
}

#[test]
fn ranks_that_cannot_be_are_refused_with_their_line() {
    assert_eq!(refused(&["cpus = \"0\""], ""), "line 11: a rank has no host; write host = \"lg1\"");
    assert_eq!(
        refused(&["host = \"lg1\""], ""),
        "line 11: a rank has no cpus; write cpus = \"0-3\""
    );
    assert_eq!(
        refused(&[ONE, "host = \"lg1\"\ncpus = \"3-4\""], ""),
        "line 18: rank.cpus = 3-4 has a CPU of lg1 that the rank of line 11 has too; give each its own"
    );
    assert!(
        refused(&["host = \"me@lg1\"\ncpus = \"0\""], "")
            .starts_with("line 12: rank.host = \"me@lg1\" is not a valid name")
    );
    assert!(
        refused(&["host = \"lg1\"\ncpus = \"0\"\nhostt = \"a\""], "")
            .contains("did you mean host?")
    );
    assert_eq!(
        refused(&["host = \"lg1\"\ncpus = \"0\"\nto = \"10.1.1.9\""], ""),
        "line 11: case all: rank.to = 10.1.1.9 is not among the addresses at which the server listens: \
         10.1.1.1; write one of them"
    );
    assert!(
        refused(&[TWO], "client = \"wrk\"")
            .contains("rank.source = eth1, but wrk takes no source;")
    );
    assert!(
        refused(&[TWO], "client = \"ab\"").contains("rank.source = eth1, but ab takes an address;")
    );
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
    let refused = refusal(&study(elsewhere, started));
    assert_eq!(
        refused,
        "line 10: case all: rank.host = lg2, but the server listens at 127.0.0.1, which only its own \
         machine reaches; give target.host, or the address in target.url that lg2 reaches, or write \
         rank.host = \"localhost\""
    );
    let refused = refusal(&study("https://10.1.1.1/", "https://127.0.0.1/"));
    assert!(refused.starts_with("line 11: case all: rank.host = lg2, but the server"), "{refused}");
    // A rank beside the server is as good as a load from here.
    parse(&study(elsewhere, started).replace("lg2", "localhost"));
    let there = "server = \"embedded\"\nhost = \"me@server\"\nlisten = [\"10.1.1.1\"]\n";
    parse(&study(elsewhere, there));
}

#[test]
fn a_load_of_ranks_is_not_cross_checked() {
    let study = parse(&with_ranks(&[ONE], "", ""));
    let why = crate::with_cross_check(&study, peers::Peer::Wrk).unwrap_err();
    assert!(why.ends_with("ranks make its load; sweep load.client in the study instead"), "{why}");
}

#[test]
fn loads_that_ranks_cannot_share_are_refused() {
    let cases = [
        ("ranks = 3", "load.ranks = 3, but the study has 2 [[rank]]; write more"),
        ("cpus = \"0\"", "load.cpus has no effect where ranks make the load,"),
        ("count = 100", "load.count: ranks share a time, not a number of operations; leave it out"),
        ("source = \"127.0.0.1\"", "load.source: ranks each have a source of their own"),
        ("connections = 1", "load.connections = 1 leaves none for the rank on lg1;"),
    ];
    for (load, words) in cases {
        let said = refused(&[ONE, TWO], load);
        assert!(said.contains(words), "{said}");
    }
    let alone = refusal(&with_ranks(&[], "ranks = 1", ""));
    assert!(alone.contains("load.ranks = 1, but the study has 0 [[rank]];"), "{alone}");
}
