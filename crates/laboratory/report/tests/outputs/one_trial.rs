//! One trial on a screen: a sentence that answers, figures, one line of receipt, and what is wrong.

use answer::{Block, TrialDocument};
use load::Outcome;
use report::{Style, one_trial};
use serde_json::{Value, json};
use support::insta;
use trial::Measured;

/// A trial with what a test gives, all else as short as it may be.
fn line(change: impl FnOnce(&mut Value)) -> Measured {
    let mut value = json!({
        "schema": 1, "valid": true, "interrupted": false, "started_unix_ms": 0,
        "window_ns": 600_000_000,
        "operations": {"completed": 600, "in_flight": 64, "errors": {}, "first_errors": {}},
        "bytes": {"body": 629_145_600, "decrypted": 9_830_400, "unproven": 0},
        "rate_per_s": 1000.0, "goodput_bps": 8_388_608_000u64,
        "cpu_ns": {"server": 594_000_000, "client": 60_000_000,
                   "server_run_queue_wait": 0, "client_run_queue_wait": 0},
        "core_hz": {"before": null, "after": null},
        "latency_ns": {"p50": 310_000, "p90": 400_000, "p99": 1_500_000, "p99_9": 1_900_000,
                       "max": 2_000_000},
        "cpu_share": [],
        "receipt": {
            "asked": {"operation": "requests", "tls": "1.3", "connections": 64},
            "obtained": {"tls": {"1.3": 64}, "suite": {"TLS_AES_128_GCM_SHA256": 64},
                         "group": {"x25519": 64}, "certificate_key": {"rsa:2048": 64},
                         "full": 64, "resumed": 0},
            "mismatch": []
        },
        "verdict": {"limit": "server-cpu",
                    "evidence": {"completed": 600, "server_busy": 0.99, "client_busy": 0.1}},
        "warnings": []
    });
    change(&mut value);
    let line = serde_json::from_value(value).unwrap();
    Measured { line, outcome: Outcome::default() }
}

/// What a plain screen of this width shows.
fn shown(measured: Measured, width: usize) -> String {
    one_trial(&TrialDocument::of(&measured, false), width, Style::Plain)
}

/// All that there is, in lines as long as they need.
fn verbose(measured: Measured) -> String {
    one_trial(&TrialDocument::of(&measured, true), usize::MAX, Style::Plain)
}

fn sentence(change: fn(&mut Value)) -> String {
    let document = TrialDocument::of(&line(change), false);
    document.sentence.strip_suffix('.').unwrap().to_owned()
}

/// What stands after this label.
fn text(label: &str, change: fn(&mut Value)) -> String {
    let blocks = TrialDocument::of(&line(change), false).blocks.into_iter();
    let items = blocks.flat_map(|block| match block {
        Block::Texts(items) => items,
        Block::Table(_) => Vec::new(),
    });
    items.filter(|item| item.label == label).map(|item| item.text).collect()
}

#[test]
fn the_answer_comes_first_then_figures_then_one_line_of_receipt() {
    support::assert_golden!([
        ("toll load", shown(line(|_| {}), 80)),
        ("toll load -v", verbose(line(|_| {}))),
    ]);
}

#[test]
fn one_warning_is_shown_and_shared_cpus_are_the_one_cause() {
    let of = |kind: &str| {
        let part = |name: &str| format!("{name} of {kind}");
        json!({"kind": kind, "seen": part("sight"), "likely_cause": part("cause"),
                           "remedy": part("remedy")})
    };
    let change = |v: &mut Value| {
        v["warnings"] = ["shared-cpus", "few-operations", "mixed", "steal"].map(of).into();
    };
    let usual = shown(line(change), usize::MAX);
    let count = |text: &str, words: &str| text.matches(words).count();
    assert!(
        usual.contains("limit         server-cpu; sight of shared-cpus: remedy of shared-cpus\n"),
        "{usual}"
    );
    assert_eq!(count(&usual, "cause of"), 1, "{usual}");
    assert!(
        usual.contains("cause of few-operations") && usual.contains("and mixed, steal (-v"),
        "{usual}"
    );
    let all = verbose(line(change));
    assert_eq!((count(&all, "cause of"), count(&all, "-v has")), (4, 0), "{all}");
}

