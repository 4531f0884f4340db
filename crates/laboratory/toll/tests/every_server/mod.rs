//! The servers under test as `targets` starts them, with the real `toll serve`: what holds for one
//! holds for the others. `toll` and `proofs` include this, each for its own of them. What only nginx does is
//! tested in its own crate.

pub(crate) mod http2;

use std::num::NonZeroU32;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use cpus::CpuList;
use support::{children, is_running, toll_path, until};
use targets::{Objects, Running, Server, Settings, Stopped, Target, TargetError, TlsLibrary};
use tempfile::TempDir;
use tls::{AskClient, CertificateKey, Group, Stack, Suite, Version};
use units::Bytes;

/// The folder in which the helper that is killed works.
const HELPER_FOLDER: &str = "TOLL_TEST_FOLDER";

pub(crate) fn server(name: &str) -> &'static Server {
    targets::by_name(name).unwrap()
}

/// Those whose negotiation toll configures, of this test program.
fn kinds() -> impl Iterator<Item = &'static Server> {
    let kinds = targets::SERVERS.iter().copied().filter(|server| server.is_configured());
    kinds.filter(|server| crate::is_tried_here(server.name()))
}

pub(crate) fn objects(folder: &TempDir) -> Arc<Objects> {
    Arc::new(Objects::make(&[Bytes(1 << 20), Bytes(1000)], folder.path()).unwrap())
}

pub(crate) fn settings() -> Settings {
    Settings { toll: Some(toll_path()), ..Settings::new(CpuList::allowed().unwrap()) }
}

pub(crate) fn start(kind: &Server, settings: &Settings, folder: &TempDir) -> Running {
    targets::start(kind, settings, &objects(folder), folder.path(), None).unwrap()
}

/// What curl says of a transfer over TLS, and the body.
#[track_caller]
pub(crate) fn curl(server: &Running, object: &str, options: &[&str]) -> (String, Vec<u8>) {
    support::curl(server.facts().https, &server.facts().certificate, object, options)
}

/// What OpenSSL's client prints of a connection.
fn s_client(server: &Running, options: &[&str]) -> String {
    support::s_client(server.facts().https, options)
}

/// The server's processes: `pid` and those whose parent it is.
pub(crate) fn tree(pid: u32) -> Vec<u32> {
    [vec![pid], children(pid)].concat()
}

/// What has been killed may take the kernel a moment to take away.
#[track_caller]
pub(crate) fn assert_gone(processes: &[u32], whose: &str) {
    until(&format!("{whose}: all of {processes:?} are gone"), || {
        !processes.iter().any(|&pid| is_running(pid))
    });
}

/// The CPUs that each thread of the process may run on.
pub(crate) fn cpus_of_threads(pid: u32) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    threads
        .map(|thread| {
            let status = std::fs::read_to_string(thread.path().join("status")).unwrap();
            let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            cpus.unwrap().trim().to_owned()
        })
        .collect()
}

/// The modes of the files with private keys in the result folder.
pub(crate) fn key_modes(folder: &TempDir) -> Vec<u32> {
    let targets = std::fs::read_dir(folder.path().join("targets")).unwrap().flatten();
    let files = targets.flat_map(|target| std::fs::read_dir(target.path()).unwrap().flatten());
    files
        .filter(|file| {
            // One that goes meanwhile is gone.
            let content = std::fs::read(file.path()).unwrap_or_default();
            String::from_utf8_lossy(&content).contains("PRIVATE KEY")
        })
        .map(|file| file.metadata().unwrap().permissions().mode() & 0o777)
        .collect()
}

