//! Responses that begin in a long record: their heads are read without opening it. Damage is then
//! refused, or the record is opened. Damage that is no longer noticed is listed here too.

use proptest::prelude::*;

use super::*;

const RECORD: usize = 8192;
const BODY: usize = 5 * RECORD;

/// The head in one record with the beginning of the body, as servers that fill records send it.
fn text() -> Vec<u8> {
    [head(BODY), object(BODY)].concat()
}

/// A response: five full records, and a last one with as many body bytes as the head has.
fn records(peer: &mut Peer) -> Vec<Vec<u8>> {
    peer.records(&text(), &[RECORD; 5])
}

/// All layers whose records can be decrypted from their beginning.
fn layers() -> impl Iterator<Item = Layer> {
    Layer::protected().filter(|layer| layer.opener().before_plaintext().is_some())
}

/// A reception and its peer, after enough responses to have learned how they begin.
fn learned(layer: Layer, known: &Learned) -> (Reception, Peer) {
    let mut reception = Reception::tls(layer.opener(), known.clone());
    let mut peer = layer.peer();
    for n in 0..LEARNED_FROM {
        assert!(!reception.is_steady(), "after {n}");
        assert_eq!(
            body_received(&mut reception, BODY, &records(&mut peer).concat()),
            Ok(Some(BODY as u64))
        );
    }
    assert!(reception.is_steady());
    (reception, peer)
}

#[test]
fn the_bytes_of_a_response_on_the_wire_are_learned() {
    for layer in layers() {
        let (mut reception, mut peer) = learned(layer, &Learned::default());
        let bytes = records(&mut peer).concat();
        let total = |reception: &Reception| reception.total(Expectation::Object(BODY as u64));
        assert_eq!(total(&reception), Some(bytes.len() as u64), "{layer:?}");
        // A walked response counts all of them too.
        assert_eq!(body_received(&mut reception, BODY, &bytes), Ok(Some(BODY as u64)));
        assert_eq!(total(&reception), Some(bytes.len() as u64), "{layer:?}");
        assert_eq!(reception.total(Expectation::Object(BODY as u64 - 1)), None);
        assert_eq!(reception.total(Expectation::Anything), None);
    }
}

/// The result of a response with this damage, once the reception has learned how responses begin.
fn damaged(layer: Layer, edit: impl Fn(&mut Vec<Vec<u8>>)) -> Result<Option<u64>, ErrorKind> {
    let (mut reception, mut peer) = learned(layer, &Learned::default());
    let mut records = records(&mut peer);
    edit(&mut records);
    body_received(&mut reception, BODY, &records.concat())
}

const LOST: Result<Option<u64>, ErrorKind> = Err(ErrorKind::UnverifiableRecord);

#[test]
fn three_reads_take_a_response() {
    for layer in layers() {
        let (mut reception, mut peer) = learned(layer, &Learned::default());
        let records = records(&mut peer);
        let bytes = records.concat();
        let beginning = layer.opener().before_plaintext().unwrap() + head(BODY).len();
        let beginning = HEADER + beginning.next_multiple_of(16);
        reception.expect(Expectation::Object(BODY as u64), false);
        let mut reads = Vec::new();
        let (mut used, mut coming) = (0, &bytes[..]);
        let mut hand = Vec::new();
        let completed = loop {
            let given = match reception.want() {
                Want::Skip(count) => {
                    assert!(hand.is_empty());
                    reads.push(count as usize);
                    coming = &coming[count as usize..];
                    reception.skipped(count).unwrap()
                }
                Want::Read { min, max } if hand.len() < min => {
                    let (now, later) = coming.split_at(max.min(coming.len()));
                    reads.push(now.len());
                    hand.extend_from_slice(now);
                    coming = later;
                    continue;
                }
                Want::Read { .. } => {
                    let (taken, given) = reception.give(&mut hand).unwrap();
                    hand.drain(..taken);
                    used += taken;
                    given
                }
            };
            if let Given::Complete(completed) = given {
                break completed;
            }
        };
        let last = records[5].len();
        let skipped = bytes.len() - last - reads[0];
        assert_eq!(reads, [reads[0], skipped, last], "{layer:?}");
        assert!(reads[0].abs_diff(beginning) < 16 && used == reads[0] + last, "{layer:?}");
        let opened = completed.opened as usize;
        assert_eq!((completed.body, opened), (BODY as u64, head(BODY).len()), "{layer:?}");
        assert!(!completed.compared && completed.peeked);
    }
}

