//! Users = rate x (response + think): kept by honest loads, and broken from outside in each way
//! that a trial names. All that is asserted are ratios of what one load measured, and bounds that no
//! slow machine can break.

use std::io::Write as _;
use std::process::Command;
use std::time::Duration;

use random::Random;
use study::Metric;
use trial::{Cause, LEAST_OPERATIONS, LittlesLaw, TrialRecord, WarningKind};

use support::{Serve, last_cpu, toll};

use super::bench::{busy_loop, line, load_plain};
use super::stub::{Answer, SERVICE, Stub};

/// A load with a short warm-up.
fn load(stub: &Stub, duration: &str, options: &[&str]) -> Command {
    let mut command = toll();
    command.args(["load", &format!("http://{}/", stub.address), "--cpus", &last_cpu().to_string()]);
    command.args(["--warmup", "100ms", "-d", duration]).args(options);
    command
}

fn law(line: &TrialRecord) -> LittlesLaw {
    line.littles_law.unwrap()
}

/// The causes of the warnings about Little's law.
fn warnings(line: &TrialRecord) -> Vec<&str> {
    let of_law = line.warnings.iter().filter(|warning| warning.kind == WarningKind::LittlesLaw);
    of_law.map(|warning| warning.likely_cause.as_str()).collect()
}

/// The first line of five that keeps the law within 1%. Where other work keeps the client from its
/// CPU it begins late, and the law shows it.
fn keeping(command: &mut Command) -> TrialRecord {
    let mut broken = Vec::new();
    for _ in 0..5 {
        let line = line(command);
        if law(&line).deviation.abs() < 0.01 {
            return line;
        }
        broken.push(law(&line));
    }
    panic!("{command:?} never kept the law: {broken:?}");
}

#[test]
fn a_server_of_a_known_time_keeps_the_law() {
    let stub = Stub::start(|_| Answer::Ok);
    let thinking = ["--arrival", "closed, think 10ms"];
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let page = "[[page]]\nname = \"only\"\nget = \"/only\"\ncontains = \"ok\"\n";
    write!(file, "schema = 1\n{page}").unwrap();
    let walking = ["--operation", "session", "--session", file.path().to_str().unwrap()];
    for (options, think) in [
        (&[][..], 0),
        (&["--ramp", "300ms"][..], 0),
        (&["--operation", "one-request-per-connection", "--close", "rst"][..], 0),
        (&walking[..], 0),
        (&thinking[..], 10_000_000),
        (&[&thinking[..], &["--ramp", "300ms"][..]].concat()[..], 10_000_000),
        (&[&walking[..], &thinking[..], &["--ramp", "300ms"][..]].concat()[..], 10_000_000),
    ] {
        const USERS: u64 = 16;
        let users = USERS.to_string();
        let line = keeping(load(&stub, "2s", options).args(["--json", "-c", &users]));
        let law = law(&line);
        assert!(
            line.valid && line.operations.completed >= USERS * LEAST_OPERATIONS,
            "{options:?}: {line:?}"
        );
        assert_eq!((law.users, law.judged, law.cause), (USERS, true, None), "{law:?}");
        assert_eq!(warnings(&line), [""; 0]);
        // The server's time and the users' are known from outside: it serves them one by one.
        let service = SERVICE.as_nanos() as u64;
        let cycle = law.response_ns + law.think_ns.unwrap();
        assert!(law.think_ns.unwrap() >= think, "{options:?}: {law:?}");
        assert!(law.response_ns >= service && cycle >= USERS * service, "{options:?}: {law:?}");
        assert_eq!(line.latency_ns.mean, Some(law.response_ns));
    }
}

#[test]
fn failures_take_time_that_the_law_misses() {
    let mut random = Random::new(7);
    // The probe is to succeed.
    let tenth = move |connection| match connection > 0 && random.below(10) == 0 {
        true => Answer::Failed,
        false => Answer::Ok,
    };
    let stub = Stub::start(tenth);
    let line = line(load(&stub, "1s", &["-c", "4"]).arg("--json"));
    let law = law(&line);
    assert!(law.judged && !line.valid, "{line:?}");
    assert!(law.deviation < -0.05 && law.cause == Some(Cause::Failures), "{law:?}");
    assert!(warnings(&line)[0].contains("failures"), "{line:?}");
    assert!(line.failed() > 0 && line.failed() <= stub.failed(), "{line:?}");
}

#[test]
fn a_user_who_is_never_answered_is_missing_from_the_law() {
    let stub = Stub::start(|connection| match connection {
        1 => Answer::Never,
        _ => Answer::Ok,
    });
    let line = line(load(&stub, "1s", &["-c", "10"]).arg("--json"));
    let law = law(&line);
    assert!((law.deviation - -0.1).abs() < 0.01, "{law:?}");
    // Which a claim of the law would refuse.
    let users = Metric::UsersByLaw.value(&line).unwrap();
    assert!((users - 0.9).abs() < 0.01, "{users}");
    assert_eq!((law.judged, law.cause), (true, Some(Cause::Ramp)));
    assert!(line.valid && warnings(&line)[0].contains("ramp"), "{line:?}");
}

#[test]
fn a_busy_client_begins_late() {
    let server = Serve::pinned(&[]);
    let _loops: Vec<_> = (0..2).map(|_| busy_loop(&last_cpu(), 0)).collect();
    let mut load = load_plain(&server, "bytes/1KiB");
    load.args(["--arrival", "closed, think 1ms", "-c", "16", "-d", "2s"]);
    let line = line(&mut load);
    let law = law(&line);
    assert!(law.judged && law.deviation < -0.02, "{law:?}");
    assert_eq!(law.cause, Some(Cause::Client), "{law:?}");
    assert!(warnings(&line)[0].contains("client"), "{line:?}");
}

#[test]
fn few_operations_per_user_are_not_judged_and_other_loads_not_checked() {
    let stub = Stub::start(|_| Answer::Ok);
    let few = line(load(&stub, "200ms", &["-c", "20"]).arg("--json"));
    assert!(few.operations.completed < 20 * LEAST_OPERATIONS, "{few:?}");
    assert!(!law(&few).judged && law(&few).cause.is_none(), "{few:?}");
    assert_eq!(Metric::UsersByLaw.value(&few), None);
    assert_eq!(warnings(&few), [""; 0]);
    let output = load(&stub, "200ms", &["-c", "20", "-v"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let row = text.lines().find(|row| row.starts_with("Little's law  ")).unwrap();
    assert!(row.contains("/s x ("), "{row}");
    assert!(row.contains(" of 20 users, "), "{row}");
    assert!(row.contains("not judged"), "{row}");
    for arrival in ["uniform 500/s", "paced 50ms"] {
        let line = line(load(&stub, "200ms", &["-c", "20"]).args(["--json", "--arrival", arrival]));
        assert_eq!(line.littles_law, None, "{arrival}");
        let mean = Duration::from_nanos(line.latency_ns.mean.unwrap());
        assert!(mean >= SERVICE, "{arrival}: {mean:?}");
    }
}
