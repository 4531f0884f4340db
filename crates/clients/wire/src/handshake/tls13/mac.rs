//! HMAC (RFC 2104) for the key schedule, with its short keys and messages, several at once.
//!
//! Several values are derived from each secret, so a key is kept as the hash states after its two
//! padded blocks. For a message of a block, the buffers of a general, incremental implementation
//! would cost as much as the hash itself.

use super::state::State;
use crate::handshake::transcript::Hashed;

/// The key of an HMAC: the states of its hash after the key's block, padded for the inner and for
/// the outer hash.
#[derive(Clone, Copy)]
pub(super) struct MacKey<S> {
    inner: S,
    outer: S,
}

impl<S: State> MacKey<S> {
    pub(super) fn new(key: Hashed) -> Self {
        let [made] = Self::all([key]);
        made
    }

    pub(super) fn all<const N: usize>(keys: [Hashed; N]) -> [Self; N] {
        // Written in place: blocks that closures return would be copied several times.
        let mut blocks = [[S::ZEROS; 2]; N];
        for (padded, key) in blocks.iter_mut().zip(&keys) {
            for (block, padding) in padded.iter_mut().zip([0x36, 0x5c]) {
                let block = block.as_mut();
                block.fill(padding);
                for (byte, key) in block.iter_mut().zip(key.as_ref()) {
                    *byte ^= key;
                }
            }
        }
        let blocks = blocks.each_ref().map(|[inner, outer]| [inner, outer]);
        let mut states = [[S::INITIAL; 2]; N];
        S::compress_all(states.as_flattened_mut(), blocks.as_flattened());
        states.map(|[inner, outer]| Self { inner, outer })
    }

    /// The HMACs of messages of one block, which [`message`] makes.
    pub(super) fn sign_all<const N: usize>(signed: [(&Self, &S::Block); N]) -> [Hashed; N] {
        let mut states = signed.map(|(key, _)| key.inner);
        S::compress_all(&mut states, &signed.map(|(_, message)| message));
        let mut blocks = [S::ZEROS; N];
        for (block, state) in blocks.iter_mut().zip(&states) {
            put_last::<S>(block, &[state.output().as_ref()], S::OUTPUT);
        }
        let mut states = signed.map(|(key, _)| key.outer);
        S::compress_all(&mut states, &blocks.each_ref());
        states.map(|state| state.output())
    }
}

/// A message of these parts as the block after the key's, padded. It must leave room for the
/// padding, as all messages of the key schedule do but a hybrid shared secret.
pub(super) fn message<S: State>(parts: &[&[u8]]) -> S::Block {
    let mut block = S::ZEROS;
    put_last::<S>(&mut block, parts, parts.iter().map(|part| part.len()).sum());
    block
}

/// Puts the last block of a message of this many bytes, without the key's block, into a block of zeros.
fn put_last<S: State>(block: &mut S::Block, parts: &[&[u8]], length: usize) {
    let bytes = block.as_mut();
    let mut end = 0;
    for part in parts {
        bytes[end..end + part.len()].copy_from_slice(part);
        end += part.len();
    }
    debug_assert!(end + 1 + S::COUNT <= S::BLOCK, "no room for the padding");
    bytes[end] = 0x80;
    let bits = 8 * (S::BLOCK + length) as u64;
    bytes[S::BLOCK - 8..].copy_from_slice(&bits.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ring::hmac;

    use super::*;
    use crate::handshake::transcript::LONGEST;

    /// Keys and messages, as many as the key schedule has at once; messages leave room for the
    /// padding.
    fn signed() -> impl Strategy<Value = [(Vec<u8>, Vec<u8>); 7]> {
        let bytes = |most| proptest::collection::vec(any::<u8>(), 0..=most);
        std::array::from_fn(|_| (bytes(LONGEST), bytes(55)))
    }

    fn check<S: State>(algorithm: hmac::Algorithm, signed: &[(Vec<u8>, Vec<u8>); 7]) {
        let expected = signed.each_ref().map(|(key, message)| {
            hmac::sign(&hmac::Key::new(algorithm, key), message).as_ref().to_vec()
        });
        let keys = MacKey::<S>::all(signed.each_ref().map(|(key, _)| Hashed::from(&key[..])));
        let blocks = signed.each_ref().map(|(_, bytes)| message::<S>(&[&bytes[..]]));
        let together = MacKey::sign_all(std::array::from_fn::<_, 7, _>(|i| (&keys[i], &blocks[i])));
        for (i, (key, _)) in signed.iter().enumerate() {
            let alone = MacKey::<S>::new(Hashed::from(&key[..]));
            assert_eq!(together[i].as_ref(), expected[i]);
            let [two, _] = MacKey::sign_all([(&alone, &blocks[i]), (&keys[0], &blocks[0])]);
            assert_eq!(two.as_ref(), expected[i]);
        }
    }

    proptest! {
        #[test]
        fn another_library_signs_alike(signed in signed()) {
            check::<[u32; 8]>(hmac::HMAC_SHA256, &signed);
            check::<[u64; 8]>(hmac::HMAC_SHA384, &signed);
        }
    }
}