#[test]
fn records_that_are_missing_repeated_or_swapped_are_no_success() {
    for layer in layers() {
        for which in 0..5 {
            let missing = damaged(layer, |records| drop(records.remove(which)));
            assert!(matches!(missing, Ok(None)) || missing == LOST, "{layer:?} {which}");
            let repeat = |records: &mut Vec<Vec<u8>>| records.insert(which, records[which].clone());
            assert_eq!(damaged(layer, repeat), LOST, "{layer:?} {which}");
            assert_eq!(damaged(layer, |records| records.swap(which, 5)), LOST, "{layer:?} {which}");
        }
        assert_eq!(damaged(layer, |records| records.swap(0, 1)), LOST, "{layer:?}");
    }
}

#[test]
fn damage_to_the_status_or_the_last_record_is_noticed() {
    for layer in layers() {
        let body = HEADER + layer.opener().before_plaintext().unwrap();
        let status = head(BODY).windows(3).position(|word| word == b"200").unwrap();
        let length = head(BODY).windows(5).position(|word| word == b"40960").unwrap();
        for at in [0, status, length, length + 4] {
            assert_eq!(damaged(layer, |records| records[0][body + at] ^= 1), LOST, "{layer:?}");
        }
        assert_eq!(damaged(layer, |records| records[5][body + 3] ^= 1), LOST, "{layer:?}");
    }
}

/// Opening every record finds it, and one response in K is received that way.
#[test]
fn damage_elsewhere_in_the_first_record_is_not_noticed() {
    for layer in layers() {
        let server = HEADER
            + layer.opener().before_plaintext().unwrap()
            + head(BODY).windows(9).position(|word| word == b"Server: x").unwrap()
            + 8;
        // A changed byte of CBC destroys its block, and with it the head.
        let is_cbc = layer.opener().tail() > 0;
        for at in if is_cbc { [6000, 6001] } else { [server, 6000] } {
            let flip = |records: &mut Vec<Vec<u8>>| records[0][at] ^= 1;
            assert_eq!(damaged(layer, flip), Ok(Some(BODY as u64)), "{layer:?} {at}");
            let (mut reception, mut peer) = learned(layer, &Learned::default());
            let mut records = records(&mut peer);
            flip(&mut records);
            reception.expect(Expectation::Object(BODY as u64), true);
            let end = Line::new(&records.concat(), AT_ONCE).run(&mut reception);
            assert_eq!(end.map_err(|failure| failure.kind), Err(ErrorKind::UnverifiableRecord));
        }
    }
}

#[test]
fn a_response_that_begins_otherwise_is_opened() {
    for layer in layers() {
        let refused = |text: &[u8]| {
            let (mut reception, mut peer) = learned(layer, &Learned::default());
            body_received(&mut reception, BODY, &peer.records(text, &[RECORD; 5]).concat())
        };
        let error = [b"HTTP/1.1 503 Not Now\r\nContent-Length: 40960\r\n\r\n", &object(BODY)[..]];
        assert_eq!(refused(&error.concat()), Err(ErrorKind::Status), "{layer:?}");
        let short = [head(BODY - 1), object(BODY - 1)].concat();
        assert_eq!(refused(&short), Err(ErrorKind::ShortBody), "{layer:?}");
        let mut wrong = text();
        wrong[head(BODY).len() + 2] ^= 1;
        assert_eq!(refused(&wrong), Err(ErrorKind::Content), "{layer:?}");

        // A longer head, chunks, and a record that is no data: all correct.
        let field = format!("HTTP/1.1 200 OK\r\nX: {}\r\n", "y".repeat(500));
        let longer = text().strip_prefix(b"HTTP/1.1 200 OK\r\n").map(|rest| rest.to_vec()).unwrap();
        let longer = [field.as_bytes(), &longer].concat();
        assert_eq!(refused(&longer), Ok(Some(BODY as u64)), "{layer:?}");
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na000\r\n";
        let chunked = [&chunked[..], &object(BODY), b"\r\n0\r\n\r\n"].concat();
        assert_eq!(refused(&chunked), Ok(Some(BODY as u64)), "{layer:?}");

        let (mut reception, mut peer) = learned(layer, &Learned::default());
        let mut ticket = vec![4, 0, 0x17, 0];
        ticket.resize(4 + 0x1700, 0);
        let ticket = peer.record(content_type::HANDSHAKE, &ticket);
        let bytes = [ticket, records(&mut peer).concat()].concat();
        assert_eq!(body_received(&mut reception, BODY, &bytes), Ok(Some(BODY as u64)), "{layer:?}");
    }
}

#[test]
fn a_failure_ends_the_trust() {
    for layer in layers() {
        let known = Learned::default();
        let (mut reception, mut peer) = learned(layer, &known);
        let mut records = records(&mut peer);
        records.remove(1);
        assert_ne!(body_received(&mut reception, BODY, &records.concat()), Ok(Some(BODY as u64)));
        assert!(!Reception::tls(layer.opener(), known).is_steady());
    }
}

