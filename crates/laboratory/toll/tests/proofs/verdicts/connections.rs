//! Connections that cannot be made: descriptors, ports, the accept queue.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use trial::Limit;

use super::bench::{interrupt, line, load, load_by, load_plain, open_files};
use crate::namespaces::Namespace;
use support::{Killed, Serve, closing, run, toll, toll_within, until};

#[test]
fn a_client_whose_limit_of_descriptors_is_lowered_says_so() {
    let server = Serve::pinned(&[]);
    let mut command = load_plain(&server, "bytes/1KiB");
    command.args(["-c", "64", "-d", "5min", "--warmup", "0s"]);
    let load = Killed::piped(command.args(["--operation", "one-request-per-connection"]));
    let pid = load.pid();
    until("64 connections are open", || open_files(pid) > 64);
    run(Command::new("prlimit").args(["--pid", &pid.to_string(), "--nofile=40:40"]));
    // Each connection is closed after its request, and no further one can be opened then.
    until("fewer are open", || open_files(pid) <= 40);
    let line = interrupt(load);
    assert_eq!(line.limit().unwrap(), Limit::Descriptors, "{:?}", line.verdict);
    assert!(line.evidence().unwrap().descriptors_lacking > 0, "{:?}", line.verdict);
    let first = &line.operations.first_errors["descriptors"];
    assert!(first.ends_with("(os error 24): ulimit -n"), "{first}");
    assert!(
        line.verdict.as_ref().unwrap().remedy().contains("ulimit -n"),
        "{}",
        line.verdict.as_ref().unwrap().remedy()
    );
}

#[test]
fn more_connections_than_a_table_of_descriptors_holds_are_spread_over_tables() {
    let server = Serve::pinned(&[]);
    let url = format!("http://{}/bytes/1KiB", server.plain);
    let mut command = load_by(toll_within(200), &server, &url);
    command.args(["-c", "1000", "--arrival", "paced 1s", "-d", "5min", "--warmup", "0s"]);
    let load = Killed::piped(&mut command);
    until("1,000 connections are open", || open_files(server.process.pid()) > 1_000);
    // The process' own table has none of them.
    assert!(open_files(load.pid()) < 200);
    let line = interrupt(load);
    assert_eq!(line.operations.errors.get("descriptors"), None, "{:?}", line.operations);
    assert_eq!(line.evidence().unwrap().descriptors_lacking, 0);
}

#[test]
fn a_load_with_no_room_for_its_connections_is_refused_with_what_it_takes() {
    let server = Serve::pinned(&[]);
    let url = format!("http://{}/bytes/1KiB", server.plain);
    let mut command = load_by(toll_within(100), &server, &url);
    let output = command.args(["-c", "5000", "-d", "1s"]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("--connections 5000 ") && error.contains("5064"), "{error}");
    assert!(error.contains("may have 100") && error.contains("ulimit -n 5064"), "{error}");
}

#[test]
fn a_server_without_descriptors_is_told_from_one_without_cpu() {
    let mut limited = Command::new("prlimit");
    limited.args(["--nofile=48:48", toll().get_program().to_str().unwrap()]);
    let server = Serve::pinned_by(limited, "127.0.0.1", &[]);
    // What it cannot accept waits in its queue, for longer than the window.
    let mut command = load_plain(&server, "bytes/1KiB");
    command.args(["-c", "64", "-d", "5min", "--warmup", "0s", "--timeout", "10min"]);
    let load = Killed::piped(&mut command);
    until("it has all its descriptors open", || open_files(server.process.pid()) >= 48);
    let line = interrupt(load);
    assert_eq!(line.limit().unwrap(), Limit::Descriptors, "{:?}", line.verdict);
    assert!(line.evidence().unwrap().server_descriptors >= Some(1.0), "{:?}", line.verdict);
    assert_eq!(line.evidence().unwrap().descriptors_lacking, 0);
    assert!(
        line.verdict.as_ref().unwrap().remedy().contains("prlimit --pid PID"),
        "{}",
        line.verdict.as_ref().unwrap().remedy()
    );
}

#[test]
fn what_a_server_without_descriptors_lets_time_out_is_an_error_that_names_them() {
    let mut limited = Command::new("prlimit");
    limited.args(["--nofile=48:48", toll().get_program().to_str().unwrap()]);
    let server = Serve::pinned_by(limited, "127.0.0.1", &[]);
    let mut command = load_plain(&server, "bytes/1KiB");
    command.args(["-c", "64", "--arrival", "paced 100ms", "-d", "4s", "--warmup", "0s"]);
    let line = line(command.args(["--timeout", "1s"]));
    assert_eq!(line.limit().unwrap(), Limit::Errors, "{:?}", line.verdict);
    let why = line.why_invalid().unwrap();
    assert!(why.contains("file descriptors"), "{why}");
    assert!(
        line.verdict.as_ref().unwrap().remedy().contains("prlimit --pid PID"),
        "{}",
        line.verdict.as_ref().unwrap().remedy()
    );
}

