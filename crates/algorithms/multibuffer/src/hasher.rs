//! The public interface: hashes many messages with one backend.

use std::fmt;

use crate::algorithm::Algorithm;
use crate::backend::{Backend, Kernels, Unavailable};
use crate::schedule::Work;

/// Hashes many messages at once, with a backend that this processor has.
///
/// Hashing allocates nothing. A hasher holds only the choice of the backend.
#[derive(Debug, Clone, Copy)]
pub struct Hasher<A: Algorithm> {
    kernel: A::Kernels,
}

impl<A: Algorithm> Hasher<A> {
    /// A hasher with exactly this backend.
    ///
    /// # Errors
    /// This processor lacks the backend, or the backend does not have the algorithm.
    pub fn with(backend: Backend) -> Result<Self, Unavailable> {
        match A::Kernels::of(backend) {
            Some(kernel) => Ok(Self { kernel }),
            None if backend.is_available() => Err(Unavailable::Algorithm(backend, A::NAME)),
            None => Err(Unavailable::Processor(backend)),
        }
    }

    /// A hasher for each backend that this processor has.
    pub fn available() -> impl Iterator<Item = Self> {
        Backend::ALL.into_iter().filter_map(|backend| Self::with(backend).ok())
    }

    /// The backend.
    pub fn backend(&self) -> Backend {
        self.kernel.backend()
    }

    /// How many messages it hashes at once; fewer cost the same.
    pub fn lanes(&self) -> usize {
        self.kernel.lanes()
    }

    /// Hashes whole messages of any lengths; digests come in the order of the messages.
    ///
    /// Lanes are filled in that order too, so with very unequal lengths put the long ones first.
    ///
    /// # Errors
    /// The numbers of digests and messages differ.
    pub fn hash_many<M: AsRef<[u8]>>(
        &self,
        messages: &[M],
        digests: &mut [A::Digest],
    ) -> Result<Work, CountMismatch> {
        CountMismatch::check("messages", messages.len(), "digests", digests.len())?;
        Ok(A::run(self.kernel, &|id| messages[id].as_ref(), digests))
    }

    /// Hashes one more block of each message, whose chaining values are `states` (FIPS 180-4, section 6),
    /// and adds no padding. HMACs with one key begin with the same chaining value (RFC 2104, section 4).
    ///
    /// # Errors
    /// The numbers of blocks and chaining values differ.
    pub fn compress(
        &self,
        states: &mut [[A::Word; 8]],
        blocks: &[&A::Block],
    ) -> Result<Work, CountMismatch> {
        CountMismatch::check("blocks", blocks.len(), "chaining values", states.len())?;
        Ok(A::step(self.kernel, states, blocks))
    }
}

/// Two slices that belong together differ in length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountMismatch {
    left: (&'static str, usize),
    right: (&'static str, usize),
}

impl CountMismatch {
    fn check(
        left: &'static str,
        left_count: usize,
        right: &'static str,
        right_count: usize,
    ) -> Result<(), Self> {
        let mismatch = Self { left: (left, left_count), right: (right, right_count) };
        if left_count == right_count { Ok(()) } else { Err(mismatch) }
    }
}

impl fmt::Display for CountMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { left: (left, left_count), right: (right, right_count) } = self;
        write!(f, "{left_count} {left} but {right_count} {right}; give as many of both")
    }
}

impl std::error::Error for CountMismatch {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sha1, Sha256, Sha512};

    const TWO_BLOCKS: &str = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    const TWO_LONG_BLOCKS: &str = "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn\
                                   hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";

    /// The examples that NIST publishes with FIPS 180-4, by every backend.
    fn check<A: Algorithm>(examples: &[(&str, &str)]) {
        let messages: Vec<&str> = examples.iter().map(|(message, _)| *message).collect();
        for hasher in Hasher::<A>::available() {
            let mut digests = vec![A::ZEROS; messages.len()];
            hasher.hash_many(&messages, &mut digests).unwrap();
            for ((_, expected), digest) in examples.iter().zip(&digests) {
                let hex: String =
                    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(hex, *expected, "{} {}", A::NAME, hasher.backend());
            }
        }
    }

    #[test]
    fn sha1_examples() {
        check::<Sha1>(&[
            ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (TWO_BLOCKS, "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
        ]);
    }

    #[test]
    fn sha256_examples() {
        check::<Sha256>(&[
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (TWO_BLOCKS, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        ]);
    }

    #[test]
    fn sha512_examples() {
        check::<Sha512>(&[
            (
                "",
                "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce\
                 47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
            ),
            (
                "abc",
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
                 2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            ),
            (
                TWO_LONG_BLOCKS,
                "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018\
                 501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909",
            ),
        ]);
    }
}
