use load::{Close, Count, KeyExchangeMode, Mix, OneIn, Operation, Percent, Plan, Receive, Wakeups};
use study::testing::server;
use targets::{IfMissing, Restart};
use tls::{CertificateKey, Group, OrPlain, Version};
use units::{Bytes, Nanos};

use super::*;
use study::{Cell, Metric, Param};

/// The example of the design, with all of its keys.
const EXAMPLE: &str = r#"
schema = 1
question = "How much more can this server send with AES-GCM than with AES-CBC and HMAC-SHA1?"
seed = 9
trials = 8
[target]
server = "nginx"
if-missing = "fail"
cpus = "0"
certificate-key = "rsa:2048"
object = "16MiB"
tickets = false
[load]
cpus = "1"
operation = "requests"
connections = 64
tls = "1.2"
suite = "TLS_RSA_WITH_AES_128_GCM_SHA256"
group = "x25519"
encrypt-then-mac = false
resumption = "0%"
receive = "walk"
verify = "1/32"
key-exchange = "fixed"
arrival = "closed"
warmup = "150ms"
duration = "600ms"
[[case]]
name = "bulk"
sweep."target.server" = ["embedded", "nginx"]
sweep."load.suite" = ["AES128-SHA", "TLS_RSA_WITH_AES_128_GCM_SHA256"]
[[answer]]
case = "bulk"
metric = "goodput-per-server-cpu"
compare = "load.suite"
baseline = "AES128-SHA"
"#;

fn protocol(cell: &Cell) -> (Option<Version>, Option<&str>, Option<Group>) {
    assert!(!cell.load.is_plain(), "{} is plain HTTP", cell.name);
    let version = cell.load.tls.and_then(OrPlain::tls);
    (version, cell.load.only_suite().map(|suite| suite.name), cell.load.group)
}

#[test]
fn load_threads_do_not_pause_where_a_latency_is_asked_for() {
    let wakeups = |lines: &[&str], case: &[&str]| parse(&with(lines, case)).cells[0].load.wakeups;
    let coalesced = "wakeups = \"coalesced\"";
    let answer = |metric: &str| {
        let metric = format!("metric = \"{metric}\"");
        let lines = [
            "sweep.\"load.tls\" = [\"1.2\", \"1.3\"]",
            "[[answer]]",
            "case = \"bulk\"",
            &metric,
            "compare = \"load.tls\"",
            "baseline = \"1.2\"",
        ];
        (wakeups(&[], &lines), wakeups(&[coalesced], &lines))
    };
    for metric in ["p50", "p99", "response-time"] {
        assert_eq!(answer(metric), (Some(Wakeups::Each), Some(Wakeups::Coalesced)), "{metric}");
    }
    assert_eq!(answer("rate"), (None, Some(Wakeups::Coalesced)));
    let find = |limit: &str| {
        let limit = format!("find.while = \"{limit}\"");
        wakeups(&[], &["find.maximize = \"rate\"", "find.to = 64", &limit])
    };
    assert_eq!(find("whole-p99 <= 20ms"), Some(Wakeups::Each));
    assert_eq!(find("errors <= 1%"), None);
    // Nothing is known of how other clients wait.
    assert_eq!(wakeups(&["client = \"wrk\"", coalesced], &[]), None);
}

