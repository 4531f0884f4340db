//! Every backend agrees with two other libraries: for every number of messages and mixes of lengths.

use crate::reference::{Reference, message};
use multibuffer::{Hasher, Sha1, Sha256, Sha512};
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
}
