#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| wire_peer::fuzzing::handshake(input));
