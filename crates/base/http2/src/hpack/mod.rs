//! HPACK, the compression of heads (RFC 7541), for one direction of a connection each. QPACK shares its integers,
//! strings and lists of fields.

mod decoder;
mod dynamic_table;
mod encoder;
mod error;
mod fields;
mod huffman;
pub mod integer;
mod repeats;
mod static_table;
pub mod string;
#[cfg(test)]
mod tests;

pub(crate) use encoder::Encoder;
pub use error::{HpackError, WRONG};
pub use fields::Fields;
pub(crate) use repeats::{REMEMBERED, Repeats};
