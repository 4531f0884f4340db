//! HTTP/3 of the server, with clients that keep its rules and clients that do not.

mod client;

use std::sync::Arc;
use std::time::Duration;

use http3::ErrorCode::*;
use quinn_proto::{ConnectionError, Dir};
use server::{CertificateSource, Server, ServerError, Settings};
use tls::{CertificateKey, MlDsa, Stack, Version};

use client::{Client, LIMIT, Serving, await_settled, data, head, headers, number, settings};

#[test]
fn objects_have_their_bytes_and_datagrams_the_size_that_a_client_takes() {
    for (gso, library) in [(true, Stack::RustlsRing), (false, Stack::RustlsAwsLc)] {
        let folder = tempfile::tempdir().unwrap();
        let counters = folder.path().join("counters");
        let server =
            Serving::new(Settings { gso, library, counters: Some(counters.clone()), ..settings() });
        for (takes, largest) in [(1_200, 1_200), (1_452, 1_452), (65_527, 1_452)] {
            let mut client = Client::begin(server.address, takes).established();
            let response = client.get("/bytes/3MiB");
            assert_eq!((response.status, response.body.len()), (200, 3 << 20));
            assert!(objects::matches(0, &response.body));
            assert_eq!(client.largest, largest);
        }
        let sent = await_settled(&counters, 3).write;
        let of_a_call = sent.bytes / sent.calls;
        assert!(if gso { of_a_call > 2 * 1_452 } else { of_a_call <= 1_452 }, "{sent:?}");
    }
}

/// RFC 8899, section 4.3: a tunnel of 1,400 bytes, which loses the rest in silence.
#[test]
fn datagrams_are_shorter_where_the_path_does_not_carry_them() {
    let server = Serving::new(settings());
    let mut client = Client::begin(server.address, 1_452);
    client.carried = 1_400 - 20 - 8;
    let mut client = client.established();
    let response = client.get("/bytes/256KiB");
    assert_eq!((response.status, response.body.len()), (200, 256 << 10));
    assert_eq!(client.largest, 1_200);
}

/// The port is one that nothing can be sent to, and the kernel's refusal is no reason to send otherwise from then on.
#[test]
fn a_forged_datagram_does_not_change_how_the_others_are_sent() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: raw sockets need root");
    }
    let folder = tempfile::tempdir().unwrap();
    let counters = folder.path().join("counters");
    let server = Serving::new(Settings { counters: Some(counters.clone()), ..settings() });
    let mut silent = Client::begin(server.address, 1_452);
    let initial = silent.datagram().unwrap();
    let mut datagram = vec![0; 2];
    datagram.extend_from_slice(&server.address.port().to_be_bytes());
    datagram.extend_from_slice(&(8 + initial.len() as u16).to_be_bytes());
    datagram.extend_from_slice(&[0, 0]);
    datagram.extend_from_slice(&initial);
    let (family, kind) = (rustix::net::AddressFamily::INET, rustix::net::SocketType::RAW);
    let raw = rustix::net::socket(family, kind, Some(rustix::net::ipproto::UDP)).unwrap();
    let flags = rustix::net::SendFlags::empty();
    rustix::net::sendto(&raw, &datagram, flags, &server.address).unwrap();
    drop(raw);
    let mut client = Client::connect(server.address);
    assert_eq!(client.get("/bytes/3MiB").status, 200);
    drop(client);
    let sent = await_settled(&counters, 1).write;
    assert!(sent.bytes / sent.calls > 2 * 1_452, "{sent:?}");
}

