//! A server that sends the head of a response and its body apart, with Nagle's algorithm on: each response
//! waits for the acknowledgement that the client's kernel delays (wrk 488).

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread::spawn;

use support::toll_output;
use trial::{TrialRecord, WarningKind};

/// `apart`: in two writes, not in one.
fn start_server(apart: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            spawn(move || {
                let mut piece = [0; 4096];
                // A request comes in one piece.
                while stream.read(&mut piece).is_ok_and(|count| count > 0) {
                    let writes: &[&[u8]] = match apart {
                        true => &[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", b"ok"],
                        false => &[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"],
                    };
                    if writes.iter().any(|bytes| stream.write_all(bytes).is_err()) {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn kinds(apart: bool) -> Vec<WarningKind> {
    let url = format!("http://{}/", start_server(apart));
    let load = ["load", &url, "-c", "2", "-d", "1s", "--warmup", "1s", "--json"];
    let line: TrialRecord = serde_json::from_slice(&toll_output(&load).stdout).unwrap();
    line.warnings.iter().map(|warning| warning.kind).collect()
}

#[test]
fn a_plateau_at_forty_milliseconds_is_named() {
    assert!(kinds(true).contains(&WarningKind::DelayedAcknowledgements));
    assert!(!kinds(false).contains(&WarningKind::DelayedAcknowledgements));
}
