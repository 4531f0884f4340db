//! What the TCP connections of an address really use: their congestion control, and whether it holds packets
//! back.

use std::collections::BTreeMap;
use std::io;
use std::mem::offset_of;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::inet_diag::{BY_FAMILY, End, FIXED, address_of, question};
use crate::namespace;
use crate::netlink::{Netlink, attribute, u64_at};

/// Connections of one side, as far as they were looked at.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TcpConnections {
    /// How many have each congestion control, by the kernel's name.
    pub congestion: BTreeMap<String, u64>,
    /// How many of them send by timers: that of BBR, and those whose program has set a rate
    /// (`SO_MAX_PACING_RATE`).
    pub paced: u64,
    /// The lowest rate of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_pacing_bps: Option<f64>,
}

/// As many are looked at: all of them, of a large load, would take the kernel longer than a step of a
/// trial.
const MOST: usize = 256;

/// `TCP_ESTABLISHED`.
const ESTABLISHED: u32 = 1;
const INFO: u16 = 2;
/// `INET_DIAG_VEGASINFO`, which asks for that of BBR too.
const CONGESTION_INFO: u16 = 3;
const CONGESTION: u16 = 4;
const BBR_INFO: u16 = 16;
const PACING_RATE: usize = offset_of!(libc::tcp_info, tcpi_pacing_rate);
const MAX_PACING_RATE: usize = offset_of!(libc::tcp_info, tcpi_max_pacing_rate);

impl TcpConnections {
    /// Those that are established now in the network namespace of the process `pid`, some hundred at most.
    ///
    /// # Errors
    /// The kernel does not answer such questions, or only root may look into that namespace.
    pub fn at(address: SocketAddr, end: End, pid: u32) -> io::Result<Self> {
        namespace::within(pid, move || Self::here(address, end))
    }

    fn here(address: SocketAddr, end: End) -> io::Result<Self> {
        let mut found = Self::default();
        for family in [libc::AF_INET, libc::AF_INET6] {
            let port = Some((end, address.port()));
            let question =
                question(family, ESTABLISHED, port, &[INFO, CONGESTION_INFO, CONGESTION]);
            for answer in Netlink::of_sockets()?.ask_for(MOST, BY_FAMILY, &question)? {
                if address_of(&answer, end).map(|end| end.ip()) == Some(address.ip().to_canonical())
                {
                    found.add(&answer);
                }
            }
            // A server's sockets are of one family, which may be IPv6 where clients use IPv4.
            if !found.congestion.is_empty() {
                break;
            }
        }
        Ok(found)
    }

    /// An answer of the kernel, as far as it is whole.
    fn add(&mut self, answer: &[u8]) {
        let Some(name) = attribute(answer, FIXED, CONGESTION) else { return };
        let name = String::from_utf8_lossy(name).trim_end_matches('\0').to_owned();
        *self.congestion.entry(name).or_default() += 1;
        let info = attribute(answer, FIXED, INFO).unwrap_or_default();
        let is_limited = u64_at(info, MAX_PACING_RATE).is_some_and(|most| most != u64::MAX);
        if is_limited || attribute(answer, FIXED, BBR_INFO).is_some() {
            self.paced += 1;
            let rate = u64_at(info, PACING_RATE).map(|bytes| bytes as f64 * 8.0);
            let both = self.least_pacing_bps.into_iter().chain(rate);
            self.least_pacing_bps = both.min_by(f64::total_cmp);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};

    use proptest::prelude::*;
    use rustix::net::sockopt;

    use crate::netlink::attribute_of;

    /// A message about one connection.
    fn answer(attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; FIXED];
        for (kind, value) in attributes {
            bytes.extend(attribute_of(*kind, value));
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    fn info(pacing: u64, most: u64) -> Vec<u8> {
        let mut bytes = vec![0; 232];
        bytes[PACING_RATE..PACING_RATE + 8].copy_from_slice(&pacing.to_ne_bytes());
        bytes[MAX_PACING_RATE..MAX_PACING_RATE + 8].copy_from_slice(&most.to_ne_bytes());
        bytes
    }

    #[test]
    fn timers_are_those_of_bbr_and_of_a_rate_that_was_set() {
        let mut seen = TcpConnections::default();
        seen.add(&answer(&[(CONGESTION, b"cubic\0"), (INFO, &info(9, u64::MAX))]));
        assert_eq!((seen.paced, seen.least_pacing_bps), (0, None));
        seen.add(&answer(&[
            (INFO, &info(500, u64::MAX)),
            (CONGESTION, b"bbr\0"),
            (BBR_INFO, &[0; 20]),
        ]));
        seen.add(&answer(&[(CONGESTION, b"cubic\0"), (INFO, &info(125, 125))]));
        assert_eq!((seen.paced, seen.least_pacing_bps), (2, Some(1000.0)));
        let counted: Vec<_> = seen.congestion.iter().map(|(name, n)| (&**name, *n)).collect();
        assert_eq!(counted, [("bbr", 1), ("cubic", 2)]);
    }

    #[test]
    fn both_ends_of_connections_here_are_seen() {
        for ip in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
            let Ok(listener) = TcpListener::bind(SocketAddr::new(ip, 0)) else { continue };
            sockopt::set_tcp_congestion(&listener, "reno").unwrap();
            let address = listener.local_addr().unwrap();
            let _clients = [(); 3].map(|()| TcpStream::connect(address).unwrap());
            let _connections = [(); 3].map(|()| listener.accept().unwrap());
            let of = |end| TcpConnections::at(address, end, std::process::id()).unwrap();
            let ours = of(End::Local);
            assert_eq!(ours.congestion, [("reno".to_owned(), 3)].into());
            assert_eq!((ours.paced, ours.least_pacing_bps), (0, None));
            assert_eq!(of(End::Remote).congestion.values().sum::<u64>(), 3);
        }
        // The same port of another address is somebody else's.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let _client = TcpStream::connect(address).unwrap();
        let other = SocketAddr::new(Ipv4Addr::new(127, 0, 0, 2).into(), address.port());
        let nobody = TcpConnections::at(other, End::Local, std::process::id()).unwrap();
        assert_eq!(nobody, TcpConnections::default());
    }

    #[test]
    fn many_connections_are_looked_at_in_part() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let pairs: Vec<_> = (0..400)
            .map(|_| (TcpStream::connect(address).unwrap(), listener.accept().unwrap()))
            .collect();
        let seen = TcpConnections::at(address, End::Local, std::process::id()).unwrap();
        let count = seen.congestion.values().sum::<u64>() as usize;
        assert!((MOST..pairs.len()).contains(&count), "{count}");
    }

    proptest! {
        #[test]
        fn truncated_answers_are_counted_or_left_out(cut in 0..400_usize, noise in any::<[u8; 8]>()) {
            let whole =
                answer(&[(INFO, &info(1, 1)), (CONGESTION, b"bbr\0"), (BBR_INFO, &noise)]);
            let mut seen = TcpConnections::default();
            seen.add(&whole[..cut.min(whole.len())]);
            prop_assert!(seen.paced <= seen.congestion.values().sum::<u64>());
            // Lengths of attributes that lie.
            let mut wrong = whole;
            wrong[FIXED..FIXED + 2].copy_from_slice(&noise[..2]);
            TcpConnections::default().add(&wrong);
        }
    }
}