#[test]
fn responses_are_those_of_the_other_versions() {
    let folder = tempfile::tempdir().unwrap();
    let file: Vec<u8> = (0..200_000u32).map(|byte| byte as u8).collect();
    std::fs::write(folder.path().join("file"), &file).unwrap();
    let server = Serving::new(Settings { root: Some(folder.path().to_owned()), ..settings() });
    let mut client = Client::connect(server.address);
    let long = "x".repeat(9_000);
    let body = data(&vec![7; 100_000]);
    for (method, path, more, body, status, length, expected) in [
        ("GET", "/bytes/1KiB", &[][..], &[][..], 200, 1024, objects::slice(0)[..1024].to_vec()),
        ("GET", "/bytes/0B", &[], &[], 200, 0, Vec::new()),
        ("HEAD", "/bytes/1GiB", &[], &[], 200, 1 << 30, Vec::new()),
        ("GET", "/file", &[], &[], 200, file.len(), file.clone()),
        ("GET", "/nothing", &[], &[], 404, 13, b"404 Not Found".to_vec()),
        ("GET", "/file", &[("content-length", "100000")], &body, 200, file.len(), file.clone()),
        ("POST", "/file", &[], &body, 405, 22, b"405 Method Not Allowed".to_vec()),
        ("GET", "/%4", &[], &[], 400, 15, b"400 Bad Request".to_vec()),
        (
            "GET",
            "/file",
            &[("x", &long)],
            &[],
            431,
            35,
            b"431 Request Header Fields Too Large".to_vec(),
        ),
    ] {
        let request = [&head(method, path, more)[..], body].concat();
        let id = client.send(Dir::Bi, &request, true);
        let response = client.response(id).unwrap();
        assert_eq!((response.status, response.body == expected), (status, true), "{path}");
        let field = |name: &str| {
            response.fields.iter().find(|(known, _)| known == name).map(|(_, value)| &value[..])
        };
        assert_eq!(field("content-length"), Some(&length.to_string()[..]), "{path}");
        assert_eq!(field("allow"), (status == 405).then_some("GET, HEAD"));
        let kind = if status == 200 { "application/octet-stream" } else { "text/plain" };
        assert_eq!(field("content-type"), Some(kind));
    }
}

#[test]
fn a_file_that_shrinks_ends_its_stream() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![1; 64 << 20]).unwrap();
    let server = Serving::new(Settings { root: Some(folder.path().to_owned()), ..settings() });
    let mut client = Client::connect(server.address);
    // The client's window is smaller than the file, and it reads nothing for now.
    let id = client.send(Dir::Bi, &head("GET", "/file", &[]), true);
    client.until(|client| client.received > 500_000);
    std::fs::File::create(&path).unwrap();
    assert_eq!(client.response(id), Err(number(InternalError)));
    assert_eq!(client.get("/bytes/1KiB").status, 200);
}

#[test]
fn a_head_that_trickles_has_no_longer_than_another() {
    let timeout = Duration::from_millis(300);
    let server = Serving::new(Settings { timeout, ..settings() });
    let mut client = Client::connect(server.address);
    let request = head("GET", "/bytes/1KiB", &[("x", &"x".repeat(4_000))]);
    let id = client.send(Dir::Bi, &request[..10], false);
    // A byte with each look, every 5 ms, so that the connection is never idle.
    let mut sent = 10;
    client.until(|client| {
        sent += client.quic.send_stream(id).write(&request[sent..sent + 1]).unwrap_or(0);
        !client.stopped.is_empty() || sent + 1 == request.len()
    });
    assert_eq!(client.stopped, [(id, number(RequestRejected))]);
    assert_eq!(client.get("/bytes/1KiB").status, 200);
}

#[test]
fn many_streams_are_answered_side_by_side() {
    let server = Serving::new(settings());
    let mut client = Client::connect(server.address);
    let ask = |client: &mut Client, index| {
        client.send(Dir::Bi, &head("GET", &format!("/bytes/{index}KiB"), &[]), true)
    };
    let ids: Vec<_> = (0..32).map(|index| ask(&mut client, index)).collect();
    for (index, id) in ids.into_iter().enumerate() {
        let body = client.response(id).unwrap().body;
        assert!(body.len() == index << 10 && objects::matches(0, &body), "{index}");
    }
}

#[test]
fn a_client_that_uses_the_streams_it_has_is_allowed_more() {
    let server = Serving::new(settings());
    let mut client = Client::connect(server.address);
    let request = head("GET", "/bytes/1KiB", &[]);
    // Requests that do not end, so that all stay open.
    let mut open = Vec::new();
    client.until(|client| {
        while let Some(id) = client.quic.streams().open(Dir::Bi) {
            assert_eq!(client.quic.send_stream(id).write(&request), Ok(request.len()));
            open.push(id);
        }
        open.len() == 1_024
    });
    assert_eq!(client.quic.streams().open(Dir::Bi), None);
    for id in open {
        client.quic.send_stream(id).finish().unwrap();
        assert_eq!(client.response(id).unwrap().body.len(), 1_024);
    }
}

