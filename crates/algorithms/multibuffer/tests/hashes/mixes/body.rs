//! The body of the fuzz target `mixes`, which the test of that name runs too.

use multibuffer::{Hasher, Sha1, Sha256, Sha512};

use crate::reference::{Reference, message};

/// Hashes messages at once, and compares with the other libraries. The input chooses the backend and
/// the messages' number and lengths.
///
/// The first byte chooses algorithm and backend. Then come two bytes for the length of each message.
pub fn mixes(input: &[u8]) {
    let Some((&choice, rest)) = input.split_first() else { return };
    match choice % 3 {
        0 => check::<Sha1>(choice / 3, rest),
        1 => check::<Sha256>(choice / 3, rest),
        _ => check::<Sha512>(choice / 3, rest),
    }
}

/// More messages would test nothing new: no backend has more than 16 lanes.
const MOST_MESSAGES: usize = 40;
/// The longest message: some blocks of any of the algorithms.
const LONGEST: usize = 700;

fn check<A: Reference>(choice: u8, input: &[u8]) {
    let hashers: Vec<Hasher<A>> = Hasher::available().collect();
    let hasher = &hashers[usize::from(choice) % hashers.len()];
    let lengths = input.as_chunks().0.iter().take(MOST_MESSAGES).copied().map(u16::from_le_bytes);
    let messages: Vec<Vec<u8>> =
        lengths.enumerate().map(|(i, n)| message(i, usize::from(n) % (LONGEST + 1))).collect();
    let mut digests = vec![A::ZEROS; messages.len()];
    hasher.hash_many(&messages, &mut digests).unwrap();
    for (message, digest) in messages.iter().zip(digests) {
        let backend = hasher.backend();
        assert_eq!(digest.as_ref(), A::digest_of(message), "{} {backend}", A::NAME);
    }
}