#[test]
fn each_sends_the_same_objects_and_stops() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings();
    for kind in kinds() {
        let mut server = start(kind, &settings, &folder);
        let (_, body) = curl(&server, "1MiB", &[]);
        assert_eq!(body.len(), 1 << 20);
        assert!(objects::matches(0, &body));
        assert!(server.facts().version.contains(", OpenSSL "), "{}", server.facts().version);
        server.check_alive().unwrap();
        let processes = tree(server.pid());
        assert!(!processes.is_empty());
        let modes = key_modes(&folder);
        assert!(!modes.is_empty() && modes.iter().all(|mode| *mode == 0o600), "{kind}: {modes:?}");
        assert_eq!(server.stop(), Stopped::InTime, "{kind}");
        assert_gone(&processes, &kind.to_string());
        assert!(key_modes(&folder).is_empty(), "{kind}");
    }
}

#[test]
fn each_sends_an_empty_object() {
    let folder = tempfile::tempdir().unwrap();
    let objects = Arc::new(Objects::make(&[Bytes(0), Bytes(1000)], folder.path()).unwrap());
    for kind in kinds() {
        let server = targets::start(kind, &settings(), &objects, folder.path(), None).unwrap();
        let (said, body) = curl(&server, "0B", &[]);
        assert!(body.is_empty(), "{kind}: {said}");
    }
}

/// The processes and threads below `pid`, with it, that do not run as this user in every respect.
fn not_of_user(pid: u32, user: &str) -> Vec<String> {
    let not_of_user = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let is_other = |line: &&str| {
            (line.starts_with("Uid:") || line.starts_with("Gid:"))
                && line.split_whitespace().skip(1).any(|id| id != user)
        };
        status.lines().find(is_other).map(|line| format!("{pid} {line}"))
    };
    let tasks = |pid: u32| std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let threads = tree(pid).into_iter().flat_map(tasks);
    let threads: Vec<u32> =
        threads.map(|task| task.file_name().to_str().unwrap().parse().unwrap()).collect();
    threads.iter().filter_map(not_of_user).collect()
}

/// Only a master that serves nothing stays root; without root all is the user's that runs toll.
#[test]
fn workers_of_each_run_as_nobody_where_toll_is_root() {
    let folder = tempfile::tempdir().unwrap();
    let is_root = rustix::process::geteuid().is_root();
    let user =
        if is_root { "65534".to_owned() } else { rustix::process::getuid().as_raw().to_string() };
    for kind in kinds() {
        let server = start(kind, &settings(), &folder);
        let masters = match kind.name() {
            "nginx" | "apache" if is_root => 1,
            _ => 0,
        };
        // A worker that answers nothing yet may still be about to change its user.
        until("workers change their user", || not_of_user(server.pid(), &user).len() <= masters);
        let other = not_of_user(server.pid(), &user);
        assert_eq!(other.len(), masters, "{kind}: {other:?}");
        assert!(tree(server.pid()).len() > masters, "{kind}");
        assert!(other.iter().all(|of| of.starts_with(&format!("{} ", server.pid()))), "{other:?}");
        if let Some(backend) = server.backend() {
            assert_eq!(not_of_user(backend.pid(), &user), Vec::<String>::new(), "{kind}");
        }
        // The objects are readable, over both ports.
        for size in [1 << 20, 1000] {
            let (_, body) = curl(&server, &Bytes(size).to_string(), &[]);
            assert_eq!(body.len() as u64, size, "{kind}");
        }
    }
}

#[test]
fn each_negotiates_what_it_was_told() {
    let folder = tempfile::tempdir().unwrap();
    let modern = Settings {
        versions: vec![Version::Tls13],
        suites: vec![Suite::parse("TLS_AES_256_GCM_SHA384").unwrap()],
        groups: vec![Group::Secp384r1],
        target: Target { certificate_key: CertificateKey::EcdsaP256, ..settings().target },
        ..settings()
    };
    let legacy = Settings {
        versions: vec![Version::Tls12],
        suites: vec![Suite::parse("AES128-SHA").unwrap()],
        target: Target { certificate_key: CertificateKey::Rsa(1024), ..settings().target },
        ..settings()
    };
    for kind in kinds() {
        let server = start(kind, &modern, &folder);
        let (said, _) = curl(&server, "1000B", &[]);
        assert!(said.contains("SSL connection using TLSv1.3 / TLS_AES_256_GCM_SHA384"), "{said}");
        let said = s_client(&server, &[]);
        assert!(said.contains("Temp Key: ECDH, secp384r1, 384 bits"), "{kind}: {said}");
        assert!(s_client(&server, &["-tls1_2"]).contains("Cipher is (NONE)"), "{kind}");

        let server = start(kind, &legacy, &folder);
        let (said, _) = curl(&server, "1000B", &["--ciphers", "DEFAULT:@SECLEVEL=0"]);
        assert!(said.contains("SSL connection using TLSv1.2 / AES128-SHA"), "{kind}: {said}");
    }
}

