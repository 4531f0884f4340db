#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    load::fuzzing_http3::responses(input);
});
