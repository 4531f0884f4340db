//! The body of the fuzz target `mixes`, which the test of that name runs too.

use multibuffer::{Context, Hasher, Sha1, Sha256, Sha512};

use crate::reference::{Reference, message};

/// Hashes messages at once and in pieces, and compares with the other libraries. The input chooses
/// the backend and the messages' number, lengths and cuts.
///
/// The first byte chooses algorithm and backend. Then come three bytes per message: two for its
/// length, and one for where it is cut.
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
    let described = input.chunks_exact(3).take(MOST_MESSAGES);
    let (messages, cuts): (Vec<Vec<u8>>, Vec<u8>) = described
        .enumerate()
        .map(|(i, bytes)| {
            let length = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
            (message(i, length % (LONGEST + 1)), bytes[2])
        })
        .unzip();
    let mut digests = vec![A::ZEROS; messages.len()];
    hasher.hash_many(&messages, &mut digests).unwrap();
    compare::<A>(&messages, &digests, hasher);

    let halves: Vec<(&[u8], &[u8])> = messages
        .iter()
        .zip(cuts)
        .map(|(message, cut)| message.split_at(message.len() * usize::from(cut) / 255))
        .collect();
    let mut contexts = vec![Context::<A>::new(); messages.len()];
    let (first, second): (Vec<&[u8]>, Vec<&[u8]>) = halves.into_iter().unzip();
    hasher.update(&mut contexts, &first).unwrap();
    hasher.update(&mut contexts, &second).unwrap();
    let mut digests = vec![A::ZEROS; messages.len()];
    hasher.finish(&contexts, &mut digests).unwrap();
    compare::<A>(&messages, &digests, hasher);
}

fn compare<A: Reference>(messages: &[Vec<u8>], digests: &[A::Digest], hasher: &Hasher<A>) {
    for (message, digest) in messages.iter().zip(digests) {
        let backend = hasher.backend();
        assert_eq!(digest.as_ref(), A::digest_of(message), "{} {backend}", A::NAME);
    }
}
