//! Which figures there are: results are confirmed, and what is wrong has none.

mod connections;
mod libraries;
mod panic;
mod refusal;
