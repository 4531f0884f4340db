//! SHA-1, SHA-256 and SHA-512 over many buffers at once.
//!
//! A hash function cannot be made parallel within a message, because each block waits for the one
//! before. Over many messages it can: a vector register holds one word of each of 4, 8 or 16
//! messages, and all go through the rounds together. This hashes many TLS records, chunks or file
//! parts fast where the processor has no SHA instructions, and often also where it has them.
//!
//! [`Hasher::hash_many`] is where to begin; `tests/known_answers.rs` opens with a first use.
//!
//! [`Backend`]s are chosen at run time and can be forced; one that the processor lacks is refused.
//! Memory is constant, and nothing is allocated.
//!
//! The modules: `schedule` keeps the lanes full, `staging` transposes blocks into vectors, `sha1` and
//! `sha2` are the rounds, written once over the trait `vector::Simd`, and `kernels` has one file per
//! backend, with the unsafe code (except one index in `staging`).

mod algorithm;
mod backend;
mod constants;
mod hasher;
mod kernels;
mod schedule;
mod sha1;
mod sha2;
mod staging;
mod unroll;
mod vector;

pub use algorithm::{Algorithm, Sha1, Sha256, Sha512};
pub use backend::{Backend, Unavailable};
pub use hasher::{CountMismatch, Hasher};
pub use schedule::Work;
