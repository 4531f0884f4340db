//! All that a server is started with: its settings, and its files and ports in one result folder.

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use units::Bytes;

use crate::backend::BackendAddress;
use crate::running::Started;
use crate::secret::Secret;
use crate::target_dir::{CERTIFICATE, CLIENT_AUTHORITY, KEY};
use crate::{Settings, TargetError};

/// The log of what it prints.
pub(crate) const OUTPUT_LOG: &str = "output.log";
/// The file of the line that a server prints that announces its ports.
pub(crate) const ANNOUNCEMENT: &str = "announcement.json";
/// Its error log, where it writes one.
pub(crate) const ERROR_LOG: &str = "error.log";

/// What a server is started with. All paths are absolute, but for those of a dry run.
#[derive(Debug)]
pub struct LaunchContext<'a> {
    pub(crate) settings: &'a Settings,
    /// The target's name, such as `nginx-2`.
    pub(crate) name: String,
    /// The server's file.
    pub(crate) binary: PathBuf,
    pub(crate) version: String,
    /// For its configuration, key and certificate.
    pub(crate) folder: PathBuf,
    pub(crate) logs: PathBuf,
    /// The folder of the objects.
    pub(crate) root: &'a Path,
    /// The size of the smallest object.
    pub(crate) smallest: Bytes,
    /// At least one, like those of plain HTTP, and with one port.
    pub(crate) https: Vec<SocketAddr>,
    pub(crate) http: Vec<SocketAddr>,
    /// Its backend, where it has one.
    pub(crate) backend: Option<BackendAddress>,
    /// The files that go when the server ends.
    pub(crate) secrets: Vec<Secret>,
}

impl LaunchContext<'_> {
    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder.join(CERTIFICATE)
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.folder.join(KEY)
    }

    /// The certificate of the authority of clients.
    pub(crate) fn client_authority(&self) -> PathBuf {
        self.folder.join(CLIENT_AUTHORITY)
    }

    pub(crate) fn error_log(&self) -> PathBuf {
        self.logs.join(ERROR_LOG)
    }

    pub(crate) fn announcement(&self) -> PathBuf {
        self.logs.join(ANNOUNCEMENT)
    }

    /// What is known of a server that answers on its two ports.
    pub(crate) fn started(&self) -> Started {
        let (https, http) = (self.https[0], self.http[0]);
        Started { version: self.version.clone(), https, http, stack: None, lacks: Vec::new() }
    }

    /// Writes a file of the configuration.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), TargetError> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(TargetError::file(&path))
    }

    /// Writes certificate and key into one file.
    pub(crate) fn write_identity(&mut self, name: &str) -> Result<(), TargetError> {
        let read = |path: PathBuf| fs::read(&path).map_err(TargetError::file(&path));
        let content = [read(self.certificate())?, read(self.key())?].concat();
        let path = self.folder.join(name);
        let secret = Secret::write(path.clone(), &content).map_err(TargetError::file(&path))?;
        self.secrets.push(secret);
        Ok(())
    }

    /// Lets the server check its configuration. Where it refuses, the error quotes those lines of
    /// its complaint that `complaint` finds something in.
    pub(crate) fn test(
        &self,
        configuration: &str,
        arguments: &[OsString],
        environment: Vec<(OsString, OsString)>,
        complaint: fn(&str) -> Option<&str>,
    ) -> Result<(), TargetError> {
        let output = self.settings.ask(&self.binary, arguments, environment)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let complaints: Vec<&str> = said.lines().filter_map(complaint).collect();
        Err(TargetError::Configuration {
            name: self.name.clone(),
            configuration: self.folder.join(configuration),
            message: match complaints.is_empty() {
                true => format!("{}: {}", output.status, said.trim().replace('\n', " | ")),
                false => complaints.join(" | "),
            },
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A context with its configuration in this folder, its logs in `/l`, its objects in `/o`, and ports
    /// 1 and 2.
    pub(crate) fn context<'a>(folder: &str, settings: &'a Settings) -> LaunchContext<'a> {
        LaunchContext {
            settings,
            name: "server".to_owned(),
            binary: "/bin/server".into(),
            version: "server/1".to_owned(),
            folder: folder.into(),
            logs: "/l".into(),
            root: Path::new("/o"),
            smallest: Bytes(1),
            https: vec!["127.0.0.1:1".parse().unwrap()],
            http: vec!["127.0.0.1:2".parse().unwrap()],
            backend: Some(BackendAddress {
                address: "127.0.0.1:3".parse().unwrap(),
                certificate: "/b/server.crt".into(),
            }),
            secrets: Vec::new(),
        }
    }
}
