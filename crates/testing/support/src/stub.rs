//! A server in this process that answers what a test wants.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::sleep;
use std::time::Duration;

/// Answers requests without bodies over plain HTTP, until the process ends. `answer` gives the bytes
/// for the request of that number, from 0, over all connections.
pub fn answering(answer: impl Fn(usize) -> Vec<u8> + Send + Sync + 'static) -> SocketAddr {
    answering_to(move |number, _| answer(number))
}

/// The same, of answers that depend on the client's address too.
pub fn answering_to(
    answer: impl Fn(usize, SocketAddr) -> Vec<u8> + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new((AtomicUsize::new(0), answer));
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || serve(connection, &answer.0, &answer.1));
        }
    });
    address
}

/// Answers a request of each connection that this takes, one after the other, and closes it; rests for so long before the
/// next one. It ends with the process.
pub fn closing(listener: TcpListener, rest: Duration) {
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut requests = BufReader::new(connection.try_clone().unwrap()).lines();
            if requests.by_ref().map_while(Result::ok).any(|line| line.is_empty()) {
                let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx";
                let _ = connection.write_all(head.as_bytes());
            }
            drop((requests, connection));
            sleep(rest);
        }
    });
}

/// Ends when the client goes away.
fn serve(
    mut connection: TcpStream,
    count: &AtomicUsize,
    answer: &impl Fn(usize, SocketAddr) -> Vec<u8>,
) -> std::io::Result<()> {
    let client = connection.peer_addr()?;
    let mut lines = BufReader::new(connection.try_clone()?).lines();
    while let Some(line) = lines.next().transpose()? {
        if line.is_empty() {
            connection.write_all(&answer(count.fetch_add(1, Relaxed), client))?;
        }
    }
    Ok(())
}
