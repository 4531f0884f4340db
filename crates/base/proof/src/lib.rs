//! Proof before load: an address is loaded only where the machine at it answers a number that its agent
//! was given over the shell.
//!
//! The agent answers it at each address and port of a server before that starts. Where another machine
//! has the address, or nobody, the client finds out with one connection that it sends nothing over, and
//! makes no other. Where a server is to be loaded over UDP too, the agent says so there, and the number is asked for by
//! datagrams as well: a port of UDP may be passed on to another machine than that of TCP.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

/// How long the connection and the whole answer may take.
const LIMIT: Duration = Duration::from_secs(5);

/// How often a thread that answers looks whether it is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// After how long a datagram that may be lost is sent again.
const SEND_AGAIN: Duration = Duration::from_millis(200);

/// What follows the number over TCP where datagrams answer it too.
const DATAGRAMS: &str = " datagrams";

/// A number that nobody can guess, in hexadecimal digits.
///
/// # Errors
/// The system has no random numbers.
pub fn nonce() -> io::Result<String> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Reads the number at an address; the client's own address there. `bind` makes the socket one of the
/// load's, which may take another way than others do.
///
/// # Errors
/// Nobody answers within 5 s, or with another number; in one line.
pub fn check(
    address: SocketAddr,
    nonce: &str,
    bind: impl Fn(&Socket) -> io::Result<()>,
) -> Result<IpAddr, String> {
    read(address, nonce, bind, LIMIT).map_err(|why| {
        format!(
            "{address} is not proven to be the host's: {why}; nothing was loaded. Write addresses of \
             the host that are reached from here in target.listen"
        )
    })
}

fn read(
    address: SocketAddr,
    nonce: &str,
    bind: impl Fn(&Socket) -> io::Result<()>,
    limit: Duration,
) -> Result<IpAddr, String> {
    let deadline = Instant::now() + limit;
    let connect = || {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        bind(&socket)?;
        socket.connect_timeout(&address.into(), limit)?;
        io::Result::Ok(socket.into())
    };
    let mut stream: TcpStream = connect().map_err(|error| format!("no connection ({error})"))?;
    let mut read = vec![0; nonce.len() + DATAGRAMS.len() + 1];
    let mut length = 0;
    while length < read.len() && !read[..length].ends_with(b"\n") {
        match read_some(&mut stream, &mut read[length..], deadline) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) => return Err(format!("it does not answer ({error})")),
        }
    }
    let answer = &read[..length];
    if *answer == *format!("{nonce}{DATAGRAMS}\n").as_bytes() {
        ask_by_datagrams(address, nonce, bind, deadline)?;
    } else if *answer != *format!("{nonce}\n").as_bytes() {
        return Err(OTHER.to_owned());
    }
    stream.local_addr().map(|own| own.ip()).map_err(|error| error.to_string())
}

const OTHER: &str = "another machine or program answers there";

/// Asks for the number over UDP until it comes.
fn ask_by_datagrams(
    address: SocketAddr,
    nonce: &str,
    bind: impl Fn(&Socket) -> io::Result<()>,
    deadline: Instant,
) -> Result<(), String> {
    let silent = |error: io::Error| format!("it does not answer over UDP ({error})");
    let connect = || {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
        bind(&socket)?;
        socket.connect(&address.into())?;
        socket.set_read_timeout(Some(SEND_AGAIN))?;
        io::Result::Ok(UdpSocket::from(socket))
    };
    let socket = connect().map_err(silent)?;
    let mut answer = vec![0; nonce.len() + 1];
    loop {
        match socket.send(&[0]).and_then(|_| socket.recv(&mut answer)) {
            Ok(length) if answer[..length] == *nonce.as_bytes() => return Ok(()),
            Ok(_) => return Err(OTHER.to_owned()),
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < deadline => {}
            Err(error) => return Err(silent(error)),
        }
    }
}

/// Reads what comes next until the deadline.
fn read_some(stream: &mut TcpStream, bytes: &mut [u8], deadline: Instant) -> io::Result<usize> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    stream.set_read_timeout(Some(left))?;
    stream.read(bytes)
}

/// Threads that answer the number, until this is dropped.
#[derive(Debug)]
pub struct Prover {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Prover {
    /// Answers at ports that this process has reserved, over UDP too where a server will be loaded by `datagrams`.
    ///
    /// # Errors
    /// The system refuses to listen there.
    pub fn start(addresses: &[SocketAddr], nonce: &str, datagrams: bool) -> io::Result<Self> {
        let mut this = Self { is_over: Arc::default(), threads: Vec::new() };
        let line = format!("{nonce}{}\n", if datagrams { DATAGRAMS } else { "" });
        for address in addresses {
            let (listener, line) =
                (TcpListener::from(bound(*address, Type::STREAM)?), line.clone());
            this.answer(move || listener.accept().map(|(stream, _)| answer(stream, &line)))?;
            if datagrams {
                let socket = UdpSocket::from(bound(*address, Type::DGRAM)?);
                let nonce = nonce.to_owned();
                this.answer(move || {
                    let (_, from) = socket.recv_from(&mut [0])?;
                    socket.send_to(nonce.as_bytes(), from).map(drop)
                })?;
            }
        }
        Ok(this)
    }

    /// Has a thread answer one after another; what fails is asked again.
    fn answer(&mut self, one: impl Fn() -> io::Result<()> + Send + 'static) -> io::Result<()> {
        let is_over = Arc::clone(&self.is_over);
        let answers = move || {
            while !is_over.load(Relaxed) {
                if one().is_err() {
                    std::thread::sleep(POLL_INTERVAL);
                }
            }
        };
        let thread = std::thread::Builder::new().name("proof".into());
        self.threads.push(thread.spawn(answers)?);
        Ok(())
    }
}

impl Drop for Prover {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            // One that panicked answers no more.
            let _ = thread.join();
        }
    }
}