#[test]
fn no_line_is_longer_than_the_screen_and_no_word_is_cut() {
    let whole = shown(measured_words(), usize::MAX);
    let words =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let known = words(&whole);
    for width in [40, 60, 72, 80, 100] {
        let text = shown(measured_words(), width);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        // A bar is as long as there is room, and a column may give way, but no word is new.
        for word in words(&text) {
            let is_bar = word.chars().all(|c| c == '█');
            let is_notice = text.contains("Not shown at this width");
            assert!(is_bar || is_notice || known.contains(&word), "{width}: {word}\n{text}");
        }
    }
}

fn measured_words() -> Measured {
    let mut measured = line(|v| {
        v["warnings"] = json!([
            {"kind": "few-operations", "seen": "a sentence about operations that is long",
             "likely_cause": "another one of many words", "remedy": "and what to do about it"}
        ]);
    });
    for micros in 300..400 {
        measured.outcome.latencies.whole.record(micros * 1_000).unwrap();
    }
    measured
}

#[test]
fn colour_is_only_for_screens_that_show_it() {
    let plain = shown(line(|_| {}), 80);
    assert!(!plain.contains('\x1b'));
    let invalid = TrialDocument::of(&line(|v| v["valid"] = false.into()), false);
    let coloured = one_trial(&invalid, 80, Style::Colour);
    assert!(coloured.starts_with("\x1b[33m"), "{coloured}");
}

#[test]
fn what_is_not_valid_is_marked_and_is_no_number_where_it_ended_early() {
    let mismatched = line(|v| {
        v["valid"] = false.into();
        v["receipt"]["mismatch"] = json!([
            {"what": "suite", "asked": "A", "obtained": "B in 64 handshakes"}
        ]);
    });
    let failed = line(|v| {
        v["valid"] = false.into();
        v["verdict"]["limit"] = "errors".into();
        v["operations"]["errors"] = json!({"reset": 1200});
        v["operations"]["first_errors"] = json!({"reset": "peer went away"});
    });
    let died = line(|v| {
        v["valid"] = false.into();
        v["target_error"] = "nginx died".into();
    });
    let lost = line(|v| {
        v["valid"] = false.into();
        v["load_error"] = "a load thread ended early: no epoll".into();
    });
    let starved = line(|v| {
        v["valid"] = false.into();
        v["operations"]["completed"] = 0.into();
        v["bytes"]["body"] = 0.into();
    });
    let invalid = [
        ("starved", starved),
        ("mismatched", mismatched),
        ("failed", failed),
        ("died", died),
        ("lost", lost),
    ];
    support::assert_golden!(invalid.map(|(what, line)| {
        let text = shown(line, usize::MAX);
        let is_shown = text.contains("Gb/s") && text.contains("latency");
        assert_eq!(is_shown, ["mismatched", "failed"].contains(&what), "{text}");
        assert_eq!(text.contains("\nNOT VALID "), is_shown, "{text}");
        (what, text)
    }));
}

#[test]
fn an_interrupt_in_the_warm_up_is_neither_an_error_nor_a_limit() {
    let text = shown(
        line(|v| {
            v["valid"] = false.into();
            v["interrupted"] = true.into();
            v["window_ns"] = 0.into();
            v["operations"]["completed"] = 0.into();
            v["verdict"]["limit"] = "errors".into();
        }),
        usize::MAX,
    );
    insta::assert_snapshot!(text);
}

#[test]
fn a_server_whose_processes_changed_is_not_said_to_want_its_number() {
    let text = shown(
        line(|v| {
            v["cpu_ns"]["server"] = Value::Null;
            v["warnings"] = json!([
                {"kind": "processes-changed", "seen": "a", "likely_cause": "b", "remedy": "c"}
            ]);
        }),
        usize::MAX,
    );
    assert!(text.contains("server CPU") && !text.contains("--server-pid"), "{text}");
}

fn ends_connections(v: &mut Value) {
    v["receipt"]["asked"]["requests_per_connection"] = "8".into();
    v["connections_per_s"] = 125.0.into();
}

fn arrivals(intended: u64) -> Value {
    json!({"intended": intended, "carried": 40, "waiting": 1176})
}

