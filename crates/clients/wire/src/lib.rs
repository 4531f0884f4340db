//! TLS and HTTP/1.1 of a client that costs next to nothing, without sockets, threads or clocks.
//!
//! A [`handshake`] negotiates the keys, [`record`]s carry requests and responses, and a [`reception`]
//! walks the records of a response: it reads the head, says how many bytes to drop, and opens the last
//! record, whose sequence number proves how many came before. Each takes bytes and returns bytes, so
//! everything that a peer may send can be tested and fuzzed (see the crate `wire-peer`).

mod failure;
pub mod handshake;
#[cfg(test)]
mod hex;
mod quote;
mod randomness;
pub mod reception;
pub mod record;

pub use failure::{ErrorKind, Failure};
