//! Ranks that cannot load: one line, exit 2, nothing started.

use std::process::Command;

use support::{Desk, run, text, until};

use super::bridge::{Bridge, Loaded, Mpi};

/// A run of the study with this changed says this, and leaves nothing.
#[track_caller]
fn refused(bridge: &Bridge, server: &Loaded, change: &dyn Fn(String) -> String, words: &str) {
    let study = server.study(bridge, 2, "connections = 4\nduration = \"1s\"");
    refused_by(bridge, &Desk::new(&change(study)), bridge.toll(), words);
}

#[track_caller]
fn refused_by(bridge: &Bridge, desk: &Desk, mut toll: Command, words: &str) {
    let output = toll.arg("run").arg(desk.study()).arg("--out").arg(desk.out()).output().unwrap();
    let said = crate::errors(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains(words), "{said}");
    assert_eq!(desk.results_if_any(), None);
    until("nothing is left", || bridge.left().is_empty());
}

#[test]
fn a_place_that_no_rank_can_load_from_is_named() {
    let Some(bridge) = Bridge::new(2) else { return };
    let server = Loaded::start(&bridge);
    let before = server.answered_all();
    let change = |from: &'static str, to: &'static str| {
        move |study: String| {
            assert!(study.contains(from), "{study}");
            study.replace(from, to)
        }
    };
    let refused = |from, to, words: &str| refused(&bridge, &server, &change(from, to), words);
    refused(
        "source = \"10.84.0.12\"",
        "source = \"eth9\"",
        "rank 2 on lg2: this machine has no interface eth9;",
    );
    refused(
        "source = \"10.84.0.12\"",
        "source = \"10.84.0.99\"",
        "rank 2 on lg2: this machine has no address 10.84.0.99;",
    );
    let cpus = format!("cpus = \"{}\"\nsource = \"10.84.0.12\"", support::last_cpu());
    let many = "cpus = \"900\"\nsource = \"10.84.0.12\"".to_owned();
    let study = |study: String| study.replace(&cpus, &many);
    self::refused(
        &bridge,
        &server,
        &study,
        "rank 2 on lg2: there is no CPU 900 for it; it may use ",
    );
    refused("host = \"lg2\"", "host = \"lg1\"", "has a CPU of lg1 that the rank of line ");
    refused("host = \"lg2\"", "host = \"me@lg2\"", "is not a valid name for a machine;");
    refused(
        "to = \"10.84.0.1\"\n[target]",
        "to = \"10.84.0.2\"\n[target]",
        "rank.to = 10.84.0.2 is not among the addresses at which the server listens: 10.84.0.1",
    );
    refused(
        "connections = 4",
        "connections = 4\nranks = 3",
        "load.ranks = 3, but the study has 2 [[rank]];",
    );
    refused(
        "connections = 4",
        "connections = 1",
        "load.connections = 1 leaves none for the rank on lg1;",
    );
    refused("connections = 4", "connections = 4\ncount = 9", "load.count: ranks share a time");
    refused(
        "control = \"10.84.0.0/24\"",
        "control = \"10.99.0.0/24\"",
        "on this machine no interface is in hosts.control = 10.99.0.0/24; write the network ",
    );
    // The shell's own words.
    refused("host = \"lg2\"", "host = \"lg7\"", "/lg7: No such file or directory");
    assert_eq!(server.answered_all(), before, "something was sent");
}

#[test]
fn a_machine_whose_addresses_mpi_mixes_up_is_named() {
    let Some(bridge) = Bridge::new(2) else { return };
    let server = Loaded::start(&bridge);
    for second in ["10.84.0.21/24", "10.86.0.21/24"] {
        let address = second.split('/').next().unwrap();
        let ip = |what: &str| {
            let words = format!("address {what} {second} dev eth0");
            run(bridge.on(1, "ip").args(words.split(' ')));
        };
        ip("add");
        let words = format!("rank 1 on lg1: eth0 has the addresses 10.84.0.11 and {address}, ");
        refused(&bridge, &server, &|study| study, &words);
        ip("delete");
    }
    run(bridge.command("ip").args("address add 10.84.0.2/24 dev br0".split(' ')));
    let words = "on this machine br0 has the addresses 10.84.0.1 and 10.84.0.2, ";
    refused(&bridge, &server, &|study| study, words);
}

