//! HPACK against the examples of RFC 7541 and against libnghttp2.

mod examples;
mod libnghttp2;

use proptest::prelude::*;

use self::libnghttp2::{Deflater, Inflater};
use super::decoder::{Decoded, Decoder};
use super::{Encoder, Fields, HpackError, Repeats, huffman, integer};

type Owned = Vec<(Vec<u8>, Vec<u8>)>;

fn refs(fields: &Owned) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
    fields.iter().map(|(name, value)| (name.as_slice(), value.as_slice()))
}

fn owned(fields: &Fields) -> Owned {
    fields.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Owned, HpackError> {
    let mut decoded = Decoded::default();
    decoder.decode(block, &mut decoded).map(|()| owned(&decoded.fields))
}

/// Heads as servers and clients send them: names that repeat, values that sometimes do.
fn head() -> impl Strategy<Value = Owned> {
    let name = prop_oneof![
        8 => prop::sample::select(&[
            "server", "date", "etag", "content-type", "content-length", "x-own", "cookie", "authorization",
            "vary", "x-a-name-that-is-longer-than-others",
        ]).prop_map(|name| name.as_bytes().to_vec()),
        1 => "[a-z-]{1,40}".prop_map(String::into_bytes),
    ];
    let value = prop_oneof![
        4 => prop::sample::select(&["", "1", "text/html", "Fri, 27 Nov 2026 01:14:18 GMT", "nginx/1.22.1"])
            .prop_map(|value| value.as_bytes().to_vec()),
        2 => "[ -~]{0,60}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..300),
        1 => (0usize..5000).prop_map(|length| vec![b'v'; length]),
    ];
    let status = prop::sample::select(&["200", "404", "418"]);
    (status, prop::collection::vec((name, value), 0..12)).prop_map(|(status, mut fields)| {
        fields.insert(0, (b":status".to_vec(), status.into()));
        fields
    })
}

/// A field of a block: one of either table, or one that enters it or does not.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let literal = |pattern: u8| {
        (prop::sample::select(b"xy"), prop_oneof![4 => 0usize..40, 1 => 0usize..3000]).prop_map(
            move |(name, length)| {
                let mut block = vec![pattern, 1, name];
                integer::put(&mut block, 0, 7, length);
                block.resize(block.len() + length, name);
                block
            },
        )
    };
    let indexed = (1u8..64).prop_map(|index| vec![0x80 | index]);
    prop_oneof![4 => literal(0x40), 1 => literal(0), 2 => indexed]
}

/// Some heads, most of which are sent more than once, each with the table's size from then on.
fn heads() -> impl Strategy<Value = Vec<(Owned, Option<u32>)>> {
    let size = prop_oneof![8 => Just(None), 1 => (0u32..6000).prop_map(Some)];
    prop::collection::vec(head(), 1..4).prop_flat_map(move |pool| {
        prop::collection::vec((prop::sample::select(pool), size.clone()), 1..30)
    })
}

