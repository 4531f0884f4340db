//! Ranks that are killed, stopped or cut off, and what becomes of their trials.

use std::process::Command;
use std::time::{Duration, Instant};

use support::{Desk, Killed, run, text, until};
use trial::{Limit, TrialRecord};

use super::bridge::{Bridge, Loaded, Mpi, journal_length, trials};

/// Each trial takes this long, and may take as much more where a rank is lost.
const LATE: Duration = Duration::from_secs(10);
const WINDOW: Duration = Duration::from_secs(3);

/// A run of trials under way, with two ranks.
struct Run<'a> {
    bridge: &'a Bridge,
    server: &'a Loaded,
    desk: Desk,
    toll: Killed,
}

impl<'a> Run<'a> {
    fn start(bridge: &'a Bridge, server: &'a Loaded, trials: u32) -> Self {
        Self::start_with("1s", bridge, server, trials)
    }

    /// Ranks end after this silence.
    fn start_with(silence: &str, bridge: &'a Bridge, server: &'a Loaded, trials: u32) -> Self {
        let load = "connections = 4\nduration = \"3s\"";
        let study = server
            .study(bridge, 2, load)
            .replace("trials = 1", &format!("trials = {trials}"))
            .replace("[hosts]\n", &format!("[hosts]\nsilence = \"{silence}\"\n"));
        let desk = Desk::new(&study);
        let toll = Killed::piped(&mut bridge.run(&desk, &["--json"]));
        Self { bridge, server, desk, toll }
    }

    /// Returns when both ranks load, and `done` trials are in the journal.
    fn until_loading(&self, done: usize) {
        until("its last trial is over", || journal_length(&self.desk) == done);
        let before = [1, 2].map(|host| self.server.answered(host));
        let more = |host: usize| self.server.answered(host) > before[host - 1] + 100;
        until("both ranks load", || more(1) && more(2));
    }

    /// Waits until a trial more is in the journal, which must not take longer than it may.
    fn until_over(&self, done: usize) {
        let since = Instant::now();
        until("the trial is over", || journal_length(&self.desk) == done);
        assert!(since.elapsed() < WINDOW + LATE, "{:?}", since.elapsed());
    }

    /// The exit code, and the lines of the journal. Nothing is left.
    fn end(self) -> (Option<i32>, Vec<TrialRecord>) {
        let mut toll = self.toll;
        let code = toll.exit_code();
        nothing_is_left(self.bridge);
        (code, trials(&self.desk).into_iter().map(|trial| trial.line).collect())
    }
}

fn nothing_is_left(bridge: &Bridge) {
    let since = Instant::now();
    until("nothing runs any more", || bridge.left().is_empty());
    until("no file is left", || bridge.temporary_files() == 0);
    assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
}

fn signal(signal: &str, pid: u32) {
    run(Command::new("kill").args([signal, &pid.to_string()]));
}

/// The first trial lost rank 2 by this, and the next is a good one.
fn loses_rank_2(mpi: Mpi, lose: impl FnOnce(&Bridge), restore: impl FnOnce(&Bridge)) {
    let Some(bridge) = Bridge::of(mpi, 2) else { return };
    let server = Loaded::start(&bridge);
    let run = Run::start(&bridge, &server, 2);
    run.until_loading(0);
    lose(&bridge);
    run.until_over(1);
    restore(&bridge);
    let (code, lines) = run.end();
    assert_eq!(lines[0].why_invalid().as_deref(), Some("rank 2 on lg2: no result"));
    assert_eq!((lines[0].lost_ranks.as_slice(), lines.len()), (&[2][..], 2));
    assert!(lines[1].valid, "{:?}", lines[1].why_invalid());
    // Not every trial is valid.
    assert_eq!(code, Some(3));
}

#[test]
fn a_rank_that_is_killed_is_named_and_the_next_trial_is_valid() {
    loses_rank_2(Mpi::Installed, |bridge| signal("-KILL", bridge.rank(2)), |_| {});
}

#[test]
fn a_rank_of_open_mpi_5_that_is_killed_is_named() {
    loses_rank_2(Mpi::Five, |bridge| signal("-KILL", bridge.rank(2)), |_| {});
}

#[test]
fn a_rank_that_is_stopped_is_named_and_the_next_trial_is_valid() {
    loses_rank_2(Mpi::Installed, |bridge| signal("-STOP", bridge.rank(2)), |_| {});
}

#[test]
fn a_rank_that_stands_still_for_a_part_of_the_window_is_named() {
    let Some(bridge) = Bridge::new(2) else { return };
    let server = Loaded::start(&bridge);
    let run = Run::start_with("10s", &bridge, &server, 1);
    run.until_loading(0);
    signal("-STOP", bridge.rank(2));
    // Not long enough to be lost.
    std::thread::sleep(Duration::from_millis(1_600));
    signal("-CONT", bridge.rank(2));
    let (code, lines) = run.end();
    let why = lines[0].why_invalid().unwrap();
    assert!(why.contains("silence: "), "{why}");
    assert!(why.contains("rank 2") && !why.contains("rank 1"), "{why}");
    assert_eq!((lines[0].lost_ranks.as_slice(), code), (&[][..], Some(3)));
}

