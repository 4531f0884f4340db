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
fn ctrl_c_of_a_run_ends_haproxy_with_500_handshakes_under_way() {
    let folder = tempfile::tempdir().unwrap();
    CryptoMbStandIn { nap: 20, ..REFUSING }.build(folder.path());
    let model = "accelerator = \"model\"\naccelerator-latency = \"2s\"\naccelerator-queue = 1000";
    // The others wait for their turn in HAProxy.
    for (device, least) in [(model, 450), ("accelerator = \"multi-buffer\"", 1)] {
        let desk = study("haproxy", device, &format!("{RSA}\ntimeout = \"20s\""));
        let text = std::fs::read_to_string(desk.study()).unwrap();
        let text = text.replace("connections = 64", "connections = 500");
        let text = text.replace("duration = \"500ms\"", "duration = \"60s\"");
        std::fs::write(desk.study(), text).unwrap();
        let mut run = Killed::piped(desk.run(&[]).env("CRYPTO_MB", folder.path()));
        let counted = || {
            let file = desk.results_if_any()?.join("logs/haproxy/accelerator.counts");
            SendCounters::read(&file).ok()?.1.accelerator
        };
        until("they wait", || counted().is_some_and(|counts| counts.in_flight() >= least));
        run.send("-INT");
        assert_eq!(run.exit_code(), Some(130));
        let folder = desk.path().to_str().unwrap().to_owned();
        until("no process", || processes_with(&folder).is_empty());
        assert_eq!(counted().map(|counts| counts.in_flight()), Some(0));
    }
}

/// A library that refuses everything.
const REFUSING: CryptoMbStandIn = CryptoMbStandIn {
    is_applicable: true,
    status: 0x4444_4444,
    wrong_lane: None,
    lacks_a_function: false,
    milliseconds: 0,
    nap: 0,
    vanishes: false,
};

/// HAProxy with a stand-in of the multi-buffer library that refuses everything, after this many milliseconds.
fn haproxy_in_batches(folder: &Path, nap: u64) -> Kept {
    CryptoMbStandIn { nap, ..REFUSING }.build(folder);
    let library = folder.join("libcrypto_mb.so.13");
    let settings = format!(
        "accelerator = multi-buffer\ncrypto-mb = {}\noffload = asynchronous",
        library.display()
    );
    let model = haproxy(folder, Nanos(1_000_000));
    Kept::of(model, folder, &[("offload = asynchronous", settings.as_str())])
}

fn faulty(folder: &Path) -> u64 {
    counts(folder).batches.unwrap_or_default().faulty()
}

#[test]
fn clients_that_leave_while_a_batch_waits_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let kept = haproxy_in_batches(folder.path(), 100);
    let process = kept.start(&["-db"]);
    let open_files = || std::fs::read_dir(format!("/proc/{}/fd", process.pid())).unwrap().count();
    let idle = open_files();
    let clients = load(kept.address, 64);
    until("they wait", || counts(folder.path()).in_flight() >= 5);
    drop(clients);
    until("nothing is in flight", || counts(folder.path()).in_flight() == 0);
    until("no connection", || open_files() < idle + 3);
    // It serves as before.
    let before = faulty(folder.path());
    let again = load(kept.address, 64);
    until("it serves", || faulty(folder.path()) >= before + 100);
    drop(again);
    until("nothing is in flight", || counts(folder.path()).in_flight() == 0);
    process.send("-TERM");
}

#[test]
fn haproxy_with_batches_is_reloaded_while_500_wait() {
    let folder = tempfile::tempdir().unwrap();
    let kept = haproxy_in_batches(folder.path(), 10);
    let mut master = kept.start(&["-W"]);
    until("a worker", || !children(master.pid()).is_empty());
    let first = children(master.pid());
    let clients = load(kept.address, 500);
    until("handshakes", || faulty(folder.path()) > 100);
    master.send("-USR2");
    let before = faulty(folder.path());
    until("handshakes by the next one", || faulty(folder.path()) > before + 1_000);
    drop(clients);
    until("nothing is in flight", || counts(folder.path()).in_flight() == 0);
    let workers = children(master.pid());
    master.send("-TERM");
    master.exit_code();
    let is_gone = |workers: &[u32]| !workers.iter().any(|&worker| is_running(worker));
    until("no worker", || is_gone(&workers) && is_gone(&first));
    assert_eq!(counts(folder.path()).in_flight(), 0);
}

/// Kills a process while operations of it are under way, which are then abandoned.
fn kill_with_some_in_flight(pid: u32, counts: impl Fn() -> AcceleratorCounts) {
    let send = |signal: &str| {
        let sent = Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
        assert!(sent.success());
    };
    until("some are under way", || {
        send("-STOP");
        let is_so = counts().in_flight() > 0;
        if !is_so {
            send("-CONT");
        }
        is_so
    });
    let before = counts();
    send("-KILL");
    until("it is gone", || counts().in_flight() == 0);
    let now = counts();
    assert_eq!(now.abandoned, before.abandoned + before.in_flight(), "{before:?} {now:?}");
    assert_eq!(now.submitted, before.submitted, "{before:?} {now:?}");
}

#[test]
fn what_a_killed_worker_of_haproxy_had_under_way_is_abandoned() {
    let folder = tempfile::tempdir().unwrap();
    let kept = haproxy_in_batches(folder.path(), 10);
    let master = kept.start(&["-W"]);
    until("a worker", || !children(master.pid()).is_empty());
    let clients = load(kept.address, 500);
    until("handshakes", || faulty(folder.path()) > 100);
    kill_with_some_in_flight(children(master.pid())[0], || counts(folder.path()));
    drop(clients);
    // The next one counts on in the same file.
    drop(master);
    let abandoned = counts(folder.path()).abandoned;
    let next = kept.start(&["-db"]);
    let before = faulty(folder.path());
    let clients = load(kept.address, 8);
    until("handshakes", || faulty(folder.path()) > before + 20);
    drop(clients);
    until("nothing is in flight", || counts(folder.path()).in_flight() == 0);
    assert_eq!(counts(folder.path()).abandoned, abandoned);
    next.send("-TERM");
}

#[test]
fn a_server_with_500_connections_in_batches_is_ended_and_killed() {
    for is_killed in [false, true] {
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
        if is_killed {
            kill_with_some_in_flight(server.process.pid(), counted);
        } else {
            server.process.send("-INT");
            assert_eq!(server.process.exit_code(), Some(0));
        }
        drop(clients);
        let counts = SendCounters::settled(&counters).unwrap().accelerator.unwrap();
        assert_eq!(counts.in_flight(), 0, "{counts:?}");
        let batches = counts.batches.unwrap();
        let milliseconds: u64 = batches.by_size.iter().sum();
        assert!(batches.computing_ns >= 1_000_000 * milliseconds, "{counts:?}");
        assert!(batches.waited_ns > 0 && batches.pause_ns == 0, "{counts:?}");
    }
}
