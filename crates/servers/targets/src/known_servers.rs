//! The servers that a study can measure, as they are described; their programs are in `servers/`.

use offload::CompletedBy;
use tls::{SendMode, Stack};

use crate::Backend;
use crate::server::{Restart, Server};

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

/// That of servers of which somebody may have several builds.
const PROGRAM: &[&str] = &["program"];
/// That of servers that distributions package, and of toll's, whose library they package.
const SYSTEM: &[&str] = &["system"];
/// That of servers with a certificate for each of several names.
const NAMES: &[&str] = &["names"];

/// That of servers that can serve HTTP/3 too.
const QUIC: &[&str] = &["quic"];
/// That of servers that can be told how to send datagrams.
const GSO: &[&str] = &["gso"];

pub(crate) static EMBEDDED: Server = Server {
    sends: SendMode::ALL,
    completions: &[CompletedBy::Poll, CompletedBy::Event],
    stacks: &Stack::ALL,
    own_keys: &[
        &["record-size", "records-per-write", "library-context", "batch-wait"],
        CLIENTS,
        OFFLOAD,
        COMPLETION,
        NAMES,
        QUIC,
        GSO,
        SYSTEM,
    ],
    ..Server::named("embedded")
};

static NGINX: Server = Server {
    sends: SendMode::ALL,
    own_keys: &[
        CLIENTS,
        &["record-size", "directives", "storage", "files"],
        SENDFILE,
        NAMES,
        BACKEND,
        OFFLOAD,
        PROGRAM,
        QUIC,
        GSO,
        SYSTEM,
    ],
    ..Server::named("nginx")
};

static APACHE: Server =
    Server { own_keys: &[CLIENTS, SENDFILE, PROGRAM, SYSTEM], ..Server::named("apache") };

static HAPROXY: Server = Server {
    // With `ssl-mode-async` it waits for the descriptors of paused jobs.
    completions: &[CompletedBy::Event],
    backend: Some(Backend::Plain),
    own_keys: &[
        CLIENTS,
        OFFLOAD,
        COMPLETION,
        NAMES,
        BACKEND,
        PROGRAM,
        &["batch-wait"],
        QUIC,
        SYSTEM,
    ],
    ..Server::named("haproxy")
};

static CADDY: Server = Server {
    is_configured: false,
    stacks: &[],
    own_keys: &[PROGRAM, QUIC, SYSTEM],
    runs_in_callgrind: false,
    ..Server::named("caddy")
};

static TOMCAT: Server = Server {
    is_configured: false,
    stacks: &[],
    listens_anywhere: false,
    runs_in_callgrind: false,
    // Its code is compiled again after each start, which takes many seconds.
    restart: Restart::Never,
    own_keys: &[&["crypto", "aes"]],
    ..Server::named("tomcat")
};

static COMMAND: Server = Server {
    is_configured: false,
    // What a start of it takes, or does, only its owner knows.
    restart: Restart::Never,
    // Which its owner has it load; toll looks whether it did.
    own_keys: &[&["command", "offload", "provider"]],
    ..Server::named("command")
};

static ADDRESS: Server = Server {
    is_started: false,
    is_configured: false,
    stacks: &[],
    // toll cannot.
    restart: Restart::Never,
    own_keys: &[&["url", "connect-to", "pid", "i-operate-this-host"]],
    ..Server::named("address")
};

/// All of them, in the order in which they are listed for people.
pub static SERVERS: &[&Server] =
    &[&EMBEDDED, &NGINX, &APACHE, &HAPROXY, &CADDY, &TOMCAT, &COMMAND, &ADDRESS];

/// The server with this name in study files.
pub fn by_name(name: &str) -> Option<&'static Server> {
    SERVERS.iter().copied().find(|server| server.name() == name)
}

impl Server {
    /// The one that toll does not start.
    pub fn address() -> &'static Self {
        &ADDRESS
    }

    /// Whether a key of a study's `[target]`, such as `certificate-key`, means something to it.
    pub fn uses(&self, key: &str) -> bool {
        match SERVERS.iter().any(|server| server.has_own(key)) {
            true => self.has_own(key),
            false if LIBRARIES.contains(&key) => !self.stacks.is_empty(),
            false if NEGOTIATED.contains(&key) => self.is_configured,
            false if STARTED.contains(&key) => self.is_started,
            false => true,
        }
    }

    pub(crate) fn has_own(&self, key: &str) -> bool {
        self.own_keys.iter().any(|keys| keys.contains(&key))
    }
}
