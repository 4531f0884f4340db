//! Sampled responses: records of CBC whose content is the expected one count without their MAC.

use super::*;

/// How the response with an object of [`SIZE`] ends after `edit`, opened whole by a walk's sample.
fn sampled(layer: Layer, edit: impl FnOnce(&mut Vec<Vec<u8>>)) -> Result<Option<u64>, ErrorKind> {
    let mut records = response(layer);
    edit(&mut records);
    let mut reception = layer.reception().skipping_mac_if_expected();
    reception.expect(Expectation::Object(SIZE as u64), true);
    match Line::new(&records.concat(), AT_ONCE).run(&mut reception) {
        Ok(End::Complete(completed)) => Ok(Some(completed.body)),
        Ok(End::Closed | End::Starved) => Ok(None),
        Err(failure) => Err(failure.kind),
    }
}

const LOST: Result<Option<u64>, ErrorKind> = Err(ErrorKind::UnverifiableRecord);

#[test]
fn damage_to_content_is_noticed_anywhere() {
    for layer in Layer::protected() {
        assert_eq!(sampled(layer, |_| {}), Ok(Some(SIZE as u64)));
        for which in 0..6 {
            let flip = |records: &mut Vec<Vec<u8>>| {
                let at = records[which].len() / 2;
                records[which][at] ^= 1;
            };
            assert_eq!(sampled(layer, flip), LOST, "{layer:?} {which}");
            let repeat = |records: &mut Vec<Vec<u8>>| records.insert(which, records[which].clone());
            // The bytes after the last repetition belong to no record.
            let repeated = if which < 5 { LOST } else { Ok(Some(SIZE as u64)) };
            assert_eq!(sampled(layer, repeat), repeated, "{layer:?} {which}");
        }
        for which in 0..5 {
            let remove = |records: &mut Vec<Vec<u8>>| drop(records.remove(which));
            assert_eq!(sampled(layer, remove), LOST, "{layer:?} {which}");
            assert_eq!(sampled(layer, |records| records.swap(which, which + 1)), LOST);
        }
    }
}

#[test]
fn authentic_but_wrong_content_is_reported_as_such() {
    for layer in Layer::protected() {
        let mut wrong = object(SIZE);
        wrong[9000] ^= 1;
        let mut peer = layer.peer();
        let mut bytes = peer.data(&head(SIZE));
        wrong.chunks(4096).for_each(|piece| bytes.extend(peer.data(piece)));
        let mut reception = layer.reception().skipping_mac_if_expected();
        reception.expect(Expectation::Object(SIZE as u64), true);
        let end = Line::new(&bytes, AT_ONCE).run(&mut reception);
        assert_eq!(end.map_err(|failure| failure.kind), Err(ErrorKind::Content), "{layer:?}");
    }
}

/// A record of 4096 bytes in CBC ends with 20 of MAC and 12 of padding. Only what receives all
/// records (`--receive decrypt`) sees a wrong MAC around the right content.
#[test]
fn a_wrong_mac_in_the_middle_is_noticed_where_all_is_authenticated() {
    // In the block before the last, which also garbles the last: its padding must stay.
    let damage = |records: &mut Vec<Vec<u8>>| {
        let at = records[2].len() - 32;
        records[2][at] ^= 1;
    };
    assert_eq!(sampled(Layer::Cbc, damage), Ok(Some(SIZE as u64)));
    assert_eq!(edited(Layer::Cbc, true, damage), Err(ErrorKind::UnverifiableRecord));
    for layer in Layer::protected().filter(|layer| *layer != Layer::Cbc) {
        assert_eq!(sampled(layer, damage), LOST, "{layer:?}");
    }
    let at_the_end = |records: &mut Vec<Vec<u8>>| {
        let at = records[5].len() - 32;
        records[5][at] ^= 1;
    };
    assert_eq!(sampled(Layer::Cbc, at_the_end), LOST);
}