#[test]
fn the_first_sentence_answers() {
    let of = sentence;
    support::assert_golden!([
        ("requests", of(|_| {})),
        (
            "handshakes",
            of(|v| {
                v["receipt"]["asked"]["operation"] = "handshakes".into();
                v["bytes"]["body"] = 0.into();
            }),
        ),
        ("requests, some on each connection", of(ends_connections)),
        (
            "the same over plain HTTP",
            of(|v| {
                ends_connections(v);
                v["receipt"]["asked"]["tls"] = "none".into();
            }),
        ),
        ("session", of(|v| v["receipt"]["asked"]["operation"] = "session".into())),
        ("a rate that is not kept", of(|v| v["operations"]["arrivals"] = arrivals(1800)),),
        ("a rate that is kept", of(|v| v["operations"]["arrivals"] = arrivals(601))),
        ("interrupted", of(|v| v["interrupted"] = true.into())),
    ]);
}

#[test]
fn one_line_says_what_was_negotiated() {
    let of = |change| text("receipt", change);
    support::assert_golden!([
        ("usual", of(|_| {})),
        (
            "an older suite, resumed, with errors",
            of(|v| {
                v["receipt"]["obtained"] = json!({
                    "tls": {"1.2": 9}, "suite": {"TLS_RSA_WITH_AES_256_CBC_SHA": 9},
                    "certificate_key": {"rsa:4096": 9}, "full": 3, "resumed": 7
                });
                v["operations"]["errors"] = json!({"reset": 1200, "alert": 34});
            }),
        ),
        (
            "several groups and an error",
            of(|v| {
                let obtained = &mut v["receipt"]["obtained"];
                obtained["group"] = json!({"secp256r1": 1, "x25519": 2});
                obtained["certificate_key"] = json!({"ecdsa:p256": 3});
                v["operations"]["errors"] = json!({"reset": 1});
            }),
        ),
        (
            "names",
            of(|v| {
                v["receipt"]["obtained"]["names"] = 2000.into();
                v["receipt"]["obtained"]["certificates"] = 1.into();
            }),
        ),
        (
            "plain HTTP by wrk",
            of(|v| {
                v["receipt"]["asked"]["tls"] = "none".into();
                v["receipt"]["obtained"] = json!({"client": "wrk 4.1.0"});
            }),
        ),
        (
            "HTTP/3",
            of(|v| {
                v["receipt"]["obtained"]["http"] = json!({"3 on QUIC 1": 9});
            }),
        ),
    ]);
}

#[test]
fn the_whole_receipt_is_listed() {
    let measured = line(|_| {});
    let rows = measured.line.receipt.rows();
    let text = verbose(measured);
    for row in rows {
        for value in [row.asked, row.obtained] {
            assert!(text.contains(&format!("{} {value}", row.what)), "{}: {text}", row.what);
        }
    }
    assert!(text.contains(", 600.0MiB of bodies proven\n"), "{text}");
}

#[test]
fn rates_are_given_per_core_of_the_server_and_costs_per_side() {
    let text = shown(line(|_| {}), 80);
    let expected = "\
rate             operations  goodput
                         /s     Gb/s
measured              1,000    8.389
per server core       1,010    8.473

CPU time  per operation  per GB
                     µs       s
server            990.0   0.944
client            100.0   0.095
";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_server_of_unknown_cpu_time_has_no_rate_per_core() {
    let text = shown(line(|v| v["cpu_ns"]["server"] = Value::Null), 80);
    assert!(!text.contains("per server core"), "{text}");
    assert!(text.contains("--server-pid"), "{text}");
}

