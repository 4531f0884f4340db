//! Random bytes for handshakes and for the IVs of CBC records, drawn from the system many at a time.
//!
//! A handshake needs random bytes three times (its random, a session identifier, the order of its
//! extensions), and a request with CBC needs an IV. Each would cost a system call.

use std::cell::RefCell;

use ring::rand::{SecureRandom as _, SystemRandom};
use rustls::crypto::{GetRandomFailed, SecureRandom};

/// Bytes that are drawn at a time, enough for some 60 handshakes.
const DRAWN: usize = 4096;

/// The system's random bytes, each given out once; each thread draws its own.
#[derive(Debug)]
pub(crate) struct Buffered;

struct Drawn {
    bytes: [u8; DRAWN],
    /// How many of `bytes` have been given out.
    used: usize,
}

impl Drawn {
    const NOTHING: Self = Self { bytes: [0; DRAWN], used: DRAWN };

    fn give<E>(
        &mut self,
        buffer: &mut [u8],
        draw: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if buffer.len() > DRAWN {
            return draw(buffer);
        }
        if DRAWN - self.used < buffer.len() {
            self.used = DRAWN;
            draw(&mut self.bytes)?;
            self.used = 0;
        }
        let given = &mut self.bytes[self.used..self.used + buffer.len()];
        buffer.copy_from_slice(given);
        given.fill(0);
        self.used += buffer.len();
        Ok(())
    }
}

thread_local! {
    static DRAWN_HERE: RefCell<Drawn> = const { RefCell::new(Drawn::NOTHING) };
}

impl SecureRandom for Buffered {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), GetRandomFailed> {
        DRAWN_HERE
            .with_borrow_mut(|drawn| drawn.give(buffer, |bytes| SystemRandom::new().fill(bytes)))
            .map_err(|_| GetRandomFailed)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_byte_is_given_out_once_and_in_order() {
        let mut drawn = Drawn::NOTHING;
        // Counts in fours, so that every four bytes are drawn once and none are 0.
        let mut count = 0u32;
        let mut draw = |bytes: &mut [u8]| {
            for four in bytes.chunks_mut(4) {
                count += 1;
                four.copy_from_slice(&count.to_be_bytes());
            }
            Ok::<_, ()>(())
        };
        let mut seen = HashSet::from([[0; 4]]);
        for length in [32, 32, 4, 1000, DRAWN, 32, 2 * DRAWN, 64].into_iter().cycle().take(80) {
            let mut bytes = vec![0; length];
            drawn.give(&mut bytes, &mut draw).unwrap();
            for four in bytes.chunks(4) {
                assert!(seen.insert(four.try_into().unwrap()), "{four:?} of {length}");
            }
        }
    }

    #[test]
    fn a_system_without_randomness_gives_none() {
        let mut drawn = Drawn::NOTHING;
        for length in [4, 4, 2 * DRAWN] {
            assert_eq!(drawn.give(&mut vec![0; length], |_| Err(())), Err(()));
        }
    }

    #[test]
    fn two_fills_differ() {
        let (mut one, mut other) = ([0; 32], [0; 32]);
        Buffered.fill(&mut one).unwrap();
        Buffered.fill(&mut other).unwrap();
        assert!(one != other && one != [0; 32]);
    }
}