#[test]
fn a_breach_of_the_connections_rules_closes_it_with_its_code() {
    let server = Serving::new(settings());
    let request = head("GET", "/bytes/1KiB", &[]);
    let control = [0, 4, 0];
    let long = [1, 0x80, 1, 0, 1];
    for (streams, code) in [
        (vec![(Dir::Uni, &control[..]), (Dir::Uni, &control)], StreamCreationError),
        (vec![(Dir::Uni, &[1])], StreamCreationError),
        (vec![(Dir::Uni, &[0, 7, 1, 0])], MissingSettings),
        (vec![(Dir::Uni, &[0, 4, 2, 2, 0])], SettingsError),
        (vec![(Dir::Uni, &[2, 0x3f, 0x81, 0x1f])], QpackEncoderStreamError),
        (vec![(Dir::Bi, &[0, 1, 7])], FrameUnexpected),
        (vec![(Dir::Bi, &[4, 0])], FrameUnexpected),
        (vec![(Dir::Bi, &[2, 0])], FrameUnexpected),
        (vec![(Dir::Bi, &long)], ExcessiveLoad),
        (vec![(Dir::Bi, &[1, 3, 2, 0, 0x80])], QpackDecompressionFailed),
        (vec![(Dir::Bi, &request[..4])], FrameError),
    ] {
        let mut client = Client::connect(server.address);
        for (direction, bytes) in &streams {
            client.send(*direction, bytes, *direction == Dir::Bi);
        }
        assert_eq!(client.closed(), number(code), "{streams:?}");
    }
    let mut client = Client::connect(server.address);
    client.send(Dir::Uni, &control, true);
    assert_eq!(client.closed(), number(ClosedCriticalStream));
}

#[test]
fn a_malformed_request_ends_its_stream_alone() {
    let server = Serving::new(settings());
    let mut client = Client::connect(server.address);
    let get = |more: &[(&str, &str)]| head("GET", "/bytes/1KiB", more);
    for (request, code) in [
        (get(&[("Upper", "case")]), MessageError),
        (get(&[("connection", "close")]), MessageError),
        (get(&[(":method", "GET")]), MessageError),
        (headers(&[(":method", "GET"), (":scheme", "https"), (":path", "/")]), MessageError),
        (headers(&[("host", "a")]), MessageError),
        ([get(&[("content-length", "5")]), data(b"four")].concat(), MessageError),
        ([get(&[("content-length", "3")]), data(b"four")].concat(), MessageError),
        ([get(&[]), headers(&[(":method", "GET")])].concat(), MessageError),
        (Vec::new(), RequestIncomplete),
        (b"\x21\x02..".to_vec(), RequestIncomplete),
    ] {
        let id = client.send(Dir::Bi, &request, true);
        assert_eq!(client.response(id), Err(number(code)), "{}", request.escape_ascii());
    }
    let id = client.send(Dir::Bi, &get(&[]), false);
    client.quic.send_stream(id).reset(number(RequestCancelled).try_into().unwrap()).unwrap();
    assert_eq!(client.response(id), Err(number(RequestCancelled)));
    assert_eq!(client.get("/bytes/1KiB").body.len(), 1024);
}

#[test]
fn what_is_unknown_is_passed_over() {
    let server = Serving::new(settings());
    let mut client = Client::connect(server.address);
    let settings = [0, 4, 4, 0x21, 1, 6, 5];
    client.send(Dir::Uni, &settings, false);
    client.send(Dir::Uni, &[3], false);
    let unknown = client.send(Dir::Uni, b"\x21more", false);
    let grease = b"\x40\x40\x03...";
    let request =
        [grease, &head("GET", "/bytes/1KiB", &[])[..], grease, &data(b"body"), grease].concat();
    let id = client.send(Dir::Bi, &request, true);
    assert_eq!(client.response(id).unwrap().body.len(), 1024);
    client.until(|client| !client.stopped.is_empty());
    assert_eq!(client.stopped, [(unknown, number(StreamCreationError))]);
    // More of them than may be open at once: those that were stopped give way.
    for _ in 0..40 {
        client.until(|client| {
            client
                .quic
                .streams()
                .open(Dir::Uni)
                .is_some_and(|id| client.quic.send_stream(id).write(b"\x21").is_ok())
        });
    }
    assert_eq!(client.get("/bytes/1KiB").status, 200);
}