#[test]
fn a_host_that_is_cut_off_is_named_and_the_next_trial_is_valid() {
    cuts_off_rank_2(Mpi::Installed);
}

#[test]
fn a_host_of_open_mpi_5_that_is_cut_off_is_named() {
    cuts_off_rank_2(Mpi::Five);
}

fn cuts_off_rank_2(mpi: Mpi) {
    let link = |bridge: &Bridge, state: &str| {
        run(bridge.command("ip").args(["link", "set", "lg2", state]));
    };
    loses_rank_2(mpi, |bridge| link(bridge, "down"), |bridge| link(bridge, "up"));
}

#[test]
fn a_cell_that_loses_a_rank_twice_running_ends_the_run() {
    let Some(bridge) = Bridge::new(2) else { return };
    let server = Loaded::start(&bridge);
    let run = Run::start(&bridge, &server, 4);
    for done in [0, 1] {
        run.until_loading(done);
        signal("-KILL", bridge.rank(1));
        run.until_over(done + 1);
    }
    let mut toll = run.toll;
    assert_eq!(toll.exit_code(), Some(3));
    let said = text(&toll.finish().stderr);
    let words = "all-0001 lost a rank in two consecutive trials: rank 1 on lg1: no result";
    assert!(said.contains(words), "{said}");
    assert_eq!(trials(&run.desk).len(), 2);
    nothing_is_left(&bridge);
}

#[test]
fn nothing_is_left_of_ranks_after_an_interrupt() {
    for mpi in [Mpi::Installed, Mpi::Five] {
        let Some(bridge) = Bridge::of(mpi, 2) else { continue };
        let server = Loaded::start(&bridge);
        let run = Run::start(&bridge, &server, 2);
        run.until_loading(0);
        signal("-INT", run.toll.pid());
        let (code, lines) = run.end();
        assert_eq!((code, lines.len()), (Some(130), 0), "{mpi:?}");
    }
}

#[test]
fn nothing_is_left_of_a_toll_that_is_killed_and_its_run_can_be_continued() {
    outlives_toll(Mpi::Installed);
}

#[test]
fn nothing_is_left_of_open_mpi_5_after_toll_is_killed() {
    outlives_toll(Mpi::Five);
}

fn outlives_toll(mpi: Mpi) {
    let Some(bridge) = Bridge::of(mpi, 2) else { return };
    let server = Loaded::start(&bridge);
    let mut run = Run::start(&bridge, &server, 1);
    run.until_loading(0);
    run.toll.0.kill().unwrap();
    nothing_is_left(&bridge);
    let output =
        bridge.toll().args(["run", "--continue"]).arg(run.desk.results()).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(trials(&run.desk)[0].line.valid);
    run.toll.0.wait().unwrap();
}

#[test]
fn a_trial_whose_mpirun_is_killed_says_so_and_the_next_is_valid() {
    loses_mpirun(Mpi::Installed);
}

#[test]
fn a_trial_whose_mpirun_5_is_killed_says_so() {
    loses_mpirun(Mpi::Five);
}

fn loses_mpirun(mpi: Mpi) {
    let Some(bridge) = Bridge::of(mpi, 2) else { return };
    let server = Loaded::start(&bridge);
    let run = Run::start(&bridge, &server, 2);
    run.until_loading(0);
    signal("-KILL", bridge.process(mpi.process()));
    run.until_over(1);
    let (_, lines) = run.end();
    assert_eq!(lines[0].why_invalid().as_deref(), Some("mpirun ended"));
    assert!(lines[1].valid, "{:?}", lines[1].why_invalid());
}

/// What a rank lacks of its CPU is seen on its host, and in the journal under its name.
#[test]
fn a_rank_beside_busy_loops_waits_for_its_cpu_and_is_named() {
    let Some(bridge) = Bridge::new(2) else { return };
    let server = Loaded::start(&bridge);
    let cpu = support::last_cpu().to_string();
    let busy = ["-c", &cpu, "sh", "-c", "while :; do :; done"];
    let _busy = [(); 8].map(|()| Killed::start(Command::new("taskset").args(busy)));
    let desk = Desk::new(&server.study(&bridge, 1, "connections = 32\nduration = \"1s\""));
    let output = bridge.run(&desk, &["--json"]).output().unwrap();
    let line = trials(&desk).remove(0).line;
    let said = text(&output.stderr);
    let evidence = line.evidence().unwrap();
    assert_eq!(evidence.client_rank.as_deref(), Some("rank 1 on lg1"), "{said}");
    assert!(evidence.client_waiting >= Some(trial::CLIENT_WAITING), "{evidence:?}");
    assert_eq!(line.ranks[0].client.waiting, evidence.client_waiting);
    // Others have the CPU, and the client waits for it: which is the limit is a matter of the machine, and so is
    // whether such a rank begins in time.
    let is_the_client = matches!(line.limit().unwrap(), Limit::ClientCpu | Limit::Noise);
    assert!(is_the_client, "{:?}: {said}", line.limit().unwrap());
}
