//! Every backend agrees with two other libraries: for every number of messages, mixes of lengths,
//! and pieces.

use crate::reference::{Reference, message};
use multibuffer::{Context, Hasher, Sha1, Sha256, Sha512};
use proptest::prelude::*;

/// Lengths around which padding or the last block change, and any others.
fn length() -> impl Strategy<Value = usize> {
    prop_oneof![
        4 => prop::sample::select(vec![
            0, 1, 55, 56, 57, 63, 64, 65, 111, 112, 113, 119, 120, 127, 128, 129, 255, 256,
        ]),
        2 => 0..300usize,
        1 => 0..5000usize,
    ]
}

/// Up to twice as many messages as the widest backend has lanes, and one more.
fn messages() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(length(), 1..=33).prop_map(|lengths| {
        lengths.into_iter().enumerate().map(|(i, bytes)| message(i, bytes)).collect()
    })
}

fn check<A: Reference>(messages: &[Vec<u8>]) {
    let expected: Vec<Vec<u8>> = messages.iter().map(|m| A::digest_of(m)).collect();
    for hasher in Hasher::<A>::available() {
        let mut digests = vec![A::ZEROS; messages.len()];
        let work = hasher.hash_many(messages, &mut digests).unwrap();
        assert_eq!(work.backend, hasher.backend());
        for (i, digest) in digests.iter().enumerate() {
            let bytes = messages[i].len();
            assert_eq!(digest.as_ref(), expected[i], "{} {}: {bytes}", A::NAME, hasher.backend());
        }
    }
}

/// Hashes messages in pieces, each message cut elsewhere, all in the same updates.
fn check_pieces<A: Reference>(messages: &[Vec<u8>], cuts: &[prop::sample::Index]) {
    for hasher in Hasher::<A>::available() {
        let mut contexts = vec![Context::<A>::new(); messages.len()];
        let mut rest: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        for round in 0..=cuts.len() {
            let pieces: Vec<&[u8]> = rest
                .iter_mut()
                .enumerate()
                .map(|(i, rest)| {
                    let cut = cuts.get((round + i) % cuts.len()).filter(|_| round < cuts.len());
                    let at = cut.map_or(rest.len(), |cut| cut.index(rest.len() + 1));
                    rest.split_off(..at).unwrap()
                })
                .collect();
            hasher.update(&mut contexts, &pieces).unwrap();
        }
        let mut digests = vec![A::ZEROS; messages.len()];
        hasher.finish(&contexts, &mut digests).unwrap();
        for ((message, context), digest) in messages.iter().zip(&contexts).zip(&digests) {
            assert_eq!(context.bytes(), message.len() as u64);
            let bytes = message.len();
            assert_eq!(
                digest.as_ref(),
                A::digest_of(message),
                "{} {}: {bytes}",
                A::NAME,
                hasher.backend()
            );
        }
    }
}

/// Every number of messages up to twice the lanes, of such lengths.
fn check_counts<A: Reference>(lengths: &[usize]) {
    for hasher in Hasher::<A>::available() {
        for count in 0..=2 * hasher.lanes() {
            let lengths = lengths.iter().cycle().take(count).enumerate();
            let messages: Vec<Vec<u8>> = lengths.map(|(i, bytes)| message(i, *bytes)).collect();
            let mut digests = vec![A::ZEROS; count];
            hasher.hash_many(&messages, &mut digests).unwrap();
            for (message, digest) in messages.iter().zip(&digests) {
                assert_eq!(digest.as_ref(), A::digest_of(message), "{count} messages");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A single length gives equal messages; several give a mix.
    #[test]
    fn any_number_of_messages(lengths in prop::collection::vec(0..400usize, 1..=33)) {
        check_counts::<Sha1>(&lengths);
        check_counts::<Sha256>(&lengths);
        check_counts::<Sha512>(&lengths);
    }

    #[test]
    fn any_mix_of_lengths(messages in messages()) {
        check::<Sha1>(&messages);
        check::<Sha256>(&messages);
        check::<Sha512>(&messages);
    }

    #[test]
    fn any_pieces(
        messages in messages(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
    ) {
        check_pieces::<Sha1>(&messages, &cuts);
        check_pieces::<Sha256>(&messages, &cuts);
        check_pieces::<Sha512>(&messages, &cuts);
    }
}

/// Batches that end with a whole block, with these numbers of blocks in turn: their padding is that
/// of the batch before, or not.
fn check_turns<A: Reference>(turns: &[u64], last: usize) {
    let long = |blocks: u64| blocks as usize * A::BLOCK_BYTES;
    for hasher in Hasher::<A>::available() {
        for blocks in turns {
            let count = hasher.lanes() + last;
            let messages: Vec<_> = (0..count).map(|i| message(i, long(*blocks))).collect();
            let mut digests = vec![A::ZEROS; count];
            hasher.hash_many(&messages, &mut digests).unwrap();
            let mut contexts = vec![Context::<A>::new(); count];
            hasher.update(&mut contexts, &messages).unwrap();
            let mut of_contexts = vec![A::ZEROS; count];
            hasher.finish(&contexts, &mut of_contexts).unwrap();
            for (i, message) in messages.iter().enumerate() {
                let expected = A::digest_of(message);
                let name = format!("{} {}: {blocks} blocks", A::NAME, hasher.backend());
                assert_eq!(digests[i].as_ref(), expected, "{name}");
                assert_eq!(of_contexts[i].as_ref(), expected, "{name}, in pieces");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn whole_blocks_by_turns(
        turns in prop::collection::vec(0..3u64, 2..8),
        last in 0..3usize,
    ) {
        check_turns::<Sha1>(&turns, last);
        check_turns::<Sha256>(&turns, last);
        check_turns::<Sha512>(&turns, last);
    }
}