#[test]
fn where_connections_end_they_have_a_rate_of_their_own() {
    let text = shown(
        line(|v| {
            v["receipt"]["asked"]["requests_per_connection"] = "8".into();
            v["connections_opened"] = 75.into();
            v["connections_per_s"] = 125.0.into();
        }),
        80,
    );
    let expected = "\
rate             operations  handshakes  goodput
                         /s          /s     Gb/s
measured              1,000       125.0    8.389
";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn percentiles_have_one_unit_and_the_same_decimals() {
    let text = shown(line(|v| v["latency_ns"]["connect_p50"] = 12_345_678.into()), 80);
    let expected = "\
latency     p50    p90    p99  p99.9    max
             ms     ms     ms     ms     ms
connect  12.346
whole     0.310  0.400  1.500  1.900  2.000
";
    assert!(text.contains(expected), "{text}");
    assert!(!text.contains("first byte") && !text.contains("coalescing"), "{text}");
    let text = shown(line(|v| v["latency_ns"]["coalescing_max"] = 9_700.into()), 80);
    assert!(text.contains("coalescing") && text.contains("9.7µs"), "{text}");
    let stopped = shown(
        line(|v| {
            v["latency_ns"]["coalescing_max"] = 70_000_000.into();
            v["verdict"]["evidence"]["client_quota"] = json!({ "cpus": 0.3, "throttled": 0.7 });
        }),
        80,
    );
    assert!(!stopped.contains("coalescing"), "{stopped}");
}

#[test]
fn where_nothing_was_timed_there_is_no_table() {
    let text = shown(line(|v| v["latency_ns"] = json!({})), 80);
    assert!(!text.contains("latency"), "{text}");
}

#[test]
fn bars_are_as_long_as_their_counts() {
    let mut trial = line(|_| {});
    let times = [vec![300_000; 600], vec![301_500; 300], vec![303_000; 100]].concat();
    times.into_iter().for_each(|ns| trial.outcome.latencies.whole.record(ns).unwrap());
    let expected = "
 from     to  operations
   ms     ms           %
0.300  0.301        60.0  ████████████████████████
0.301  0.302        30.0  ████████████
0.302  0.303         0.0
0.303  0.304        10.0  ████
";
    let text = shown(trial.clone(), 50);
    assert!(text.contains(expected), "{text}");
    // No bar is longer, however much room there is.
    assert!(shown(trial, 200).contains(&format!("60.0  {}\n", "█".repeat(40))));
}

#[test]
fn the_pages_of_a_session_are_a_table() {
    let session = line(|v| {
        v["walks"] = json!({"completed": 1_000, "failed": 3});
        v["pages"] = json!([
            {"name": "sign-in", "completed": 1_003, "errors": {"redirect": 1, "status": 2},
             "p50_ns": 1_500_000, "p99_ns": 9_000_000},
            {"name": "buy", "completed": 0, "errors": {}},
        ]);
        v["receipt"]["asked"]["session"] = "petstore".into();
    });
    let text = verbose(session);
    insta::assert_snapshot!(text);
    assert!(!shown(line(|_| {}), 80).contains("walks"));
}

#[test]
fn a_load_that_lacks_operations_says_so() {
    let of = |count: u32| verbose(line(|v| v["receipt"]["asked"]["count"] = count.into()));
    assert!(of(1_000).contains("(--duration)"), "{}", of(1_000));
    assert!(!of(600).contains("(--duration)"), "{}", of(600));
}

#[test]
fn memory_traffic_has_one_row_where_it_was_counted() {
    let memory = json!({
        "source": "uncore_imc", "read_bytes": 1_500_000_000_u64,
        "written_bytes": 1_000_000_000_u64, "bytes": 2_500_000_000_u64
    });
    let text = verbose(line(|v| {
        v["window_ns"] = 1_000_000_000.into();
        v["bytes"]["body"] = 1_000_000_000.into();
        v["memory"] = memory;
    }));
    let words = "memory        2.50 GB/s between processors and memory, 2.50 B per byte of";
    assert!(text.contains(words) && text.contains("(uncore_imc)"), "{text}");
    assert!(!verbose(line(|_| {})).contains("\nmemory "));
}

#[test]
fn littles_law_has_one_row() {
    let law = |judged: bool| {
        let law = json!({
            "users": 64, "rate_per_s": 1000.0, "response_ns": 53_000_000,
            "think_ns": 10_000_000, "users_by_law": 63.0, "deviation": -0.015_625,
            "judged": judged
        });
        verbose(line(|v| v["littles_law"] = law))
    };
    let row = "\nLittle's law  1,000/s x (53ms response + 10ms think) = 63.0 of 64 users, -1.6%";
    assert!(law(true).contains(&format!("{row}\n")), "{}", law(true));
    let expected = format!("{row}; not judged: fewer than 100 operations per user\n");
    assert!(law(false).contains(&expected), "{}", law(false));
    assert!(!verbose(line(|_| {})).contains("Little"));
}
