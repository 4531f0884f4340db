//! `toll plan`, with nginx.

use serde_json::Value;
use support::{text, toll};

/// An access log of 600 requests in a minute, of which every third opens a connection, and of a line that is none.
fn log(path: &std::path::Path) {
    let line = |number: u32| {
        let of_connection = number % 3 + 1;
        let size = if number.is_multiple_of(10) { 60_000 } else { 3_000 };
        format!(
            "127.0.0.1 - - [10/Oct/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200 {size} \"-\" \"-\" {of_connection} .\n"
        )
    };
    let torn = "127.0.0.1 - - [10/Oct/2026:13:5\n".to_owned();
    std::fs::write(path, (0..600).map(line).chain([torn]).collect::<String>()).unwrap();
}

#[test]
fn a_log_becomes_a_plan_that_its_own_traffic_checks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    log(&path);
    let mut command = toll();
    command.args(["plan", "--trials", "2", "--json", "--certificate-key", "ecdsa:p256"]);
    command.arg("--access-log").arg(&path).arg("--out").arg(folder.path().join("results"));
    let output = command.output().unwrap();
    // Two rounds check nothing.
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    let traffic = &plan["traffic"];
    assert_eq!(traffic["requests_per_connection"], 3.0);
    assert!((traffic["connections_per_s"].as_f64().unwrap() - 10.0 / 3.0).abs() < 1e-9);
    assert!((traffic["mean_bytes"].as_f64().unwrap() - 8_700.0).abs() < 50.0, "{traffic}");
    assert_eq!(traffic["minute"], "10/Oct/2026:13:55 +0000");
    assert_eq!(
        (&traffic["log"]["requests"], &traffic["log"]["damaged"]["line"]),
        (&600.into(), &601.into())
    );
    let part = |name: &str| plan["parts"][name].as_f64().unwrap();
    assert!(part("handshakes") > 0.0 && part("requests") > 0.0, "{plan}");
    let cores = plan["cores"]["median"].as_f64().unwrap();
    assert!(cores > 0.0 && cores < 1.0, "{cores}");
    assert!(plan["check"]["predicted_over_measured"]["median"].as_f64().unwrap() > 0.0, "{plan}");
    // Nothing of a log but its counts is kept.
    let results = folder.path().join("results");
    let kept = |name: &str| std::fs::read_to_string(results.join(name)).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&kept("plan.json")).unwrap()["parts"], plan["parts"]);
    assert!(kept("plan.html").contains("Cores by what they do"));
    // What its cells did is no answer to it.
    assert_eq!(kept("plan.html").matches("<article class=\"tile\"").count(), 1);
    let sentence = "Access log (combined): 600 of 601 lines; 1 was no request (line 601: it has another form).";
    assert!(kept("plan.html").contains(sentence));
    assert!(!kept("study.toml").contains("127.0.0.1 - -"));
}

#[test]
fn changes_are_measured_beside_what_is_and_what_the_server_refuses_is_no_saving() {
    let folder = tempfile::tempdir().unwrap();
    // nginx gives no tickets, whatever its own configuration says.
    let library = folder.path().join("openssl.cnf");
    let text = "openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = here\n\
                [here]\nOptions = -SessionTicket\n";
    std::fs::write(&library, text).unwrap();
    let mut command = toll();
    command.args(["plan", "--new-connections", "1000/s", "--trials", "2", "--json"]);
    command.args(["--levers", "certificate-key,resumption", "--resumed-to", "50%"]);
    command.arg("--out").arg(folder.path().join("results")).env("OPENSSL_CONF", library);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    let levers = &plan["levers"];
    let savings = levers["savings"].as_array().unwrap();
    let certificate = savings.iter().find(|of| of["change"] == "ECDSA P-256 certificate").unwrap();
    assert_eq!(
        (&certificate["cores"]["n"], &certificate["decision"]),
        (&2.into(), &"too-few".into())
    );
    assert!(certificate["configuration"].as_str().unwrap().contains("ssl_certificate"));
    assert!(savings.iter().all(|of| of["lever"] == "certificate-key"), "{levers}");
    assert!(
        levers["not_here"][0].as_str().unwrap().starts_with("50% of handshakes resumed"),
        "{levers}"
    );
    assert!(levers["no_combination"].is_string() && levers["together"].is_null(), "{levers}");
}

#[test]
fn what_a_device_takes_off_a_handshake_is_measured_beside_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = toll();
    command.args(["plan", "--new-connections", "1000/s", "--server", "embedded", "--trials", "2"]);
    command.args(["--json", "--price", "0.043/h", "--device", "crypto card, 800, 40000/s"]);
    let output = command.arg("--out").arg(folder.path().join("results")).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (device, pays) = (&plan["device"], &plan["device"]["pays"]);
    assert_eq!((&device["name"], &device["price"]), (&"crypto card".into(), &800.0.into()));
    assert_eq!(
        (&pays["verdict"], &pays["saved_ns"]["n"], &pays["full_handshakes_per_s"]),
        (&"too-few".into(), &2.into(), &1_000.0.into()),
        "{device}"
    );
    // The key takes far more than asking for it.
    assert!(pays["saved_ns"]["interval"]["low"].as_f64().unwrap() > 0.0, "{device}");
}

fn said(output: &std::process::Output) -> String {
    text(&output.stderr)
}
