use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use crate::Availability;

/// Whether a connected TCP socket can be given the kernel's TLS layer (the kernel's
/// Documentation/networking/tls.rst). It is tried, because the list of layers in
/// `tcp_available_ulp` does not name a module that the kernel would load.
pub fn probe() -> Availability {
    match try_on_loopback() {
        Ok(()) => Availability::Available,
        Err(e) if e.raw_os_error() == Some(libc::ENOENT) => Availability::NotAvailable(
            "the kernel has no TLS layer (CONFIG_TLS), or its module `tls` is not loaded".into(),
        ),
        Err(e) => Availability::NotAvailable(format!("a socket refuses the TLS layer: {e}")),
    }
}

fn try_on_loopback() -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    // A connection to the own host is established by the kernel, before anybody accepts it.
    let stream = TcpStream::connect(listener.local_addr()?)?;
    const NAME: &[u8] = b"tls";
    // SAFETY: the option's value is NAME, of the length given.
    let rc = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_ULP,
            NAME.as_ptr().cast(),
            NAME.len() as libc::socklen_t,
        )
    };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
