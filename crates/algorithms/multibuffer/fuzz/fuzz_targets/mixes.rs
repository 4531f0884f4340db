#![no_main]

#[path = "../../tests/hashes/mixes/body.rs"]
mod body;
#[path = "../../tests/hashes/reference/mod.rs"]
mod reference;

libfuzzer_sys::fuzz_target!(|input: &[u8]| body::mixes(input));
