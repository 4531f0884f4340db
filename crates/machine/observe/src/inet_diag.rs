//! Questions about the sockets of a network namespace (sock_diag(7), linux/inet_diag.h).

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::netlink::Query;

/// Which end of a connection is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The socket's own: a server's.
    Local,
    /// The other: a client's.
    Remote,
}

/// What a socket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    Tcp,
    Udp,
}

impl Transport {
    /// That of HTTP/3, or of HTTP before it.
    pub fn of_http3(is_http3: bool) -> Self {
        if is_http3 { Self::Udp } else { Self::Tcp }
    }

    /// The state of a socket that has no other end: one that listens, and one that is not connected.
    pub(crate) fn waiting(self) -> u32 {
        match self {
            Self::Tcp => 10,
            Self::Udp => 7,
        }
    }
}

/// `struct inet_diag_msg`, and after it attributes.
pub(crate) const FIXED: usize = 72;
pub(crate) const BY_FAMILY: Query = Query { kind: 20, answer: 20, is_dump: true, fixed: FIXED };

/// `struct inet_diag_req_v2`: the sockets of a family in this state whose `end` has this port, if one is given,
/// with these attributes.
pub(crate) fn question_of(
    transport: Transport,
    family: i32,
    state: u32,
    port: Option<(End, u16)>,
    attributes: &[u16],
) -> [u8; 56] {
    let mut bytes = [0; 56];
    let protocol = match transport {
        Transport::Tcp => libc::IPPROTO_TCP,
        Transport::Udp => libc::IPPROTO_UDP,
    };
    (bytes[0], bytes[1]) = (family as u8, protocol as u8);
    // Bit n - 1 asks for attribute n.
    bytes[2] = attributes.iter().fold(0, |bits, attribute| bits | 1 << (attribute - 1));
    bytes[4..8].copy_from_slice(&(1_u32 << state).to_ne_bytes());
    if let Some((end, port)) = port {
        let at = if end == End::Local { 8 } else { 10 };
        bytes[at..at + 2].copy_from_slice(&port.to_be_bytes());
    }
    // No cookie.
    bytes[48..].fill(0xff);
    bytes
}

/// The same of TCP.
pub(crate) fn question(
    family: i32,
    state: u32,
    port: Option<(End, u16)>,
    attributes: &[u16],
) -> [u8; 56] {
    question_of(Transport::Tcp, family, state, port, attributes)
}

/// The address that this end of an answer's socket has.
pub(crate) fn address_of(answer: &[u8], end: End) -> Option<SocketAddr> {
    let (port, address) = if end == End::Local { (4, 8) } else { (6, 24) };
    let port = u16::from_be_bytes(answer.get(port..port + 2)?.try_into().ok()?);
    let bytes: [u8; 16] = answer.get(address..address + 16)?.try_into().ok()?;
    let address = match i32::from(answer[0]) {
        libc::AF_INET => IpAddr::from([bytes[0], bytes[1], bytes[2], bytes[3]]),
        _ => IpAddr::from(bytes),
    };
    Some(SocketAddr::new(address.to_canonical(), port))
}
