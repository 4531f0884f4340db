//! What only HAProxy does as a server under test.

use std::process::Command;

use support::{is_running, until, write_program};
use targets::{Settings, Stopped, TargetError};
use tls::Group;

use crate::every_server::{
    assert_gone, cpus_of_threads, key_modes, objects, server, settings, start, tree,
};

#[test]
fn haproxy_has_a_thread_on_each_cpu_and_its_backend_goes_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(server("haproxy"), &settings(), &folder);
    let mut pinned = cpus_of_threads(server.pid());
    let mut expected: Vec<_> =
        settings().target.cpus.as_slice().iter().map(ToString::to_string).collect();
    pinned.sort_unstable();
    expected.sort_unstable();
    assert_eq!(pinned, expected);
    let backend = tree(server.backend().unwrap().pid());
    assert!(is_running(backend[0]));
    assert_eq!(server.stop(), Stopped::InTime);
    assert_gone(&backend, "the backend");
}

#[test]
fn haproxy_is_lost_with_its_backend() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = start(server("haproxy"), &settings(), &folder);
    let backend = server.backend().unwrap().pid();
    let killed = Command::new("kill").args(["-9", &backend.to_string()]).status();
    assert!(killed.unwrap().success());
    until("it is missed", || server.check_alive().is_err());
    let message = server.check_alive().unwrap_err().to_string();
    assert!(message.starts_with("backend ") && message.contains("SIGKILL"), "{message}");
}

#[test]
fn haproxy_says_what_it_does_not_take() {
    let folder = tempfile::tempdir().unwrap();
    let kind = server("haproxy");
    let real = kind.find(&settings()).unwrap();
    let settings = Settings { program_folders: vec![folder.path().to_owned()], ..settings() };
    assert_eq!(kind.find(&settings), None);
    let error =
        targets::start(kind, &settings, &objects(&folder), folder.path(), None).unwrap_err();
    assert!(matches!(error, TargetError::Missing { program: "haproxy", .. }), "{error}");
    // A haproxy whose OpenSSL lacks what is asked for, as a build without it would.
    let script = format!(
        "[ \"$1\" = -vv ] || sed -i 's/curves X25519/curves unknown/' \"$3\"\nexec {} \"$@\"",
        real.display()
    );
    write_program(&folder.path().join("haproxy"), &script);
    let settings = Settings { groups: vec![Group::X25519], ..settings };
    let error =
        targets::start(kind, &settings, &objects(&folder), folder.path(), None).unwrap_err();
    assert!(matches!(error, TargetError::Configuration { .. }), "{error}");
    let message = error.to_string();
    assert!(message.starts_with("haproxy "), "{message}");
    assert!(message.contains("curves"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(key_modes(&folder).is_empty());
}
