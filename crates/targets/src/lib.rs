//! Servers under test and their life: started on free ports of loopback with generated keys,
//! configuration and objects, ready when they answer, stopped for certain.
//!
//! ```no_run
//! # fn main() -> Result<(), targets::TargetError> {
//! use std::path::Path;
//! let folder = Path::new("results/first");
//! let objects = targets::Objects::make(&[units::Bytes(1 << 20)], folder)?.into();
//! let settings = targets::Settings::new(cpus::CpuList::from(0));
//! let mut server = targets::start(&"nginx".parse()?, &settings, &objects, folder)?;
//! println!("{} at https://{}", server.version(), server.https());
//! server.check_alive()?;
//! server.stop();
//! # Ok(())
//! # }
//! ```
//!
//! A server does not outlive toll, however toll ends: see [`Running`].

mod command;
mod embedded;
mod environment;
mod error;
mod haproxy;
mod haproxy_config;
mod library;
mod log;
mod nginx;
mod nginx_config;
mod objects_on_disk;
mod place;
mod port;
mod process;
mod program;
mod ready;
mod running;
mod secret;
mod settings;
mod spawner;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

pub use command::CommandLine;
pub use embedded::Embedded;
pub use environment::{Environment, LibraryPath};
pub use error::TargetError;
pub use haproxy::Haproxy;
pub use library::Library;
pub use nginx::Nginx;
pub use objects_on_disk::Objects;
pub use process::{Launch, Process, Stopped};
pub use running::Running;
pub use secret::Secret;
pub use settings::Settings;

/// Which server is under test, with what only that server can be told.
#[derive(Debug, Clone)]
pub enum Kind {
    /// The server that toll brings along, as a child process.
    Embedded(Embedded),
    /// nginx, 1.19.5 or later.
    Nginx(Nginx),
    /// HAProxy, 2.4 or later, in front of an embedded server.
    Haproxy(Haproxy),
    /// A server of the user's own.
    Command(CommandLine),
}

impl Kind {
    /// The name in study files, and of the folders: `embedded`, `nginx`, `haproxy` or `command`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Embedded(_) => "embedded",
            Self::Nginx(_) => "nginx",
            Self::Haproxy(_) => "haproxy",
            Self::Command(_) => "command",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        match text {
            "embedded" => Ok(Self::Embedded(Embedded::default())),
            "nginx" => Ok(Self::Nginx(Nginx::default())),
            "haproxy" => Ok(Self::Haproxy(Haproxy::default())),
            _ => Err(TargetError::Settings(format!(
                "`{text}` is no server that toll can start; write embedded, nginx or haproxy"
            ))),
        }
    }
}

/// The program of a server, or `None` where it is not installed.
#[must_use]
pub fn find(kind: &Kind) -> Option<PathBuf> {
    match kind {
        Kind::Embedded(embedded) => embedded.program().ok(),
        Kind::Nginx(nginx) => nginx.program().ok(),
        Kind::Haproxy(haproxy) => haproxy.program().ok(),
        Kind::Command(_) => Some(PathBuf::from("/bin/sh")),
    }
}

