//! A server that runs already, here or on another host. toll neither starts nor configures it.

use tls::Stack;

use crate::server::{Program, Restart, Server};

pub(super) struct Address;

impl Server for Address {
    fn name(&self) -> &'static str {
        "address"
    }

    fn program(&self) -> Option<&dyn Program> {
        None
    }

    fn is_configured(&self) -> bool {
        false
    }

    fn stacks(&self) -> &'static [Stack] {
        &[]
    }

    /// toll cannot.
    fn restart(&self) -> Restart {
        Restart::Never
    }

    fn own_keys(&self) -> &'static [&'static [&'static str]] {
        &[&["url", "pid", "i-operate-this-host"]]
    }
}
