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
    let study = crate::parse("s.toml", &text, &allowed(), None)?;
    assert_eq!(read_back(&study), study);
    Ok(study)
}

fn target(lines: &[&str]) -> Target {
    study(lines, &[]).unwrap_or_else(|error| panic!("{error}")).cells[0].target.clone()
}

/// Lines under `[target]`, others in the case, and why they are refused.
fn refused(target: &str, case: &str) -> (String, String) {
    let refusal = study(&[target], &[case]).unwrap_err().to_string();
    (format!("[target]\n{target}\n[[case]]\n{case}"), refusal)
}

const COMMAND: &str = "command = \"serve {port} {cert} {key} {root}\"";

#[test]
fn a_command_and_an_address_are_servers() {
    let command = target(&["server = \"command\"", COMMAND, "certificate-key = \"ecdsa:p256\""]);
    assert_eq!(command.server, server("command"));
    assert_eq!(command.command.unwrap().to_string(), "serve {port} {cert} {key} {root}");
    let url = "url = \"https://127.0.0.1:8443/a\"";
    let address = target(&["server = \"address\"", url, "pid = 7", "i-operate-this-host = true"]);
    assert_eq!(
        (address.pid, address.i_operate_this_host),
        (Some(targets::ServerPid::Number(7)), true)
    );
    assert_eq!(address.url.unwrap().path(), "/a");
    let named = target(&["server = \"address\"", url, "pid = \"/run/nginx.pid\""]);
    assert_eq!(named.pid, Some(targets::ServerPid::File("/run/nginx.pid".into())));
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
fn what_a_server_lacks_or_cannot_do_is_refused() {
    let command = |lines: &str| format!("server = 'command'\n{COMMAND}\n{lines}");
    let plain = "load.tls = 'none'";
    assert_golden!([
        refused("server = 'command'", ""),
        refused("server = 'address'", ""),
        refused("server = 'nginx'\nurl = 'https://a/'", ""),
        refused(&command("tickets = true"), ""),
        refused("server = 'tomcat'\ntickets = true", ""),
        refused("server = 'tomcat'\nlibrary = 'openssl-built'", ""),
        refused("server = 'tomcat'\nlibrary-path = '/opt/ssl'", ""),
        refused("server = 'nginx'\naes = 'off'", ""),
        refused("server = 'address'\nurl = 'https://a/'\ncpus = '0'", ""),
        refused(&command(""), plain),
        refused("server = 'command'\ncommand = 'serve {plain-port}'", ""),
        refused("server = 'address'\nurl = 'http://127.0.0.1/'", ""),
        refused("server = 'address'\nurl = 'https://127.0.0.1/'", plain),
        refused("server = 'nginx'", "load.ca = 'a.pem'\nload.insecure = true"),
        refused("server = 'nginx'\nenvironment = ['A=1 B=2']", ""),
        refused("server = 'nginx'\nlibrary-path = 'lib'", ""),
        refused("server = 'haproxy'\nsend = 'ktls-write'", ""),
        refused("server = 'nginx'\nsend = 'ktls-sendfile'", "load.suite = 'AES128-SHA'"),
        refused("server = 'nginx'\ndirectives = 'sendfile on'", ""),
        refused("server = 'haproxy'\ndirectives = 'aio threads'", ""),
        refused("server = 'haproxy'\nsendfile = false", ""),
        refused("server = 'nginx'\nsend = 'ktls-write'\nsendfile = true", ""),
        refused("server = 'address'\nurl = 'https://a/'\ncongestion = 'reno'", ""),
        refused("server = 'nginx'", "target.library = 'rustls-ring'"),
    ]);
}

#[test]
fn what_the_embedded_servers_library_lacks_is_refused() {
    let embedded = |target: &str, case: &str| {
        refused(&format!("server = 'embedded'\nlibrary = 'rustls{target}"), case)
    };
    assert_golden!([
        embedded("'", ""),
        embedded("-ring'", "load.suite = 'AES128-GCM-SHA256'"),
        embedded("-ring'", "load.suite = 'ECDHE-RSA-AES128-SHA'"),
        embedded("-ring'", "target.library-path = '/opt/ssl'"),
        embedded("-ring'\ncertificate-key = 'rsa:1024'", ""),
        embedded("-ring'\nsend = 'ktls-write'", ""),
    ]);
}

#[test]
fn http3_without_a_server_that_has_it_is_refused() {
    let http3 = "load.http = '3'";
    let rustls = "server = 'embedded'\nlibrary = 'rustls-ring'";
    assert_golden!([
        refused(rustls, http3),
        refused("server = 'apache'", http3),
        refused("server = 'embedded'", "target.quic = true"),
        refused(rustls, "target.gso = false"),
        refused("server = 'tomcat'\nquic = true", ""),
        refused("server = 'caddy'\nquic = true\ngso = false", ""),
    ]);
    let both = format!("{rustls}\nquic = true");
    let of = |case: &str| study(&[&both], &[case, http3]).map(drop).map_err(|e| e.to_string());
    assert_eq!(of("target.gso = false"), Ok(()));
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
            let of = |key: &str| cell.params[key].to_string();
            (of("target.library-path"), of("target.environment"))
        })
        .collect();
    assert_eq!(
        params,
        [("system", "none"), ("system", "A=1 B=2"), ("/opt/ssl", "none"), ("/opt/ssl", "A=1 B=2")]
            .map(|(path, environment)| (path.to_owned(), environment.to_owned()))
    );
    assert!(study.cells[3].target.environment.has("B"));
}
