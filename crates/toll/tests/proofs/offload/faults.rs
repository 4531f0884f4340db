//! Clients and servers that go while the device works.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use offload::Kind;
use support::{
    CryptoMbStandIn, Killed, Serve, children, first_cpu, is_running, last_cpu, processes_with,
    toll, toll_path, until,
};
use targets::{AcceleratorCounts, Objects, Running, SendCounters, Settings, Stopped, Target};
use tls::{Suite, Version};
use units::{Bytes, Nanos};

use super::study::{RSA, study};

/// HAProxy whose device takes this long, for static RSA.
fn haproxy(folder: &Path, latency: Nanos) -> Running {
    let target = Target {
        cpus: first_cpu(),
        server: targets::by_name("haproxy").unwrap(),
        accelerator: Kind::Model,
        accelerator_latency: latency,
        accelerator_queue: 20_000.try_into().unwrap(),
        ..Target::default()
    };
    let settings = Settings {
        toll: Some(toll_path()),
        versions: vec![Version::Tls12],
        suites: vec![Suite::parse("AES128-SHA").unwrap()],
        ..Settings::of(target.clone())
    };
    let objects = Arc::new(Objects::make(&[Bytes(1000)], folder).unwrap());
    targets::start(target.server, &settings, &objects, folder, None).unwrap()
}

/// The configuration of HAProxy, for another process of it.
struct Kept {
    folder: PathBuf,
    address: SocketAddr,
}

impl Kept {
    /// That of a server, which ends, with these texts replaced.
    fn of(server: Running, results: &Path, changes: &[(&str, &str)]) -> Self {
        let (own, folder) = (results.join("targets/haproxy"), results.join("kept"));
        let address = server.facts().https;
        std::fs::create_dir(&folder).unwrap();
        for file in ["haproxy.cfg", "server.pem", "openssl.cnf"] {
            let text = std::fs::read_to_string(own.join(file)).unwrap();
            let text = text.replace(own.to_str().unwrap(), folder.to_str().unwrap());
            let text = changes.iter().fold(text, |text, (from, to)| text.replace(from, to));
            std::fs::write(folder.join(file), text).unwrap();
        }
        assert_eq!(server.stop(), Stopped::InTime);
        Self { folder, address }
    }

    /// Returns when it listens.
    fn start(&self, arguments: &[&str]) -> Killed {
        let mut command = Command::new("haproxy");
        command.args(arguments).arg("-f").arg(self.folder.join("haproxy.cfg"));
        command.env("OPENSSL_CONF", self.folder.join("openssl.cnf"));
        let process = Killed::piped(&mut command);
        until("it listens", || TcpStream::connect(self.address).is_ok());
        process
    }
}

/// A load of handshakes that goes on until it is ended.
fn load(address: SocketAddr, connections: usize) -> Killed {
    let mut load = toll();
    load.arg("load").arg(format!("https://{address}/"));
    load.args(["--insecure", "--suite", "AES128-SHA", "--operation", "handshakes"]);
    load.args(["--connections", &connections.to_string(), "--duration", "60s", "--json"]);
    load.args(["--cpus", &last_cpu().to_string()]);
    Killed::piped(&mut load)
}

fn counts(folder: &Path) -> AcceleratorCounts {
    SendCounters::read(&folder.join("logs/haproxy/accelerator.counts"))
        .unwrap()
        .1
        .accelerator
        .unwrap_or_default()
}

#[test]
fn clients_of_haproxy_that_leave_during_a_pause_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = haproxy(folder.path(), Nanos(3_000_000_000));
    let open_files = || std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
    let idle = open_files();
    let clients = load(server.facts().https, 1_000);
    until("they wait", || counts(folder.path()).in_flight() >= 500);
    // A connection has the descriptor of its job too.
    assert!(open_files() >= idle + 1_000);
    drop(clients);
    until("nothing is in flight", || counts(folder.path()).in_flight() == 0);
    until("no connection", || open_files() < idle + 10);
    // It serves as before.
    let again = load(server.facts().https, 10);
    let completed = counts(folder.path()).completed;
    until("it serves", || counts(folder.path()).completed >= completed + 10);
    drop(again);
    server.check_alive().unwrap();
    assert_eq!(server.stop(), Stopped::InTime);
}

