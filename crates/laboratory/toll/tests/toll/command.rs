//! What only a command and the embedded server do as servers under test.

use std::time::Duration;

use support::toll_path;
use targets::{Settings, Stopped, Target, TlsLibrary};
use tls::Stack;

use crate::every_server::{assert_gone, curl, objects, server, settings, start, tree};

fn with_command(line: &str) -> Settings {
    let mut settings = settings();
    settings.target.command = line.parse().ok();
    settings
}

#[test]
fn a_command_is_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let line = format!(
        "{} serve --listen 127.0.0.1:{{port}} --listen-plain 127.0.0.1:{{plain-port}} \
         --certificate {{cert}} --key {{key}} --root {{root}} --cpus {{cpus}}",
        env!("CARGO_BIN_EXE_toll")
    );
    let mut server = start(server("command"), &with_command(&line), &folder);
    let (_, body) = curl(&server, "1000B", &[]);
    assert!(objects::matches(0, &body));
    server.check_alive().unwrap();
    assert_eq!(server.facts().libraries.len(), 2, "{:?}", server.facts().libraries);
    let processes = tree(server.pid());
    assert_eq!(server.stop(), Stopped::InTime);
    assert_gone(&processes, "the command");
}

#[test]
fn a_command_that_fails_is_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |line: &str| {
        let start_limit = Some(Duration::from_secs(1));
        let settings = Settings { start_limit, ..with_command(line) };
        targets::start(server("command"), &settings, &objects(&folder), folder.path(), None)
            .unwrap_err()
            .to_string()
    };
    let message = refusal("echo no such file >&2; exit 7; # {port}");
    assert!(message.contains("exit status: 7"), "{message}");
    assert!(message.ends_with(": no such file"), "{message}");
    let message = refusal("/nowhere/server {port}");
    assert!(message.contains("exit status: 127"), "{message}");
    let message = refusal("sleep 1000; # {port}");
    assert!(message.contains("within "), "{message}");
}

#[test]
fn the_embedded_server_reports_the_library_that_it_runs_on() {
    let folder = tempfile::tempdir().unwrap();
    let another = folder.path().join("toll");
    // It changes what it is asked for.
    let script = format!(
        "for word; do shift; [ \"$word\" = rustls-ring ] && word=rustls-aws-lc; set -- \"$@\" \"$word\"; done\n\
         exec {} \"$@\"",
        toll_path().display()
    );
    support::write_program(&another, &script);
    let embedded = server("embedded");
    let target = Target { library: TlsLibrary::Own(Stack::RustlsRing), ..settings().target };
    for (toll, reported) in [(toll_path(), Stack::RustlsRing), (another, Stack::RustlsAwsLc)] {
        let settings = Settings { target: target.clone(), toll: Some(toll), ..settings() };
        let server = start(embedded, &settings, &folder);
        assert_eq!(server.facts().stack.as_ref().map(|(stack, _)| *stack), Some(reported));
        assert!(server.facts().version.contains("rustls 0."), "{}", server.facts().version);
        assert!(server.facts().libraries.is_empty(), "{:?}", server.facts().libraries);
    }
}
