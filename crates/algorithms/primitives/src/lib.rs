//! What cryptographic algorithms cost, in core cycles per byte and operations per second, over
//! several libraries.
//!
//! - `algorithm`: what can be measured, and its names.
//! - `library`, `libraries`: who does it, one file each, behind one trait.
//! - `material`, `check`: one input for all, and whether the results agree.
//! - `hardware`: with features of the processor masked.
//! - `sampler`, `instruments`: short samples between readings of the core, and what reads it.
//! - `stack`: what a library does of TLS.
//! - `connection`: TLS records and handshakes between two sides in memory.
//! - `workload`, `bench`: a routine with its buffers, and tables of them.
//! - `row`: a row of such a table, as it is printed and kept.
//! - `instructions`: what single instructions cost, and what follows for algorithms.

mod algorithm;
mod barrier;
pub mod bench;
mod cache;
mod cbc_hmac;
pub mod check;
mod connection;
pub mod hardware;
pub mod instructions;
mod instruments;
mod key_schedule;
mod libraries;
pub mod library;
mod material;
mod routine;
pub mod row;
pub mod sampler;
pub mod stack;
#[cfg(test)]
mod tests;
mod work;
mod workload;

pub use algorithm::{
    Aes, Agreement, Algorithm, Curve, Direction, Handshake, Hash, Kem, Protection, RsaBits, Side,
    Signing, Unit, UnknownAlgorithm, Way,
};
pub use cache::Cache;
pub use hardware::Hardware;
pub use instruments::{CycleSource, ThisCore};
pub use libraries::library::{About, Library};
pub use material::Material;
pub use routine::{Failed, Many, Routine, Seal, Step, Unavailable};
pub use row::{Row, RowKey};
pub use work::Work;
pub use workload::set_up;

/// `; did you mean X?`, with the candidate that is nearest to a word, if any is near.
fn did_you_mean(word: &str, candidates: impl Iterator<Item = String>) -> String {
    /// Less is a coincidence.
    const NEAR: f64 = 0.8;
    let asked = word.to_lowercase();
    candidates
        .map(|name| (strsim::jaro_winkler(&asked, &name.to_lowercase()), name))
        .filter(|(near, _)| *near >= NEAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map_or_else(String::new, |(_, name)| format!("; did you mean `{name}`?"))
}
