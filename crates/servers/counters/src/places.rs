//! Where which number stands in a row.

use tls::SendMode;

use crate::batches::BatchCounts;
use crate::block::NUMBERS;

/// The places of the numbers in a row; those of connections come first.
pub(crate) const CALLS: usize = SendMode::ALL.len();
/// Connections and requests over plain HTTP, and requests over TLS: a request stands after its connection, so that
/// who reads backwards sees the connection of each request that is counted.
pub(crate) const PLAIN: usize = CALLS + 4;
pub(crate) const TLS_REQUESTS: usize = PLAIN + 2;
pub(crate) const HAS_ACCELERATOR: usize = TLS_REQUESTS + 1;
pub(crate) const ACCELERATOR: usize = HAS_ACCELERATOR + 1;
pub(crate) const IN_FLIGHT_MAX: usize = ACCELERATOR + 6;
/// How many numbers of a row are counts.
pub(crate) const USED: usize = IN_FLIGHT_MAX + 1 + BatchCounts::NUMBERS;
/// Whose operations they are; 0 where nobody's yet.
pub(crate) const OWNER: usize = USED;
const _: () = assert!(OWNER < NUMBERS);
/// What is at the place of `HAS_ACCELERATOR`.
pub(crate) const ONE_BY_ONE: u64 = 1;
pub(crate) const IN_BATCHES: u64 = 2;
