//! The sockets on which a server listens: their addresses, and their congestion control.
//!
//! Connections have that of the socket that accepts them, and few servers have a setting for it. So toll
//! takes a duplicate of each such socket from the processes of a server that it started (pidfd_getfd(2),
//! Linux 5.6), and sets it there: both are one socket.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use congestion::CongestionControl;
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::library::children;

/// Gives the sockets on which a process and its descendants listen at these addresses what is asked for,
/// or what suits the address.
///
/// # Errors
/// The kernel does not give the sockets out, or refuses to change them.
pub(crate) fn set_congestion(
    pid: u32,
    asked: Option<&CongestionControl>,
    addresses: &[SocketAddr],
) -> io::Result<()> {
    for socket in sockets(pid)? {
        let Some(address) = listens_at(&socket) else { continue };
        let of_port = addresses.iter().find(|known| known.port() == address.port());
        let control = of_port.and_then(|known| CongestionControl::to_set(asked, known.ip()));
        if let Some(control) = control {
            control.set(&socket)?;
        }
    }
    children(pid).into_iter().try_for_each(|child| set_congestion(child, asked, addresses))
}

/// Where a process and its descendants listen for TCP, in order.
///
/// # Errors
/// The kernel does not give their sockets out.
pub(crate) fn addresses(pid: u32) -> io::Result<Vec<SocketAddr>> {
    let mut addresses: Vec<SocketAddr> = sockets(pid)?.iter().filter_map(listens_at).collect();
    for child in children(pid) {
        addresses.extend(self::addresses(child)?);
    }
    addresses.sort_unstable();
    addresses.dedup();
    Ok(addresses)
}

fn listens_at(socket: &OwnedFd) -> Option<SocketAddr> {
    let is_listening = sockopt::socket_acceptconn(socket).unwrap_or(false);
    is_listening.then(|| rustix::net::getsockname(socket).ok()?.try_into().ok()).flatten()
}

/// Duplicates of the sockets that a process has; none where it has ended.
fn sockets(pid: u32) -> io::Result<Vec<OwnedFd>> {
    let process = Pid::from_raw(pid.cast_signed()).ok_or(io::ErrorKind::InvalidInput)?;
    let process = match pidfd_open(process, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(Errno::SRCH) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut sockets = Vec::new();
    for file in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
        let is_socket = fs::read_link(file.path())
            .is_ok_and(|target| target.as_os_str().as_encoded_bytes().starts_with(b"socket:"));
        let number = file.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(number) = number.filter(|_| is_socket) else { continue };
        match pidfd_getfd(&process, number, PidfdGetfdFlags::empty()) {
            Ok(socket) => sockets.push(socket),
            // It was closed meanwhile, or its process has ended.
            Err(Errno::BADF | Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(sockets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::net::TcpStream;
    use std::process::{Command, Stdio};

    /// Two sockets that listen on one port, in a child of a shell, as the workers of nginx have them.
    const SERVER: &str = r#"
import socket, sys, time
port = 0
for _ in range(2):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind(("127.0.0.1", port))
    s.listen()
    port = s.getsockname()[1]
    globals()[f"kept{_}"] = s
print(port, flush=True)
for _ in range(8):
    time.sleep(0.001)
socks = [kept0, kept1]
import select
for _ in range(8):
    ready, _, _ = select.select(socks, [], [])
    c, _ = ready[0].accept()
    name = c.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    print(name.rstrip(b"\0").decode(), flush=True)
"#;

    #[test]
    fn connections_of_another_program_have_what_is_asked() {
        let script = format!("python3 -c '{SERVER}' & wait");
        let mut shell =
            Command::new("sh").args(["-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines().map(Result::unwrap);
        let port: u16 = lines.next().unwrap().parse().unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let system = CongestionControl::of_system().unwrap().to_string();
        let asked = if system == "reno" { "cubic" } else { "reno" };
        set_congestion(shell.id(), Some(&asked.parse().unwrap()), &[address]).unwrap();
        let connections: Vec<_> = (0..8).map(|_| TcpStream::connect(address).unwrap()).collect();
        let controls: Vec<String> = lines.collect();
        assert_eq!(controls, vec![asked; connections.len()]);
        assert!(shell.wait().unwrap().success());
    }
}