#[test]
fn ports_are_the_limit_where_another_program_has_most_of_a_narrow_range() {
    let Some(namespace) = Namespace::new() else { return };
    let server = Serve::pinned_by(namespace.toll(), "127.0.0.1", &[]);
    let range = "net.ipv4.ip_local_port_range=40000 40031";
    run(namespace.command("sysctl").args(["--quiet", "--write", range]));
    let url = format!("http://{}/bytes/1KiB", server.plain);
    let load = |arguments: &[&str]| {
        let mut command = load_by(namespace.toll(), &server, &url);
        command.args(arguments);
        command
    };
    let open_before = open_files(server.process.pid());
    // Of the eight that are left, what toll asks before a load has some in TIME-WAIT.
    let most = ["-c", "24", "--source", "127.0.0.1", "-d"];
    let _other = Killed::piped(load(&most).arg("5min"));
    until("24 are open", || open_files(server.process.pid()) >= open_before + 24);
    let narrow = line(load(&most).arg("1s"));
    assert_eq!(narrow.limit().unwrap(), Limit::Ports, "{:?}", narrow.verdict);
    assert!(narrow.evidence().unwrap().ports_lacking > 0, "{:?}", narrow.verdict);
    let remedy = narrow.verdict.as_ref().unwrap().remedy();
    assert!(remedy.contains("ip_local_port_range") && remedy.contains("--source"), "{remedy}");
    // The whole range is too narrow for these.
    let output = load(&["-c", "33", "--source", "127.0.0.1", "-d", "1s"]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("--connections 33 ") && error.contains("32"));
    assert!(error.contains("(--source)"), "{error}");
    // Loopback has other addresses.
    let wide = line(&mut load(&["-c", "64", "-d", "1s"]));
    assert_eq!(wide.evidence().unwrap().ports_lacking, 0, "{:?}", wide.verdict);
    assert_eq!(wide.operations.errors.get("ports"), None, "{:?}", wide.operations);
}

/// A server whose accept queue has room for one connection, and who takes one every 100 ms.
fn slow_to_accept() -> SocketAddr {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket.listen(1).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    closing(socket.into(), Duration::from_millis(100));
    address
}

#[test]
fn an_accept_queue_that_is_too_short_is_the_limit() {
    let mut command = toll();
    command.args(["load", &format!("http://{}/", slow_to_accept()), "--json", "-c", "64"]);
    command.args(["--operation", "one-request-per-connection", "-d", "4s", "--timeout", "60s"]);
    let line = line(&mut command);
    assert_eq!(line.limit().unwrap(), Limit::AcceptQueue, "{:?}", line.verdict);
    let evidence = line.evidence().unwrap();
    assert!(evidence.listen_overflows > Some(0), "{evidence:?}");
    assert!(evidence.listen_drops >= evidence.listen_overflows, "{evidence:?}");
    assert!(
        line.verdict.as_ref().unwrap().remedy().contains("net.core.somaxconn"),
        "{}",
        line.verdict.as_ref().unwrap().remedy()
    );
}

/// A listener that accepts nothing and drops what does not fit its queue, until the value is dropped.
struct Overflowing {
    _sockets: Vec<Socket>,
}

impl Overflowing {
    fn new() -> Self {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        let client = |_| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), None).unwrap();
            let _ = socket.connect(&address);
            socket
        };
        Self { _sockets: (0..100).map(client).chain([listener]).collect() }
    }
}

#[test]
fn what_another_programs_listener_drops_is_not_the_servers() {
    let server = Serve::pinned(&[]);
    // Its clients ask again and again, in the window too.
    let _other = Overflowing::new();
    let mut command = load_plain(&server, "bytes/1KiB");
    let line = line(command.args(["-c", "4", "-d", "1500ms", "--warmup", "0ms"]));
    let evidence = line.evidence().unwrap();
    assert!(evidence.listen_drops > Some(50), "the namespace had no drops: {evidence:?}");
    assert_eq!((evidence.accept_queue_drops, evidence.connects_repeated), (Some(0), Some(0)));
    assert_eq!(evidence.accept_queue_loss, Some(0.0));
    assert_ne!(line.limit().unwrap(), Limit::AcceptQueue);
}

#[test]
fn a_load_of_which_most_connections_are_not_up_yet_is_not_valid() {
    let server = Serve::pinned(&["--certificate-key", "rsa:4096"]);
    // The window waits for some seconds, in which a core makes no thousand of these handshakes a second.
    let mut command = load(&server, "bytes/1KiB");
    let line = line(command.args(["-c", "6000", "-d", "1s", "--warmup", "100ms"]));
    let obtained = &line.receipt.obtained;
    let (begin, end) = (obtained.connections_at_begin, obtained.connections_at_end);
    assert!(begin < Some(5700) && begin <= end, "{obtained:?}");
    assert_eq!(line.window_awaited_ns, Some(5_000_000_000));
    // On a busy machine nothing may have completed yet, which is reason enough.
    let is_named = line.receipt.mismatch.iter().any(|mismatch| mismatch.what == "connections up");
    assert!(!line.valid && (is_named || line.operations.completed == 0), "{line:?}");
    // For fewer it waits long enough. Another server: this one still has the first handshakes to do.
    drop(server);
    let server = Serve::pinned(&["--certificate-key", "rsa:4096"]);
    let mut command = load(&server, "bytes/1KiB");
    let line = self::line(command.args(["-c", "150", "-d", "500ms", "--warmup", "100ms"]));
    let obtained = &line.receipt.obtained;
    assert!(obtained.connections_at_begin >= Some(142), "{obtained:?}");
    assert!(line.valid && line.window_awaited_ns > Some(0), "{:?}", line.why_invalid());
    // They are all up after a while.
    let line = self::line(load(&server, "bytes/1KiB").args(["-c", "8", "-d", "300ms"]));
    let obtained = &line.receipt.obtained;
    assert_eq!((obtained.connections_at_begin, obtained.connections_at_end), (Some(8), Some(8)));
    assert!(line.valid, "{:?}", line.why_invalid());
}
