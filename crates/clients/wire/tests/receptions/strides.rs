//! Records of one length are dropped several at a time, and errors in them never pass as success.

use proptest::prelude::*;

use super::*;

const RECORD: usize = 1024;
const BODY: usize = 21 * RECORD + 100;

/// The records of a response: its head, then the body in records of these sizes.
fn records(peer: &mut Peer, sizes: &[usize]) -> Vec<Vec<u8>> {
    let mut all = vec![peer.data(&head(BODY))];
    all.extend(peer.records(&object(BODY), sizes));
    all
}

const REGULAR: [usize; 21] = [RECORD; 21];

/// A reception and its peer, after enough responses to have learned the length of the records.
fn learned(layer: Layer, known: &Learned) -> (Reception, Peer) {
    let mut reception = Reception::tls(layer.opener(), known.clone());
    let mut peer = layer.peer();
    for _ in 0..LEARNED_FROM {
        let bytes = records(&mut peer, &REGULAR).concat();
        assert_eq!(body_received(&mut reception, BODY, &bytes), Ok(Some(BODY as u64)));
    }
    (reception, peer)
}

#[test]
fn one_header_is_read_for_all_records_but_the_last() {
    for layer in Layer::protected() {
        let (mut reception, mut peer) = learned(layer, &Learned::default());
        let records = records(&mut peer, &REGULAR);
        let bytes = records.concat();
        let (first, rest) = bytes.split_at(records[0].len() + HEADER);

        reception.expect(Expectation::Object(BODY as u64), false);
        assert_eq!(Line::new(first, AT_ONCE).run(&mut reception).unwrap(), End::Starved);
        let all = 21 * records[1].len() - HEADER;
        assert_eq!(reception.want(), Want::Skip(all as u64), "{layer:?}");

        // Progress counts record by record, and a proof ends the stride.
        reception.skipped(3 * records[1].len() as u64).unwrap();
        assert_eq!(reception.body(), 3 * RECORD as u64);
        reception.ask_proof();
        assert_eq!(reception.want(), Want::Skip((records[1].len() - HEADER) as u64));
        let after = &rest[3 * records[1].len()..];
        let end = Line::new(after, AT_ONCE).honest().run(&mut reception).unwrap();
        assert!(matches!(end, End::Complete(Completed { body, .. }) if body == BODY as u64));
        assert!(reception.is_proven());
    }
}

#[test]
fn a_record_too_many_or_too_few_fails_and_lengths_are_forgotten() {
    for layer in Layer::protected() {
        for damage in [
            (|records| drop(records.remove(9))) as fn(&mut Vec<Vec<u8>>),
            |records| records.insert(9, records[8].clone()),
            |records| records.swap(9, 22),
        ] {
            let known = Learned::default();
            let (mut reception, mut peer) = learned(layer, &known);
            let mut damaged = records(&mut peer, &REGULAR);
            damage(&mut damaged);
            let end = body_received(&mut reception, BODY, &damaged.concat());
            assert!(
                matches!(end, Ok(None) | Err(ErrorKind::UnverifiableRecord)),
                "{layer:?}: {end:?}"
            );

            let mut reception = Reception::tls(layer.opener(), known);
            let records = records(&mut layer.peer(), &REGULAR);
            let first = [&records[0][..], &records[1][..HEADER]].concat();
            reception.expect(Expectation::Object(BODY as u64), false);
            assert_eq!(Line::new(&first, AT_ONCE).run(&mut reception).unwrap(), End::Starved);
            assert!(matches!(reception.want(), Want::Skip(count) if count <= RECORD as u64 + 80));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn another_cut_is_counted_exactly_or_refused_and_then_walked(
        which in 1..Layer::ALL.len(),
        sizes in proptest::collection::vec(prop_oneof![Just(RECORD), 0usize..3000], 0..24),
    ) {
        let layer = Layer::ALL[which];
        let known = Learned::default();
        let (mut reception, mut peer) = learned(layer, &known);
        let end = body_received(&mut reception, BODY, &records(&mut peer, &sizes).concat());
        prop_assert!(
            matches!(end, Ok(None) | Err(ErrorKind::UnverifiableRecord))
                || end == Ok(Some(BODY as u64)),
            "{:?}", end
        );
        // At most one more response may pass: where this one happened to fit, the next does not.
        let mut last = end;
        for _ in 0..2 {
            let mut reception = Reception::tls(layer.opener(), known.clone());
            last = body_received(&mut reception, BODY, &records(&mut layer.peer(), &sizes).concat());
        }
        prop_assert_eq!(last, Ok(Some(BODY as u64)));
    }
}
