//! The order in which trials run: all cells once a round, each round shuffled.
//!
//! What drifts (frequency, neighbours on the host) then touches all cells alike instead of those
//! that come last. The order follows from the seed alone, so that it can be had again.

/// For each of `rounds`, all numbers below `cells` in an order of its own.
pub(crate) fn interleaved(cells: usize, rounds: u32, seed: u64) -> Vec<Vec<usize>> {
    let mut random = SplitMix64(seed);
    (0..rounds)
        .map(|_| {
            let mut order: Vec<usize> = (0..cells).collect();
            // Fisher and Yates. The bias of the remainder is below 2^-50 for any number of cells.
            for last in (1..cells).rev() {
                order.swap(last, (random.next() % (last as u64 + 1)) as usize);
            }
            order
        })
        .collect()
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_has_every_cell_once() {
        for round in interleaved(6, 20, 7) {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4, 5]);
        }
        assert_eq!(interleaved(0, 2, 7), [[0; 0]; 2]);
    }

    #[test]
    fn the_seed_decides_and_rounds_differ() {
        assert_eq!(interleaved(6, 5, 7), interleaved(6, 5, 7));
        assert_ne!(interleaved(6, 5, 7), interleaved(6, 5, 8));
        let rounds = interleaved(6, 20, 7);
        assert!(rounds.iter().any(|round| *round != rounds[0]));
    }

    #[test]
    fn every_cell_comes_first_about_as_often() {
        let mut first = [0; 6];
        for round in interleaved(6, 6000, 1) {
            first[round[0]] += 1;
        }
        assert!(first.iter().all(|count| (850..1150).contains(count)), "{first:?}");
    }
}