/// The command that [`start`] runs, for a person: with the paths that the server called `name` has
/// in the result folder `folder`, and `root` as the folder of its objects. Nothing is started.
#[must_use]
pub fn command(kind: &Kind, settings: &Settings, root: &Path, folder: &Path, name: &str) -> String {
    let place = folder.join("targets").join(name);
    let (certificate, key) = (place.join(place::CERTIFICATE), place.join(place::KEY));
    let (program, arguments) = match kind {
        Kind::Embedded(embedded) => {
            ("toll", embedded.arguments(settings, root, &certificate, &key))
        }
        Kind::Nginx(_) => {
            let logs = folder.join("logs").join(name);
            let (error_log, file) = (logs.join(nginx::ERROR_LOG), place.join(nginx::CONFIGURATION));
            ("nginx", nginx::arguments(&place, &error_log, &file))
        }
        Kind::Haproxy(_) => ("haproxy", haproxy::arguments(&place.join(haproxy::CONFIGURATION))),
        Kind::Command(line) => {
            let (certificate, key) = (&certificate, &key);
            let (port, plain_port) = ("PORT", "PLAIN-PORT");
            let line = line.filled(&command::Values {
                settings,
                port,
                plain_port,
                certificate,
                key,
                root,
            });
            ("/bin/sh", vec!["-c".into(), format!("\"{line}\"").into()])
        }
    };
    let mut words: Vec<String> = settings
        .variables()
        .into_iter()
        .map(|(name, value)| format!("{}={}", name.display(), value.display()))
        .collect();
    if let Kind::Haproxy(_) = kind {
        let file = place.join(haproxy::LIBRARY_CONFIGURATION);
        words.push(format!("{}={}", haproxy::OPENSSL_CONF, file.display()));
    }
    words.push(program.to_owned());
    words.extend(arguments.iter().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}

/// Starts a server that serves `objects`, and returns when it answers. The server keeps them alive.
///
/// `folder` is the result folder: `folder/logs/<name>/` takes what the server writes,
/// `folder/targets/<name>/` its key, certificate and configuration. The name is the kind's, with
/// a number behind it from the second server of a kind on.
///
/// # Errors
/// [`TargetError::Missing`] where the program is not installed, so that the caller may leave the
/// target out; otherwise what is wrong with the settings, the system or the server. Nothing is
/// left running.
pub fn start(
    kind: &Kind,
    settings: &Settings,
    objects: &Arc<Objects>,
    folder: &Path,
) -> Result<Running, TargetError> {
    settings.check()?;
    match kind {
        Kind::Embedded(embedded) => embedded.start(settings, objects, folder),
        Kind::Nginx(nginx) => nginx.start(settings, objects, folder),
        Kind::Haproxy(haproxy) => haproxy.start(settings, objects, folder),
        Kind::Command(line) => line.start(settings, objects, folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpus::CpuList;

    #[test]
    fn the_command_is_told_with_its_paths() {
        let settings = Settings::new(CpuList::from(0));
        let told = |kind: &str, name| {
            let kind = kind.parse().unwrap();
            command(&kind, &settings, Path::new("OBJECTS"), Path::new("r"), name)
        };
        assert_eq!(
            told("nginx", "nginx-2"),
            "nginx -p r/targets/nginx-2 -e r/logs/nginx-2/error.log -c r/targets/nginx-2/nginx.conf"
        );
        let embedded = told("embedded", "embedded");
        assert!(embedded.starts_with("toll serve --json --listen 127.0.0.1:0 "), "{embedded}");
        assert!(embedded.contains(" --cpus 0 --root OBJECTS "), "{embedded}");
        assert!(embedded.contains(" --key r/targets/embedded/server.key "), "{embedded}");
        assert_eq!(
            told("haproxy", "haproxy"),
            "OPENSSL_CONF=r/targets/haproxy/openssl.cnf haproxy -db -f r/targets/haproxy/haproxy.cfg"
        );
        let line = Kind::Command("serve {port} {root}".parse().unwrap());
        let settings = Settings { environment: "A=1".parse().unwrap(), ..settings };
        assert_eq!(
            command(&line, &settings, Path::new("OBJECTS"), Path::new("r"), "command"),
            "A=1 /bin/sh -c \"serve PORT 'OBJECTS'\""
        );
    }

    #[test]
    fn kinds_are_named_as_in_study_files() {
        for name in ["embedded", "nginx", "haproxy"] {
            assert_eq!(name.parse::<Kind>().unwrap().to_string(), name);
        }
        let message = "apache".parse::<Kind>().unwrap_err().to_string();
        assert_eq!(
            message,
            "`apache` is no server that toll can start; write embedded, nginx or haproxy"
        );
    }
}
