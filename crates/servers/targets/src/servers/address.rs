//! A server that runs already, here or on another host. toll neither starts nor configures it.

use crate::server::{Restart, Server};

pub(super) static ADDRESS: Server = Server {
    is_configured: false,
    stacks: &[],
    // toll cannot.
    restart: Restart::Never,
    own_keys: &[&["url", "connect-to", "pid", "i-operate-this-host"]],
    ..Server::named("address")
};