proptest! {
    #[test]
    fn a_decoder_reads_what_libnghttp2_has_encoded(heads in heads()) {
        let (mut deflater, mut decoder) = (Deflater::new(), Decoder::new(usize::MAX));
        for (head, size) in heads {
            if let Some(size) = size {
                deflater.resize(size.min(4096));
            }
            prop_assert_eq!(decode(&mut decoder, &deflater.deflate(&head)), Ok(head));
        }
    }

    #[test]
    fn libnghttp2_reads_what_an_encoder_has_written(heads in heads()) {
        let (mut encoder, mut inflater) = (Encoder::new(), Inflater::new());
        for (head, size) in heads {
            if let Some(size) = size {
                encoder.resize(size);
                inflater.resize(size);
            }
            let mut block = Vec::new();
            encoder.encode(refs(&head), &mut block);
            prop_assert_eq!(inflater.inflate(&block), Some(head));
        }
    }

    /// A block that was changed on its way is read as libnghttp2 reads it, or refused by both.
    #[test]
    fn wrong_blocks_are_refused_where_libnghttp2_refuses_them(
        heads in prop::collection::vec(head(), 1..4),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        more in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let (mut deflater, mut inflater) = (Deflater::new(), Inflater::new());
        let mut decoder = Decoder::new(usize::MAX);
        for head in heads {
            let mut block = deflater.deflate(&head);
            for (at, value) in &changes {
                let at = at.index(block.len());
                block[at] = *value;
            }
            block.extend_from_slice(&more);
            let read = decode(&mut decoder, &block);
            prop_assert_eq!(read.clone().ok(), inflater.inflate(&block), "{:x?}: {:?}", block, read);
            if read.is_err() {
                break;
            }
        }
    }

    /// What is remembered is what would be decoded, whatever the blocks before did to the table: those that repeat
    /// fill it with their fields, as nginx's do, or take theirs from it.
    #[test]
    fn blocks_that_repeat_are_read_as_they_would_be_decoded(
        pool in prop::collection::vec(prop::collection::vec(piece(), 0..8), 1..7),
        order in prop::collection::vec((any::<prop::sample::Index>(), 1usize..60), 1..30),
        size in prop_oneof![Just(4096usize), 0usize..4096],
    ) {
        let (mut decoder, mut repeats) = (Decoder::new(usize::MAX), Repeats::new(usize::MAX));
        let mut first = Vec::new();
        integer::put(&mut first, 0x20, 5, size);
        prop_assert_eq!(decode(&mut decoder, &first), Ok(vec![]));
        prop_assert!(repeats.read(&first).is_ok());
        let blocks: Vec<_> = pool.iter().map(|pieces| pieces.concat()).collect();
        for (which, times) in order {
            for _ in 0..times {
                let block = which.get(&blocks);
                let read = repeats.read(block).map(|(place, _)| owned(repeats.fields(place)));
                let expected = decode(&mut decoder, block);
                prop_assert_eq!(&read, &expected);
                if read.is_err() {
                    return Ok(());
                }
            }
        }
    }

    #[test]
    fn every_text_has_a_code(text in prop::collection::vec(any::<u8>(), 0..300)) {
        let (mut coded, mut back) = (Vec::new(), Vec::new());
        huffman::encode(&text, &mut coded);
        prop_assert_eq!(coded.len(), huffman::encoded_length(&text));
        prop_assert_eq!(huffman::decode(&coded, &mut back), Some(()));
        prop_assert_eq!(back, text);
    }
}

#[test]
fn blocks_that_repeat_are_decoded_once() {
    let (mut repeats, mut are_new) = (Repeats::new(1000), Vec::new());
    let enters = [0x88, 0x40, 1, b'x', 1, b'y'];
    let uses = [0x88, 0xbe];
    let other = [0x88, 0x40, 1, b'x', 1, b'z'];
    for block in [&enters[..], &enters, &uses, &uses, &enters, &uses, &other, &enters] {
        are_new.push(repeats.read(block).unwrap().1);
    }
    // What takes a field from the table is decoded again when something has entered it.
    assert_eq!(are_new, [true, false, true, false, false, true, true, false]);
}

/// However often a block was entered again, each field of the table is what it would be.
#[test]
fn a_table_is_filled_by_a_block_that_repeats() {
    let literal = |value: u8| [&[0x40, 1, b'x', 60], &[value; 60][..]].concat();
    let block: Vec<u8> = (1..=3).flat_map(literal).collect();
    let indexed: Vec<u8> = (0xbe..0xbe + 50).collect();
    for times in 1..40 {
        let (mut decoder, mut repeats) = (Decoder::new(usize::MAX), Repeats::new(usize::MAX));
        let old: Vec<u8> = (100..150).flat_map(literal).collect();
        for block in std::iter::once(&old).chain(std::iter::repeat_n(&block, times)) {
            decode(&mut decoder, block).unwrap();
            repeats.read(block).unwrap();
        }
        // An entry takes 93 of the table's 4096 bytes.
        for place in 0..44 {
            let block = &indexed[place..=place];
            let (at, _) = repeats.read(block).unwrap();
            assert_eq!(Ok(owned(repeats.fields(at))), decode(&mut decoder, block), "{times}");
        }
        assert!(repeats.read(&indexed[44..45]).is_err());
    }
}

