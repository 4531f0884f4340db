//! Private keys on an accelerator.
//!
//! One is real: Intel's **multi-buffer** library, which does up to eight operations at once on CPUs with
//! AVX-512 IFMA. Cards are rare, so the other device is a **model** that every machine runs: it answers an operation after a
//! time that follows from settings. With static RSA in TLS 1.2, a client may send the same encrypted
//! premaster secret in every handshake. What was decrypted once is answered from memory, when the modelled
//! device would have answered: the CPU is relieved as by a card, and only the device's speed is a setting.
//! Nothing else than a measurement may use this: it remembers secrets, and its times depend on them.
//!
//! [`install`] puts an OpenSSL provider in front of the device, which the contexts of [`tls_server`] ask;
//! [`provide`] is the same provider for a shared library. In a job of OpenSSL (`SSL_MODE_ASYNC`) the
//! provider pauses the job until the device answers; elsewhere it waits. That a paused job can continue
//! is found by polling ([`Accelerator::ready`]), or shown by a descriptor of the job ([`CompletedBy`]).

mod accelerator;
mod counts;
mod description;
mod device;
mod event;
mod model;
mod multi_buffer;
mod provider;
mod provider_path;
mod queue;
mod rates;
#[cfg(feature = "testing")]
pub mod testing;
mod timer;

pub use accelerator::{Accelerator, InstallError, count_in};
pub use description::{Batching, CompletedBy, Description, Kind, Way};
pub use device::Ticket;
pub use provider::{
    NAME, find_multi_buffer, install, install_multi_buffer, load, paused, prepare, provide,
    tls_server,
};
pub use provider_path::ProviderPath;
pub use rates::Rates;
