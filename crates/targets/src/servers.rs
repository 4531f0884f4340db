//! The servers that a study can measure.

mod address;
mod apache;
mod command;
mod embedded;
mod haproxy;
mod nginx;
mod tomcat;

pub use command::CommandLine;
pub(crate) use embedded::Embedded;

use crate::Server;

/// All of them, in the order in which they are listed for people.
pub static SERVERS: &[&dyn Server] = &[
    &Embedded,
    &nginx::Nginx,
    &apache::Apache,
    &haproxy::Haproxy,
    &tomcat::Tomcat,
    &command::Command,
    &address::Address,
];

/// The server with this name in study files.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Server> {
    SERVERS.iter().copied().find(|server| server.name() == name)
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
}
