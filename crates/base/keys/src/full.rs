//! The keys that code speaks of, with their tables, as cells and answers name them.

macro_rules! full {
    ($($name:ident = $key:literal,)*) => {
        $(pub const $name: &str = $key;)*

        /// All of them.
        pub const ALL: &[&str] = &[$($name),*];
    };
}

full! {
    SERVER = "target.server",
    CPUS = "target.cpus",
    CORES = "target.cores",
    THREADS_PER_CORE = "target.threads-per-core",
    CERTIFICATE_KEY = "target.certificate-key",
    OBJECT = "target.object",
    CLIENT = "load.client",
    CLIENT_CPUS = "load.cpus",
    CONNECTIONS = "load.connections",
    OPERATION = "load.operation",
    REQUESTS_PER_CONNECTION = "load.requests-per-connection",
    SESSION = "load.session",
    SUITE = "load.suite",
    VERSION = "load.tls",
    RESUMPTION = "load.resumption",
    ARRIVAL = "load.arrival",
    WAKEUPS = "load.wakeups",
    MAX_UDP_PAYLOAD = "load.max-udp-payload",
    GROUP = "load.group",
    HTTP = "load.http",
    LIBRARY = "target.library",
    QUIC = "target.quic",
    RECORD_SIZE = "target.record-size",
    SESSION_CACHE = "target.session-cache",
    SYSTEM = "target.system",
    TICKETS = "target.tickets",
}

/// A key without its table: `suite` of `load.suite`.
pub fn name(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}