#[test]
fn headers_are_written_as_one_or_as_a_list() {
    let headers = |value: &str| {
        let line = format!("header = {value}");
        let cell = parse(&with(&[&line, "count = 1000"], &[])).cells.remove(0);
        assert_eq!(cell.load.count, Count::of(1000));
        cell.load.header.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(headers("\"X-A: 1\""), ["X-A: 1"]);
    assert_eq!(headers("[\"X-A: 1\", \"X-B: 2\"]"), ["X-A: 1", "X-B: 2"]);
    let swept = parse(&with(&[], &["sweep.\"load.header\" = [\"X-A: 1\", \"X-A: 2\"]"]));
    let values: Vec<_> =
        swept.cells.iter().map(|cell| cell.params["load.header"].to_string()).collect();
    assert_eq!(values, ["X-A: 1", "X-A: 2"]);
    assert_eq!(read_back(&swept), swept);
}

#[test]
fn sources_are_of_this_machine() {
    let sources = |value: &str| {
        let cell = parse(&with(&[&format!("source = {value}")], &[])).cells.remove(0);
        cell.load.source.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(sources("\"127.0.0.2\""), ["127.0.0.2"]);
    assert_eq!(sources("[\"127.0.0.2\", \"lo\"]"), ["127.0.0.2", "lo"]);
}

#[test]
fn every_key_arrives() {
    let study = parse(EXAMPLE);
    assert_eq!((study.name.as_str(), study.seed, study.trials), ("test", 9, 8));
    assert!(EXAMPLE.contains(&format!("question = \"{}\"\n", study.question)));
    let Cell { target, load, .. } = &study.cells[3];
    assert_eq!(target.server, server("nginx"));
    assert_eq!(target.if_missing, IfMissing::Fail);
    assert_eq!(target.cpus, CpuList::from(0));
    assert_eq!(target.certificate_key, CertificateKey::Rsa(2048));
    assert!(!target.tickets && !target.session_cache && !target.encrypt_then_mac);
    assert_eq!(load.cpus, CpuList::from(1));
    assert_eq!(load.operation, Operation::Requests);
    assert_eq!(target.object, Mix::of_size(Bytes(16 << 20)));
    assert_eq!(load.connections, 64);
    assert_eq!(load.receive, Some(Receive::Walk));
    assert_eq!(load.verify, Some(OneIn(32.try_into().unwrap())));
    assert_eq!(load.warmup, Some(Nanos(150_000_000)));
    assert_eq!(load.duration, Nanos(600_000_000));
    assert_eq!((load.timeout, load.close), (Nanos(10_000_000_000), Close::Fin));
    let answer = &study.answers[0];
    assert_eq!(answer.metric, Metric::GoodputPerServerCpu);
    assert_eq!(answer.baseline, "TLS_RSA_WITH_AES_128_CBC_SHA", "the IANA name of AES128-SHA");
}

#[test]
fn the_last_swept_key_changes_fastest_and_cells_are_numbered() {
    let study = parse(EXAMPLE);
    let cells: Vec<_> = study
        .cells
        .iter()
        .map(|cell| {
            [cell.name.as_str(), "target.server", "load.suite"]
                .map(|of| cell.params.get(of).map_or_else(|| of.to_owned(), ToString::to_string))
        })
        .collect();
    assert_eq!(
        cells,
        [
            ["bulk-0001", "embedded", "TLS_RSA_WITH_AES_128_CBC_SHA"],
            ["bulk-0002", "embedded", "TLS_RSA_WITH_AES_128_GCM_SHA256"],
            ["bulk-0003", "nginx", "TLS_RSA_WITH_AES_128_CBC_SHA"],
            ["bulk-0004", "nginx", "TLS_RSA_WITH_AES_128_GCM_SHA256"],
        ]
    );
    assert!(study.cells.iter().all(|cell| cell.case == "bulk" && cell.params.len() == 2));
}

#[test]
fn a_key_without_use_under_load_is_left_out() {
    for cell in &parse(EXAMPLE).cells {
        let (version, _, group) = protocol(cell);
        assert_eq!(version, Some(Version::Tls12));
        assert_eq!(group, None, "static RSA has no group");
        assert_eq!(cell.load.key_exchange, Some(KeyExchangeMode::Fixed));
        assert_eq!(cell.load.encrypt_then_mac, Some(false));
    }
}

#[test]
fn what_is_not_said_has_a_value() {
    let study = parse(&with(&[], &[]));
    assert_eq!((study.seed, study.trials, study.answers.len()), (7, 7, 0));
    let Cell { name, params, target, load, .. } = &study.cells[0];
    assert_eq!((study.cells.len(), name.as_str(), params.len()), (1, "bulk-0001", 0));
    assert_eq!(target.if_missing, IfMissing::Skip);
    assert_eq!((&target.cpus, &load.cpus), (&CpuList::from(0), &CpuList::from(1)));
    assert_eq!(target.object, Mix::of_size(Bytes(1 << 20)));
    assert_eq!((load.connections, load.receive), (64, Some(Receive::Walk)));
    assert_eq!((load.warmup(), load.duration), (Nanos(1_000_000_000), Nanos(10_000_000_000)));
    assert_eq!(protocol(&study.cells[0]), (None, None, None));
    assert_eq!((load.encrypt_then_mac, load.key_exchange), (None, None));
    assert_eq!(load.resumption, Percent::default());
}

#[test]
fn the_load_shares_the_only_cpu() {
    let study = crate::parse("test.toml", &with(&[], &[]), &CpuList::from(3).into(), None).unwrap();
    assert_eq!(study.cells[0].target.cpus, CpuList::from(3));
    assert_eq!(study.cells[0].load.cpus, CpuList::from(3));
}

#[test]
fn a_sweep_over_suites_has_plain_http_as_its_baseline() {
    let study = parse(&with(
        &["group = \"x25519\"", "encrypt-then-mac = false", "key-exchange = \"fresh\""],
        &[
            "sweep.\"load.suite\" = [\"none\", \"TLS_AES_128_GCM_SHA256\", \"ECDHE-RSA-AES128-SHA\"]",
        ],
    ));
    assert!(study.cells[0].load.is_plain());
    assert_eq!(study.cells[0].params["load.suite"], Param::Plain);
    let x25519 = Some(Group::X25519);
    assert_eq!(
        protocol(&study.cells[1]),
        (Some(Version::Tls13), Some("TLS_AES_128_GCM_SHA256"), x25519)
    );
    assert_eq!(
        protocol(&study.cells[2]),
        (Some(Version::Tls12), Some("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"), x25519)
    );
}

#[test]
fn a_group_of_tls_13_is_left_out_of_cells_of_tls_12() {
    let study = parse(&with(
        &["group = \"X25519MLKEM768\""],
        &["sweep.\"load.suite\" = [\"TLS_AES_128_GCM_SHA256\", \"ECDHE-RSA-AES128-GCM-SHA256\"]"],
    ));
    assert_eq!(protocol(&study.cells[0]).2, Some(Group::X25519MlKem768));
    assert_eq!(protocol(&study.cells[1]).2, None);
}

#[test]
fn a_swept_none_makes_what_the_case_says_of_tls_useless() {
    let study = parse(&with(
        &["suite = \"TLS_AES_128_GCM_SHA256\""],
        &["load.group = \"x25519\"", "sweep.\"load.tls\" = [\"none\", \"1.3\"]"],
    ));
    assert!(study.cells[0].load.is_plain());
    assert_eq!(protocol(&study.cells[1]).2, Some(Group::X25519));
}

#[test]
fn a_case_goes_its_own_way_and_no_other_does() {
    let text = with(
        &["connections = 5", "encrypt-then-mac = true", "suite = \"AES128-SHA\""],
        &[
            "load.connections = 9",
            "target = { encrypt-then-mac = true, object = \"2KiB\" }",
            "[[case]]",
            "name = \"other\"",
            "load.key-exchange = \"fixed\"",
            "load.suite = \"TLS_AES_128_GCM_SHA256\"",
        ],
    );
    let study = parse(&text);
    let [first, second] = &study.cells[..] else { panic!("{:?}", study.cells) };
    assert_eq!((first.load.connections, &first.target.object), (9, &Mix::of_size(Bytes(2048))));
    assert_eq!(
        (second.load.connections, &second.target.object),
        (5, &Mix::of_size(Bytes(1 << 20)))
    );
    assert_eq!(first.load.encrypt_then_mac, Some(true));
    let Plan { encrypt_then_mac, key_exchange, .. } = second.load;
    assert_eq!((encrypt_then_mac, key_exchange), (None, Some(KeyExchangeMode::Fixed)));
}

#[test]
fn any_key_may_be_swept_and_is_named_in_one_way() {
    let sweep = |key: &str, value: &str| {
        let line = format!("sweep.\"{key}\" = [{value}]");
        parse(&with(&[], &[&line])).cells[0].params[key].to_string()
    };
    assert_eq!(sweep("target.object", "\"1024KiB\""), "1MiB");
    let mix = "\"1024B 90%, 1024KiB 10.0%\"";
    assert_eq!(sweep("target.object", mix), "1KiB 90%, 1MiB 10%");
    assert_eq!(sweep("target.tickets", "true"), "true");
    assert_eq!(sweep("target.cpus", "\"0,1\""), "0-1");
    assert_eq!(sweep("load.connections", "0x10"), "16");
    assert_eq!(sweep("load.group", "\"P-256\""), "secp256r1");
    assert_eq!(sweep("load.group", "\"x25519mlkem768\""), "X25519MLKEM768");
    assert_eq!(sweep("load.close", "\"rst\""), "rst");
    assert_eq!(sweep("load.duration", "\"1.5s\""), "1500ms");
    assert_eq!(sweep("load.tls", "\"1.2\""), "1.2");
    assert_eq!(sweep("load.arrival", "\"poisson 2000/s\""), "poisson 2000/s");
}

#[test]
fn the_time_is_that_of_all_warm_ups_and_windows() {
    let example = parse(&format!("restart = \"never\"\n{EXAMPLE}"));
    assert_eq!(example.forecast().time, Nanos(4 * 8 * 750_000_000));
    let ramped = with(&["ramp = \"2s\"", "warmup = \"1s\"", "duration = \"3s\""], &[]);
    let ramped = parse(&format!("restart = \"never\"\n{ramped}"));
    assert_eq!(ramped.cells[0].load.ramp, Nanos(2_000_000_000));
    let trials = ramped.trials as u64 * ramped.cells.len() as u64;
    assert_eq!(ramped.forecast().time, Nanos(trials * 8_000_000_000));
}

#[test]
fn a_study_says_when_its_servers_are_started_again() {
    let read = |line: &str| parse(&format!("{line}\n{}", with(&[], &[])));
    assert_eq!(read("").restart, None);
    for (line, expected) in
        [("round", Restart::Round), ("trial", Restart::Trial), ("never", Restart::Never)]
    {
        let study = read(&format!("restart = \"{line}\""));
        assert_eq!((study.restart, study.restart(&[0])), (Some(expected), expected));
        assert_eq!(read_back(&study), study);
    }
}

#[test]
fn a_study_says_when_enough_was_measured() {
    let read = |line: &str| format!("{line}\n{}", with(&[], &[]));
    let mut study = parse(&read("until = { interval = \"5%\", at-most = \"3min\" }"));
    let until = study.until.unwrap();
    assert_eq!((until.interval.get(), until.at_most), (5, Nanos(180_000_000_000)));
    assert_eq!(read_back(&study), study);
    study.set_trials(3);
    assert_eq!((study.until, study.trials), (None, 3));
    assert_eq!(study.cut.len(), 2);
}
