//! A server that sends wrong bodies at times: few are checked, and one of them is enough.

use std::net::SocketAddr;

use support::{answering, toll_output};
use trial::{Limit, TrialRecord};
use units::Bytes;

/// `--verify 1/64` looks at so few that even a server which fails always stays under one failed
/// operation in a hundred.
const SIZE: usize = 256 << 10;

/// Serves `/bytes/256KiB` over plain HTTP; three bodies of five are wrong, far from their beginning.
fn start_server() -> SocketAddr {
    let mut right = format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n").into_bytes();
    let head = right.len();
    objects::write_to(&mut right, Bytes(SIZE as u64)).unwrap();
    let mut wrong = right.clone();
    wrong[head + SIZE / 2] ^= 1;
    // toll asks for one object before its load.
    answering(move |number| if number % 5 < 2 { right.clone() } else { wrong.clone() })
}

fn is_told(text: &str) -> bool {
    text.contains(" bodies that were checked were wrong")
}

#[test]
fn a_load_with_one_of_them_is_not_valid() {
    let url = format!("http://{}/bytes/256KiB", start_server());
    let load = ["load", &url, "-c", "4", "-d", "300ms", "--warmup", "0s", "--json"];
    let ended = toll_output(&load);
    let line: TrialRecord = serde_json::from_slice(&ended.stdout).unwrap();
    let evidence = line.evidence().unwrap();
    assert_eq!(
        (ended.status.code(), line.valid, line.limit().unwrap()),
        (Some(3), false, Limit::Errors)
    );
    // Not for the share of all operations.
    assert!(is_told(&line.why_invalid().unwrap()), "{:?}", line.why_invalid());
    assert!(evidence.wrong_bodies > 0 && evidence.checked_bodies >= evidence.wrong_bodies);
    assert!(evidence.checked_bodies * 8 < evidence.completed, "{evidence:?}");
}

#[test]
fn a_study_with_them_has_no_figures_and_meets_no_gate() {
    let desk = tempfile::tempdir().unwrap();
    let study = desk.path().join("wrong.toml");
    let text = format!(
        r#"
schema = 1
question = "What is a figure worth whose bodies are wrong?"
trials = 1
[target]
server = "address"
url = "http://{}/bytes/256KiB"
[load]
connections = 4
tls = "none"
verify = "1/64"
warmup = "0s"
duration = "300ms"
[[case]]
name = "all"
"#,
        start_server()
    );
    std::fs::write(&study, text).unwrap();
    let out = desk.path().join("results");
    let ended = toll_output(&[
        "run",
        study.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
        // One trial has no interval.
        "--gate-median",
        "--gate",
        "goodput>=1Mb/s",
    ]);
    let said = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.code(), Some(3), "{said}{}", String::from_utf8_lossy(&ended.stderr));
    assert!(is_told(&said), "{said}");
    assert!(said.contains("Gate goodput>=1Mb/s NOT met"), "{said}");
}
