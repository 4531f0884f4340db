//! Names this build, for `--version` and for what agents and ranks compare.

use std::path::Path;

fn main() {
    build_identity::emit(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.."));
}
