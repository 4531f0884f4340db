//! Whether a process is the one that listens at an address.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Who listens at an address, as far as can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listens {
    /// One of the processes does.
    Yes,
    /// Somebody does, and none of the processes.
    No,
    /// Nobody on this machine does, or the processes' descriptors may not be read.
    Unknown,
}

/// Whether one of the processes `pids` holds a socket that listens at `address`
/// (proc_pid_net(5), proc_pid_fd(5)).
#[must_use]
pub fn listens(pids: impl IntoIterator<Item = u32>, address: SocketAddr) -> Listens {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let sockets: Vec<String> = tables
        .iter()
        .flatten()
        .flat_map(|table| listening(table, address))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    if sockets.is_empty() {
        return Listens::Unknown;
    }
    let mut is_hidden = false;
    for pid in pids {
        match holds(pid, &sockets) {
            Ok(true) => return Listens::Yes,
            Ok(false) => {}
            Err(_) => is_hidden = true,
        }
    }
    if is_hidden { Listens::Unknown } else { Listens::No }
}

fn holds(pid: u32, sockets: &[String]) -> io::Result<bool> {
    for descriptor in fs::read_dir(format!("/proc/{pid}/fd"))?.flatten() {
        // One that is closed meanwhile is none of a listener.
        if let Ok(target) = fs::read_link(descriptor.path())
            && target.to_str().is_some_and(|target| sockets.iter().any(|socket| socket == target))
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The inodes of the sockets in a table of `/proc/net` that listen at `address`, or at all
/// addresses with its port.
fn listening(table: &str, address: SocketAddr) -> Vec<u64> {
    const LISTEN: &str = "0A";
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let (ip, port) = fields.get(1)?.split_once(':')?;
            let ip = parse_ip(ip)?;
            let is_here = ip.is_unspecified() || ip.to_canonical() == address.ip().to_canonical();
            let matches = *fields.get(3)? == LISTEN
                && u16::from_str_radix(port, 16).ok()? == address.port()
                && is_here;
            matches.then(|| fields.get(9)?.parse().ok())?
        })
        .collect()
}

/// Addresses stand in words of 32 bits, in hexadecimal and in the machine's byte order.
fn parse_ip(hex: &str) -> Option<IpAddr> {
    let words = hex
        .as_bytes()
        .chunks(8)
        .map(|word| u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok())
        .collect::<Option<Vec<u32>>>()?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    if let Ok(v4) = <[u8; 4]>::try_from(&bytes[..]) {
        return Some(Ipv4Addr::from(v4).into());
    }
    <[u8; 16]>::try_from(&bytes[..]).ok().map(|v6| Ipv6Addr::from(v6).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn the_process_that_listens_is_told_from_others() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let me = std::process::id();
        assert_eq!(listens([me], address), Listens::Yes);
        assert_eq!(listens([], address), Listens::No);
        drop(listener);
        assert_eq!(listens([me], address), Listens::Unknown);

        // At all addresses, and of both families.
        let listener = TcpListener::bind("[::]:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(listens([me], SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)), Listens::Yes);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn only_listening_sockets_of_the_address_count() {
        let table = "  sl  local_address rem_address   st tx rx tr tm retrnsmt uid timeout inode\n\
            0: 0100007F:20FB 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 111 1\n\
            1: 0200007F:20FB 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 222 1\n\
            2: 0100007F:20FB 0100007F:9999 01 00000000:00000000 00:00000000 00000000 0 0 333 1\n\
            3: 00000000:20FB 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 444 1\n\
            nonsense\n";
        assert_eq!(listening(table, "127.0.0.1:8443".parse().unwrap()), [111, 444]);
    }
}
