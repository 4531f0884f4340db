//! `toll serve` under the clients of the field: curl, wrk, ab, h2load, `openssl s_client`, and
//! clients that misbehave.

mod clients;
mod instructions;
mod life;
mod memory;
mod peers;
mod server;
mod tls;
