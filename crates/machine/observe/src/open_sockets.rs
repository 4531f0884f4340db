//! The TCP connections of a server, and what the kernel keeps for them.

use std::io;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::inet_diag::{BY_FAMILY, End, FIXED, address_of, question};
use crate::namespace;
use crate::netlink::{Netlink, attribute, u32_at};

/// Connections that are established at a server's address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenSockets {
    pub count: u64,
    /// What their buffers hold and have reserved. The kernel's own records of a socket are not in it.
    pub buffer_bytes: u64,
}

/// `TCP_ESTABLISHED`.
const ESTABLISHED: u32 = 1;
/// `INET_DIAG_SKMEMINFO`, an array of 32-bit numbers (linux/sock_diag.h).
const MEMORY: u16 = 7;
/// Of these: received and not read, reserved for more, sent and not acknowledged, options, and the backlog.
const PARTS: [usize; 5] = [0, 4, 5, 6, 7];

impl OpenSockets {
    /// All that are established now at this address, in the network namespace of the process `pid`.
    ///
    /// # Errors
    /// The kernel does not answer such questions, or only root may look into that namespace.
    pub fn at(address: SocketAddr, pid: u32) -> io::Result<Self> {
        namespace::within(pid, move || Self::here(address))
    }

    fn here(address: SocketAddr) -> io::Result<Self> {
        let mut found = Self::default();
        for family in [libc::AF_INET, libc::AF_INET6] {
            let port = Some((End::Local, address.port()));
            let question = question(family, ESTABLISHED, port, &[MEMORY]);
            for answer in Netlink::of_sockets()?.ask(BY_FAMILY, &question)? {
                let ip = address_of(&answer, End::Local).map(|end| end.ip());
                if ip == Some(address.ip().to_canonical()) {
                    found.count += 1;
                    found.buffer_bytes += buffers(&answer);
                }
            }
        }
        Ok(found)
    }
}

fn buffers(answer: &[u8]) -> u64 {
    let memory = attribute(answer, FIXED, MEMORY).unwrap_or_default();
    PARTS.iter().filter_map(|part| u32_at(memory, part * 4)).map(u64::from).sum()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use super::*;
    use crate::netlink::attribute_of;

    #[test]
    fn what_waits_in_a_server_s_sockets_is_counted() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let look = || OpenSockets::at(address, std::process::id()).unwrap();
        assert_eq!(look(), OpenSockets::default());
        let mut pairs: Vec<(TcpStream, TcpStream)> = (0..400)
            .map(|_| (TcpStream::connect(address).unwrap(), listener.accept().unwrap().0))
            .collect();
        let idle = look();
        assert_eq!(idle.count, 400);
        // None of them is read.
        for (client, _) in &mut pairs {
            client.write_all(&[7; 10_000]).unwrap();
        }
        let waiting = look().buffer_bytes - idle.buffer_bytes;
        assert!(waiting >= 400 * 10_000, "{waiting}");
        drop(pairs.split_off(100));
        assert_eq!(look().count, 100);
    }

    #[test]
    fn parts_of_the_kernel_s_array_are_added_and_a_short_one_is_no_panic() {
        let mut answer = vec![0; FIXED];
        let numbers: Vec<u8> = (0..9_u32).flat_map(|part| (1_u32 << part).to_ne_bytes()).collect();
        answer.extend(attribute_of(MEMORY, &numbers));
        assert_eq!(buffers(&answer), 1 + 16 + 32 + 64 + 128);
        for cut in 0..answer.len() {
            assert!(buffers(&answer[..cut]) < 241);
        }
    }
}
