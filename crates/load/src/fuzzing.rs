//! What must hold whatever an HTTP/2 server sends: the body of a fuzz target.
//!
//! `cargo fuzz` runs it on what it finds (`crates/load/fuzz`), the test here on the target's seeds and on
//! mutations of these. This module is there for them alone, under `cfg(fuzzing)` and `cfg(test)`.

pub use crate::multiplexed::fuzzing::frames;

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn frames() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/frames");
        for input in mutation::mutated(&mutation::seeds(&folder).unwrap(), 5_000) {
            if std::panic::catch_unwind(|| super::frames(&input)).is_err() {
                panic!("frames fails on {:?}", input.escape_ascii().to_string());
            }
        }
    }
}
