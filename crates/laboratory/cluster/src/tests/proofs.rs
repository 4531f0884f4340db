//! Ranks of a real `mpirun` on this machine, where all have one clock. Skipped without `mpirun` and
//! `toll-rank` (`make hosts`).

use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use load::{Job, Load, Operation, Plan, Rank};
use peers::Offer;
use rustix::time::{ClockId, clock_gettime};
use targets::Silence;
use units::Nanos;

use crate::words::{Order, RankCommand, Report};
use crate::{Cluster, Hosts};

fn clock_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

static CALM: AtomicBool = AtomicBool::new(false);

/// Two ranks on this machine.
fn cluster() -> Option<Cluster<'static>> {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("toll-rank");
    let (shell, silence) = ("false".parse().unwrap(), Silence::default());
    let hosts = Hosts { program, control: None, shell, silence };
    if let Err(why) = hosts.check() {
        eprintln!("skipped: {why}");
        return None;
    }
    // This test stands for the toll of the same build.
    let version = Command::new(&hosts.program).arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let build = version.trim().strip_prefix("toll-rank ").unwrap().to_owned();
    build_identity::register(build.leak());
    let allowed = cpus::CpuList::allowed().unwrap();
    let Some(second) = allowed.without(&allowed.first(1)) else {
        eprintln!("skipped: one CPU only");
        return None;
    };
    let rank = |cpus| Rank { host: "localhost".to_owned(), cpus, source: None, to: None };
    let ranks = [allowed.first(1), second.first(1)].map(rank);
    Some(Cluster::start(hosts, ranks.into(), &CALM).unwrap())
}

#[test]
fn true_beginnings_lie_within_their_bounds() {
    let Some(cluster) = cluster() else { return };
    let plan = Plan {
        operation: Operation::Handshakes,
        connections: 2,
        warmup: Some(Nanos(0)),
        duration: Nanos(10_000_000),
        insecure: true,
        ..Plan::default()
    };
    // Nobody listens there: what is tried fails, and the load begins and ends all the same.
    let job = Job::new(plan, "https://127.0.0.1:1/".parse().unwrap(), ([127, 0, 0, 1], 1).into());
    for start in 0..30 {
        let (now, now_ns) = (Instant::now(), clock_ns());
        let load = cluster.load(&job, Offer::Anything).unwrap();
        let (went, seen) = load.beginnings();
        let went_ns = now_ns + u64::try_from((went - now).as_nanos()).unwrap();
        assert_eq!(seen.len(), 2);
        for (within, began_ns) in seen {
            let bound = went_ns..=went_ns + u64::try_from(within.as_nanos()).unwrap();
            assert!(bound.contains(&began_ns), "start {start}: {began_ns} is not in {bound:?}");
        }
        assert_eq!(load.join().lost, [] as [String; 0]);
    }
}

/// The CPU time that the loading ranks of this process have used: field 1 of each thread's schedstat.
fn cpu_time_of_ranks() -> Duration {
    let mut nanos = 0;
    let (ours, zero) = (marker(), "OMPI_COMM_WORLD_RANK=0");
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let path = entry.path();
        let read = |name: &str| std::fs::read_to_string(path.join(name)).unwrap_or_default();
        let environment = read("environ");
        let has = |word: &str| environment.split('\0').any(|other| other == word);
        if read("comm").trim() != "toll-rank" || !has(&ours) || has(zero) {
            continue;
        }
        for task in std::fs::read_dir(path.join("task")).into_iter().flatten().flatten() {
            let schedstat =
                std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            nanos += schedstat.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0);
        }
    }
    Duration::from_nanos(nanos)
}

/// In the environment of the ranks that this test starts, and of no other's.
fn marker() -> String {
    format!("TOLL_TEST={}", std::process::id())
}

#[test]
fn ranks_that_wait_use_next_to_no_cpu_time() {
    // SAFETY: nextest gives each test a process of its own, and it has no other thread yet.
    unsafe { std::env::set_var("TOLL_TEST", std::process::id().to_string()) };
    let Some(cluster) = cluster() else { return };
    let use_next_to_none = |when: &str| {
        let (begin, before) = (Instant::now(), cpu_time_of_ranks());
        assert!(before > Duration::ZERO, "the ranks are not found");
        std::thread::sleep(Duration::from_secs(2));
        let (used, passed) = (cpu_time_of_ranks() - before, begin.elapsed());
        // Each would use a whole CPU in a blocking call.
        assert!(used < passed / 100, "{when}: {used:?} in {passed:?}");
    };
    use_next_to_none("before a trial");
    let session = cluster.session().unwrap();
    session.send(RankCommand::All(Order::Prepare(None)));
    let mut ready = 0;
    while ready < 2 {
        let report = session.receive(Duration::from_secs(10)).unwrap();
        ready += usize::from(matches!(report.expect("a rank is ready").2, Report::Ready));
    }
    use_next_to_none("at the barrier");
}
