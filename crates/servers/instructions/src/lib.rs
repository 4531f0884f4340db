//! How many instructions a server's processes run outside the kernel.
//!
//! [`Meter`] counts them between two moments: by callgrind, in which the server runs, or by the
//! processor's counters, where the kernel has them. Instructions repeat where times do not, and say
//! nothing of the kernel, of caches, and of code that other processors choose.

mod callgrind;
mod dump;
mod emulated;
mod error;
mod meter;

pub use callgrind::version;
pub use dump::{Dump, Function};
pub use emulated::lacking_in_valgrind;
pub use error::CountError;
pub use meter::{Instructions, Meter};
