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
