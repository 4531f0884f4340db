//! The programs of the servers that toll starts.

mod apache;
mod caddy;
mod command;
mod embedded;
mod haproxy;
mod nginx;
pub(crate) mod program;
#[cfg(test)]
mod tests;
mod tomcat;

use std::path::PathBuf;

pub(crate) use embedded::Embedded;
use program::Program;

use crate::program::Binary;
use crate::server::Server;
use crate::{Settings, TargetError};

/// By the names of their servers.
const PROGRAMS: [(&str, &dyn Program); 7] = [
    ("embedded", &Embedded),
    ("nginx", &nginx::Nginx),
    ("apache", &apache::Apache),
    ("haproxy", &haproxy::Haproxy),
    ("caddy", &caddy::Caddy),
    ("tomcat", &tomcat::Tomcat),
    ("command", &command::Command),
];

impl Server {
    /// What toll starts; `None` where the server runs already.
    pub fn program(&self) -> Option<&'static dyn Program> {
        PROGRAMS.iter().find(|(name, _)| *name == self.name()).map(|(_, program)| *program)
    }

    /// Whether it is a program that has to be installed before toll can start it.
    pub fn is_installed(&self) -> bool {
        let binary = self.program().map(|program| program.binary());
        matches!(binary, Some(Binary::Installed { .. }))
    }

    /// What its program says of its version; `None` where toll starts none.
    ///
    /// # Errors
    /// It is not installed, lacks what these settings need, or does not say.
    pub fn version(&self, settings: &Settings) -> Option<Result<String, TargetError>> {
        let program = self.program()?;
        Some(settings.find(program.binary()).and_then(|path| {
            program.check(settings)?;
            program.version(&path, settings)
        }))
    }

    /// Its file, where it is installed and toll starts it.
    pub fn find(&self, settings: &Settings) -> Option<PathBuf> {
        settings.find(self.program()?.binary()).ok()
    }
}
