//! The same bytes give the same result wherever they are cut, and no bytes cause a panic.

use proptest::prelude::*;

use super::*;

fn sizes(most: usize) -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![Just(0), 1..20usize, 1..=most, Just(most)];
    proptest::collection::vec(size, 0..24)
}

/// Body bytes of a response that a walk opens: those that come with the head, and those in
/// records that could hold the body's last byte.
fn opened_by_a_walk(
    layer: Layer,
    head: usize,
    total: usize,
    records: &[Vec<u8>],
    cuts: &[usize],
) -> u64 {
    let mut contents = cuts.to_vec();
    let mut at: usize = contents.iter().sum::<usize>().min(total);
    while at < total {
        contents.push((total - at).min(1 << 14));
        at += 1 << 14;
    }
    let (mut passed, mut opened) = (0, 0);
    for (record, size) in records.iter().zip(contents) {
        let size = size.min(total - passed);
        let is_dropped =
            passed >= head && plaintext_at_most(layer, record) < (total - passed) as u64;
        if !is_dropped {
            opened += (passed + size).saturating_sub(head.max(passed));
        }
        passed += size;
    }
    opened as u64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_cut_into_records_and_pieces_completes_with_the_right_counts(
        which in 0..Layer::ALL.len(),
        whole: bool,
        bodies in proptest::collection::vec(0usize..80_000, 1..3),
        cuts in sizes(1 << 14),
        pieces in proptest::collection::vec(1usize..40_000, 1..8),
    ) {
        let layer = Layer::ALL[which];
        let mut peer = layer.peer();
        let mut wire = Vec::new();
        let mut expected = Vec::new();
        for size in &bodies {
            let text = [head(*size), object(*size)].concat();
            let records = peer.records(&text, &cuts);
            expected.push(match (layer, whole) {
                (_, true) => Some(*size as u64),
                (Layer::Plain, false) => None,
                _ => Some(opened_by_a_walk(layer, text.len() - size, text.len(), &records, &cuts)),
            });
            wire.push(records.concat());
        }
        let mut reception = layer.reception();
        for ((size, opened), wire) in bodies.iter().zip(expected).zip(&wire) {
            let mut line = Line::new(wire, &pieces).honest();
            reception.expect(Expectation::Object(*size as u64), whole);
            let end = line.run(&mut reception);
            let Ok(End::Complete(completed)) = end else { panic!("{end:?}") };
            prop_assert_eq!(completed.body, *size as u64);
            if let Some(opened) = opened {
                prop_assert_eq!(completed.opened, opened);
            }
            prop_assert_eq!(completed.compared, completed.opened == completed.body);
            // Empty records may follow a response.
            prop_assert_eq!(line.run(&mut reception), Ok(End::Starved));
        }
    }

    #[test]
    fn chunks_in_any_records_and_pieces_complete(
        which in 0..Layer::ALL.len(),
        whole: bool,
        chunks in proptest::collection::vec(1usize..3000, 0..6),
        cuts in sizes(2000),
        pieces in proptest::collection::vec(1usize..3000, 1..8),
    ) {
        let layer = Layer::ALL[which];
        let total: usize = chunks.iter().sum();
        let body = object(total);
        let mut text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        let mut rest = &body[..];
        for size in chunks {
                        let (here, after) = rest.split_at(size);
            text.extend(format!("{size:x}\r\n").bytes());
            text.extend(here);
            text.extend(b"\r\n");
                        rest = after;
        }
        text.extend(b"0\r\n\r\n");
        let wire = layer.peer().records(&text, &cuts).concat();
        let mut reception = layer.reception();
        reception.expect(Expectation::Object(total as u64), whole);
        let end = Line::new(&wire, &pieces).honest().run(&mut reception);
        let (body, opened) = (total as u64, total as u64);
        let completed = Completed { status: 200, body, opened, compared: true, peeked: false, closes: false };
        prop_assert_eq!(end, Ok(End::Complete(completed)));
    }

    #[test]
    fn one_changed_byte_never_passes_where_all_is_opened(
        which in 1..Layer::ALL.len(),
        at: proptest::sample::Index,
        bit in 0u32..8,
    ) {
        let layer = Layer::ALL[which];
        let mut bytes = response(layer).concat();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let end = receive(layer, true, Expectation::Anything, &bytes);
        prop_assert!(end.is_err(), "{end:?}");
    }

    #[test]
    fn no_bytes_cause_a_panic_or_an_endless_loop(
        which in 0..Layer::ALL.len(),
        whole: bool,
        is_object: bool,
        honest in 0usize..7,
        lies in proptest::collection::vec(
            prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..300),
                (20u8..25, 0u16..400).prop_map(|(kind, length)| {
                    [vec![kind, 3, 3], length.to_be_bytes().to_vec(), vec![kind; length.into()]]
                        .concat()
                }),
            ],
            0..6,
        ),
        pieces in proptest::collection::vec(1usize..5000, 1..8),
    ) {
        let layer = Layer::ALL[which];
        let mut bytes = response(layer)[..honest.min(6)].concat();
        bytes.extend(lies.concat());
        let mut reception = layer.reception();
        let size = if is_object { Expectation::Object(SIZE as u64) } else { Expectation::Anything };
        reception.expect(size, whole);
        let mut line = Line::new(&bytes, &pieces);
        loop {
            match line.run(&mut reception) {
                Ok(End::Complete(_)) => reception.expect(size, whole),
                Ok(End::Closed | End::Starved) => {
                    let _ = reception.end();
                    break;
                }
                Err(_) => break,
            }
        }
    }
}
