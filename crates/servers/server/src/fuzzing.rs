//! What must hold whatever a client sends: the bodies of the fuzz targets.
//!
//! `cargo fuzz` runs them on what it finds (`crates/servers/server/fuzz`), the tests here on the targets'
//! seeds and on mutations of these. This module is there for them alone, under `cfg(fuzzing)` and
//! `cfg(test)`.

use crate::content::Contents;
use crate::input::HEAD_LIMIT;
use crate::request::{Parsed, parse};

/// The input is what a client has sent so far.
pub fn request(input: &[u8]) {
    let contents = Contents::new(None).expect("no folder is opened");
    match parse(input) {
        Parsed::Complete(request, length) => {
            assert!(length <= input.len() && length <= HEAD_LIMIT);
            if let Ok(wanted) = &request.wanted {
                assert_eq!(wanted.path.first(), Some(&b'/'));
                let _ = contents.find(&wanted.path);
            }
            // What follows a head is not part of it, and no part of it is a whole one.
            assert_eq!(parse(&input[..length]), Parsed::Complete(request, length));
            for end in [length / 2, length - 1] {
                assert!(!matches!(parse(&input[..end]), Parsed::Complete(..)));
            }
        }
        Parsed::Incomplete => assert!(input.len() < HEAD_LIMIT),
        Parsed::Bad(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn request() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/request");
        for input in mutation::mutated(&mutation::seeds(&folder).unwrap(), 20_000) {
            if std::panic::catch_unwind(|| super::request(&input)).is_err() {
                panic!("request fails on {:?}", input.escape_ascii().to_string());
            }
        }
    }
}
