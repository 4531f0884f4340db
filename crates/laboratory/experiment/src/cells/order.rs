//! The order in which trials run: all cells once per round, each round shuffled.
//!
//! Drift (of frequency, of neighbours on the host) then affects all cells alike instead of those that
//! come last. The order follows from the seed alone, so that it can be repeated.

use random::Random;

/// For each of `rounds`, all numbers below `cells` in an order of its own.
pub(crate) fn interleaved(cells: usize, rounds: u32, seed: u64) -> Vec<Vec<usize>> {
    let mut random = Random::new(seed);
    (0..rounds).map(|_| random.order(cells)).collect()
}

/// What a trial's random arrivals and objects follow from: its study's seed, its cell and its round,
/// so that no two trials of a study are alike, and each can be repeated. It has 53 bits, which any
/// reader of a journal's JSON keeps.
pub(crate) fn trial_seed(study: u64, cell: &str, round: u32) -> u64 {
    let words = cell.bytes().map(u64::from).chain([u64::from(round)]);
    words.fold(study, |seed, word| Random::new(seed ^ word).bits()) >> 11
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
        assert_eq!(interleaved(6, 2, 7), [[1, 5, 0, 2, 4, 3], [0, 1, 4, 2, 5, 3]]);
        assert_ne!(interleaved(6, 5, 7), interleaved(6, 5, 8));
        let rounds = interleaved(6, 20, 7);
        assert!(rounds.iter().any(|round| *round != rounds[0]));
    }

    #[test]
    fn every_trial_has_a_seed_of_its_own() {
        assert_eq!(trial_seed(7, "bulk-0001", 0), 8_869_188_049_305_204);
        let mut seeds = std::collections::BTreeSet::new();
        for study in [0, 7, 8] {
            for cell in ["bulk-0001", "bulk-0010", "bulk-0002"] {
                for round in 0..20 {
                    let seed = trial_seed(study, cell, round);
                    assert!(seed < 1 << 53);
                    assert!(seeds.insert(seed), "{study} {cell} {round}");
                    assert_eq!(trial_seed(study, cell, round), seed);
                }
            }
        }
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
