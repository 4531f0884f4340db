//! Which build of toll a program is: `0.1.0+7e668c7ae1b2` for a commit, `0.1.0+7e668c7ae1b2.dirty.<hash>`
//! where its sources were changed, and `0.1.0+sources.<hash>` outside git. The hash is of all sources.
//!
//! The build scripts of the programs `toll` and `toll-rank` find it out, and their `main` registers it
//! for the crates below. So a commit compiles these two programs anew, and no crate below them. No
//! program of the workspace has a feature that changes what hosts say to each other; one that gets such
//! a feature has to add it here.

mod sources;

use std::sync::OnceLock;

pub use sources::emit;

static OWN: OnceLock<&str> = OnceLock::new();

/// Notes which build this program is, once, before anything asks for it.
pub fn register(build: &'static str) {
    OWN.get_or_init(|| build);
}

/// The build of this program; in one that registered none, such as a unit test, only the version.
pub fn own() -> &'static str {
    OWN.get().copied().unwrap_or(env!("CARGO_PKG_VERSION"))
}
