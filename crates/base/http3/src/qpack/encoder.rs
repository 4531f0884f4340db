//! Field sections for the peer (RFC 9204, section 4.5).

use http2::hpack::{integer, string};

use super::static_table::FIELDS;

/// Appends a field section.
pub fn encode<'f>(fields: impl IntoIterator<Item = (&'f [u8], &'f [u8])>, out: &mut Vec<u8>) {
    // A Required Insert Count of 0, and a Base of 0.
    out.extend_from_slice(&[0, 0]);
    for (name, value) in fields {
        match find(name, value) {
            (Some(index), _) => integer::put(out, 0xc0, 6, index),
            (None, Some(index)) => {
                integer::put(out, 0x50, 4, index);
                string::put(out, 0, 7, value);
            }
            (None, None) => {
                string::put(out, 0x20, 3, name);
                string::put(out, 0, 7, value);
            }
        }
    }
}

/// The numbers of this field, and of one with its name.
fn find(name: &[u8], value: &[u8]) -> (Option<usize>, Option<usize>) {
    let mut named = None;
    for (index, field) in FIELDS.iter().enumerate() {
        if field.0.as_bytes() == name {
            if field.1.as_bytes() == value {
                return (Some(index), named);
            }
            named = named.or(Some(index));
        }
    }
    (None, named)
}
