//! Servers that toll does not configure, and what goes with which server.

use super::*;
use crate::StudyError;
use study::testing::server;
use targets::Target;

/// A study of one case with these lines under `[target]`, and these in the case.
fn study(target: &[&str], case: &[&str]) -> Result<Study, StudyError> {
    let text = format!(
        "schema = 1\nname = \"s\"\nquestion = \"?\"\n[target]\n{}\n[[case]]\nname = \"c\"\n{}\n",
        target.join("\n"),
        case.join("\n")
    );
    let study = crate::parse("s.toml", &text, &allowed())?;
    assert_eq!(read_back(&study), study);
    Ok(study)
}

fn target(lines: &[&str]) -> Target {
    study(lines, &[]).unwrap_or_else(|error| panic!("{error}")).cells[0].target.clone()
}

fn refusal(target: &[&str], case: &[&str]) -> String {
    study(target, case).unwrap_err().to_string()
}

const COMMAND: &str = "command = \"serve {port} {cert} {key} {root}\"";

#[test]
fn a_command_and_an_address_are_servers() {
    let command = target(&["server = \"command\"", COMMAND, "certificate-key = \"ecdsa:p256\""]);
    assert_eq!(command.server, server("command"));
    assert_eq!(command.command.unwrap().to_string(), "serve {port} {cert} {key} {root}");
    let url = "url = \"https://127.0.0.1:8443/a\"";
    let address = target(&["server = \"address\"", url, "pid = 7", "i-operate-this-host = true"]);
    assert_eq!((address.pid, address.i_operate_this_host), (Some(7), true));
    assert_eq!(address.url.unwrap().path(), "/a");
}

#[test]
fn a_program_checks_the_load_of_servers_that_toll_does_not_configure_too() {
    let second = "load.duration = \"1s\"";
    for lines in [
        &["server = \"command\"", COMMAND][..],
        &["server = \"address\"", "url = \"https://127.0.0.1:8443/a\""],
    ] {
        let study = study(lines, &[second]).unwrap();
        let (checked, left_out) = crate::with_cross_check(&study, peers::Peer::Wrk).unwrap();
        assert!(left_out.is_empty(), "{left_out:?}");
        assert_eq!(checked.cells.len(), 3);
        for cell in &checked.cells[1..] {
            assert_eq!(cell.target.server, study.cells[0].target.server);
        }
    }
}

#[test]
fn a_server_lacks_nothing_and_is_told_nothing_in_vain() {
    for (target, what) in [
        (
            &["server = \"command\""][..],
            "target.server = command lacks target.command; write it too",
        ),
        (&["server = \"address\""], "target.server = address lacks target.url; write it too"),
        (
            &["server = \"nginx\"", "url = \"https://a/\""],
            "target.server = nginx (line 5) has no use for that key, which contradicts target.url = https://a/; leave one out",
        ),
        (
            &["server = \"command\"", COMMAND, "tickets = true"],
            "target.server = command (line 5) has no use for that key, which contradicts target.tickets = true; leave one out",
        ),
        (
            &["server = \"tomcat\"", "tickets = true"],
            "target.server = tomcat (line 5) has no use for that key, which contradicts target.tickets = true; leave one out",
        ),
        (
            &["server = \"tomcat\"", "library = \"openssl-built\""],
            "target.server = tomcat (line 5) has no use for that key, which contradicts target.library = openssl-built; leave one out",
        ),
        (
            &["server = \"tomcat\"", "library-path = \"/opt/ssl\""],
            "target.server = tomcat (line 5) has no use for that key, which contradicts target.library-path = /opt/ssl; leave one out",
        ),
        (
            &["server = \"nginx\"", "aes = \"off\""],
            "target.server = nginx (line 5) has no use for that key, which contradicts target.aes = off; leave one out",
        ),
        (
            &["server = \"address\"", "url = \"https://a/\"", "cpus = \"0\""],
            "target.server = address (line 5) has no use for that key, which contradicts target.cpus = 0; leave one out",
        ),
    ] {
        let message = refusal(target, &[]);
        assert!(message.ends_with(what), "{message}");
    }
}

#[test]
fn what_is_said_for_other_servers_is_left_out() {
    let study = study(
        &["certificate-key = \"rsa:4096\"", "tickets = true", "object = \"2MiB\"", COMMAND],
        &[
            "target.url = \"https://127.0.0.1/\"",
            "sweep.\"target.server\" = [\"haproxy\", \"command\", \"address\"]",
        ],
    )
    .unwrap_or_else(|error| panic!("{error}"));
    let tickets: Vec<bool> = study.cells.iter().map(|cell| cell.target.tickets).collect();
    assert_eq!(tickets, [true, false, false]);
    assert_eq!(study.cells[1].target.certificate_key, tls::CertificateKey::Rsa(4096));
    assert_eq!(study.cells[2].target.pinned_to(), None);
}

