//! Servers that misbehave below TLS.

use std::net::{Ipv4Addr, TcpListener};

use load::{ErrorKind, ProbeError};
use socket2::{Domain, Socket, Type};
use units::Nanos;

use crate::scripted_server::{
    Plain, Secure, Server, Session, config, finish, read_record, reset, silence,
};
use crate::{
    MILLISECOND, OBJECT, OBJECT_PATH, assert_fails, http, https, kinds, lasts, run, summary,
};

/// Shorter than any test's limit, longer than an honest answer takes.
const STALL: Nanos = Nanos(100 * MILLISECOND);

#[test]
fn a_port_without_a_server_refuses() {
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    assert_fails(https(address, "/"), ErrorKind::Refused);
    assert_fails(http(address, "/"), ErrorKind::Refused);
    let error = crate::probe(&https(address, "/")).unwrap_err();
    assert!(matches!(error, ProbeError::Failed { kind: ErrorKind::Refused, .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains(&address.to_string()) && !message.contains('\n'), "{message}");
}

#[test]
fn an_address_without_a_way_to_it_is_unreachable() {
    // The broadcast address of 127.0.0.0/8, to which the kernel makes no connection.
    let address = (Ipv4Addr::new(127, 255, 255, 255), 9).into();
    assert_fails(https(address, "/"), ErrorKind::Unreachable);
    assert_fails(http(address, "/"), ErrorKind::Unreachable);
    let error = crate::probe(&http(address, "/")).unwrap_err().to_string();
    assert!(error.contains("unreachable: "), "{error}");
}

#[test]
fn a_full_backlog_times_out() {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    listener.bind(&std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let fill: Vec<Socket> = (0..4)
        .map(|_| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), None).unwrap();
            let _ = socket.connect(&address);
            socket
        })
        .collect();
    let mut job = https(address.as_socket().unwrap(), "/");
    job.plan.timeout = STALL;
    assert_fails(job, ErrorKind::ConnectTimeout);
    drop(fill);
}

#[test]
fn accepting_and_saying_nothing_stalls() {
    let server = Server::start(|mut stream| silence(&mut stream));
    for mut job in [https(server.address(), "/"), http(server.address(), "/")] {
        job.plan.timeout = STALL;
        assert!(crate::probe(&job).is_err());
        assert_fails(job, ErrorKind::Stall);
    }
}

#[test]
fn resets() {
    let server = Server::start(|stream| reset(&stream));
    assert_fails(https(server.address(), "/"), ErrorKind::Reset);
    assert_fails(http(server.address(), "/"), ErrorKind::Reset);

    let server = Server::start(|mut stream| read_record(&mut stream).and_then(|_| reset(&stream)));
    assert_fails(https(server.address(), "/"), ErrorKind::Reset);
}

#[test]
fn resets_within_a_response() {
    let server = Server::start(|stream| {
        let mut http = Plain(stream);
        http.request()?;
        http.send(b"HTTP/1.1 200 OK\r\nContent-Length: 262144\r\n\r\nsome")?;
        reset(&http.0)
    });
    assert_fails(http(server.address(), "/"), ErrorKind::Reset);

    let server = Server::start({
        let config = config();
        move |stream| {
            let mut https = Secure::accept(stream, &config)?;
            https.request()?;
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {OBJECT}\r\n\r\n");
            let records = [head.as_bytes(), objects::slice(0)].concat();
            let bytes = https.records(&records[..100_000])?.concat();
            std::io::Write::write_all(https.stream(), &bytes[..90_000])?;
            reset(https.stream())
        }
    });
    assert_fails(https(server.address(), OBJECT_PATH), ErrorKind::Reset);
}

#[test]
fn closing_before_an_answer() {
    // With the request unread the kernel may turn a close into a reset.
    let server = Server::start(|_| Ok(()));
    for job in [https(server.address(), "/"), http(server.address(), "/")] {
        let outcome = run(job);
        let is_either =
            |(kind, _): &(ErrorKind, u64)| matches!(kind, ErrorKind::EarlyClose | ErrorKind::Reset);
        assert!(
            outcome.completed == 0 && kinds(&outcome).iter().all(is_either),
            "{}",
            summary(&outcome)
        );
    }

    let server = Server::start(|mut stream| {
        read_record(&mut stream)?;
        finish(&mut stream)
    });
    assert_fails(https(server.address(), "/"), ErrorKind::EarlyClose);
}

#[test]
fn a_window_of_time_ends_whatever_the_server_does() {
    let server = Server::start(|mut stream| silence(&mut stream));
    let mut job = https(server.address(), "/");
    job.plan.connections = 20;
    lasts(&mut job, Nanos(20 * MILLISECOND), Nanos(200 * MILLISECOND));
    let outcome = run(job);
    assert_eq!((outcome.completed, outcome.failures.total(), outcome.in_flight), (0, 0, 20));
}
