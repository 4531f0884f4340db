//! The servers that a study can measure.

mod address;
mod apache;
mod caddy;
mod command;
mod embedded;
mod haproxy;
mod nginx;
#[cfg(test)]
mod tests;
mod tomcat;

pub use command::CommandLine;
pub(crate) use embedded::{EMBEDDED, Embedded, counts as embedded_counts};

use crate::server::Server;

/// The keys of a target that say what a server negotiates.
const NEGOTIATED: [&str; 3] = ["tickets", "session-cache", "encrypt-then-mac"];
/// The keys of a target that say what a server runs on.
const LIBRARIES: [&str; 2] = ["library", "library-path"];
/// The keys of a target that say how a server is started.
const STARTED: [&str; 11] = [
    "if-missing",
    "host",
    "listen",
    "cpus",
    "cores",
    "threads-per-core",
    "certificate-key",
    "object",
    "congestion",
    "environment",
    "warmup",
];

/// The keys of a target that say where private keys are used; for servers that read openssl.cnf.
const OFFLOAD: &[&str] = &[
    "accelerator",
    "offload",
    "accelerator-rate",
    "accelerator-latency",
    "accelerator-queue",
    "accelerator-count",
    "provider",
];
/// Those of servers that verify clients.
const CLIENTS: &[&str] = &["client-certificate", "client-certificate-key"];
/// Those of servers that can pass requests on.
const BACKEND: &[&str] = &["backend", "backend-connections", "backend-verify"];
/// That of servers that send files as they are, or read them first.
const SENDFILE: &[&str] = &["sendfile"];
/// That of servers that pause handshakes for them.
const COMPLETION: &[&str] = &["accelerator-completion"];

/// That of servers with a certificate for each of several names.
const NAMES: &[&str] = &["names"];

/// All of them, in the order in which they are listed for people.
pub static SERVERS: &[&Server] = &[
    &EMBEDDED,
    &nginx::NGINX,
    &apache::APACHE,
    &haproxy::HAPROXY,
    &caddy::CADDY,
    &tomcat::TOMCAT,
    &command::COMMAND,
    &address::ADDRESS,
];

/// The server with this name in study files.
pub fn by_name(name: &str) -> Option<&'static Server> {
    SERVERS.iter().copied().find(|server| server.name() == name)
}

impl Server {
    /// Whether a key of a study's `[target]`, such as `certificate-key`, means something to it.
    pub fn uses(&self, key: &str) -> bool {
        match SERVERS.iter().any(|server| server.has_own(key)) {
            true => self.has_own(key),
            false if LIBRARIES.contains(&key) => !self.stacks.is_empty(),
            false if NEGOTIATED.contains(&key) => self.is_configured,
            false if STARTED.contains(&key) => self.program.is_some(),
            false => true,
        }
    }

    pub(crate) fn has_own(&self, key: &str) -> bool {
        self.own_keys.iter().any(|keys| keys.contains(&key))
    }
}
