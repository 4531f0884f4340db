//! Nonblocking client sockets that drop bytes in the kernel and wake the thread late.

use std::io;
use std::mem::offset_of;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use congestion::CongestionControl;
use socket2::{Domain, Protocol, Type};

use crate::Close;
use crate::descriptors;
use crate::outcome::Traffic;
use crate::source::Source;
use wire::{ErrorKind, Failure};

/// One end of a TCP connection that never blocks.
pub(crate) struct Socket {
    socket: socket2::Socket,
    /// How many connections the socket has had, including this one.
    connections: u16,
}

/// The result of an attempt to send or receive.
pub(crate) enum Moved {
    /// The number of bytes moved, at least one.
    Bytes(usize),
    /// None can move now.
    Blocked,
    /// The peer sends no more.
    End,
}

/// What connections are used for; it decides how their sockets are set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// One exchange, in which this side speaks first and never twice in a row.
    Once,
    /// Any number of exchanges.
    Kept,
}

/// After this many connections a socket is replaced by one with another source address. It is few
/// enough for the ports of one address, and enough to make new sockets rare.
const MOST_CONNECTIONS: u16 = 100;

impl Socket {
    /// Starts to connect; the flag says whether the connection was established at once.
    ///
    /// `source` spreads connections over addresses, since one address has fewer than 64 Ki ports, or
    /// over interfaces.
    /// With [`Close::Rst`] the socket resets its connection when it is dropped. `congestion` is given to
    /// it where it is not the system's.
    pub(crate) fn connect(
        address: SocketAddr,
        source: Option<&Source>,
        usage: Use,
        close: Close,
        congestion: Option<&CongestionControl>,
    ) -> Result<(Self, bool), Failure> {
        let failed = |error: io::Error| connect_failure(&error);
        let kind = Type::STREAM.nonblocking().cloexec();
        let socket = socket2::Socket::new(Domain::for_address(address), kind, Some(Protocol::TCP))
            .map_err(failed)?;
        if usage == Use::Kept {
            // Where the sides take turns, Nagle's algorithm never delays anything: all that was
            // sent is acknowledged.
            socket.set_tcp_nodelay(true).map_err(failed)?;
        }
        if let Some(congestion) = congestion {
            congestion.set(&socket).map_err(failed)?;
        }
        if let Some(source) = source {
            // The port is chosen at connect, when the whole four-tuple is known.
            set_option(&socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)
                .map_err(failed)?;
            source.bind(&socket).map_err(failed)?;
        }
        if close == Close::Rst {
            // A close with a linger time of 0 sends a reset (socket(7), `SO_LINGER`).
            socket.set_linger(Some(Duration::ZERO)).map_err(failed)?;
        }
        let socket = Self { socket, connections: 1 };
        let is_connected = socket.start(address, usage)?;
        Ok((socket, is_connected))
    }

    /// The same for datagrams, which only this server can send to it; nothing is sent yet.
    pub(crate) fn connect_udp(
        address: SocketAddr,
        source: Option<&Source>,
    ) -> Result<Self, Failure> {
        let failed = |error: io::Error| connect_failure(&error);
        let kind = Type::DGRAM.nonblocking().cloexec();
        let socket = socket2::Socket::new(Domain::for_address(address), kind, Some(Protocol::UDP))
            .map_err(failed)?;
        if let Some(source) = source {
            source.bind(&socket).map_err(failed)?;
        }
        socket.connect(&address.into()).map_err(failed)?;
        Ok(Self { socket, connections: 1 })
    }

