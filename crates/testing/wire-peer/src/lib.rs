//! The other side of `wire`, for tests and fuzzing: peers whose bytes are all known, honest or not, and
//! what must hold whatever a peer sends.

pub mod fuzzing;
mod in_memory;
mod layer;
mod line;
pub mod messages;
mod puppet;
mod tls12_puppet;

pub use in_memory::{InMemory, assert_keys_agree, with_openssl};
pub use layer::{Layer, Peer, head, object, plaintext_at_most};
pub use line::{End, Line};
pub use puppet::Puppet;
pub use tls12_puppet::Tls12Puppet;
