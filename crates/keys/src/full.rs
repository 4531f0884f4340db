//! The keys that code speaks of, with their tables, as cells and answers name them.

pub const SERVER: &str = "target.server";
pub const CPUS: &str = "target.cpus";
pub const CORES: &str = "target.cores";
pub const THREADS_PER_CORE: &str = "target.threads-per-core";
pub const CERTIFICATE_KEY: &str = "target.certificate-key";
pub const OBJECT: &str = "target.object";
pub const CLIENT: &str = "load.client";
pub const CLIENT_CPUS: &str = "load.cpus";
pub const CONNECTIONS: &str = "load.connections";
pub const OPERATION: &str = "load.operation";
pub const REQUESTS_PER_CONNECTION: &str = "load.requests-per-connection";
pub const SESSION: &str = "load.session";
pub const SUITE: &str = "load.suite";
pub const VERSION: &str = "load.tls";
pub const RESUMPTION: &str = "load.resumption";
pub const ARRIVAL: &str = "load.arrival";

/// A key without its table: `suite` of `load.suite`.
#[must_use]
pub fn name(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// All of them.
pub const ALL: &[&str] = &[
    SERVER,
    CPUS,
    CORES,
    THREADS_PER_CORE,
    CERTIFICATE_KEY,
    OBJECT,
    CLIENT,
    CLIENT_CPUS,
    CONNECTIONS,
    OPERATION,
    REQUESTS_PER_CONNECTION,
    SESSION,
    SUITE,
    VERSION,
    RESUMPTION,
    ARRIVAL,
];