    /// How many datagrams the kernel has dropped because the receive buffer was full (`SO_MEMINFO`).
    pub(crate) fn drops(&self) -> u64 {
        /// `SK_MEMINFO_DROPS`, the last of nine.
        const DROPS: usize = 8;
        let mut info = [0_u32; DROPS + 1];
        let mut length = size_of_val(&info) as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes into `info`.
        let rc = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_MEMINFO,
                (&raw mut info).cast(),
                &raw mut length,
            )
        };
        if rc == 0 { info[DROPS].into() } else { 0 }
    }

    /// The same for a socket that [`Self::end`] returned: it keeps its source address and congestion
    /// control, and gets another port. To make and watch a new socket costs several times as much.
    pub(crate) fn connect_again(
        mut self,
        address: SocketAddr,
        usage: Use,
    ) -> Result<(Self, bool), Failure> {
        // This dissolves the last connection (connect(2), AF_UNSPEC).
        rustix::net::connect_unspec(&self.socket)
            .map_err(|error| connect_failure(&error.into()))?;
        self.connections += 1;
        let is_connected = self.start(address, usage)?;
        Ok((self, is_connected))
    }

    fn start(&self, address: SocketAddr, usage: Use) -> Result<bool, Failure> {
        if usage == Use::Once {
            // Acknowledgements then travel with the data that is sent, not in separate segments
            // (tcp(7), TCP_QUICKACK). If the kernel refuses, it only sends more segments.
            let _ = set_option(&self.socket, libc::IPPROTO_TCP, libc::TCP_QUICKACK, 0);
        }
        let address = address.into();
        match self.socket.connect(&address) {
            Ok(()) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {
                // On one machine the connection is often established during the first call, which
                // does not report that. A second call costs less than a wait for an event.
                match self.socket.connect(&address) {
                    Ok(()) => Ok(true),
                    Err(error) if is_under_way(&error) => Ok(false),
                    Err(error) => Err(connect_failure(&error)),
                }
            }
            Err(error) => Err(connect_failure(&error)),
        }
    }

    /// Ends this side. Returns the socket for reuse if the connection is over: the other side has
    /// ended too and acknowledged all.
    pub(crate) fn end(self) -> Option<Self> {
        // `shutdown` fails with ENOTCONN once the connection is over. On one machine the
        // acknowledgement comes during the first call, so the second one sees it.
        let is_over = || {
            let result = self.socket.shutdown(std::net::Shutdown::Write);
            result.is_err_and(|error| error.raw_os_error() == Some(libc::ENOTCONN))
        };
        (self.connections < MOST_CONNECTIONS && (is_over() || is_over())).then_some(self)
    }

    /// After the socket became writable: whether the connection is established.
    pub(crate) fn connected(&self) -> Result<(), Failure> {
        match self.socket.take_error() {
            Ok(None) => Ok(()),
            Ok(Some(error)) | Err(error) => Err(connect_failure(&error)),
        }
    }

    /// Reads into `buffer`.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> Result<Moved, Failure> {
        // SAFETY: the kernel writes at most `buffer.len()` bytes into `buffer`.
        let count = unsafe {
            libc::recv(self.socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0)
        };
        moved(count)
    }

    /// Drops up to `count` received bytes in the kernel without a copy (tcp(7), `MSG_TRUNC`).
    pub(crate) fn skip(&self, count: u64) -> Result<Moved, Failure> {
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(1 << 30);
        // SAFETY: with MSG_TRUNC the kernel writes nothing for a TCP socket, so no buffer is needed.
        let count = unsafe {
            libc::recv(self.socket.as_raw_fd(), std::ptr::null_mut(), count, libc::MSG_TRUNC)
        };
        moved(count)
    }

    /// Sends as much as fits in the socket's buffer. Where these bytes are the last, the kernel holds a partial
    /// segment back: the FIN of [`Self::shutdown_send`], which must follow, goes out in it (tcp(7), `MSG_MORE`).
    pub(crate) fn send(&self, bytes: &[u8], are_last: bool) -> Result<Moved, Failure> {
        let flags = libc::MSG_NOSIGNAL | if are_last { libc::MSG_MORE } else { 0 };
        // SAFETY: the kernel reads at most `bytes.len()` bytes from `bytes`.
        let count = unsafe {
            libc::send(self.socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags)
        };
        moved(count)
    }

    /// How many bytes have come that were not received.
    pub(crate) fn readable(&self) -> u64 {
        rustix::io::ioctl_fionread(&self.socket).unwrap_or(0)
    }

    /// Wakes only when this many bytes have come, or the end of stream. A failure is harmless: the
    /// thread wakes early.
    pub(crate) fn set_low_water(&self, bytes: u32) {
        let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        let _ = set_option(&self.socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes);
    }

    /// What the connection has sent and received, once the peer has ended it (tcp(7), `TCP_INFO`).
    pub(crate) fn traffic(&self) -> Option<Traffic> {
        let (info, length) = self.tcp_info()?;
        // A kernel before Linux 4.19 leaves the last fields out.
        let is_whole = length >= offset_of!(libc::tcp_info, tcpi_bytes_retrans) + size_of::<u64>();
        is_whole.then(|| Traffic {
            connections: 1,
            // Sent, without what was sent again.
            bytes_sent: info.tcpi_bytes_sent.saturating_sub(info.tcpi_bytes_retrans),
            // The peer's FIN counts as a byte.
            bytes_received: info.tcpi_bytes_received.saturating_sub(1),
            packets_sent: info.tcpi_segs_out.into(),
            packets_received: info.tcpi_segs_in.into(),
        })
    }

    /// Whether a packet of the connection was sent again (tcp(7), `TCP_INFO`).
    pub(crate) fn has_sent_again(&self) -> bool {
        self.tcp_info().is_some_and(|(info, _)| info.tcpi_total_retrans > 0)
    }

    /// What the kernel knows of the connection, and how many bytes of that it filled in.
    fn tcp_info(&self) -> Option<(libc::tcp_info, usize)> {
        // SAFETY: all zeros are a valid value of this structure.
        let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
        let mut length = size_of_val(&info) as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes into `info`.
        let rc = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut info).cast(),
                &raw mut length,
            )
        };
        (rc == 0).then_some((info, length as usize))
    }

    /// Ends this side of the stream.
    pub(crate) fn shutdown_send(&self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn set_option(
    socket: &socket2::Socket,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the kernel reads the four bytes of `value`, whose length is given.
    let rc = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn moved(count: isize) -> Result<Moved, Failure> {
    match usize::try_from(count) {
        Ok(0) => Ok(Moved::End),
        Ok(count) => Ok(Moved::Bytes(count)),
        Err(_) => {
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(Moved::Blocked),
                _ => Err(broken(&error)),
            }
        }
    }
}

/// Whether an attempt to connect is still under way (connect(2)).
fn is_under_way(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EALREADY | libc::EINPROGRESS))
        || error.kind() == io::ErrorKind::Interrupted
}

