//! toll itself in a system, with that system's OpenSSL: the embedded server, and algorithms that are measured.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Mapped, System, SystemRoot};
use crate::TargetError;

impl System {
    /// toll itself, to be started in it without words; `None` where that is here.
    ///
    /// # Errors
    /// It is not made or not whole, or is too old for this toll.
    pub fn own_command(&self) -> Result<Option<Command>, TargetError> {
        let Some(root) = self.root()? else { return Ok(None) };
        let own = own_program()?;
        root.check_starts(&own)?;
        Ok(Some(root.enter(&own, false)?.command()))
    }

    /// The files that this process has mapped and that are not the system's, which it was started in.
    ///
    /// # Errors
    /// The system is gone, or this process may not look at its memory.
    pub fn foreign_files(&self) -> Result<Vec<String>, TargetError> {
        let Some(root) = self.root()? else { return Ok(Vec::new()) };
        let own = own_program()?;
        // Started by the system's loader, the process is that loader's; its first word is toll.
        let programs =
            std::env::args_os().take(1).map(PathBuf::from).chain([own.clone()]).collect();
        let mapped = Mapped { root, programs, folders: Vec::new() };
        let foreign = mapped.foreign(std::process::id()).map_err(TargetError::file(&own))?;
        Ok(foreign.into_iter().collect())
    }
}

fn own_program() -> Result<PathBuf, TargetError> {
    std::env::current_exe().map_err(TargetError::file(Path::new("/proc/self/exe")))
}

impl SystemRoot {
    /// Refuses a system whose libraries are too old for toll, by what their loader says of it.
    pub(crate) fn check_starts(&self, toll: &Path) -> Result<(), TargetError> {
        let mut entrance = self.enter(toll, false)?;
        entrance.arguments.push("--version".into());
        let output = entrance.ask()?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let name = self.name().to_owned();
        Err(TargetError::OldSystem { name, why: lacking(&said) })
    }
}

/// What ld.so says: `version 'GLIBC_2.38' not found`, or which library it does not find.
fn lacking(said: &str) -> String {
    let version = said.split(['`', '\'']).find(|word| word.starts_with("GLIBC_"));
    match (version, said.lines().next()) {
        (Some(version), _) => format!("its C library has no {version}"),
        (None, Some(line)) => line.rsplit(": error while ").next().unwrap_or(line).to_owned(),
        (None, None) => "it ends at once".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_loader_lacks_is_named() {
        let said = "/opt/toll: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by /opt/toll)\n\
                    /opt/toll: /lib/libm.so.6: version `GLIBC_2.29' not found\n";
        assert!(lacking(said).ends_with(" GLIBC_2.34"), "{}", lacking(said));
        let said = "/opt/toll: error while loading shared libraries: libssl.so.3: cannot open\n";
        assert!(lacking(said).starts_with("loading shared libraries: libssl.so.3"));
        assert!(!lacking("").is_empty());
    }
}
