//! QPACK (RFC 9204) with the static table alone: what a field section means does not depend on what came before.

mod decoder;
mod encoder;
mod static_table;
#[cfg(test)]
mod tests;

pub use decoder::decode;
pub use encoder::encode;
