//! HTTP/3 (RFC 9114) over QUIC, with quinn-proto, which does no input or output: a thread has its own UDP sockets, its
//! own endpoints and their connections in the loop of its epoll, as it has those over TCP.
//!
//! What makes it cheap: many datagrams leave in one system call, which the kernel cuts (UDP_SEGMENT), and come in one
//! (UDP_GRO, recvmmsg); generated objects go into packets straight from where they are in memory, so that each byte
//! is copied once and encrypted there.

mod config;
mod connection;
mod endpoint;
mod exchange;
mod socket;

pub(crate) use config::QuicSettings;
pub(crate) use endpoint::{Endpoint, Service};
#[cfg(any(test, fuzzing))]
pub(crate) use exchange::{Exchange, Heads};
pub(crate) use socket::UdpSockets;
