//! `toll serve` under curl and `openssl s_client`, and under clients that misbehave.

mod clients;
mod life;
mod memory;
mod peers;
mod server;
mod tls;
