//! Three ranks count what the server counts.
//!
//! A hundredth of the windows is more than ab takes to start on a busy machine.

use support::{Desk, run, text, until};
use trial::TrialRecord;

use super::bridge::{Bridge, HERE, Loaded, Mpi, trials};

#[test]
fn three_ranks_complete_what_the_server_answered() {
    three_ranks_complete_as_much(Mpi::Installed);
}

#[test]
fn three_ranks_of_open_mpi_5_complete_what_the_server_answered() {
    three_ranks_complete_as_much(Mpi::Five);
}

fn three_ranks_complete_as_much(mpi: Mpi) {
    let Some(bridge) = Bridge::of(mpi, 3) else { return };
    let server = Loaded::start(&bridge);
    let desk = Desk::new(&server.study(&bridge, 3, "connections = 12\nduration = \"4s\""));
    let output = bridge.run(&desk, &["--json"]).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let trial = trials(&desk).remove(0);
    let line = &trial.line;
    assert!(line.valid, "{:?}", line.why_invalid());
    assert_eq!(line.receipt.asked.ranks.map(|ranks| ranks.get()), Some(3));
    // One toll-rank runs on both.
    let version = format!("Open MPI v{}", mpi.version().unwrap());
    assert_eq!(line.receipt.obtained.mpi, Some(version));

    assert_eq!(line.ranks.len(), 3);
    for (number, rank) in (1..).zip(&line.ranks) {
        assert_eq!((rank.rank, rank.host.as_str()), (number, &*format!("lg{number}")));
        assert_eq!((rank.connections, rank.to.to_string()), (4, HERE.to_owned()));
        assert!(rank.client.cpu_ns > Some(0) && rank.client.busy.is_some(), "{rank:?}");
        // What was under way at the end was answered too, and not counted: one a connection.
        let answered = server.answered(number);
        assert!(rank.completed > 0 && rank.completed <= answered, "{rank:?} {answered}");
        assert!(answered <= rank.completed + 4, "{rank:?} {answered}");
    }
    let sum = |of: fn(&trial::RankFigures) -> u64| line.ranks.iter().map(of).sum::<u64>();
    assert_eq!(sum(|rank| rank.completed), line.operations.completed);
    assert_eq!(sum(|rank| rank.body), line.bytes.body);
    assert_eq!(Some(sum(|rank| rank.client.cpu_ns.unwrap())), line.cpu_ns.client);
    until("nothing is left", || bridge.left().is_empty());
}

/// The congestion control of the machine of a rank, counted from 1.
fn control(bridge: &Bridge, host: usize) -> String {
    let file = "/proc/sys/net/ipv4/tcp_congestion_control";
    run(bridge.on(host, "cat").arg(file)).trim().to_owned()
}

#[test]
fn the_congestion_control_of_each_rank_is_seen_and_one_that_differs_is_named() {
    let Some(bridge) = Bridge::new(2) else { return };
    let server = Loaded::start(&bridge);
    let measured = |load: &str| -> TrialRecord {
        let load = format!("connections = 4\nduration = \"1s\"\n{load}");
        let desk = Desk::new(&server.study(&bridge, 2, &load));
        bridge.run(&desk, &["--json"]).output().unwrap();
        trials(&desk).remove(0).line
    };
    let mismatches = |line: &TrialRecord| -> Vec<String> {
        let of_control = line.receipt.mismatch.iter().filter(|one| one.what == "client_congestion");
        of_control.map(|one| one.obtained.clone()).collect()
    };
    let set_reno = |host: usize| {
        run(bridge.on(host, "sysctl").args(["-qw", "net.ipv4.tcp_congestion_control=reno"]));
    };
    set_reno(1);
    let second = control(&bridge, 2);
    if second == "reno" {
        eprintln!("skipped: reno is what all namespaces have here");
        return;
    }
    let line = measured("");
    assert_eq!(mismatches(&line), [format!("reno on rank 1 on lg1, {second} on rank 2 on lg2")]);
    let of_ranks = line.ranks.iter().map(|rank| rank.client.congestion.clone());
    let two = |control: &str| [(control.to_owned(), 2)].into();
    assert_eq!(of_ranks.collect::<Vec<_>>(), [two("reno"), two(&second)]);
    assert!(!line.valid);

    let all_reno = [("reno".to_owned(), 4)].into();
    // Sockets are given what is asked for, whatever the machine has.
    let line = measured("congestion = \"reno\"");
    assert_eq!((mismatches(&line), &line.receipt.obtained.client_congestion), (vec![], &all_reno));
    set_reno(2);
    let line = measured("");
    assert_eq!((mismatches(&line), &line.receipt.obtained.client_congestion), (vec![], &all_reno));
}

#[test]
fn a_check_names_the_open_mpi_that_would_start_ranks() {
    for mpi in [Mpi::Installed, Mpi::Five] {
        let Some(version) = mpi.version() else { continue };
        let shown = run(support::toll().arg("check").env("PATH", mpi.path()));
        assert!(shown.contains(&format!("Open MPI {version}")), "{shown}");
    }
}

#[test]
fn ab_loads_from_a_ranks_source_and_only_the_first_ranks_load() {
    let Some(bridge) = Bridge::new(2) else { return };
    let server = Loaded::start(&bridge);
    // The rank's machine has two addresses, and the one is asked for that it would not take.
    const SOURCE: &str = "10.85.0.18";
    run(bridge.on(1, "ip").args(["address", "add", SOURCE, "dev", "lo"]));
    run(bridge.command("ip").args(["route", "add", SOURCE, "via", "10.84.0.11"]));
    let load = "client = \"ab\"\nranks = 1\nconnections = 4\nduration = \"4s\"";
    let study = server.study(&bridge, 2, load);
    let desk =
        Desk::new(&study.replace("source = \"10.84.0.11\"", &format!("source = \"{SOURCE}\"")));
    let output = bridge.run(&desk, &["--json"]).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let line = trials(&desk).remove(0).line;
    assert!(line.valid, "{:?}", line.why_invalid());
    let client = line.receipt.obtained.client.unwrap();
    assert!(client.starts_with("ab "), "{client}");
    assert_eq!((line.ranks.len(), line.ranks[0].host.as_str()), (1, "lg1"));
    let (completed, answered) = (line.operations.completed, server.answered_at(SOURCE));
    assert!(completed > 0 && completed <= answered, "{completed}");
    assert_eq!(server.answered_all() as u64, answered, "others loaded too");
}