#[test]
fn each_shows_the_certificate_of_the_name_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings {
        target: Target { names: NonZeroU32::new(3), ..settings().target },
        ..settings()
    };
    for kind in kinds().filter(|kind| kind.uses("names")) {
        let server = start(kind, &settings, &folder);
        for (name, expected) in [
            ("h0.toll.test", "h0.toll.test"),
            ("h2.toll.test", "h2.toll.test"),
            ("other.example", "localhost"),
        ] {
            let said = s_client(&server, &["-servername", name]).replace(' ', "");
            assert!(said.contains(&format!("subject=CN={expected}\n")), "{kind} {name}: {said}");
            assert!(said.contains("HTTP/1.1200OK"), "{kind} {name}: {said}");
        }
    }
}

#[test]
fn each_leaves_out_what_is_off() {
    let folder = tempfile::tempdir().unwrap();
    for on in [true, false] {
        let settings = Settings {
            target: Target {
                tickets: on,
                session_cache: on,
                encrypt_then_mac: on,
                ..settings().target
            },
            ..settings()
        };
        for kind in kinds() {
            let server = start(kind, &settings, &folder);
            let said = s_client(&server, &["-tls1_2", "-cipher", "AES128-SHA", "-tlsextdebug"]);
            assert!(said.contains("Cipher is AES128-SHA"), "{kind}: {said}");
            let extension = "TLS server extension \"encrypt-then-mac\"";
            assert_eq!(said.contains(extension), on, "{kind}: {said}");
            let said = s_client(&server, &["-tls1_3"]);
            assert!(said.contains("HTTP/1.1 200 OK"), "{kind}: {said}");
            let ticket = "Post-Handshake New Session Ticket arrived";
            assert_eq!(said.contains(ticket), on, "{kind}: {said}");
            let said = s_client(&server, &["-tls1_2", "-reconnect"]);
            assert_eq!(said.contains("Reused, TLSv1.2"), on, "{kind}: {said}");
        }
    }
}

#[test]
fn each_runs_on_the_cpus_that_it_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let last = CpuList::from(*CpuList::allowed().unwrap().as_slice().last().unwrap());
    let settings =
        Settings { target: Target { cpus: last.clone(), ..settings().target }, ..settings() };
    for kind in kinds() {
        let server = start(kind, &settings, &folder);
        for pid in tree(server.pid()) {
            for cpus in cpus_of_threads(pid) {
                assert_eq!(cpus, last.to_string(), "{kind}");
            }
        }
    }
}

#[test]
fn each_is_stopped_by_a_drop_in_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings();
    for kind in kinds() {
        let server = start(kind, &settings, &folder);
        let processes = tree(server.pid());
        let outcome = std::thread::spawn(move || {
            let _server = server;
            std::panic::resume_unwind(Box::new(()));
        })
        .join();
        assert!(outcome.is_err());
        assert_gone(&processes, &kind.to_string());
        assert!(key_modes(&folder).is_empty(), "{kind}");
    }
}

#[test]
fn each_is_missed_when_it_dies() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings();
    for kind in kinds() {
        let mut server = start(kind, &settings, &folder);
        let killed = Command::new("kill").args(["-9", &server.pid().to_string()]).status();
        assert!(killed.unwrap().success());
        until(&format!("{kind} is missed"), || server.check_alive().is_err());
        let error = server.check_alive().unwrap_err();
        assert!(matches!(error, TargetError::Died { .. }), "{error}");
        let message = error.to_string();
        assert!(message.contains("SIGKILL"), "{message}");
    }
}