/// The reservation has SO_REUSEPORT too, and does not listen.
fn bound(address: SocketAddr, kind: Type) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), kind, None)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    if kind == Type::STREAM {
        socket.listen(16)?;
    }
    Ok(socket)
}

/// Waits for the client to close, so that no connection of this port lingers where the server is to
/// listen.
fn answer(mut stream: TcpStream, line: &str) {
    let written = stream
        .set_read_timeout(Some(Duration::from_millis(200)))
        .and_then(|()| stream.write_all(line.as_bytes()));
    // A client that is gone asks again, or not at all.
    let _ = written.and_then(|()| stream.read(&mut [0]));
}

#[cfg(test)]
mod tests {
    use super::*;
    use targets::Ports;

    fn check(address: SocketAddr, nonce: &str) -> Result<IpAddr, String> {
        super::check(address, nonce, |_| Ok(()))
    }

    fn loopback() -> Ports {
        Ports::reserve(&["127.0.0.1".parse().unwrap(), "127.0.0.2".parse().unwrap()]).unwrap()
    }

    #[test]
    fn the_number_is_read_at_each_address_until_the_server_starts() {
        let (ports, nonce) = (loopback(), nonce().unwrap());
        let addresses = [ports.https(), ports.http()].concat();
        let prover = Prover::start(&addresses, &nonce, false).unwrap();
        for address in &addresses {
            assert_eq!(check(*address, &nonce).unwrap().to_string(), "127.0.0.1");
        }
        drop(prover);
        let error = check(addresses[0], &nonce).unwrap_err();
        assert!(error.contains("no connection"), "{error}");
    }

    #[test]
    fn the_number_is_read_by_a_connection_like_those_of_the_load() {
        let (ports, nonce) = (loopback(), nonce().unwrap());
        let address = ports.https()[0];
        let _prover = Prover::start(&[address], &nonce, false).unwrap();
        let from = |text: &str| SocketAddr::new(text.parse().unwrap(), 0);
        let checked = |source| super::check(address, &nonce, |socket| socket.bind(&source));
        assert_eq!(checked(from("127.0.0.9").into()).unwrap().to_string(), "127.0.0.9");
        let why = checked(from("192.0.2.1").into()).unwrap_err();
        assert!(why.contains("no connection (Cannot assign requested address"), "{why}");
    }

    #[test]
    fn a_server_can_listen_after_its_port_has_answered() {
        let (ports, nonce) = (loopback(), nonce().unwrap());
        let address = ports.https()[0];
        let prover = Prover::start(&[address], &nonce, false).unwrap();
        check(address, &nonce).unwrap();
        drop((prover, ports));
        TcpListener::bind(address).unwrap();
    }

    #[test]
    fn another_number_and_silence_prove_nothing() {
        let ports = loopback();
        let (one, other) = (nonce().unwrap(), nonce().unwrap());
        assert_ne!(one, other);
        let address = ports.https()[0];
        let prover = Prover::start(&[address], &one, false).unwrap();
        for wrong in [other.clone(), one[..31].to_owned(), format!("{one}0")] {
            let error = check(address, &wrong).unwrap_err();
            assert!(error.contains("another machine or program answers"), "{error}");
        }
        drop(prover);
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let closing = silent.local_addr().unwrap();
        let closes = std::thread::spawn(move || drop(silent.accept().unwrap()));
        let error = check(closing, &one).unwrap_err();
        closes.join().unwrap();
        assert!(error.contains("is not proven to be the host's"), "{error}");
    }

    #[test]
    fn a_port_that_is_loaded_over_udp_is_proven_there() {
        let (ports, nonce) = (loopback(), nonce().unwrap());
        let address = ports.https()[0];
        let prover = Prover::start(&[address], &nonce, true).unwrap();
        assert_eq!(check(address, &nonce).unwrap().to_string(), "127.0.0.1");
        drop(prover);

        // The machine that answers over TCP has not this port of UDP: nobody, or somebody else has.
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = tcp.local_addr().unwrap();
        let line = format!("{nonce}{DATAGRAMS}\n");
        let answers = std::thread::spawn(move || {
            for _ in 0..2 {
                answer(tcp.accept().unwrap().0, &line);
            }
        });
        let error = check(address, &nonce).unwrap_err();
        assert!(error.contains("it does not answer over UDP"), "{error}");
        let other = UdpSocket::bind(address).unwrap();
        let wrong = std::thread::spawn(move || {
            let (_, from) = other.recv_from(&mut [0]).unwrap();
            other.send_to(b"another", from).unwrap();
        });
        let error = check(address, &nonce).unwrap_err();
        assert!(error.contains(OTHER), "{error}");
        wrong.join().unwrap();
        answers.join().unwrap();
    }

    #[test]
    fn a_number_that_drips_is_not_waited_for() {
        let nonce = nonce().unwrap();
        let slow = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = slow.local_addr().unwrap();
        let text = format!("{nonce}\n");
        let drips = std::thread::spawn(move || {
            let (mut stream, _) = slow.accept().unwrap();
            // Each byte comes well within the limit, all of them do not. A write fails once nobody reads.
            text.bytes().all(|byte| {
                std::thread::sleep(Duration::from_millis(50));
                stream.write_all(&[byte]).is_ok()
            })
        });
        let why = read(address, &nonce, |_| Ok(()), Duration::from_millis(300)).unwrap_err();
        assert!(why.starts_with("it does not answer ("), "{why}");
        drips.join().unwrap();
    }
}
