//! Private keys on an accelerator.
//!
//! Cards are rare, so the device is a **model** that every machine runs: it answers an operation after a
//! time that follows from settings. With static RSA in TLS 1.2, a client may send the same encrypted
//! premaster secret in every handshake. What was decrypted once is answered from memory, when the modelled
//! device would have answered: the CPU is relieved as by a card, and only the device's speed is a setting.
//! Nothing else than a measurement may use this: it remembers secrets, and its times depend on them.
//!
//! [`install`] puts an OpenSSL provider in front of the device, which the contexts of [`tls_server`] ask. In
//! a job of OpenSSL (`SSL_MODE_ASYNC`) the provider pauses the job until
//! the device answers, and [`Accelerator::ready`] says which paused operations can continue; elsewhere it
//! waits.

mod accelerator;
mod counts;
mod description;
mod device;
mod model;
mod provider;
mod queue;
mod rates;
#[cfg(feature = "testing")]
pub mod testing;

pub use accelerator::Accelerator;
pub use counts::{Counts, counts, forget_most};
pub use description::{Description, Kind, Way};
pub use provider::{install, paused, tls_server};
pub use queue::Ticket;
pub use rates::Rates;