/// A copy of the TLS library that the server runs on by itself.
fn library_copy(server: &Running, folder: &TempDir) -> PathBuf {
    let copy = folder.path().join("lib");
    std::fs::create_dir(&copy).unwrap();
    assert_eq!(server.facts().libraries.len(), 2, "{:?}", server.facts().libraries);
    for library in &server.facts().libraries {
        std::fs::copy(&library.path, copy.join(library.path.file_name().unwrap())).unwrap();
    }
    copy
}

#[test]
fn each_runs_on_the_library_that_it_was_given() {
    for kind in kinds() {
        let folder = tempfile::tempdir().unwrap();
        let server = start(kind, &settings(), &folder);
        let version = server.facts().libraries[0].version.clone().unwrap();
        assert!(server.facts().version.contains(&version), "{} {version}", server.facts().version);
        let copy = library_copy(&server, &folder);
        let library_path = copy.display().to_string().parse().unwrap();
        let server = start(
            kind,
            &Settings { target: Target { library_path, ..settings().target }, ..settings() },
            &folder,
        );
        let real = std::fs::canonicalize(&copy).unwrap();
        for library in &server.facts().libraries {
            assert!(library.path.starts_with(&real), "{kind}: {library}");
        }
        assert_eq!(
            server.facts().libraries[0].version.as_deref(),
            Some(version.as_str()),
            "{kind}"
        );
        let (_, body) = curl(&server, "1000B", &[]);
        assert!(objects::matches(0, &body));
    }
}

#[test]
fn a_library_path_that_gives_no_library_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let library_path = empty.display().to_string().parse().unwrap();
    let with_path = Settings { target: Target { library_path, ..settings().target }, ..settings() };
    for kind in kinds() {
        let refusal = || {
            targets::start(kind, &with_path, &objects(&folder), folder.path(), None).unwrap_err()
        };
        assert!(refusal().to_string().contains("libssl.so"), "{kind}: {}", refusal());
        // Another ABI, which the linker passes over.
        std::fs::write(empty.join("libcrypto.so.1.1"), "").unwrap();
        let error = refusal();
        assert!(matches!(error, TargetError::Library { .. }), "{kind}: {error}");
        assert!(error.to_string().contains(" mapped /"), "{kind}: {error}");
        std::fs::remove_file(empty.join("libcrypto.so.1.1")).unwrap();
    }
}

#[test]
fn each_has_the_environment_that_it_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let environment = "TOLL_A=1 TOLL_B=x=y".parse().unwrap();
    let settings = Settings { target: Target { environment, ..settings().target }, ..settings() };
    // nginx writes its title over its own.
    for kind in kinds().filter(|kind| kind.name() != "nginx") {
        let server = start(kind, &settings, &folder);
        let given = std::fs::read(format!("/proc/{}/environ", server.pid())).unwrap();
        let given = String::from_utf8_lossy(&given).into_owned();
        for variable in ["TOLL_A=1", "TOLL_B=x=y"] {
            assert!(given.split('\0').any(|one| one == variable), "{kind}: {given}");
        }
    }
}

#[test]
fn all_go_when_their_starter_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut helper = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "every_server::helper_that_is_killed", "--ignored", "--nocapture"])
        .env(HELPER_FOLDER, folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pids = || -> Option<Vec<u32>> {
        let told = std::fs::read_to_string(folder.path().join("pids")).ok()?;
        told.strip_suffix('\n')?.split(' ').map(|pid| pid.parse().ok()).collect()
    };
    until("the helper names its processes", || pids().is_some());
    let processes: Vec<u32> = pids().unwrap().into_iter().flat_map(tree).collect();
    // The embedded server, nginx's master and at least one worker; or Apache, HAProxy and its backend.
    assert!(processes.len() >= 3, "{processes:?}");

    helper.kill().unwrap();
    helper.wait().unwrap();
    assert_gone(&processes, "the server");
    until("the keys are gone", || key_modes(&folder).is_empty());
}

