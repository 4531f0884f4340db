//! `toll serve` under the clients that load, and what a connection costs it in instructions.

mod clients;
mod instructions;
