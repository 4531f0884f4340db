//! Clients and servers that go while the device works.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use offload::{Counts, CountsFile, Kind};
use support::{Killed, children, first_cpu, is_running, last_cpu, machine, toll, toll_path, until};
use targets::{Objects, Running, Settings, Stopped, Target};
use tls::{Suite, Version};
use units::{Bytes, Nanos};

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
    targets::start(target.server, &settings, &objects, folder).unwrap()
}

/// A load of handshakes that goes on until it is ended.
fn load(address: std::net::SocketAddr, connections: usize) -> Killed {
    let mut load = toll();
    load.arg("load").arg(format!("https://{address}/"));
    load.args(["--insecure", "--suite", "AES128-SHA", "--operation", "handshakes"]);
    load.args(["--connections", &connections.to_string(), "--duration", "60s", "--json"]);
    load.args(["--cpus", &last_cpu().to_string()]);
    Killed::piped(&mut load)
}

fn counts(folder: &Path) -> Counts {
    CountsFile::read(&folder.join("logs/haproxy/accelerator.counts")).unwrap()
}

#[test]
fn clients_of_haproxy_that_leave_during_a_pause_leave_no_operation() {
    let _machine = machine();
    let folder = tempfile::tempdir().unwrap();
    let mut server = haproxy(folder.path(), Nanos(2_000_000_000));
    // A connection and the descriptor of its job, of all that HAProxy may have.
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    let clients = most.map_or(10_000, |most| (most as usize / 2 - 500).min(10_000));
    let before = counts(folder.path());
    let clients_load = load(server.https(), clients);
    until("all clients wait", || counts(folder.path()).in_flight() as usize >= clients * 9 / 10);
    drop(clients_load);
    until("nothing is in flight", || counts(folder.path()).in_flight() == 0);
    let gone = counts(folder.path()).since(&before);
    assert!(gone.abandoned as usize >= clients / 2, "{gone:?}");
    // It serves as before.
    let again = load(server.https(), 10);
    let completed = counts(folder.path()).completed;
    until("it serves", || counts(folder.path()).completed >= completed + 10);
    drop(again);
    server.check_alive().unwrap();
    assert_eq!(server.stop(), Stopped::InTime);
}

#[test]
fn haproxy_is_reloaded_under_load() {
    let _machine = machine();
    let folder = tempfile::tempdir().unwrap();
    let mut server = haproxy(folder.path(), Nanos(50_000_000));
    server.check_alive().unwrap();
    let address = server.https();
    // The same configuration with a master, in place of the one without.
    let (own, kept) = (folder.path().join("targets/haproxy"), folder.path().join("kept"));
    std::fs::create_dir(&kept).unwrap();
    for file in ["haproxy.cfg", "server.pem", "openssl.cnf"] {
        let text = std::fs::read_to_string(own.join(file)).unwrap();
        let text = text.replace(own.to_str().unwrap(), kept.to_str().unwrap());
        std::fs::write(kept.join(file), text).unwrap();
    }
    assert_eq!(server.stop(), Stopped::InTime);
    let mut master = Command::new("haproxy");
    master.arg("-W").arg("-f").arg(kept.join("haproxy.cfg"));
    let mut master = Killed::piped(master.env("OPENSSL_CONF", kept.join("openssl.cnf")));
    until("a worker", || !children(master.pid()).is_empty());
    let first = children(master.pid());
    until("it listens", || std::net::TcpStream::connect(address).is_ok());
    let load = load(address, 64);
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