#[test]
#[ignore = "a helper of all_go_when_their_starter_is_killed"]
fn helper_that_is_killed() {
    let Some(path) = std::env::var_os(HELPER_FOLDER).map(PathBuf::from) else { return };
    let objects = Arc::new(Objects::make(&[Bytes(1000)], &path).unwrap());
    let servers: Vec<_> = kinds()
        .map(|kind| targets::start(kind, &settings(), &objects, &path, None).unwrap())
        .collect();
    let backends = servers.iter().filter_map(Running::backend);
    let pids: Vec<_> =
        servers.iter().chain(backends).map(|server| server.pid().to_string()).collect();
    std::fs::write(path.join("pids"), format!("{}\n", pids.join(" "))).unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn each_runs_on_the_openssl_that_was_built() {
    let folder = tempfile::tempdir().unwrap();
    let target = Target { library: TlsLibrary::Built, ..settings().target };
    if !target.library_folder().is_some_and(|folder| folder.join("libssl.so.3").is_file()) {
        println!("skipped: make openssl was not run");
        return;
    }
    let settings = Settings { target, ..settings() };
    for kind in kinds() {
        let server = start(kind, &settings, &folder);
        let version = server.facts().libraries[0].version.clone().unwrap();
        assert!(version.as_str() > "OpenSSL 3.5", "{version}");
        assert!(server.facts().version.contains(&version), "{} {version}", server.facts().version);
        let (_, body) = curl(&server, "1000B", &[]);
        assert!(objects::matches(0, &body));
    }
}

#[test]
fn each_verifies_clients_as_it_was_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let verifying = ["embedded", "nginx", "apache", "haproxy"];
    for kind in kinds().filter(|kind| verifying.contains(&kind.name())) {
        let libraries: &[Stack] = match kind.name() {
            "embedded" => &Stack::BUILT_IN,
            _ => &[Stack::OpenSsl],
        };
        for (library, ask) in libraries
            .iter()
            .flat_map(|library| AskClient::ALL.iter().map(move |ask| (*library, *ask)))
        {
            let mut settings = settings();
            settings.target.client_certificate = ask;
            settings.target.library = TlsLibrary::Own(library);
            let server = start(kind, &settings, &folder);
            let own = server.facts().client.clone();
            assert_eq!(own.is_some(), ask != AskClient::None, "{kind} {library} {ask}");
            for version in ["1.2", "1.3"] {
                let status = |client: &[&str]| {
                    let mut curl = Command::new("curl");
                    curl.args(["--silent", "--insecure", "--output", "/dev/null"]);
                    curl.args(["--write-out", "%{http_code}", "--tls-max", version]);
                    curl.args(client).arg(format!("https://{}/bytes/1000B", server.facts().https));
                    String::from_utf8(curl.output().unwrap().stdout).unwrap()
                };
                let is_served = status(&[]) == "200";
                assert_eq!(
                    is_served,
                    ask != AskClient::Require,
                    "{kind} {library} {ask} {version}"
                );
                let Some(own) = &own else { continue };
                let [certificate, key] =
                    [&own.certificate, &own.key].map(|path| path.to_str().unwrap());
                assert_eq!(
                    status(&["--cert", certificate, "--key", key]),
                    "200",
                    "{kind} {library}"
                );
                // The server's own certificate is of no authority of clients.
                let other = server.facts().certificate.with_file_name("server");
                let [certificate, key] = ["crt", "key"].map(|end| other.with_extension(end));
                let [certificate, key] = [&certificate, &key].map(|path| path.to_str().unwrap());
                assert_ne!(
                    status(&["--cert", certificate, "--key", key]),
                    "200",
                    "{kind} {library}"
                );
            }
            assert_eq!(server.stop(), Stopped::InTime, "{kind}");
        }
    }
    assert!(key_modes(&folder).is_empty());
}
