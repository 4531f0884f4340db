//! `toll serve` as a process.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::process::Killed;
use crate::{first_cpu, last_cpu, toll};

/// A running `toll serve` on free ports.
pub struct Serve {
    pub process: Killed,
    pub tls: SocketAddr,
    pub plain: SocketAddr,
    /// Holds its certificate.
    pub folder: TempDir,
}

impl Serve {
    #[track_caller]
    pub fn start(options: &[&str]) -> Self {
        Self::start_by(toll(), "127.0.0.1", options)
    }

    /// On the first CPU.
    #[track_caller]
    pub fn pinned(options: &[&str]) -> Self {
        Self::pinned_by(toll(), "127.0.0.1", options)
    }

    /// As [`Self::pinned`] and [`Self::start_by`].
    #[track_caller]
    pub fn pinned_by(command: Command, address: &str, options: &[&str]) -> Self {
        let cpu = first_cpu().to_string();
        let options = [&["--cpus", &cpu], options].concat();
        Self::start_by(command, address, &options)
    }

    /// Started by a command that ends in toll's name, at that address.
    #[track_caller]
    pub fn start_by(mut command: Command, address: &str, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let any_port = format!("{address}:0");
        command.args(["serve", "--json", "--listen", &any_port, "--listen-plain", &any_port]);
        command.arg("--write-certificate").arg(folder.path().join("cert.pem")).args(options);
        let mut process = Killed::piped(&mut command);
        let line = process.first_line();
        let Ok(ready) = serde_json::from_str::<serde_json::Value>(&line) else {
            panic!("no server: {line}{:?}", process.finish());
        };
        let address = |key: &str| ready[key].as_str().unwrap().parse().unwrap();
        Self { tls: address("tls"), plain: address("plain"), process, folder }
    }

    pub fn certificate(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    pub fn pid(&self) -> String {
        self.process.pid().to_string()
    }

    /// `toll load` of an object over TLS from the last CPU, which trusts this server.
    pub fn load(&self, object: &str) -> Command {
        let mut command = toll();
        command.arg("load").arg(format!("https://{}/{object}", self.tls));
        command.arg("--ca").arg(self.certificate());
        command.args(["--cpus", &last_cpu().to_string()]);
        command
    }
}
