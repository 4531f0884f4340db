//! Where connections go, and the names that they ask for.

use std::collections::BTreeSet;

use journal::{Journal, TrialLine};
use support::{Desk, Serve, text, toll};
use trial::TrialRecord;

#[test]
fn an_address_takes_the_place_of_the_urls_and_must_be_the_users_to_load() {
    let server = Serve::pinned(&[]);
    let run = |arguments: &[&str]| {
        let output = toll().args(["load", "-c", "1", "-n", "5"]).args(arguments).output().unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (certificate, address) = (server.certificate(), server.tls.to_string());
    let certificate = certificate.to_str().unwrap();
    let url = "https://www.example.com/bytes/1KiB";
    // The certificate is not for the URL's name, but for that of --sni.
    for http in ["1.1", "2"] {
        let options = ["--ca", certificate, "--sni", "localhost", "--json", "--http", http];
        let (code, shown, said) = run(&[&[url, "--connect-to", &address][..], &options].concat());
        assert_eq!(code, Some(0), "{shown}{said}");
        let line: TrialRecord = serde_json::from_str(&shown).unwrap();
        let asked = &line.receipt.asked;
        assert_eq!(asked.url.as_deref(), Some(url));
        assert_eq!(
            (asked.address.as_deref(), asked.sni.as_deref()),
            (Some(&*address), Some("localhost"))
        );
        assert_eq!((line.valid, line.operations.completed), (true, 5));
    }
    for (arguments, part) in [
        (&[url, "--connect-to", &address, "--ca", certificate][..], "authentication"),
        (&["https://127.0.0.1/", "--connect-to", "192.0.2.1:443"], "--i-operate-this-host"),
        (&[url, "--connect-to", "192.0.2.1:443", "--insecure"], "--i-operate-this-host"),
        (&[url, "--connect-to", "nowhere.invalid:443"], "nowhere.invalid"),
        (&[url, "--connect-to", &address, "--client", "wrk"], "--connect-to"),
        (&[url, "--connect-to", "localhost"], "has no port"),
        (&[url, "--sni", "127.0.0.1"], "is an address"),
        (&["http://127.0.0.1:1/", "--sni", "localhost"], "--sni localhost"),
    ] {
        let (code, shown, said) = run(arguments);
        assert_eq!((code, shown.as_str(), said.lines().count()), (Some(2), "", 1), "{said}");
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
}

/// The example of docs/client.md, made small: each server, and each library of toll's own.
const STUDY: &str = r#"
schema = 1
question = "What do many certificates cost?"
trials = 1
[target]
object = "1KiB"
certificate-key = "ecdsa:p256"
[load]
connections = 8
operation = "one-request-per-connection"
warmup = "50ms"
duration = "400ms"
verify = "1/1"
[[case]]
name = "certificates"
load.tls = "1.3"
sweep."target.server" = ["embedded", "nginx"]
sweep."target.names" = [1, 20]
[[case]]
name = "http2"
load.http = "2"
load.operation = "requests"
load.requests-per-connection = 2
load.tls = "1.3"
sweep."target.server" = ["embedded", "nginx"]
sweep."target.names" = [1, 20]
[[case]]
name = "rustls"
target.server = "embedded"
target.library = "rustls-ring"
load.tls = "1.2"
sweep."target.names" = [1, 20]
[[case]]
name = "resumed"
target.tickets = true
target.names = 20
load.resumption = "70%"
sweep."target.server" = ["embedded", "nginx"]
sweep."load.tls" = ["1.2", "1.3"]
[[answer]]
case = "certificates"
metric = "server-cpu-per-operation"
compare = "target.names"
baseline = 1
"#;

#[test]
fn a_study_measures_what_many_certificates_cost() {
    let desk = Desk::new(STUDY);
    let output = desk.undisturbed(desk.run(&["--quiet"]).output().unwrap());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = Journal::read(&desk.journal()).unwrap().trials;
    let valid: Vec<_> = lines.iter().filter(|trial| trial.line.valid).collect();
    // A trial that was disturbed is there twice.
    let cells: BTreeSet<&str> = valid.iter().map(|trial| &*trial.place.cell).collect();
    assert_eq!(cells.len(), 14, "{cells:?}");
    for TrialLine { place, line } in valid {
        let names =
            place.params.get("target.names").map_or(20, |names| names.count().unwrap() as usize);
        let (asked, obtained) = (&line.receipt.asked, &line.receipt.obtained);
        assert_eq!(
            (asked.names, obtained.certificates),
            (Some(names), obtained.names),
            "{place:?}"
        );
        // Connections draw their names; on a busy machine they are so few that one may be left out.
        let seen = obtained.names.unwrap();
        assert!((names * 3).div_ceil(4) <= seen && seen <= names, "{seen}: {place:?}");
        let resumes = place.case == "resumed";
        assert_eq!(obtained.names_certified, resumes.then_some(20), "{place:?}");
        assert_eq!(obtained.resumed.unwrap() > 0, resumes, "{place:?}");
        let keys: Vec<_> = obtained.certificate_key.keys().collect();
        assert_eq!(keys, ["ecdsa:p256"]);
    }
}

#[test]
fn a_list_of_names_is_checked_name_by_name() {
    let server = Serve::pinned(&[]);
    let list = server.folder.path().join("names");
    std::fs::write(&list, "a.example\nlocalhost\n").unwrap();
    let url = format!("https://{}/bytes/1KiB", server.tls);
    let run = |options: &[&str]| {
        let mut command = toll();
        command.args(["load", &url, "-c", "2", "-n", "40", "--requests-per-connection", "2"]);
        let output = command.arg("--names").arg(&list).args(options).output().unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    // The certificate is for localhost.
    let certificate = server.certificate();
    let (code, _, said) = run(&["--ca", certificate.to_str().unwrap()]);
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("authentication"), "{said}");
    let (code, shown, said) = run(&["--insecure", "--json"]);
    assert_eq!(code, Some(0), "{shown}{said}");
    let line: TrialRecord = serde_json::from_str(&shown).unwrap();
    let obtained = &line.receipt.obtained;
    assert_eq!((obtained.names, obtained.certificates), (Some(2), Some(1)));
    for (options, part) in [
        (&["--sni", "localhost"][..], "--sni"),
        (&["--operation", "session", "--session", "petstore"], "one site"),
        (&["--client", "wrk"], "--client"),
    ] {
        let (code, _, said) = run(&[options, &["--insecure"]].concat());
        assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
        assert!(said.contains(part), "{said}");
    }
}
