//! HPACK, the compression of heads (RFC 7541), for one direction of a connection each.

mod decoder;
mod dynamic_table;
mod encoder;
mod fields;
mod huffman;
mod integer;
mod repeats;
mod static_table;
#[cfg(test)]
mod tests;

pub(crate) use decoder::HpackError;
pub(crate) use encoder::Encoder;
pub(crate) use fields::Fields;
pub(crate) use repeats::{REMEMBERED, Repeats};

/// How large a dynamic table may be where nothing else was agreed (RFC 9113, section 6.5.2). A decoder never
/// agrees on more, and an encoder never uses more.
const TABLE_SIZE: usize = 4096;
