//! Questions to the kernel about routes, interfaces and their queues (rtnetlink(7), RFC 3549), and about
//! sockets (sock_diag(7)).
//!
//! A socket belongs to the network namespace in which it was made, and asks there ever after.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt,
};

/// The kernel answers at once; a lost answer must not hang a trial.
const LIMIT: Duration = Duration::from_secs(1);

const HEADER: usize = 16;
const REQUEST: u16 = 0x1;
const DUMP: u16 = 0x300;
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// A socket to the kernel.
#[derive(Debug)]
pub(crate) struct Netlink(OwnedFd);

/// A kind of question, and that of its answer (linux/rtnetlink.h, linux/sock_diag.h).
#[derive(Clone, Copy)]
pub(crate) struct Query {
    pub(crate) kind: u16,
    pub(crate) answer: u16,
    /// Whether all that there are are asked for, or the one that the body names.
    pub(crate) is_dump: bool,
    /// The length of the fixed part of the answer, before its attributes.
    pub(crate) fixed: usize,
}

impl Netlink {
    /// To its routing tables, in the calling thread's namespace.
    pub(crate) fn open() -> io::Result<Self> {
        // Of the protocols of this family, routes are number 0.
        Self::of(None)
    }

    /// To its tables of sockets, in the calling thread's namespace.
    pub(crate) fn of_sockets() -> io::Result<Self> {
        Self::of(Some(SOCK_DIAG))
    }

    /// For the kernel's notices of TCP sockets that are destroyed, in the calling thread's namespace.
    pub(crate) fn of_ended_connections() -> io::Result<Self> {
        /// `SKNLGRP_INET_TCP_DESTROY` and `SKNLGRP_INET6_TCP_DESTROY`, as bits.
        const GROUPS: u32 = 1 << 0 | 1 << 2;
        const ROOM: usize = 4 << 20;
        let socket = Self::of_sockets()?;
        // Who is not root gets less room.
        let _ = sockopt::set_socket_recv_buffer_size_force(&socket.0, ROOM)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(&socket.0, ROOM));
        rustix::net::bind(&socket.0, &SocketAddrNetlink::new(0, GROUPS))?;
        Ok(socket)
    }

    /// Notices that have come, each the bytes after its header, as an answer to the question would; none where there are
    /// no more.
    pub(crate) fn come(&self, question: Query) -> io::Result<Vec<Vec<u8>>> {
        let (mut notices, mut buffer) = (Vec::new(), [0; 8 << 10]);
        match rustix::net::recv(&self.0, &mut buffer[..], RecvFlags::DONTWAIT) {
            Err(rustix::io::Errno::AGAIN) => return Ok(notices),
            read => add_answers(&buffer[..read?.0], question, &mut notices)?,
        };
        Ok(notices)
    }

    fn of(protocol: Option<Protocol>) -> io::Result<Self> {
        let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
        let socket = rustix::net::socket_with(family, SocketType::RAW, flags, protocol)?;
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(LIMIT))?;
        Ok(Self(socket))
    }

    /// The answers, each the bytes after its header.
    pub(crate) fn ask(&self, question: Query, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.ask_for(usize::MAX, question, body)
    }

    /// Asks about the first `most` of them: the kernel makes answers as they are read. What
    /// is left stays in this socket, so that this must be its last question.
    pub(crate) fn ask_for(
        &self,
        most: usize,
        question: Query,
        body: &[u8],
    ) -> io::Result<Vec<Vec<u8>>> {
        let flags = REQUEST | if question.is_dump { DUMP } else { 0 };
        let mut message = Vec::with_capacity(HEADER + body.len());
        let length = u32::try_from(HEADER + body.len()).map_err(io::Error::other)?;
        message.extend(length.to_ne_bytes());
        message.extend(question.kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        // One question at a time, so neither a sequence number nor a port is needed.
        message.extend([0; 8]);
        message.extend(body);
        let kernel = SocketAddrNetlink::new(0, 0);
        rustix::net::sendto(&self.0, &message, SendFlags::empty(), &kernel)?;
        let mut answers = Vec::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let (read, _) = rustix::net::recv(&self.0, &mut buffer[..], RecvFlags::empty())?;
            if !add_answers(&buffer[..read], question, &mut answers)? || answers.len() >= most {
                return Ok(answers);
            }
        }
    }
}

