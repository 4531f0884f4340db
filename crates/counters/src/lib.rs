//! What a server under test counts of itself, in a file that toll reads meanwhile.
//!
//! The file is mapped, so that counting costs no system call. It has a row of 128 bytes for each thread of the
//! embedded server, or one for all processes of a server with toll's OpenSSL provider: 16 numbers of 64 bits
//! in this machine's order. The first is even while no connection is open and grows whenever that changes; then
//! come the connections by [`tls::SendMode`], calls and bytes of `write` and of `sendfile`, 1 where there is an
//! accelerator, and the seven numbers of [`AcceleratorCounts`].

mod block;
mod counts;
mod row;

pub use block::create;
pub use counts::{AcceleratorCounts, Calls, SendCounters};
pub use row::{Call, Row};
