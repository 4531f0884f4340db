//! What a walk accepts by design, and opening all records finds.

use super::*;

#[test]
fn two_middle_records_swapped() {
    for layer in Layer::protected() {
        let swap = |records: &mut Vec<Vec<u8>>| records.swap(2, 3);
        assert_eq!(body_of(edited(layer, false, swap)), Ok(SIZE as u64), "{layer:?}");
        assert_eq!(edited(layer, true, swap), Err(ErrorKind::UnverifiableRecord));
    }
}

#[test]
fn a_flipped_byte_in_a_middle_record() {
    for layer in Layer::protected() {
        let flip = |records: &mut Vec<Vec<u8>>| records[2][1000] ^= 1;
        assert_eq!(body_of(edited(layer, false, flip)), Ok(SIZE as u64), "{layer:?}");
        assert_eq!(edited(layer, true, flip), Err(ErrorKind::UnverifiableRecord));
    }
}

#[test]
fn wrong_content_in_a_middle_record() {
    for layer in Layer::protected() {
        let mut wrong = object(SIZE);
        wrong[9000] ^= 1;
        let mut texts = vec![head(SIZE)];
        texts.extend(wrong.chunks(4096).map(<[u8]>::to_vec));
        let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let expectation = Expectation::Object(SIZE as u64);
        assert_eq!(body_of(sent(layer, false, expectation, &texts)), Ok(SIZE as u64));
        assert_eq!(sent(layer, true, expectation, &texts), Err(ErrorKind::Content));
    }
}

#[test]
fn the_content_of_a_plain_body() {
    let texts: [&[u8]; 2] = [&head(SIZE), &[0; SIZE]];
    let expectation = Expectation::Object(SIZE as u64);
    let mut reception = Reception::plain(Learned::default());
    reception.expect(expectation, false);
    assert_eq!(Line::new(texts[0], AT_ONCE).run(&mut reception), Ok(End::Starved));
    let end = Line::new(texts[1], AT_ONCE).run(&mut reception);
    let completed = Completed {
        status: 200,
        body: SIZE as u64,
        opened: 0,
        compared: false,
        peeked: false,
        closes: false,
    };
    assert_eq!(end, Ok(End::Complete(completed)));
    assert_eq!(sent(Layer::Plain, true, expectation, &texts), Err(ErrorKind::Content));
}

#[test]
fn other_padding_of_a_cbc_record_that_is_dropped_with_others() {
    const RECORD: usize = 1000;
    const BODY: usize = 8 * RECORD;
    for layer in [Layer::Cbc, Layer::CbcEncryptThenMac] {
        // Two bytes fewer than promised, in a record with more padding instead.
        let short = object(BODY - 2);
        let sizes = [&[RECORD; 2][..], &[RECORD - 2], &[RECORD; 5]].concat();
        let ends = [
            (false, Expectation::Anything, Ok(BODY as u64)),
            // The last record's content belongs elsewhere in the object.
            (false, Expectation::Object(BODY as u64), Err(ErrorKind::UnverifiableRecord)),
            (true, Expectation::Anything, Err(ErrorKind::ShortBody)),
        ];
        for (whole, expectation, expected) in ends {
            let mut peer = layer.peer();
            let mut wire = peer.data(&head(BODY));
            let records = peer.records(&short, &sizes);
            assert!(records.iter().all(|record| record.len() == records[0].len()), "{layer:?}");
            wire.extend(records.concat());
            let mut reception = layer.reception_that_learned(RECORD);
            reception.expect(expectation, whole);
            let end = match Line::new(&wire, AT_ONCE).run(&mut reception) {
                Ok(End::Starved) => reception.end().map(|_| 0),
                end => end.map(|end| body_of(Ok(end)).unwrap()),
            };
            assert_eq!(end.map_err(|failure| failure.kind), expected, "{layer:?} {whole}");
        }
    }
}
