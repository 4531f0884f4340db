//! The server that toll brings along, as a child process: `toll serve`.

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use rustix::process::Signal;
use serde::Deserialize;
use units::Bytes;

use crate::place::Place;
use crate::process::{Launch, Process};
use crate::ready::Unready;
use crate::running::{START_LIMIT, Started, Starting};
use crate::{Objects, Running, Settings, TargetError};

/// The embedded server, and what only it can be told.
#[derive(Debug, Clone, Default)]
pub struct Embedded {
    /// The program whose `serve` command is the server; this one where none is given.
    pub program: Option<PathBuf>,
    /// The plaintext of a record; the server's default where none is given.
    pub record_size: Option<Bytes>,
    /// How many records go into one write; the server's default where none is given.
    pub records_per_write: Option<u32>,
}

/// The line that the server prints when it listens.
#[derive(Deserialize)]
struct Announcement {
    tls: SocketAddr,
    plain: SocketAddr,
    openssl: String,
}

impl Embedded {
    pub(crate) fn program(&self) -> Result<PathBuf, TargetError> {
        match &self.program {
            Some(program) => Ok(program.clone()),
            None => std::env::current_exe().map_err(TargetError::file(Path::new("/proc/self/exe"))),
        }
    }

    pub(crate) fn start(
        &self,
        settings: &Settings,
        objects: &Arc<Objects>,
        folder: &Path,
    ) -> Result<Running, TargetError> {
        self.start_as("embedded", settings, objects, folder)
    }

    /// Starts it under another name, in a role of its own.
    pub(crate) fn start_as(
        &self,
        name: &str,
        settings: &Settings,
        objects: &Arc<Objects>,
        folder: &Path,
    ) -> Result<Running, TargetError> {
        let program = self.program()?;
        let place = Place::claim(folder, name)?;
        let (certificate, key) = place.identity(settings)?;
        let (announced, stdout) = place.log("announcement.json")?;
        let (output, stderr) = place.log("output.log")?;
        let launch = Launch {
            program,
            arguments: self.arguments(settings, objects.root(), &certificate, key.path()),
            environment: settings.variables(),
            cpus: &settings.cpus,
            stdout,
            stderr,
            death_signal: Signal::KILL,
            secrets: vec![key],
        };
        let process = Process::start(launch)
            .map_err(|(program, source)| TargetError::Spawn { program, source })?;
        let deadline = Instant::now() + START_LIMIT;
        let log_files = vec![output];
        let mut starting = Starting {
            place,
            process,
            certificate,
            log_files,
            incidents: None,
            deadline,
            backend: None,
        };
        let announcement = starting.poll(|_| announcement(&announced))?;
        let started = Started {
            version: format!("toll {}, {}", env!("CARGO_PKG_VERSION"), announcement.openssl),
            https: announcement.tls,
            http: announcement.plain,
        };
        starting.finish(settings, objects, started)
    }

    pub(crate) fn arguments(
        &self,
        settings: &Settings,
        root: &Path,
        certificate: &Path,
        key: &Path,
    ) -> Vec<OsString> {
        let on = |setting| if setting { "on" } else { "off" };
        let mut arguments: Vec<OsString> =
            ["serve", "--json", "--listen", "127.0.0.1:0", "--listen-plain", "127.0.0.1:0"]
                .map(Into::into)
                .to_vec();
        let mut add = |flag: &str, value: OsString| arguments.extend([flag.into(), value]);
        add("--cpus", settings.cpus.to_string().into());
        add("--root", root.into());
        add("--tls", list(settings.versions.iter().map(|version| version.number())));
        if !settings.suites.is_empty() {
            add("--suites", list(settings.suites.iter().map(|suite| suite.name)));
        }
        if !settings.groups.is_empty() {
            add("--groups", list(settings.groups.iter().map(|group| group.name())));
        }
        add("--certificate", certificate.into());
        add("--key", key.into());
        add("--tickets", on(settings.tickets).into());
        add("--session-cache", on(settings.session_cache).into());
        add("--encrypt-then-mac", on(settings.encrypt_then_mac).into());
        if let Some(size) = self.record_size {
            add("--record-size", size.to_string().into());
        }
        if let Some(records) = self.records_per_write {
            add("--records-per-write", records.to_string().into());
        }
        arguments
    }
}

fn list<'a>(items: impl Iterator<Item = &'a str>) -> OsString {
    items.collect::<Vec<_>>().join(",").into()
}

/// The announcement, once its line is complete.
fn announcement(file: &Path) -> Result<Announcement, Unready> {
    let text = fs::read_to_string(file)?;
    let Some((line, _)) = text.split_once('\n') else {
        return Err(Unready::NotYet("it has not announced its ports".to_owned()));
    };
    serde_json::from_str(line)
        .map_err(|e| Unready::Wrong(format!("it announces `{line}` instead of its ports ({e})")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tls::{Group, Suite};

    fn settings() -> Settings {
        Settings::new("0,2".parse().unwrap())
    }

    fn command(embedded: &Embedded, settings: &Settings) -> String {
        let arguments =
            embedded.arguments(settings, Path::new("/r"), Path::new("/c"), Path::new("/k"));
        arguments.join(" ".as_ref()).into_string().unwrap()
    }

    #[test]
    fn every_setting_becomes_a_flag() {
        let settings = Settings {
            suites: ["TLS_AES_128_GCM_SHA256", "AES128-SHA"]
                .map(|name| Suite::parse(name).unwrap())
                .to_vec(),
            groups: vec![Group::X25519, Group::Secp256r1],
            tickets: false,
            encrypt_then_mac: false,
            ..settings()
        };
        let embedded =
            Embedded { program: None, record_size: Some(Bytes(4096)), records_per_write: Some(16) };
        assert_eq!(
            command(&embedded, &settings),
            "serve --json --listen 127.0.0.1:0 --listen-plain 127.0.0.1:0 --cpus 0,2 \
                 --root /r --tls 1.2,1.3 \
                 --suites TLS_AES_128_GCM_SHA256,TLS_RSA_WITH_AES_128_CBC_SHA \
                 --groups x25519,secp256r1 --certificate /c --key /k --tickets off \
                 --session-cache on --encrypt-then-mac off --record-size 4KiB \
                 --records-per-write 16"
        );
    }

    #[test]
    fn what_is_left_to_the_server_is_not_written() {
        let command = command(&Embedded::default(), &settings());
        for flag in ["--suites", "--groups", "--record-size", "--records-per-write"] {
            assert!(!command.contains(flag), "{flag}");
        }
    }

    #[test]
    fn an_announcement_counts_when_its_line_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out");
        let line = r#"{"tls":"127.0.0.1:1","plain":"127.0.0.1:2","pid":3,"openssl":"OpenSSL 3"}"#;
        fs::write(&file, line).unwrap();
        assert!(matches!(announcement(&file), Err(Unready::NotYet(_))));
        fs::write(&file, format!("{line}\nmore")).unwrap();
        assert_eq!(announcement(&file).ok().unwrap().plain.port(), 2);
        fs::write(&file, "hello\n").unwrap();
        assert!(matches!(announcement(&file), Err(Unready::Wrong(why)) if why.contains("`hello`")));
    }
}
