//! What is nginx's own from its start to its end; what holds for every server is tested in `toll`.

use std::sync::Arc;

use cpus::CpuList;
use rustix::process::{Pid, Signal};
use support::{children, is_running, until, write_program};
use targets::{Objects, Running, Server, Settings, Stopped, Target, TargetError};
use tempfile::TempDir;
use tls::{CertificateKey, Group};
use units::Bytes;

fn nginx() -> &'static Server {
    targets::by_name("nginx").unwrap()
}

fn objects(folder: &TempDir) -> Arc<Objects> {
    Arc::new(Objects::make(&[Bytes(1 << 20), Bytes(1000)], folder.path()).unwrap())
}

fn settings() -> Settings {
    let mut settings = Settings::new(CpuList::allowed().unwrap());
    // An RSA key takes half a second to make.
    settings.target.certificate_key = CertificateKey::EcdsaP256;
    settings
}

fn start(settings: &Settings, folder: &TempDir) -> Running {
    targets::start(nginx(), settings, &objects(folder), folder.path(), None).unwrap()
}

/// What OpenSSL's client prints of a connection.
fn s_client(server: &Running, options: &[&str]) -> String {
    support::s_client(server.facts().https, options)
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
}

fn allowed_cpus(pid: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap().trim().to_owned()
}

#[test]
fn another_process_of_it_has_the_same_key_and_folders() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&settings(), &folder);
    let (first, name) = (server.pid(), server.facts().name.clone());
    let certificate = std::fs::read(&server.facts().certificate).unwrap();
    let key = folder.path().join("targets/nginx/server.key");
    let key_of_first = std::fs::read(&key).unwrap();
    let workers = children(first);
    let server = targets::restart(server, nginx(), &settings(), None).unwrap();
    assert!(!is_running(first) && !workers.iter().any(|&pid| is_running(pid)));
    assert_ne!(server.pid(), first);
    assert_eq!(server.facts().name, name);
    assert_eq!(std::fs::read(&server.facts().certificate).unwrap(), certificate);
    assert_eq!(std::fs::read(&key).unwrap(), key_of_first);
    let (_, body) = support::curl(server.facts().https, &server.facts().certificate, "1MiB", &[]);
    assert_eq!(body.len(), 1 << 20);
    server.stop();
    assert!(!key.exists());
}

#[test]
fn a_server_that_does_not_start_again_says_why_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&settings(), &folder);
    let pid = server.pid();
    let broken = Settings {
        target: Target { directives: "nonsense on".parse().unwrap(), ..settings().target },
        ..settings()
    };
    let error = targets::restart(server, nginx(), &broken, None).unwrap_err();
    assert!(error.to_string().contains("nonsense"), "{error}");
    assert!(!is_running(pid) && !folder.path().join("targets/nginx/server.key").exists());
}

#[test]
fn workers_are_pinned_one_each_and_the_master_to_all() {
    let folder = tempfile::tempdir().unwrap();
    let cpus = CpuList::allowed().unwrap();
    let server = start(
        &Settings { target: Target { cpus: cpus.clone(), ..settings().target }, ..settings() },
        &folder,
    );
    let mut pinned: Vec<String> = children(server.pid()).into_iter().map(allowed_cpus).collect();
    let mut expected: Vec<String> = cpus.as_slice().iter().map(ToString::to_string).collect();
    pinned.sort_unstable();
    expected.sort_unstable();
    assert_eq!(pinned, expected);

    let last = CpuList::from(*cpus.as_slice().last().unwrap());
    let server = start(
        &Settings { target: Target { cpus: last.clone(), ..settings().target }, ..settings() },
        &folder,
    );
    assert_eq!(server.facts().name, "nginx-2");
    assert_eq!(allowed_cpus(server.pid()), last.to_string());
    let pinned: Vec<String> = children(server.pid()).into_iter().map(allowed_cpus).collect();
    assert_eq!(pinned, [last.to_string()]);
    // The files that were named remain.
    assert_eq!(server.stop(), Stopped::InTime);
    assert!(folder.path().join("targets/nginx-2/nginx.conf").exists());
    assert!(folder.path().join("logs/nginx-2/error.log").exists());
}