#[test]
fn datagrams_that_begin_no_connection_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let counters = folder.path().join("counters");
    let server = Serving::new(Settings { counters: Some(counters.clone()), ..settings() });
    let mut client = Client::begin(server.address, 1_452);
    let initial = client.datagram().unwrap();
    assert!(initial.len() >= 1_200);
    let junk: [&[u8]; 7] = [
        b"",
        b"G",
        b"GET / HTTP/1.1\r\n\r\n",
        &[0xff; 1_452],
        &[0x40; 1_200],
        // An Initial in a datagram that is too short for one, and the end of one.
        &initial[..1_199],
        &initial[600..],
    ];
    let silent = &client.socket;
    for datagram in junk {
        silent.send(datagram).unwrap();
    }
    // A version that does not exist is answered with those that do, and the short ones are not.
    let mut other = initial.clone();
    other[1..5].copy_from_slice(&[0x1a, 0x2a, 0x3a, 0x4a]);
    silent.send(&other[..1_199]).unwrap();
    silent.send(&other).unwrap();
    silent.set_read_timeout(Some(LIMIT)).unwrap();
    let mut space = [0; 2_000];
    let count = silent.recv(&mut space).unwrap();
    assert_eq!(space[1..5], [0; 4], "{:?}", &space[..count]);
    silent.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    // Those before it were taken, and no connection is open.
    assert!(counters::SendCounters::read(&counters).unwrap().0);
    let mut client = Client::connect(server.address);
    assert_eq!(client.get("/bytes/1KiB").status, 200);
    assert!(!counters::SendCounters::read(&counters).unwrap().0);
}

#[test]
fn connections_whose_client_has_gone_are_freed() {
    let folder = tempfile::tempdir().unwrap();
    let counters = folder.path().join("counters");
    let timeout = Duration::from_millis(300);
    let settings = Settings { counters: Some(counters.clone()), timeout, ..settings() };
    let server = Serving::new(settings);
    // A first datagram that nothing follows; its answer shows that there is a connection.
    let mut half = Client::begin(server.address, 1_452);
    let initial = half.datagram().unwrap();
    half.socket.send(&initial).unwrap();
    half.socket.set_read_timeout(Some(LIMIT)).unwrap();
    assert!(half.socket.recv(&mut [0; 2_000]).unwrap() > 0);
    await_settled(&counters, 0);
    // One that acknowledges nothing more of its response.
    let mut silent = Client::connect(server.address);
    silent.send(Dir::Bi, &head("GET", "/bytes/1GiB", &[]), true);
    silent.until(|client| client.received > 500_000);
    await_settled(&counters, 1);
    // One without a request is closed for being idle.
    let mut idle = Client::connect(server.address);
    idle.until(|client| client.lost.is_some());
    assert_eq!(idle.lost, Some(ConnectionError::TimedOut));
    await_settled(&counters, 2);
}

/// A chain of ML-DSA needs more than that: its client is to answer first.
#[test]
fn an_address_that_is_not_proven_gets_three_times_what_it_sent() {
    let server = Serving::new(Settings {
        library: Stack::RustlsAwsLc,
        certificate: CertificateSource::Fresh(CertificateKey::MlDsa(MlDsa::MlDsa87)),
        ..settings()
    });
    let mut silent = Client::begin(server.address, 1_452);
    let initial = silent.datagram().unwrap();
    silent.socket.send(&initial).unwrap();
    // The server resends after a second (RFC 9002, section 6.2.2), and may not.
    silent.socket.set_read_timeout(Some(Duration::from_millis(1_200))).unwrap();
    let (mut space, mut count) = ([0; 2_000], 0);
    while let Ok(more) = silent.socket.recv(&mut space) {
        count += more;
    }
    // The limit (RFC 9000, section 8.1), and the rest of the datagram that begins within it: quinn sends it whole.
    let limit = 3 * initial.len();
    assert!((limit - 1_452..limit + 1_452).contains(&count), "{count} for {}", initial.len());
    let mut client = Client::connect(server.address);
    assert!(client.received > 2_592 + 2 * 4_627, "a key and two signatures: {}", client.received);
    assert_eq!(client.get("/bytes/1KiB").status, 200);
}