/// Why an established connection ended.
fn broken(error: &io::Error) -> Failure {
    let kind = match error.raw_os_error() {
        Some(libc::ETIMEDOUT) => ErrorKind::TimedOut,
        Some(libc::EPIPE) => ErrorKind::EarlyClose,
        Some(libc::EHOSTUNREACH | libc::ENETUNREACH) => ErrorKind::Unreachable,
        Some(libc::ECONNRESET) => ErrorKind::Reset,
        _ => ErrorKind::Kernel,
    };
    Failure::new(kind, error.to_string())
}

fn connect_failure(error: &io::Error) -> Failure {
    let kind = match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => return descriptors::lacking(error),
        Some(libc::EHOSTUNREACH | libc::ENETUNREACH) => ErrorKind::Unreachable,
        Some(libc::EADDRNOTAVAIL) => ErrorKind::Ports,
        Some(libc::ETIMEDOUT) => ErrorKind::ConnectTimeout,
        Some(libc::ECONNRESET) => ErrorKind::Reset,
        Some(libc::ECONNREFUSED) => ErrorKind::Refused,
        _ => ErrorKind::Kernel,
    };
    Failure::new(kind, error.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
    use std::time::Instant;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    /// A listener and its address.
    fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    fn connect(address: SocketAddr, usage: Use) -> Socket {
        let (socket, _) = Socket::connect(address, None, usage, Close::Fin, None).unwrap();
        socket
    }

    /// Sends a byte as soon as the connection takes it.
    fn send(socket: &Socket) {
        let deadline = Instant::now() + LIMIT;
        loop {
            match socket.send(b"?", false) {
                Ok(Moved::Bytes(1)) => return,
                _ if Instant::now() > deadline => panic!("the connection takes nothing"),
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// The server's side of the next connection, after its first byte, and the client's address.
    fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
        let (mut stream, peer) = listener.accept().unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.read_exact(&mut [0]).unwrap();
        (stream, peer)
    }

    /// Waits for the other side's end.
    fn await_end(socket: &Socket) {
        let deadline = Instant::now() + LIMIT;
        while !matches!(socket.receive(&mut [0]), Ok(Moved::End)) {
            assert!(Instant::now() < deadline, "no end");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The client's address of a connection that has ended, and its socket; `None` where the kernel
    /// has not acknowledged the end yet, as can happen on a busy machine.
    fn ended(listener: &TcpListener, socket: Socket) -> (SocketAddr, Option<Socket>) {
        send(&socket);
        let (mut stream, peer) = accept(listener);
        stream.shutdown(Shutdown::Write).unwrap();
        await_end(&socket);
        let spare = socket.end();
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the end has not come");
        (peer, spare)
    }

    /// The first result of repeated attempts.
    fn soon<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + LIMIT;
        loop {
            match attempt() {
                Some(result) => return result,
                None => assert!(Instant::now() < deadline, "never"),
            }
        }
    }

    #[test]
    fn a_socket_is_reused_after_its_connection_is_over() {
        let (listener, address) = listener();
        let (first, spare) = soon(|| {
            let (peer, spare) = ended(&listener, connect(address, Use::Once));
            Some((peer, spare?))
        });
        let (again, _) = spare.connect_again(address, Use::Once).unwrap();
        send(&again);
        let (mut stream, second) = accept(&listener);
        assert_ne!(first, second);
        stream.write_all(b"!").unwrap();
        let byte = &mut [0];
        soon(|| matches!(again.receive(byte), Ok(Moved::Bytes(1))).then_some(()));
        assert_eq!(byte, b"!");
    }

    #[test]
    fn a_socket_keeps_its_congestion_control_when_it_is_reused() {
        let (listener, address) = listener();
        let reno: CongestionControl = "reno".parse().unwrap();
        let spare = soon(|| {
            let socket = Socket::connect(address, None, Use::Once, Close::Fin, Some(&reno));
            ended(&listener, socket.unwrap().0).1
        });
        let (again, _) = spare.connect_again(address, Use::Once).unwrap();
        send(&again);
        accept(&listener);
        assert_eq!(rustix::net::sockopt::tcp_congestion(&again).unwrap(), "reno");
    }

    #[test]
    fn a_socket_is_not_used_again_before_the_other_side_has_ended_too() {
        let (listener, address) = listener();
        let socket = connect(address, Use::Once);
        send(&socket);
        let (mut stream, _) = accept(&listener);
        assert!(socket.end().is_none());
        // The client's FIN was sent all the same.
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_socket_is_not_reused_beyond_its_limit_of_connections() {
        let (listener, address) = listener();
        let mut socket = connect(address, Use::Once);
        socket.connections = MOST_CONNECTIONS;
        assert!(ended(&listener, socket).1.is_none());
    }

    #[test]
    fn a_refusal_of_a_reused_socket_is_reported() {
        let (listener, address) = listener();
        let spare = soon(|| ended(&listener, connect(address, Use::Once)).1);
        drop(listener);
        let deadline = Instant::now() + LIMIT;
        let failure = match spare.connect_again(address, Use::Once) {
            Err(failure) => failure,
            Ok((socket, _)) => loop {
                match socket.connected() {
                    Err(failure) => break failure,
                    Ok(()) => assert!(Instant::now() < deadline, "no refusal came"),
                }
            },
        };
        assert_eq!(failure.kind, ErrorKind::Refused);
    }

    #[test]
    fn the_cause_of_a_broken_connection_is_reported() {
        for (code, standing, connecting) in [
            (libc::ETIMEDOUT, ErrorKind::TimedOut, ErrorKind::ConnectTimeout),
            (libc::EHOSTUNREACH, ErrorKind::Unreachable, ErrorKind::Unreachable),
            (libc::ENETUNREACH, ErrorKind::Unreachable, ErrorKind::Unreachable),
            (libc::ECONNRESET, ErrorKind::Reset, ErrorKind::Reset),
            (libc::ECONNREFUSED, ErrorKind::Kernel, ErrorKind::Refused),
            (libc::EPERM, ErrorKind::Kernel, ErrorKind::Kernel),
            (libc::ENOBUFS, ErrorKind::Kernel, ErrorKind::Kernel),
        ] {
            let error = io::Error::from_raw_os_error(code);
            assert_eq!(broken(&error).kind, standing, "{error}");
            assert_eq!(connect_failure(&error).kind, connecting, "{error}");
        }
        // The broadcast address of 127.0.0.0/8 takes no connections.
        let broadcast = (Ipv4Addr::new(127, 255, 255, 255), 9).into();
        let failure = Socket::connect(broadcast, None, Use::Once, Close::Fin, None).err().unwrap();
        assert_eq!(failure.kind, ErrorKind::Unreachable, "{}", failure.seen);
        // Nothing can be sent after this side's end.
        let (listener, address) = listener();
        let socket = connect(address, Use::Kept);
        let _peer = listener.accept().unwrap();
        socket.shutdown_send();
        assert_eq!(socket.send(b"?", false).err().unwrap().kind, ErrorKind::EarlyClose);
    }

    #[test]
    fn datagrams_that_nobody_receives_are_dropped_and_counted() {
        let server = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = Socket::connect_udp(server.local_addr().unwrap(), None).unwrap();
        server.connect(client.socket.local_addr().unwrap().as_socket().unwrap()).unwrap();
        assert_eq!(client.drops(), 0);
        // More than a default buffer has room for.
        let sent = (0..10_000).filter(|_| server.send(&[0; 1_400]).is_ok()).count() as u64;
        let mut received = 0;
        while let Ok(Moved::Bytes(1_400)) = client.receive(&mut [0; 2_000]) {
            received += 1;
        }
        assert!(received > 0 && client.drops() > 0);
        assert_eq!(client.drops() + received, sent);
    }

    /// Segments that the server received up to the first byte, not counting the SYN.
    fn segments(usage: Use) -> u32 {
        let (listener, address) = listener();
        let socket = connect(address, usage);
        send(&socket);
        let (stream, _) = accept(&listener);
        // SAFETY: all zeros are a valid value of this structure.
        let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
        let mut length = size_of_val(&info) as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes into `info`.
        let rc = unsafe {
            libc::getsockopt(
                stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut info).cast(),
                &raw mut length,
            )
        };
        assert_eq!(rc, 0);
        info.tcpi_segs_in
    }

    #[test]
    fn the_last_ack_of_opening_comes_with_what_is_sent_once() {
        let kept = segments(Use::Kept);
        // A client that is delayed before it sends acknowledges by itself.
        soon(|| (segments(Use::Once) + 1 == kept).then_some(()));
    }
}