#[test]
fn sessions_are_resumed_with_tickets_alone_and_with_a_cache_alone() {
    let folder = tempfile::tempdir().unwrap();
    for (tickets, session_cache) in [(true, false), (false, true)] {
        let server = start(
            &Settings {
                target: Target { tickets, session_cache, ..settings().target },
                ..settings()
            },
            &folder,
        );
        let case = format!("tickets {tickets}, cache {session_cache}");
        let said = s_client(&server, &["-tls1_3"]);
        assert!(said.contains("HTTP/1.1 200 OK"), "{case}: {said}");
        assert_eq!(said.contains("Post-Handshake New Session Ticket arrived"), tickets, "{case}");
        let said = s_client(&server, &["-tls1_2"]);
        assert_eq!(said.contains("TLS session ticket:"), tickets, "{case}: {said}");
        let said = s_client(&server, &["-tls1_2", "-reconnect"]);
        assert!(said.contains("Reused, TLSv1.2"), "{case}: {said}");
    }
}

#[test]
fn a_master_that_dies_is_told_and_its_workers_go() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = start(&settings(), &folder);
    let workers = children(server.pid());
    kill(server.pid());
    until("it is missed", || server.check_alive().is_err());
    let error = server.check_alive().unwrap_err();
    let TargetError::Died { how, log, .. } = &error else { panic!("{error}") };
    assert!(how.contains("SIGKILL") && log.contains("error.log"), "{error}");
    assert_eq!(error.to_string().lines().count(), 1);
    assert!(workers.iter().all(|&pid| is_running(pid)));
    server.stop();
    until("its workers are gone", || !workers.iter().any(|&pid| is_running(pid)));
}

#[test]
fn a_worker_that_dies_is_told_though_the_master_replaces_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = start(&settings(), &folder);
    kill(children(server.pid())[0]);
    until("it is missed", || server.check_alive().is_err());
    let message = server.check_alive().unwrap_err().to_string();
    assert!(message.contains("exited on signal 9"), "{message}");
    assert!(is_running(server.pid()));
}

#[test]
fn a_refused_configuration_is_quoted_and_nothing_runs() {
    let folder = tempfile::tempdir().unwrap();
    let shim = folder.path().join("bin");
    // An nginx whose OpenSSL lacks what is asked for, as a build without it would.
    let real = nginx().find(&settings()).unwrap();
    std::fs::create_dir(&shim).unwrap();
    let script = format!(
        "for last; do :; done\n[ \"$1\" = -V ] || sed -i 's/X25519/unknown/' \"$last\"\n\
         exec {} \"$@\"",
        real.display()
    );
    write_program(&shim.join("nginx"), &script);
    let settings =
        Settings { groups: vec![Group::X25519], program_folders: vec![shim], ..settings() };
    let error =
        targets::start(nginx(), &settings, &objects(&folder), folder.path(), None).unwrap_err();
    assert!(matches!(error, TargetError::Configuration { .. }), "{error}");
    let message = error.to_string();
    assert!(message.contains("SSL_CTX_set1_curves_list"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn a_server_that_ends_at_its_start_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let shim = folder.path().join("bin");
    std::fs::create_dir(&shim).unwrap();
    let script = "case $1 in\n\
         -V) echo 'nginx version: nginx/1\nbuilt with OpenSSL 3 x' >&2 ;;\n\
         -t) ;;\n\
         *) echo 'no more memory' >&2; exit 3 ;;\n\
         esac";
    write_program(&shim.join("nginx"), script);
    let settings = Settings { program_folders: vec![shim], ..settings() };
    let error =
        targets::start(nginx(), &settings, &objects(&folder), folder.path(), None).unwrap_err();
    let TargetError::Died { how, log, .. } = &error else { panic!("{error}") };
    assert!(how.ends_with('3') && log.contains("output.log") && log.contains("memory"), "{error}");
}

#[test]
fn where_it_is_missing_it_can_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { program_folders: vec![folder.path().to_owned()], ..settings() };
    assert_eq!(nginx().find(&settings), None);
    let error =
        targets::start(nginx(), &settings, &objects(&folder), folder.path(), None).unwrap_err();
    assert!(matches!(error, TargetError::Missing { program: "nginx", .. }), "{error}");
    assert!(!folder.path().join("targets").exists());
}
