//! What `make proofs` adds to `make test`: servers, clients and readers of others, several hosts,
//! accelerators, kernel TLS, and verdicts and receipts that are made false from outside.

mod connection_memory;
mod containers;
mod counts;
mod cross_check;
mod crypto_mb;
#[path = "../every_server/mod.rs"]
mod every_server;
mod faulty_accelerator;
mod found_servers;
mod haproxy;
mod hosts;
mod http2;
mod http3;
mod idle_waits;
mod isa_l;
mod kernel_tls;
mod latency_logs;
mod libraries;
mod man_pages;
mod namespaces;
mod offload;
#[path = "../opened_libraries/mod.rs"]
mod opened_libraries;
mod other_servers;
mod peers;
mod plan;
mod post_quantum;
mod power_loss;
mod profile;
mod ranks;
mod re_encryption;
mod serve;
mod systems;
mod tomcat;
mod verdicts;
mod video;
mod watch;
mod workflow;

/// Whether [`every_server`] tries this one here.
fn is_tried_here(server: &str) -> bool {
    !matches!(server, "embedded" | "nginx")
}

/// What toll's stderr says from its first error on, without what it notes before.
fn errors(stderr: &[u8]) -> String {
    let said = support::text(stderr);
    let lines = said.lines().skip_while(|line| !line.starts_with("toll: "));
    lines.map(|line| format!("{line}\n")).collect()
}
