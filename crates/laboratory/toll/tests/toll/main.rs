//! `toll` as its users run it, with the servers that every machine has: its own and nginx. `make test`
//! runs these; what needs another program, a network of its own or a verdict made false is in `proofs`.

mod bench;
mod changing_servers;
mod check;
mod client_certificates;
mod command;
mod compare;
mod damaged_journal;
mod delayed;
mod ending_connections;
mod engine;
#[path = "../every_server/mod.rs"]
mod every_server;
mod found_servers;
mod full_disk;
mod help;
mod http2;
mod http3;
mod included;
mod install;
mod kept_loads;
mod libraries;
mod load;
mod lost_outputs;
mod methods;
mod names;
mod older_findings;
#[path = "../opened_libraries/mod.rs"]
mod opened_libraries;
mod plan;
mod primitives;
mod profile;
mod refused_studies;
mod run;
mod search;
mod second_hellos_and_tickets;
mod serve;
mod servers;
mod sessions;
mod shell;
mod stub_shop;
mod systems;
mod tls12_with_nginx;
mod vary;
mod wrong_bodies;

/// Whether [`every_server`] tries this one here.
fn is_tried_here(server: &str) -> bool {
    matches!(server, "embedded" | "nginx")
}
