//! What a walk takes for right by design, and what opening all records sees.

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
    let mut reception = Reception::plain();
    reception.expect(expectation, false);
    assert_eq!(Line::new(texts[0], AT_ONCE).run(&mut reception), Ok(End::Starved));
    let end = Line::new(texts[1], AT_ONCE).run(&mut reception);
    let completed = Completed { body: SIZE as u64, opened: 0, compared: false, closes: false };
    assert_eq!(end, Ok(End::Complete(completed)));
    assert_eq!(sent(Layer::Plain, true, expectation, &texts), Err(ErrorKind::Content));
}
