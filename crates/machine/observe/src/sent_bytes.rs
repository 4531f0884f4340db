//! What a server sends and how many of its connections end, in any program: the kernel's notices of sockets that are
//! destroyed, and its tables of those that are open (sock_diag(7), `SKNLGRP_INET_TCP_DESTROY`).

use std::collections::HashMap;
use std::io;
use std::mem::offset_of;

use serde::{Deserialize, Serialize};

use crate::inet_diag::{BY_FAMILY, End, FIXED, address_of, question};
use crate::namespace;
use crate::netlink::{Netlink, attribute, u64_at};

/// What went through the sockets of some ports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentBytes {
    /// Connections that have ended.
    pub connections: u64,
    /// Bytes that TCP has sent, TLS included, each once.
    pub bytes: u64,
    /// Whether the kernel had no room for some notices, so that both are too few.
    pub is_short: bool,
}

/// Listens for the ends of a server's connections.
#[derive(Debug)]
pub struct SentBytesMeter {
    pid: u32,
    ports: Vec<u16>,
    notices: Netlink,
    /// What open sockets had sent when it began, by their cookie.
    before: HashMap<u64, u64>,
    seen: SentBytes,
}

/// `TCP_ESTABLISHED`, and those that the client has closed (`TCP_CLOSE_WAIT`).
const OPEN: [u32; 2] = [1, 8];
const INFO: u16 = 2;
const COOKIE: usize = 44;

impl SentBytesMeter {
    /// Begins with the connections to these ports in the network namespace of the process `pid`.
    ///
    /// # Errors
    /// The kernel has no such notices, or only root may look into that namespace.
    pub fn begin(pid: u32, ports: Vec<u16>) -> io::Result<Self> {
        let notices = namespace::within(pid, Netlink::of_ended_connections)?;
        let seen = SentBytes::default();
        let mut meter = Self { pid, ports, notices, before: HashMap::new(), seen };
        meter.before = meter.open()?.into_iter().collect();
        meter.drain();
        meter.seen = seen;
        Ok(meter)
    }

    /// Takes the notices that have come.
    pub fn drain(&mut self) {
        loop {
            match self.notices.come(BY_FAMILY) {
                Ok(notices) if notices.is_empty() => return,
                Ok(notices) => {
                    let ended: Vec<_> = notices.iter().filter_map(|of| self.sent(of)).collect();
                    for (cookie, bytes) in ended {
                        let before = self.before.remove(&cookie).unwrap_or_default();
                        self.seen.connections += 1;
                        self.seen.bytes += bytes.saturating_sub(before);
                    }
                }
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.seen.is_short = true;
                }
                Err(_) => return,
            }
        }
    }

    /// Connections that have ended, as far as their notices were taken.
    pub fn ended_connections(&self) -> u64 {
        self.seen.connections
    }

    /// All since it began.
    ///
    /// # Errors
    /// The kernel does not show open sockets any more.
    pub fn end(mut self) -> io::Result<SentBytes> {
        let open = self.open()?;
        self.drain();
        for (cookie, bytes) in open {
            let before = self.before.remove(&cookie).unwrap_or_default();
            self.seen.bytes += bytes.saturating_sub(before);
        }
        Ok(self.seen)
    }

    /// What open sockets have sent, by their cookie.
    fn open(&self) -> io::Result<Vec<(u64, u64)>> {
        let answers = namespace::within(self.pid, || {
            let mut answers = Vec::new();
            for (family, state) in
                [libc::AF_INET, libc::AF_INET6].into_iter().flat_map(|of| OPEN.map(|is| (of, is)))
            {
                let question = question(family, state, None, &[INFO]);
                answers.extend(Netlink::of_sockets()?.ask(BY_FAMILY, &question)?);
            }
            Ok(answers)
        })?;
        Ok(answers.iter().filter_map(|answer| self.sent(answer)).collect())
    }

    /// A socket of one of the ports: its cookie, and what it has sent.
    fn sent(&self, answer: &[u8]) -> Option<(u64, u64)> {
        let port = address_of(answer, End::Local)?.port();
        let info = attribute(answer, FIXED, INFO).filter(|_| self.ports.contains(&port))?;
        let sent = u64_at(info, offset_of!(libc::tcp_info, tcpi_bytes_sent))?;
        let again = u64_at(info, offset_of!(libc::tcp_info, tcpi_bytes_retrans))?;
        Some((u64_at(answer, COOKIE)?, sent - again.min(sent)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    #[test]
    fn what_open_and_ended_connections_have_sent_since_it_began_is_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connect = || (TcpStream::connect(address).unwrap(), listener.accept().unwrap().0);
        let send = |(client, server): &mut (TcpStream, TcpStream), bytes: usize| {
            server.write_all(&vec![7; bytes]).unwrap();
            client.read_exact(&mut vec![0; bytes]).unwrap();
        };
        let (mut stays, mut ends) = (connect(), connect());
        send(&mut stays, 5_000);
        send(&mut ends, 3_000);
        let begun = SentBytesMeter::begin(std::process::id(), vec![address.port()]);
        let mut meter = match begun {
            Ok(meter) => meter,
            Err(error) => return eprintln!("skipped: the kernel has no such notices: {error}"),
        };
        let mut is_new = connect();
        for each in [&mut stays, &mut ends, &mut is_new] {
            send(each, 1_000);
        }
        drop(ends);
        drop(is_new);
        let begin = Instant::now();
        while meter.seen.connections < 2 && begin.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(5));
            meter.drain();
        }
        let expected = SentBytes { connections: 2, bytes: 3_000, is_short: false };
        assert_eq!(meter.end().unwrap(), expected);
    }
}
