//! Client sockets: connect without waiting, drop bytes in the kernel, wake late.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use socket2::{Domain, Protocol, Type};

use crate::Close;
use crate::failure::{ErrorKind, Failure};

/// One end of a TCP connection that never blocks.
pub(crate) struct Socket(socket2::Socket);

/// What came of an attempt to move bytes.
pub(crate) enum Moved {
    /// So many bytes; at least one.
    Bytes(usize),
    /// None can move now.
    Blocked,
    /// The peer sends no more.
    End,
}

impl Socket {
    /// Starts to connect; says whether that was completed at once.
    ///
    /// `source` spreads connections over addresses, since one has fewer than 64 Ki ports. With
    /// [`Close::Rst`] the socket resets its connection when it is dropped.
    pub(crate) fn connect(
        address: SocketAddr,
        source: Option<Ipv4Addr>,
        close: Close,
    ) -> Result<(Self, bool), Failure> {
        let failed = |error: io::Error| connect_failure(&error);
        let kind = Type::STREAM.nonblocking().cloexec();
        let socket = socket2::Socket::new(Domain::for_address(address), kind, Some(Protocol::TCP))
            .map_err(failed)?;
        socket.set_tcp_nodelay(true).map_err(failed)?;
        if let Some(source) = source {
            // The port is chosen at connect, when the whole four-tuple is known.
            set_option(&socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)
                .map_err(failed)?;
            socket.bind(&SocketAddr::new(IpAddr::V4(source), 0).into()).map_err(failed)?;
        }
        if close == Close::Rst {
            // A close that lingers for no time is a reset (socket(7), `SO_LINGER`).
            socket.set_linger(Some(Duration::ZERO)).map_err(failed)?;
        }
        let address = address.into();
        match socket.connect(&address) {
            Ok(()) => Ok((Self(socket), true)),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {
                // A server on this machine has often answered within the first call, which does
                // not say so. To ask again costs less than to wait for what has already happened.
                match socket.connect(&address) {
                    Ok(()) => Ok((Self(socket), true)),
                    Err(error) if is_under_way(&error) => Ok((Self(socket), false)),
                    Err(error) => Err(failed(error)),
                }
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// After the socket became writable: whether the connection stands.
    pub(crate) fn connected(&self) -> Result<(), Failure> {
        match self.0.take_error() {
            Ok(None) => Ok(()),
            Ok(Some(error)) | Err(error) => Err(connect_failure(&error)),
        }
    }

    /// Reads into `buffer`.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> Result<Moved, Failure> {
        // SAFETY: the kernel writes at most `buffer.len()` bytes into `buffer`.
        let count =
            unsafe { libc::recv(self.0.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        moved(count)
    }

    /// Drops up to `count` received bytes in the kernel, uncopied (tcp(7), `MSG_TRUNC`).
    pub(crate) fn skip(&self, count: u64) -> Result<Moved, Failure> {
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(1 << 30);
        // SAFETY: with MSG_TRUNC the kernel writes nothing for a TCP socket, so no buffer is needed.
        let count =
            unsafe { libc::recv(self.0.as_raw_fd(), std::ptr::null_mut(), count, libc::MSG_TRUNC) };
        moved(count)
    }

    /// Sends what the socket takes now.
    pub(crate) fn send(&self, bytes: &[u8]) -> Result<Moved, Failure> {
        self.send_with(bytes, 0)
    }

    /// The same, but holds back what does not fill a segment: [`Self::shutdown_send`] is to follow
    /// and takes it along (tcp(7), `MSG_MORE`).
    pub(crate) fn send_last(&self, bytes: &[u8]) -> Result<Moved, Failure> {
        self.send_with(bytes, libc::MSG_MORE)
    }

    fn send_with(&self, bytes: &[u8], flags: libc::c_int) -> Result<Moved, Failure> {
        let flags = flags | libc::MSG_NOSIGNAL;
        // SAFETY: the kernel reads at most `bytes.len()` bytes from `bytes`.
        let count =
            unsafe { libc::send(self.0.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
        moved(count)
    }

    /// Wakes only when so many bytes have come, or the end. A failure is harmless: it wakes early.
    pub(crate) fn set_low_water(&self, bytes: u32) {
        let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        let _ = set_option(&self.0, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes);
    }

    /// Sends no more. The peer reads an end.
    pub(crate) fn shutdown_send(&self) {
        let _ = self.0.shutdown(std::net::Shutdown::Write);
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
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
                _ => Err(Failure::new(ErrorKind::Reset, error.to_string())),
            }
        }
    }
}

/// Whether an attempt to connect goes on (connect(2)).
fn is_under_way(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EALREADY | libc::EINPROGRESS))
        || error.kind() == io::ErrorKind::Interrupted
}

fn connect_failure(error: &io::Error) -> Failure {
    let kind = match error.raw_os_error() {
        Some(libc::EADDRNOTAVAIL) => ErrorKind::Ports,
        Some(libc::EMFILE | libc::ENFILE) => ErrorKind::Descriptors,
        Some(libc::ETIMEDOUT) => ErrorKind::ConnectTimeout,
        Some(libc::ECONNRESET) => ErrorKind::Reset,
        _ => ErrorKind::Refused,
    };
    Failure::new(kind, error.to_string())
}
