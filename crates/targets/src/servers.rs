//! The servers that a study can measure.

mod address;
mod apache;
mod command;
mod embedded;
mod haproxy;
mod nginx;

pub use command::CommandLine;
pub(crate) use embedded::Embedded;

use crate::server::Server;

/// The keys of a target that say what a server negotiates.
const NEGOTIATED: [&str; 3] = ["tickets", "session-cache", "encrypt-then-mac"];
/// The keys of a target that say how a server is started.
const STARTED: [&str; 7] =
    ["if-missing", "cpus", "cores", "certificate-key", "object", "library-path", "environment"];

/// All of them, in the order in which they are listed for people.
pub static SERVERS: &[&dyn Server] = &[
    &Embedded,
    &nginx::Nginx,
    &apache::Apache,
    &haproxy::Haproxy,
    &command::Command,
    &address::Address,
];

/// The server with this name in study files.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Server> {
    SERVERS.iter().copied().find(|server| server.name() == name)
}

impl dyn Server + '_ {
    /// Whether a key of a study's `[target]`, such as `certificate-key`, means something to it.
    #[must_use]
    pub fn uses(&self, key: &str) -> bool {
        let is_own = |server: &&dyn Server| server.own_keys().contains(&key);
        match SERVERS.iter().any(is_own) {
            true => self.own_keys().contains(&key),
            false if NEGOTIATED.contains(&key) => self.is_configured(),
            false if STARTED.contains(&key) => self.program().is_some(),
            false => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_name() {
        for server in SERVERS {
            assert_eq!(by_name(server.name()), Some(*server));
        }
        assert_eq!(by_name("ngnix"), None);
    }

    #[test]
    fn each_uses_the_keys_that_mean_something_to_it() {
        let uses = |server: &str, key: &str| by_name(server).unwrap().uses(key);
        for server in ["embedded", "nginx", "haproxy"] {
            assert!(uses(server, "tickets") && uses(server, "cpus") && uses(server, "server"));
            assert!(!uses(server, "command") && !uses(server, "pid"), "{server}");
        }
        assert!(uses("command", "command") && uses("command", "certificate-key"));
        assert!(!uses("command", "tickets") && !uses("command", "url"));
        assert!(uses("address", "url") && uses("address", "server"));
        assert!(!uses("address", "cores") && !uses("address", "session-cache"));
    }
}
