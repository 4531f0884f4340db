//! Which of many things are looked at: one in K, at random.
//!
//! Objects and connections come in an order of their own, and a fixed stride may keep step with it:
//! with 64 connections in turn, every 64th response is always the same connection's.

use std::num::NonZeroU32;

use random::Random;

/// Arrivals and objects use the random streams below.
const FIRST_STREAM: u64 = 1 << 33;

/// What is drawn; each has random numbers of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawn {
    /// Responses that are decrypted whole and compared.
    Bodies,
    /// Handshakes whose signature is verified.
    Signatures,
    /// Responses whose first byte is timed, where they could be awaited whole.
    FirstBytes,
    /// Connections that are asked what they sent and received.
    Traffic,
}

/// Draws the first, and then one at random in each further K.
#[derive(Debug)]
pub(crate) struct Draw {
    block: u32,
    /// Where in the block the next one is.
    next: u32,
    /// Which one of the block is drawn.
    drawn: u32,
    random: Random,
}

impl Draw {
    /// For one thread of a load with this seed.
    pub(crate) fn new(what: Drawn, one_in: NonZeroU32, seed: u64, thread: usize) -> Self {
        let stream = FIRST_STREAM + ((what as u64) << 32) + thread as u64;
        Self { block: one_in.get(), next: 0, drawn: 0, random: Random::stream(seed, stream) }
    }

    /// Whether [`Self::draw`] will say yes.
    pub(crate) fn is_next(&self) -> bool {
        self.next == self.drawn
    }

    /// Whether this one is drawn.
    pub(crate) fn draw(&mut self) -> bool {
        let is_drawn = self.is_next();
        self.next += 1;
        if self.next == self.block {
            self.next = 0;
            self.drawn = self.random.below(self.block.into()) as u32;
        }
        is_drawn
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn drawn(one_in: u32, seed: u64, count: usize) -> Vec<usize> {
        let mut draw = Draw::new(Drawn::Bodies, NonZeroU32::new(one_in).unwrap(), seed, 0);
        (0..count)
            .filter(|_| {
                let is_next = draw.is_next();
                assert_eq!(draw.draw(), is_next);
                is_next
            })
            .collect()
    }

    #[test]
    fn the_first_and_then_one_of_each_block_is_drawn() {
        for one_in in [1, 2, 7, 64] {
            let drawn = drawn(one_in, 7, 100 * one_in as usize);
            let blocks: Vec<_> = drawn.iter().map(|n| n / one_in as usize).collect();
            assert_eq!(drawn[0], 0);
            assert_eq!(blocks, (0..100).collect::<Vec<_>>());
        }
    }

    #[test]
    fn each_of_64_connections_in_turn_and_of_1024_files_is_drawn_in_time() {
        for things in [64, 1000, 1024] {
            let drawn: BTreeSet<_> =
                drawn(64, 7, 64 * 20 * things).into_iter().map(|n| n % things).collect();
            assert_eq!(drawn.len(), things);
        }
    }

    #[test]
    fn seeds_differ() {
        assert_eq!(drawn(64, 1, 6400), drawn(64, 1, 6400));
        assert_ne!(drawn(64, 1, 6400), drawn(64, 2, 6400));
    }
}
