//! Windows of HTTP/2 that a server opens slowly, or at once.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::sleep;
use std::time::Duration;

use support::{text, toll};
use tempfile::TempDir;
use trial::{Limit, TrialRecord};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const INITIAL_WINDOW: [u8; 2] = [0, 4];
const PREFACE: usize = 24;

fn send(
    stream: &mut TcpStream,
    kind: u8,
    flags: u8,
    id: [u8; 4],
    payload: &[u8],
) -> io::Result<()> {
    let length = (payload.len() as u32).to_be_bytes();
    stream.write_all(&[&length[1..], &[kind, flags], &id, payload].concat())
}

/// Answers 200 without a body after the last byte of each request. Each DATA frame opens the windows again, after
/// a pause.
fn serve(mut stream: TcpStream, window: u32, pause: Duration) -> io::Result<()> {
    stream.read_exact(&mut [0; PREFACE])?;
    let settings = [&INITIAL_WINDOW[..], &window.to_be_bytes()].concat();
    send(&mut stream, SETTINGS, 0, [0; 4], &settings)?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        let [_, b, c, kind, flags, id @ ..] = head;
        let length = u32::from_be_bytes([0, head[0], b, c]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload)?;
        if kind == SETTINGS && flags & ACK == 0 {
            send(&mut stream, SETTINGS, ACK, [0; 4], &[])?;
        }
        if kind == DATA && length > 0 {
            sleep(pause);
            send(&mut stream, WINDOW_UPDATE, 0, [0; 4], &length.to_be_bytes())?;
            if flags & END_STREAM == 0 {
                send(&mut stream, WINDOW_UPDATE, 0, id, &length.to_be_bytes())?;
            }
        }
        if (kind == DATA || kind == HEADERS) && flags & END_STREAM != 0 {
            // `:status: 200` of the static table (RFC 7541, appendix A).
            send(&mut stream, HEADERS, END_HEADERS | END_STREAM, id, &[0x88])?;
        }
    }
}

fn server(window: u32, pause: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream, window, pause));
        }
    });
    address
}

fn post(address: SocketAddr, folder: &TempDir) -> TrialRecord {
    let body = folder.path().join("body");
    std::fs::write(&body, [7; 10_000]).unwrap();
    let output = toll()
        .args(["load", &format!("http://{address}/"), "--json", "--http", "2", "-c", "2"])
        .args(["--method", "POST", "--warmup", "50ms", "-d", "500ms", "--body"])
        .arg(body)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

#[test]
fn windows_that_a_server_opens_slowly_are_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let line = post(server(1_000, Duration::from_millis(2)), &folder);
    assert_eq!(line.limit().unwrap(), Limit::FlowControl, "{:?}", line.verdict);
    assert!(line.valid && line.operations.completed > 0, "{:?}", line.operations);
    let (waiting, http2) =
        (line.evidence().unwrap().window_waiting, line.receipt.obtained.http2.unwrap());
    assert!(waiting > Some(0.8) && http2.held_up >= line.operations.completed, "{http2:?}");
}

/// It is as slow, but opens its windows before it pauses.
#[test]
fn a_slow_server_with_large_windows_is_limited_by_something_else() {
    let folder = tempfile::tempdir().unwrap();
    let line = post(server(1 << 20, Duration::from_millis(2)), &folder);
    assert_ne!(line.limit().unwrap(), Limit::FlowControl, "{:?}", line.verdict);
    let (waiting, http2) =
        (line.evidence().unwrap().window_waiting, line.receipt.obtained.http2.unwrap());
    assert!(waiting < Some(0.5) && line.operations.completed > 0, "{waiting:?} {http2:?}");
}
