//! A plain HTTP server that serves one request at a time, each in a known time.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use support::first_cpu;

/// How long each request takes at least.
pub(crate) const SERVICE: Duration = Duration::from_micros(300);

/// How a request is answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Ok,
    /// With status 500.
    Failed,
    Never,
}

/// One thread on the first CPU serves all connections in turn. It ends with the test.
pub(crate) struct Stub {
    pub(crate) address: SocketAddr,
    failed: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stub {
    /// `answer` is given the number of the request's connection, from 0. The first connection is
    /// that of the load's probe.
    pub(crate) fn start(answer: impl FnMut(usize) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (failed, is_over) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let (counter, end) = (failed.clone(), is_over.clone());
        let cpu = first_cpu();
        let thread = std::thread::spawn(move || {
            cpus::pin_current_thread(&cpu).unwrap();
            serve(&listener, answer, &counter, &end);
        });
        Self { address, failed, is_over, thread: Some(thread) }
    }

    /// How many requests were answered with status 500.
    pub(crate) fn failed(&self) -> u64 {
        self.failed.load(SeqCst)
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.is_over.store(true, SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(
    listener: &TcpListener,
    mut answer: impl FnMut(usize) -> Answer,
    failed: &AtomicU64,
    is_over: &AtomicBool,
) {
    listener.set_nonblocking(true).unwrap();
    let mut accepted = 0;
    let mut connections: Vec<(usize, TcpStream)> = Vec::new();
    while !is_over.load(SeqCst) {
        while let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(true).unwrap();
            stream.set_nodelay(true).unwrap();
            connections.push((accepted, stream));
            accepted += 1;
        }
        let mut has_served = false;
        connections.retain_mut(|(number, stream)| {
            // A request comes in one piece.
            match stream.read(&mut [0; 4096]) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
            has_served = true;
            sleep(SERVICE);
            let text = match answer(*number) {
                Answer::Ok => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                Answer::Failed => {
                    failed.fetch_add(1, SeqCst);
                    "HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\nno"
                }
                Answer::Never => return true,
            };
            stream.write_all(text.as_bytes()).is_ok()
        });
        if !has_served {
            sleep(Duration::from_micros(50));
        }
    }
}