/// The rules of RFC 7541, section 5.2.
#[test]
fn padding_is_less_than_a_byte_of_ones() {
    let decode = |bytes: &[u8]| {
        let mut text = Vec::new();
        huffman::decode(bytes, &mut text).map(|()| text)
    };
    // "0" is 00000.
    assert_eq!(decode(&[0b0000_0111]), Some(b"0".to_vec()));
    assert_eq!(decode(&[0b0000_0110]), None);
    assert_eq!(decode(&[0b0000_0111, 0xff]), None);
    assert_eq!(decode(&[0xff]), None);
    // EOS, and a byte after it.
    assert_eq!(decode(&[0xff, 0xff, 0xff, 0xff, 0xff]), None);
    assert_eq!(decode(&[]), Some(vec![]));
}

#[test]
fn long_fields_and_heads_are_refused() {
    let field = |length: usize| {
        let mut block = vec![0, 1, b'x'];
        integer::put(&mut block, 0, 7, length);
        block.resize(block.len() + length, b'y');
        block
    };
    let mut decoder = Decoder::new(200_000);
    assert_eq!(decode(&mut decoder, &field(64 << 10)).map(|fields| fields.len()), Ok(1));
    assert_eq!(decode(&mut decoder, &field((64 << 10) + 1)), Err(HpackError::LongField));
    // By its decoded length: "0" has 5 bits.
    let mut huffman = vec![0, 1, b'x'];
    integer::put(&mut huffman, 0x80, 7, 50_000);
    huffman.resize(huffman.len() + 50_000, 0);
    assert_eq!(decode(&mut decoder, &huffman), Err(HpackError::LongField));
    assert_eq!(decode(&mut decoder, &field(60_000).repeat(3)).map(|fields| fields.len()), Ok(3));
    assert_eq!(decode(&mut decoder, &field(60_000).repeat(4)), Err(HpackError::LongHead));
}

/// Secrets are not in a table that their length could be guessed from, and what a request has alone pushes
/// nothing else out.
#[test]
fn what_repeats_is_indexed_and_no_secret_is() {
    let head: Owned = [
        (":path", "/bytes/1KiB"),
        (":authority", "localhost:8443"),
        (":method", "GET"),
        (":scheme", "https"),
        ("user-agent", "toll/0.1.0"),
        ("authorization", "Basic dG9sbDp0b2xs"),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into();
    let (mut encoder, mut deflater) = (Encoder::new(), Deflater::new());
    let mut blocks = Vec::new();
    for _ in 0..4 {
        let mut block = Vec::new();
        encoder.encode(refs(&head), &mut block);
        let library = deflater.deflate(&head);
        assert_eq!(block, library, "{block:x?} {library:x?}");
        blocks.push(block);
    }
    assert!(blocks[1].len() < blocks[0].len());
    assert_eq!((&blocks[2], &blocks[3]), (&blocks[1], &blocks[1]));
    // A literal that is never indexed, by the name in the static table.
    assert!(blocks[3].windows(2).any(|bytes| bytes == [0x1f, 0x08]));
}

#[test]
fn a_table_that_the_peer_makes_smaller_and_larger_is_so_in_both() {
    let head: Owned = vec![(b"x-own".to_vec(), b"value".to_vec())];
    let (mut encoder, mut inflater) = (Encoder::new(), Inflater::new());
    let mut send = |sizes: &[u32]| {
        let mut block = Vec::new();
        for size in sizes {
            encoder.resize(*size);
            inflater.resize(*size);
        }
        encoder.encode(refs(&head), &mut block);
        assert_eq!(inflater.inflate(&block), Some(head.clone()));
        block
    };
    let (first, second) = (send(&[]), send(&[4096]));
    assert_eq!(second, [0xbe]);
    // The table was emptied meanwhile; RFC 7541, section 4.2, wants both sizes.
    assert_eq!(send(&[0, 4096]), [&[0x20, 0x3f, 0xe1, 0x1f], &first[..]].concat());
    assert_eq!(send(&[65_536]), [0xbe]);
    // Nothing can be indexed.
    let without = [0x20, 0x00];
    assert_eq!(send(&[0])[..2], without);
    assert_eq!(send(&[])[0], 0x00);
}