/// HAProxy frees a connection whose job is paused when it has waited for its client for too long.
#[test]
fn an_operation_whose_connection_is_freed_is_abandoned() {
    let folder = tempfile::tempdir().unwrap();
    let server = haproxy(folder.path(), Nanos(1_000_000_000));
    let impatient =
        Kept::of(server, folder.path(), &[("timeout client 1h", "timeout client 100ms")]);
    let process = impatient.start(&["-db"]);
    let clients = load(impatient.address, 50);
    until("some are given up", || counts(folder.path()).abandoned >= 50);
    drop(clients);
    until("nothing is in flight", || counts(folder.path()).in_flight() == 0);
    process.send("-TERM");
}

#[test]
fn haproxy_is_reloaded_under_load() {
    let folder = tempfile::tempdir().unwrap();
    let kept = Kept::of(haproxy(folder.path(), Nanos(50_000_000)), folder.path(), &[]);
    let mut master = kept.start(&["-W"]);
    until("a worker", || !children(master.pid()).is_empty());
    let first = children(master.pid());
    let load = load(kept.address, 64);
    let completed = counts(folder.path()).completed;
    until("handshakes", || counts(folder.path()).completed > completed + 100);
    master.send("-USR2");
    until("the first worker ends", || !first.iter().any(|&worker| is_running(worker)));
    let completed = counts(folder.path()).completed;
    until("handshakes by the next one", || counts(folder.path()).completed > completed + 100);
    drop(load);
    until("nothing is in flight", || counts(folder.path()).in_flight() == 0);
    let workers = children(master.pid());
    master.send("-TERM");
    master.exit_code();
    until("no worker", || !workers.iter().any(|&worker| is_running(worker)));
}

#[test]
fn ctrl_c_finishes_500_handshakes_that_wait_for_events() {
    let folder = tempfile::tempdir().unwrap();
    let counters = folder.path().join("counters");
    let model = ["--suites", "AES128-SHA", "--accelerator", "model"];
    let device = ["--accelerator-latency", "2s", "--accelerator-queue", "1000"];
    let events = ["--accelerator-completion", "event", "--counters", counters.to_str().unwrap()];
    let mut server = Serve::pinned(&[&model[..], &device, &events].concat());
    let open_files = || std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
    let idle = open_files();
    let clients = load(server.tls, 500);
    // Each has a socket and the descriptor of its job.
    until("500 are paused", || open_files() >= idle + 990);
    server.process.send("-INT");
    assert_eq!(server.process.exit_code(), Some(0));
    drop(clients);
    let counts = SendCounters::settled(&counters).unwrap().accelerator.unwrap();
    assert!(counts.completed >= 490 && counts.in_flight() == 0, "{counts:?}");
    assert_eq!((counts.timed_out, counts.abandoned), (0, 0), "{counts:?}");
}

#[test]
fn ctrl_c_of_a_run_ends_haproxy_with_500_paused_handshakes() {
    let device = "accelerator = \"model\"\naccelerator-latency = \"2s\"\naccelerator-queue = 1000";
    let desk = study("haproxy", device, &format!("{RSA}\ntimeout = \"20s\""));
    let text = std::fs::read_to_string(desk.study()).unwrap();
    let text = text.replace("connections = 64", "connections = 500");
    std::fs::write(desk.study(), text.replace("duration = \"1s\"", "duration = \"60s\"")).unwrap();
    let mut run = Killed::piped(&mut desk.run(&[]));
    let in_flight = || {
        let file = desk.results_if_any()?.join("logs/haproxy/accelerator.counts");
        Some(SendCounters::read(&file).ok()?.1.accelerator?.in_flight())
    };
    until("500 are paused", || in_flight() >= Some(450));
    run.send("-INT");
    assert_eq!(run.exit_code(), Some(130));
    let folder = desk.path().to_str().unwrap().to_owned();
    until("no process", || processes_with(&folder).is_empty());
}

/// HAProxy with a stand-in of the multi-buffer library that refuses everything, in batches that wait this long.
fn haproxy_in_batches(folder: &Path, wait: &str, changes: &[(&str, &str)]) -> Kept {
    CryptoMbStandIn { status: 0x4444_4444, ..CryptoMbStandIn::default() }.build(folder);
    let library = folder.join("libcrypto_mb.so.13");
    let settings = format!(
        "accelerator = multi-buffer\nbatch-wait = {wait}\ncrypto-mb = {}\noffload = asynchronous",
        library.display()
    );
    let model = haproxy(folder, Nanos(1_000_000));
    let changes = [&[("offload = asynchronous", settings.as_str())], changes].concat();
    Kept::of(model, folder, &changes)
}

