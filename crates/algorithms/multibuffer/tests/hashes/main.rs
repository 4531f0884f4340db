//! Every backend against two other libraries, and what it does beside the right digests.

mod backends;
mod known_answers;
mod mixes;
mod no_allocation;
mod properties;
mod reference;
