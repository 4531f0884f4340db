//! The fuzz target `mixes` on its seeds and on random inputs; `scripts/fuzz` runs it with a nightly
//! compiler.

mod body;

use proptest::prelude::*;

#[test]
fn the_seeds_of_the_fuzz_target() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds/mixes");
    let mut seeds = 0;
    for seed in std::fs::read_dir(folder).unwrap() {
        body::mixes(&std::fs::read(seed.unwrap().path()).unwrap());
        seeds += 1;
    }
    assert!(seeds > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn inputs_by_chance(input in prop::collection::vec(any::<u8>(), 0..130)) {
        body::mixes(&input);
    }
}