/// Takes the answers out of one read; whether more will come.
fn add_answers(mut bytes: &[u8], question: Query, answers: &mut Vec<Vec<u8>>) -> io::Result<bool> {
    let malformed = || io::Error::new(io::ErrorKind::InvalidData, "not a netlink message");
    while !bytes.is_empty() {
        let length = u32_at(bytes, 0).ok_or_else(malformed)? as usize;
        let kind = u16_at(bytes, 4).ok_or_else(malformed)?;
        let body = bytes.get(HEADER..length).ok_or_else(malformed)?;
        match kind {
            // A dump that failed ends with a code, too.
            DONE | ERROR => {
                let code = u32_at(body, 0).ok_or_else(malformed)?.cast_signed();
                return match code {
                    0 => Ok(false),
                    _ => Err(io::Error::from_raw_os_error(code.saturating_neg())),
                };
            }
            kind if kind == question.answer && body.len() >= question.fixed => {
                answers.push(body.to_vec());
                if !question.is_dump {
                    return Ok(false);
                }
            }
            _ => {}
        }
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
    }
    Ok(true)
}

/// The value of the first attribute of that kind, after the `fixed` first bytes.
pub(crate) fn attribute(message: &[u8], fixed: usize, wanted: u16) -> Option<&[u8]> {
    /// Marks of nesting and byte order, no part of the kind.
    const KIND: u16 = 0x3fff;
    let mut bytes = message.get(fixed..)?;
    loop {
        let length = usize::from(u16_at(bytes, 0)?);
        let value = bytes.get(4..length)?;
        if u16_at(bytes, 2)? & KIND == wanted {
            return Some(value);
        }
        bytes = bytes.get(aligned(length)..)?;
    }
}

/// An attribute that holds an address.
pub(crate) fn address_attribute(kind: u16, address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => attribute_of(kind, &address.octets()),
        IpAddr::V6(address) => attribute_of(kind, &address.octets()),
    }
}

/// An attribute with this value; where others follow it, of whole words.
pub(crate) fn attribute_of(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 + value.len());
    bytes.extend((4 + value.len() as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes
}

fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// A number of 32 bits in the machine's order, if it is there whole.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A number of 64 bits in the machine's order, if it is there whole.
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ANY: Query = Query { kind: 1, answer: 7, is_dump: true, fixed: 0 };

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend((HEADER as u32 + body.len() as u32).to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(body);
        bytes.resize(aligned(bytes.len()), 0);
        bytes
    }

    #[test]
    fn a_dump_that_failed_is_no_empty_list() {
        let mut answers = Vec::new();
        let absent = (-2i32).to_ne_bytes();
        for end in [DONE, ERROR] {
            let error = add_answers(&message(end, &absent), ANY, &mut answers).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{end}");
        }
    }

    #[test]
    fn answers_are_taken_until_the_end_and_others_are_not() {
        let mut answers = Vec::new();
        let read = [message(7, &[1, 2, 3]), message(9, &[4]), message(7, &[5; 4])].concat();
        assert!(add_answers(&read, ANY, &mut answers).unwrap());
        assert!(!add_answers(&message(DONE, &[0; 4]), ANY, &mut answers).unwrap());
        assert_eq!(answers, [vec![1, 2, 3], vec![5; 4]]);
        let refused = message(ERROR, &(-libc::ENODEV).to_ne_bytes());
        let error = add_answers(&refused, ANY, &mut answers).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..80),
            kind in 0..3_u16,
        ) {
            let _ = add_answers(&bytes, ANY, &mut Vec::new());
            let _ = attribute(&bytes, 0, kind);
        }
    }
}