#[test]
fn clients_that_leave_while_a_batch_waits_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let kept = haproxy_in_batches(folder.path(), "2s", &[]);
    let process = kept.start(&["-db"]);
    let open_files = || std::fs::read_dir(format!("/proc/{}/fd", process.pid())).unwrap().count();
    let idle = open_files();
    // Too few for a batch.
    let clients = load(kept.address, 5);
    until("they wait", || counts(folder.path()).in_flight() >= 5);
    drop(clients);
    until("nothing is in flight", || counts(folder.path()).in_flight() == 0);
    until("no connection", || open_files() < idle + 3);
    // It serves as before, and full batches do not wait.
    let faulty = || counts(folder.path()).batches.unwrap_or_default().faulty();
    let before = faulty();
    let again = load(kept.address, 64);
    until("it serves", || faulty() >= before + 1_000);
    drop(again);
    until("nothing is in flight", || counts(folder.path()).in_flight() == 0);
    process.send("-TERM");
}

#[test]
fn an_operation_in_a_batch_whose_connection_is_freed_is_abandoned_once() {
    let folder = tempfile::tempdir().unwrap();
    let impatient = [("timeout client 1h", "timeout client 100ms")];
    let kept = haproxy_in_batches(folder.path(), "1s", &impatient);
    let process = kept.start(&["-db"]);
    // Each ends with its first handshake, which fails.
    let clients: Vec<_> = (0..5).map(|_| load(kept.address, 1)).collect();
    until("some are given up", || counts(folder.path()).abandoned >= 5);
    drop(clients);
    let is_over = || {
        let counts = counts(folder.path());
        let over = counts.abandoned + counts.batches.unwrap_or_default().faulty();
        (counts.submitted == over).then_some(counts)
    };
    until("all are over", || is_over().is_some());
    let counts = is_over().unwrap();
    assert_eq!((counts.completed, counts.in_flight()), (0, 0), "{counts:?}");
    process.send("-TERM");
}

#[test]
fn haproxy_with_batches_is_reloaded_under_load_and_ended_while_some_wait() {
    let folder = tempfile::tempdir().unwrap();
    let kept = haproxy_in_batches(folder.path(), "2s", &[]);
    let mut master = kept.start(&["-W"]);
    until("a worker", || !children(master.pid()).is_empty());
    let first = children(master.pid());
    let clients = load(kept.address, 64);
    let faulty = || counts(folder.path()).batches.unwrap_or_default().faulty();
    until("handshakes", || faulty() > 100);
    master.send("-USR2");
    // The old one has up to seven that wait for company, until its clients go.
    let before = faulty();
    until("handshakes by the next one", || faulty() > before + 1_000);
    drop(clients);
    until("nothing is in flight", || counts(folder.path()).in_flight() == 0);
    let few: Vec<_> = (0..3).map(|_| load(kept.address, 1)).collect();
    until("some wait", || counts(folder.path()).in_flight() >= 3);
    let workers = children(master.pid());
    // At once, not when all is done.
    master.send("-TERM");
    master.exit_code();
    drop(few);
    let is_gone = |workers: &[u32]| !workers.iter().any(|&worker| is_running(worker));
    // What waited in a process that is killed is counted by nobody.
    until("no worker", || is_gone(&workers) && is_gone(&first));
    assert!(counts(folder.path()).in_flight() <= 3, "{:?}", counts(folder.path()));
}

#[test]
fn ctrl_c_ends_a_server_with_500_connections_in_batches() {
    let folder = tempfile::tempdir().unwrap();
    CryptoMbStandIn { milliseconds: 1, ..CryptoMbStandIn::default() }.build(folder.path());
    let counters = folder.path().join("counters");
    let mut server = toll();
    server.env("CRYPTO_MB", folder.path());
    let cpu = first_cpu().to_string();
    let options = ["--cpus", &cpu, "--suites", "AES128-SHA", "--accelerator", "multi-buffer"];
    let options = [&options[..], &["--counters", counters.to_str().unwrap()]].concat();
    let mut server = Serve::start_by(server, "127.0.0.1", &options);
    let clients = load(server.tls, 500);
    let counted = || SendCounters::read(&counters).unwrap().1.accelerator.unwrap_or_default();
    until("many wait", || counted().in_flight_max >= 100);
    server.process.send("-INT");
    assert_eq!(server.process.exit_code(), Some(0));
    drop(clients);
    let counts = SendCounters::settled(&counters).unwrap().accelerator.unwrap();
    assert_eq!(counts.in_flight(), 0, "{counts:?}");
}