#[test]
fn a_load_that_the_server_cannot_answer_is_refused() {
    let plain = &["load.tls = \"none\""][..];
    let message = refusal(&["server = \"command\"", COMMAND], plain);
    assert!(message.contains("no port for plain HTTP; write {plain-port}"), "{message}");
    let message = refusal(&["server = \"command\"", "command = \"serve {plain-port}\""], &[]);
    assert!(message.contains("no port for TLS; write {port}"), "{message}");
    let message = refusal(&["server = \"address\"", "url = \"http://127.0.0.1/\""], &[]);
    assert!(message.contains("write load.tls = \"none\" too"), "{message}");
    let message = refusal(&["server = \"address\"", "url = \"https://127.0.0.1/\""], plain);
    assert!(message.contains("write http://"), "{message}");
    let both = &["load.ca = \"a.pem\"", "load.insecure = true"][..];
    let message = refusal(&["server = \"nginx\""], both);
    assert!(message.ends_with("leave one out"), "{message}");
}

#[test]
fn environments_and_libraries_are_swept() {
    let study = study(
        &["server = \"nginx\""],
        &[
            "sweep.\"target.library-path\" = [\"system\", \"/opt/ssl\"]",
            "sweep.\"target.environment\" = [[], [\"A=1\", \"B=2\"]]",
        ],
    )
    .unwrap_or_else(|error| panic!("{error}"));
    let params: Vec<_> = study
        .cells
        .iter()
        .map(|cell| {
            let of = |key: &str| cell.params[key].as_str();
            (of("target.library-path"), of("target.environment"))
        })
        .collect();
    assert_eq!(
        params,
        [("system", "none"), ("system", "A=1 B=2"), ("/opt/ssl", "none"), ("/opt/ssl", "A=1 B=2")]
    );
    assert!(study.cells[3].target.environment.has("B"));
    let message = refusal(&["server = \"nginx\"", "environment = [\"A=1 B=2\"]"], &[]);
    assert!(message.contains("holds a blank"), "{message}");
    let message = refusal(&["server = \"nginx\"", "library-path = \"lib\""], &[]);
    assert!(message.contains("not an absolute path"), "{message}");
}

#[test]
fn how_it_sends_is_refused_where_the_kernel_or_the_server_cannot() {
    let refused = |target: &[&str], case: &[&str]| refusal(target, case);
    let haproxy = refused(&["server = \"haproxy\"", "send = \"ktls-write\""], &[]);
    assert!(
        haproxy.ends_with(
            "target.send = ktls-write, but toll knows no way to have haproxy send with the kernel's \
             TLS; write user, or use embedded or nginx"
        ),
        "{haproxy}"
    );
    let cbc = refused(
        &["server = \"nginx\"", "send = \"ktls-sendfile\""],
        &["load.suite = \"AES128-SHA\""],
    );
    assert!(
        cbc.contains(
            "target.send = ktls-sendfile, but the kernel's TLS does not have load.suite = \
             TLS_RSA_WITH_AES_128_CBC_SHA; use one with GCM or ChaCha20"
        ),
        "{cbc}"
    );
    let directive = refused(&["server = \"nginx\"", "directives = \"sendfile on\""], &[]);
    assert!(
        directive.ends_with("toll's proof depends on sendfile; write target.sendfile"),
        "{directive}"
    );
    let useless = refused(&["server = \"haproxy\"", "directives = \"aio threads\""], &[]);
    assert!(useless.contains("has no use for that key"), "{useless}");
}

#[test]
fn what_the_embedded_servers_library_lacks_is_refused() {
    let said = |target: &[&str], case: &[&str]| {
        refusal(&[&["server = \"embedded\""], target].concat(), case)
    };
    let ring = "library = \"rustls-ring\"";
    for suite in ["AES128-GCM-SHA256", "ECDHE-RSA-AES128-SHA"] {
        let message = said(&[ring], &[&format!("load.suite = \"{suite}\"")]);
        let end = "which target.library = rustls-ring does not have; choose another one, or \
                   target.library = openssl";
        assert!(message.contains("load.suite = TLS_") && message.ends_with(end), "{message}");
    }
    let message = said(&[ring, "certificate-key = \"rsa:1024\""], &[]);
    assert!(message.contains("target.certificate-key = rsa:1024, which"), "{message}");
    let message = said(&[ring, "send = \"ktls-write\""], &[]);
    assert!(message.contains("only OpenSSL gives its keys to the kernel"), "{message}");
    let both = ["target.library = \"rustls-ring\"", "target.library-path = \"/opt/ssl\""];
    let message = said(&[], &both);
    assert!(
        message.contains("says where it comes from, which contradicts target.library-path"),
        "{message}"
    );
    let message = refusal(&["server = \"nginx\""], &["target.library = \"rustls-ring\""]);
    assert!(
        message.contains("target.library = rustls-ring, but nginx runs on OpenSSL"),
        "{message}"
    );
    let message = said(&["library = \"rustls\""], &[]);
    assert!(
        message.contains("write openssl, rustls-ring or rustls-aws-lc, or openssl-built"),
        "{message}"
    );
}