/// Open MPI's own words name no host, or take many lines.
#[test]
fn a_host_that_cannot_start_its_rank_is_named() {
    names_a_host(Mpi::Installed);
}

#[test]
fn a_host_that_cannot_start_its_rank_of_open_mpi_5_is_named() {
    names_a_host(Mpi::Five);
}

fn names_a_host(mpi: Mpi) {
    let Some(bridge) = Bridge::of(mpi, 2) else { return };
    let server = Loaded::start(&bridge);
    let enters = std::fs::read_to_string(bridge.shell()).unwrap();
    // In the place of the second host's command.
    let refused_for = |script: &str, words: &str| {
        let of_second = format!("if [ \"$1\" = lg2 ]; then {script}; fi\n");
        let (first_line, rest) = enters.split_once('\n').unwrap();
        let shell = format!("{first_line}\n{of_second}{rest}");
        std::fs::write(bridge.shell(), shell).unwrap();
        refused(&bridge, &server, &|study| study, &format!("rank 2 on lg2: {words}"));
    };
    refused_for(
        "echo Welcome",
        "lg2 prints `Welcome` instead of the greeting of toll-rank; see what `",
    );
    refused_for(
        "echo 'sh: toll-rank: not found' >&2; exit 127",
        "lg2 has no toll-rank (sh: toll-rank: not found); install toll ",
    );
    // A machine that is not in the network of MPI's messages.
    let control = "no interface is in hosts.control = 10.84.0.0/24";
    run(bridge.on(2, "ip").args("address delete 10.84.0.12/24 dev eth0".split(' ')));
    refused_for("true", control);
}

#[test]
fn a_machine_without_mpirun_or_toll_rank_says_what_to_do() {
    let Some(bridge) = Bridge::new(2) else { return };
    let server = Loaded::start(&bridge);
    let desk = Desk::new(&server.study(&bridge, 2, "connections = 4\nduration = \"1s\""));
    let mut without_path = bridge.command("env");
    without_path.arg("PATH=/nowhere").arg(support::toll_path());
    refused_by(
        &bridge,
        &desk,
        without_path,
        "needs Open MPI: mpirun is not installed; apt-get install openmpi-bin",
    );
    // Another toll, without its companion.
    let alone = bridge.folder.path().join("alone");
    std::fs::create_dir(&alone).unwrap();
    std::fs::copy(support::toll_path(), alone.join("toll")).unwrap();
    let toll = bridge.command(alone.join("toll").to_str().unwrap());
    refused_by(&bridge, &desk, toll, "needs toll-rank, which is not in ");
}

#[test]
fn a_dry_run_prints_how_ranks_are_started_and_starts_nothing() {
    prints_how_ranks_are_started(Mpi::Installed);
    prints_how_ranks_are_started(Mpi::Five);
}

fn prints_how_ranks_are_started(mpi: Mpi) {
    let Some(bridge) = Bridge::of(mpi, 2) else { return };
    let server = Loaded::start(&bridge);
    let desk = Desk::new(&server.study(&bridge, 2, "connections = 4\nduration = \"1s\""));
    let output = bridge.run(&desk, &["--dry-run"]).output().unwrap();
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("requests from 2 ranks"), "{said}");
    let line = said.lines().find(|line| line.trim().starts_with("mpirun ")).expect(&said);
    let network = match mpi.process() {
        "mpirun" => "--mca oob_tcp_if_include 10.84.0.0/24 ",
        _ => "--prtemca prte_if_include 10.84.0.0/24 ",
    };
    for part in ["--host lg1:1 ", "--host lg2:1 ", network] {
        assert!(line.contains(part), "{line}");
    }
    assert_eq!((desk.results_if_any(), bridge.left()), (None, vec![]));
}
