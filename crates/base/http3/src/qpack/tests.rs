use proptest::prelude::*;

use super::*;
use crate::{ErrorCode, Fields, LONGEST_HEAD};

type Owned = (Vec<u8>, Vec<u8>);

fn decoded(section: &[u8]) -> Result<Vec<Owned>, ErrorCode> {
    let mut fields = Fields::default();
    decode(section, &mut fields).map_err(|breach| breach.code)?;
    Ok(fields.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect())
}

fn owned(name: &str, value: &str) -> Owned {
    (name.into(), value.into())
}

#[test]
fn a_literal_with_a_name_of_the_table_is_that_of_the_rfc() {
    // RFC 9204, appendix B.1.
    let section = [&[0, 0, 0x51, 0x0b][..], b"/index.html"].concat();
    assert_eq!(decoded(&section), Ok(vec![owned(":path", "/index.html")]));
    let mut own = Vec::new();
    encode([(&b":path"[..], &b"/index.html"[..])], &mut own);
    // The Huffman code is shorter than the example's text.
    assert!(own.len() < section.len() && own.starts_with(&[0, 0, 0x51]));
    assert_eq!(decoded(&own), Ok(vec![owned(":path", "/index.html")]));
}

#[test]
fn each_field_of_the_table_is_two_bytes_at_most_and_comes_back() {
    for index in 0..99 {
        let field = static_table::get(index).unwrap();
        let mut section = Vec::new();
        encode([field], &mut section);
        assert!(section.len() <= 4, "{index}");
        assert_eq!(decoded(&section), Ok(vec![(field.0.to_vec(), field.1.to_vec())]));
    }
}

#[test]
fn sections_that_use_the_dynamic_table_or_do_not_end_are_refused() {
    let long = 50_000;
    let mut huffman = vec![0, 0, 0x20 | 1, b'x'];
    http2::hpack::integer::put(&mut huffman, 0x80, 7, long);
    huffman.resize(huffman.len() + long, 0);
    let mut many = vec![0, 0];
    let value = vec![b'v'; LONGEST_HEAD / 2];
    for _ in 0..2 {
        many.extend_from_slice(&[0x21, b'x']);
        http2::hpack::integer::put(&mut many, 0, 7, value.len());
        many.extend_from_slice(&value);
    }
    for (section, code) in [
        (&[][..], ErrorCode::QpackDecompressionFailed),
        (&[0], ErrorCode::QpackDecompressionFailed),
        // A Required Insert Count; an indexed field, a name and both after the Base, of the dynamic table.
        (&[1, 0, 0xd1], ErrorCode::QpackDecompressionFailed),
        (&[0, 0, 0x80], ErrorCode::QpackDecompressionFailed),
        (&[0, 0, 0x40, 1, b'x'], ErrorCode::QpackDecompressionFailed),
        (&[0, 0, 0x10], ErrorCode::QpackDecompressionFailed),
        (&[0, 0, 0x00, 1, b'x'], ErrorCode::QpackDecompressionFailed),
        // A Base before the table's beginning.
        (&[0, 0x80], ErrorCode::QpackDecompressionFailed),
        (&[0, 0x85, 0x71, 1, b'/'], ErrorCode::QpackDecompressionFailed),
        // Field 99; a number, a name and a value without an end; a value that is no Huffman code.
        (&[0, 0, 0xff, 99 - 63], ErrorCode::QpackDecompressionFailed),
        (&[0, 0, 0xff], ErrorCode::QpackDecompressionFailed),
        (&[0, 0, 0x22, b'x'], ErrorCode::QpackDecompressionFailed),
        (&[0, 0, 0x51, 3, b'x'], ErrorCode::QpackDecompressionFailed),
        (&[0, 0, 0x51, 0x81, 0], ErrorCode::QpackDecompressionFailed),
        (&huffman, ErrorCode::ExcessiveLoad),
        (&many, ErrorCode::ExcessiveLoad),
    ] {
        assert_eq!(decoded(section), Err(code), "{:?}", &section[..section.len().min(8)]);
    }
    assert_eq!(decoded(&[0, 0]), Ok(Vec::new()));
    // The never-indexed bit, and a Base that has no meaning without the dynamic table.
    assert_eq!(decoded(&[0, 0x05, 0x71, 1, b'/']), Ok(vec![owned(":path", "/")]));
    assert_eq!(decoded(&[0, 0, 0x31, b'x', 1, b'y']), Ok(vec![owned("x", "y")]));
}

proptest! {
    #[test]
    fn fields_come_back(fields: Vec<Owned>) {
        let mut section = Vec::new();
        encode(fields.iter().map(|(name, value)| (&name[..], &value[..])), &mut section);
        prop_assert_eq!(decoded(&section), Ok(fields));
    }
}
