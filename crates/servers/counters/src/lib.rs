//! What a server under test counts of itself, in a file that toll reads meanwhile.
//!
//! The file is mapped, so that counting costs no system call. It has a row of 640 bytes for each thread of the
//! embedded server, or one for each process of a server with toll's OpenSSL provider: 80 numbers of 64 bits
//! in this machine's order. The first is even while no connection is open and grows whenever that changes; then
//! come the connections by [`tls::SendMode`], calls and bytes of `write` (over QUIC of `sendmsg`) and of `sendfile`,
//! connections and requests over plain HTTP, requests over TLS, 1 where there is an accelerator (2 where that
//! computes in batches), the seven numbers of [`AcceleratorCounts`], those of [`BatchCounts`], and the process whose
//! operations they are.

mod batches;
mod block;
mod counts;
mod places;
mod process;
mod row;

pub use batches::{BatchCounts, KeyUse, UseCounts, Uses};
pub use block::{PROCESSES, create};
pub use counts::{AcceleratorCounts, Calls, SendCounters};
pub use row::{Call, CounterRow};