/// The limit is the process's, and each test has a process of its own.
#[test]
fn there_are_as_many_connections_as_a_process_may_have_descriptors() {
    const MOST: u64 = 40;
    let limit = rustix::process::Rlimit { current: Some(MOST), maximum: Some(MOST) };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    let server = Serving::new(Settings { timeout: Duration::from_millis(300), ..settings() });
    let first = Client::begin(server.address, 1_452);
    let mut open = Vec::new();
    for _ in 0..MOST {
        let mut client = Client::begin_on(Arc::clone(&first.socket), 1_452);
        let initial = client.datagram().unwrap();
        client.socket.send(&initial).unwrap();
        open.push(client);
    }
    let mut refused = Client::begin(server.address, 1_452);
    refused.until(|client| client.lost.is_some());
    let Some(ConnectionError::ConnectionClosed(close)) = &refused.lost else {
        panic!("{:?}", refused.lost)
    };
    assert_eq!(close.error_code, quinn_proto::TransportErrorCode::CONNECTION_REFUSED);
    // They end because nothing follows, and others get their places.
    let begin = std::time::Instant::now();
    loop {
        let mut client = Client::begin(server.address, 1_452);
        client.until(|client| client.lost.is_some() || !client.quic.is_handshaking());
        if client.lost.is_none() {
            return assert_eq!(client.get("/bytes/1KiB").status, 200);
        }
        assert!(begin.elapsed() < LIMIT);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_server_that_stops_finishes_what_it_was_asked_for() {
    let mut server = Serving::new(settings());
    let mut idle = Client::connect(server.address);
    let mut client = Client::connect(server.address);
    let id = client.send(Dir::Bi, &head("GET", "/bytes/8MiB", &[]), true);
    client.until(|client| client.received > 500_000);
    server.stop();
    assert_eq!(idle.closed(), number(NoError));
    // One that comes later is refused, and one request more is rejected or comes too late.
    let mut late = Client::begin(server.address, 1_452);
    late.until(|client| client.lost.is_some());
    assert!(matches!(late.lost, Some(ConnectionError::ConnectionClosed(_))), "{:?}", late.lost);
    let more = client.send(Dir::Bi, &head("GET", "/bytes/1KiB", &[]), true);
    assert_eq!(client.response(more), Err(number(RequestRejected)));
    let body = client.response(id).unwrap().body;
    assert!(body.len() == 8 << 20 && objects::matches(0, &body));
    assert_eq!(client.closed(), number(NoError));
    server.wait();
}

#[test]
fn requests_and_connections_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let counters = folder.path().join("counters");
    let server = Serving::new(Settings { counters: Some(counters.clone()), ..settings() });
    let mut client = Client::connect(server.address);
    for _ in 0..3 {
        assert_eq!(client.get("/bytes/100KiB").status, 200);
    }
    client.quic.close(std::time::Instant::now(), 0u32.into(), Default::default());
    client.until(|client| client.quic.is_drained());
    let counted = await_settled(&counters, 1);
    assert_eq!(counted.tls_requests, 3);
    assert!(counted.write.bytes > 300 << 10, "{counted:?}");
}

#[test]
fn a_server_on_several_cpus_has_a_port_for_all_and_shares_it_with_nobody() {
    let cpus = cpus::CpuList::allowed().unwrap();
    let server = Serving::new(Settings { cpus, ..settings() });
    for _ in 0..8 {
        assert_eq!(Client::connect(server.address).get("/bytes/1KiB").status, 200);
    }
    let other = std::net::UdpSocket::bind(server.address).unwrap_err();
    assert_eq!(other.kind(), std::io::ErrorKind::AddrInUse);
    // TCP's port is free there, and UDP's is not.
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let refused = Server::bind(Settings { listen: vec![address], ..settings() });
    assert!(matches!(refused, Err(ServerError::Busy(busy)) if busy == address));
}

#[test]
fn quic_without_rustls_or_tls_1_3_is_refused() {
    let of = |change: fn(&mut Settings)| {
        let mut settings = settings();
        change(&mut settings);
        Server::bind(settings).map(drop).unwrap_err().to_string()
    };
    assert!(of(|settings| settings.library = Stack::OpenSsl).contains("--library rustls-ring"));
    assert!(of(|settings| settings.versions = vec![Version::Tls12]).contains("add 1.3 to --tls"));
    let suite = |settings: &mut Settings| {
        settings.suites = vec![tls::Suite::parse("ECDHE-ECDSA-AES128-GCM-SHA256").unwrap()];
    };
    assert!(of(suite).contains("add 1.3 to --tls"));
}
