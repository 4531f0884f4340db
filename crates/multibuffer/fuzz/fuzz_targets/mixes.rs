#![no_main]

#[path = "../../tests/mixes/body.rs"]
mod body;
#[path = "../../tests/reference/mod.rs"]
mod reference;

libfuzzer_sys::fuzz_target!(|input: &[u8]| body::mixes(input));