#[test]
fn the_next_record_after_a_head_gives_the_proof() {
    for layer in layers() {
        let (mut reception, mut peer) = learned(layer, &Learned::default());
        let records = records(&mut peer);
        reception.expect(Expectation::Object(BODY as u64), false);
        let first = Line::new(&records[0][..300], AT_ONCE).run(&mut reception);
        assert_eq!(first, Ok(End::Starved));
        reception.ask_proof();
        let second = records[1].clone();
        let rest = [&records[0][300..], &second].concat();
        assert_eq!(Line::new(&rest, AT_ONCE).run(&mut reception), Ok(End::Starved), "{layer:?}");
        assert!(reception.is_proven());
        assert_eq!(reception.body(), (2 * RECORD - head(BODY).len()) as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn another_cut_is_counted_exactly_or_refused_and_then_opened(
        which in 1..Layer::ALL.len(),
        sizes in proptest::collection::vec(prop_oneof![Just(RECORD), 0usize..12_000], 0..9),
        pieces in proptest::collection::vec(1usize..5000, 1..9),
    ) {
        let layer = Layer::ALL[which];
        let known = Learned::default();
        let mut reception = Reception::tls(layer.opener(), known.clone());
        let mut peer = layer.peer();
        for _ in 0..LEARNED_FROM {
            let regular = records(&mut peer).concat();
            reception.expect(Expectation::Object(BODY as u64), false);
            prop_assert!(Line::new(&regular, &pieces).honest().run(&mut reception).is_ok());
        }
        let mut last = body_received(&mut reception, BODY, &peer.records(&text(), &sizes).concat());
        prop_assert!(
            matches!(last, Ok(None)) || last == LOST || last == Ok(Some(BODY as u64)),
            "{:?}", last
        );
        for _ in 0..2 {
            let mut reception = Reception::tls(layer.opener(), known.clone());
            last = body_received(&mut reception, BODY, &layer.peer().records(&text(), &sizes).concat());
        }
        prop_assert_eq!(last, Ok(Some(BODY as u64)));
    }
}

#[test]
fn a_long_body_over_plain_http_is_not_read_with_its_head() {
    let size = 4 * ONE_RECORD;
    let learned = Learned::default();
    let awaiting = |size: usize| {
        let mut reception = Layer::Plain.reception_with(learned.clone());
        reception.expect(Expectation::Object(size as u64), false);
        reception
    };
    let opened = |head: Vec<u8>| {
        let bytes = [head, object(size)].concat();
        let end = Line::new(&bytes, AT_ONCE).run(&mut awaiting(size));
        let Ok(End::Complete(completed)) = end else { panic!("{end:?}") };
        completed.opened as usize
    };
    let one_record = Want::Read { min: 1, max: ONE_RECORD };
    for _ in 0..LEARNED_FROM {
        assert_eq!(awaiting(size).want(), one_record);
        assert_eq!(opened(head(size)), ONE_RECORD - head(size).len());
    }
    let known = head(size).len().next_multiple_of(16);
    assert_eq!(awaiting(size).want(), Want::Read { min: 1, max: known });
    assert_eq!(opened(head(size)), known - head(size).len());
    // What one read can hold comes with its head, and a longer head is read as before.
    assert_eq!(awaiting(1024).want(), one_record);
    let field = format!("\r\nX-Long: {}\r\nContent-Length", "x".repeat(4000));
    let longer = String::from_utf8(head(size)).unwrap().replacen("\r\nContent-Length", &field, 1);
    assert!(longer.len() > 4000);
    assert_eq!(opened(longer.clone().into_bytes()), known + ONE_RECORD - longer.len());
}

#[test]
fn the_short_end_of_a_body_is_read_with_the_header_of_its_record() {
    let layer = Layer::Tls13Gcm;
    let size = 1 << 14;
    let mut reception = layer.reception();
    let mut peer = layer.peer();
    // The head displaces as many bytes into a second record.
    let text = [head(size), object(size)].concat();
    let bytes = peer.records(&text, &[1 << 14, 1 << 14]).concat();
    let first = HEADER + (1 << 14) + 17;
    let mut known = Line::new(&bytes[..first], AT_ONCE);
    reception.expect(Expectation::Object(size as u64), false);
    assert_eq!(known.run(&mut reception), Ok(End::Starved));
    assert_eq!(reception.body_left(), Some(head(size).len() as u64));
    assert_eq!(reception.want(), Want::Read { min: HEADER, max: ONE_RECORD });
    let end = known.then(&bytes[first..]).run(&mut reception);
    assert!(matches!(end, Ok(End::Complete(_))), "{end:?}");
}
