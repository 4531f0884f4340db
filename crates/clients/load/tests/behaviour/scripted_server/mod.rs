//! Servers that run a script, on a free port of 127.0.0.1, with a thread for each connection.

mod craft;
pub mod frames;
mod legacy;
pub mod quic;
pub mod relay;
mod running;
mod secure;
mod stacks;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

pub use craft::{ALERT, Craft, DATA, HANDSHAKE};
pub use legacy::{Gives, Legacy, asking_acceptor, legacy_acceptor, resuming_acceptor};
pub use secure::{
    Secure, asking_config, config, config_of, config_of_group, ecdsa, forged, long_chain, rsa,
};
pub use stacks::{Accept, on_each_stack, stacks};

/// The limit of a script's reads and writes, so that no script outlives its test for long.
const LIMIT: Duration = Duration::from_secs(10);

/// A server that runs a script on each connection.
pub struct Server {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl Server {
    /// An error of the script ends the connection, as the client's close does.
    pub fn start(script: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let script = Arc::new(script);
        let connections = Arc::new(AtomicUsize::new(0));
        let is_over = Arc::new(AtomicBool::new(false));
        let acceptor = std::thread::spawn({
            let (connections, is_over) = (connections.clone(), is_over.clone());
            move || {
                for stream in listener.incoming() {
                    if is_over.load(SeqCst) {
                        return;
                    }
                    let Ok(stream) = stream else { continue };
                    connections.fetch_add(1, SeqCst);
                    let script = script.clone();
                    std::thread::spawn(move || {
                        stream.set_read_timeout(Some(LIMIT))?;
                        stream.set_write_timeout(Some(LIMIT))?;
                        stream.set_nodelay(true)?;
                        script(stream)
                    });
                }
            }
        });
        Self { address, connections, is_over, acceptor: Some(acceptor) }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections were accepted.
    pub fn connections(&self) -> u64 {
        self.connections.load(SeqCst) as u64
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, SeqCst);
        // Wakes the acceptor.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

/// One side of a connection that receives requests and sends responses.
pub trait Session {
    /// Some of what the client sends next; 0 bytes where it has announced its close, or over plain HTTP
    /// closed.
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize>;

    /// The head of the next request, without its body.
    fn request(&mut self) -> io::Result<String> {
        self.request_with_body().map(|(head, _)| head)
    }

    /// The head of the next request, and as much of a body as it promises.
    fn request_with_body(&mut self) -> io::Result<(String, Vec<u8>)> {
        const END: &[u8] = b"\r\n\r\n";
        let mut bytes = Vec::new();
        let head = loop {
            if let Some(at) = bytes.windows(END.len()).position(|window| window == END) {
                break at + END.len();
            }
            self.read_on(&mut bytes)?;
        };
        let mut body = bytes.split_off(head);
        let head = String::from_utf8(bytes).map_err(io::Error::other)?;
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let length = length.map_or(0, |length| length.parse().unwrap());
        while body.len() < length {
            self.read_on(&mut body)?;
        }
        Ok((head, body))
    }

    /// Appends what comes next, of which there must be something.
    fn read_on(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let mut piece = [0; 16 << 10];
        match self.read(&mut piece)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                bytes.extend_from_slice(&piece[..count]);
                Ok(())
            }
        }
    }

    /// The records that carry `content`; over plain HTTP one piece.
    fn records(&mut self, content: &[u8]) -> io::Result<Vec<Vec<u8>>>;

    /// The bytes that announce the close.
    fn close_notify(&mut self) -> io::Result<Vec<u8>>;

    fn stream(&mut self) -> &mut TcpStream;

    fn send(&mut self, content: &[u8]) -> io::Result<()> {
        let records = self.records(content)?.concat();
        self.stream().write_all(&records)
    }

    /// Announces the close, closes, and waits until the client has closed too.
    fn finish(&mut self) -> io::Result<()> {
        let last = self.close_notify()?;
        self.stream().write_all(&last)?;
        finish(self.stream())
    }
}

/// Plain HTTP.
pub struct Plain(pub TcpStream);

impl Session for Plain {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        self.0.read(piece)
    }

    fn records(&mut self, content: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        Ok(vec![content.to_vec()])
    }

    fn close_notify(&mut self) -> io::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn stream(&mut self) -> &mut TcpStream {
        &mut self.0
    }
}

/// Ends this side, then reads until the client's end: a close with unread bytes would be a reset.
pub fn finish(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    silence(stream)
}

/// Sends nothing and reads until the client closes.
pub fn silence(stream: &mut TcpStream) -> io::Result<()> {
    io::copy(stream, &mut io::sink()).map(drop)
}

/// Resets the connection.
pub fn reset(stream: &TcpStream) -> io::Result<()> {
    socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO))
}

/// Reads one TLS record, such as a ClientHello.
pub fn read_record(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut record = vec![0; 5];
    stream.read_exact(&mut record)?;
    let length = u16::from_be_bytes([record[3], record[4]]);
    record.resize(5 + usize::from(length), 0);
    stream.read_exact(&mut record[5..])?;
    Ok(record)
}

/// Cuts bytes into their TLS records.
fn split(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    let mut rest = bytes;
    while let [_, _, _, high, low, ..] = rest {
        let (record, after) = rest.split_at(5 + usize::from(u16::from_be_bytes([*high, *low])));
        records.push(record.to_vec());
        rest = after;
    }
    records
}
