//! nginx as the server under test.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use rustix::process::{Resource, Signal};

use crate::log::LogWatch;
use crate::nginx_config::Configuration;
use crate::place::Place;
use crate::port::ReservedPort;
use crate::process::{Launch, Process};
use crate::running::{START_LIMIT, Started, Starting};
use crate::{Objects, Running, Settings, TargetError, program};

/// The log that tells of its troubles.
pub(crate) const ERROR_LOG: &str = "error.log";
/// The file of its configuration.
pub(crate) const CONFIGURATION: &str = "nginx.conf";

/// nginx, and where to look for it.
#[derive(Debug, Clone)]
pub struct Nginx {
    /// The folders in which the program `nginx` is looked for, in this order.
    pub folders: Vec<PathBuf>,
}

impl Default for Nginx {
    /// The folders of `PATH`, then `/usr/sbin` and `/usr/local/sbin`.
    fn default() -> Self {
        Self { folders: program::usual_folders() }
    }
}

impl Nginx {
    /// The program, if it is installed.
    pub(crate) fn program(&self) -> Result<PathBuf, TargetError> {
        program::find("nginx", &self.folders, "install it, e.g. apt-get install nginx-core")
    }

    pub(crate) fn start(
        &self,
        settings: &Settings,
        objects: &Arc<Objects>,
        folder: &Path,
    ) -> Result<Running, TargetError> {
        let program = self.program()?;
        let place = Place::claim(folder, "nginx")?;
        let version = version(&program, settings)?;
        let (certificate, key) = place.identity(settings)?;
        let (error_log, _) = place.log(ERROR_LOG)?;
        let (output, stdout) = place.log("output.log")?;
        let stderr = stdout.try_clone().map_err(TargetError::file(&output))?;
        let (https, http) = (ReservedPort::new()?, ReservedPort::new()?);
        let configuration = Configuration {
            settings,
            root: objects.root(),
            folder: &place.folder,
            certificate: &certificate,
            key: key.path(),
            error_log: &error_log,
            https: https.address(),
            http: http.address(),
            user: rustix::process::geteuid().is_root().then_some("root"),
            most_descriptors: rustix::process::getrlimit(Resource::Nofile).maximum,
        };
        let file = place.folder.join(CONFIGURATION);
        fs::write(&file, configuration.render()?).map_err(TargetError::file(&file))?;

        let mut test = vec!["-t".into(), "-q".into()];
        test.extend(arguments(&place.folder, &error_log, &file));
        check(&place, &program, &test, settings, &file)?;
        let launch = Launch {
            program,
            arguments: arguments(&place.folder, &error_log, &file),
            environment: settings.variables(),
            cpus: &settings.cpus,
            stdout,
            stderr,
            // The master ends its workers upon SIGTERM; upon SIGKILL it would leave them.
            death_signal: Signal::TERM,
            secrets: vec![key],
        };
        let process = Process::start(launch)
            .map_err(|(program, source)| TargetError::Spawn { program, source })?;
        let incidents = Some(LogWatch::new(error_log.clone(), is_lost_worker));
        let log_files = vec![output, error_log];
        let deadline = Instant::now() + START_LIMIT;
        // The ports stay reserved until nginx listens on them.
        let started = Started { version, https: https.address(), http: http.address() };
        Starting { place, process, certificate, log_files, incidents, deadline, backend: None }
            .finish(settings, objects, started)
    }
}

/// -e, because until it has read its configuration nginx logs to a system folder.
pub(crate) fn arguments(folder: &Path, error_log: &Path, configuration: &Path) -> Vec<OsString> {
    let flags = [("-p", folder), ("-e", error_log), ("-c", configuration)];
    flags.into_iter().flat_map(|(flag, path)| [flag.into(), path.into()]).collect()
}

/// nginx's own check of its configuration, whose complaint becomes the error.
fn check(
    place: &Place,
    program: &Path,
    arguments: &[OsString],
    settings: &Settings,
    configuration: &Path,
) -> Result<(), TargetError> {
    let output = program::ask_with(program, arguments, settings)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix("nginx: "))
        .filter(|line| !line.starts_with("configuration file "))
        .collect();
    Err(TargetError::Configuration {
        name: place.name.clone(),
        configuration: configuration.to_owned(),
        message: if complaints.is_empty() {
            format!("{}: {}", output.status, said.trim())
        } else {
            complaints.join(" | ")
        },
    })
}

/// `nginx/1.22.1, OpenSSL 3.0.22`, from what `nginx -V` prints.
fn version(program: &Path, settings: &Settings) -> Result<String, TargetError> {
    let output = program::ask_with(program, &["-V".into()], settings)?;
    let said = String::from_utf8_lossy(&output.stderr);
    parse_version(&said).ok_or_else(|| {
        TargetError::Settings(format!(
            "{} -V names no version and no OpenSSL; take an nginx that is built with its SSL module",
            program.display()
        ))
    })
}

fn parse_version(said: &str) -> Option<String> {
    let server = said.lines().find_map(|line| line.strip_prefix("nginx version: "))?;
    let library = said.lines().find_map(|line| line.strip_prefix("built with "))?;
    // "OpenSSL 3.0.2 15 Mar 2022 (running with OpenSSL 3.0.13 30 Jan 2024)" where they differ.
    let library = library.split_once("(running with ").map_or(library, |(_, running)| running);
    let mut words = library.split_whitespace();
    Some(format!("{}, {} {}", server.trim(), words.next()?, words.next()?))
}

/// The master's line about a worker that did not end in order; it starts another in its place.
fn is_lost_worker(line: &str) -> bool {
    line.contains("worker process") && line.contains("exited") && !line.contains("with code 0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        let same = "nginx version: nginx/1.22.1\nbuilt with OpenSSL 3.0.22 25 Aug 2026\nTLS SNI\n";
        assert_eq!(parse_version(same).unwrap(), "nginx/1.22.1, OpenSSL 3.0.22");
        let other = "nginx version: nginx/1.18.0 (Ubuntu)\nbuilt with OpenSSL 3.0.2 15 Mar 2022 \
                     (running with OpenSSL 3.0.13 30 Jan 2024)\n";
        assert_eq!(parse_version(other).unwrap(), "nginx/1.18.0 (Ubuntu), OpenSSL 3.0.13");
        assert_eq!(parse_version("nginx version: nginx/1.22.1\n"), None);
    }

    #[test]
    fn workers_that_end_in_order_are_not_lost() {
        let line =
            |what| format!("2026/11/21 20:33:20 [alert] 7#7: worker process 9 exited {what}");
        assert!(is_lost_worker(&line("on signal 9")));
        assert!(is_lost_worker(&line("with fatal code 2 and cannot be respawned")));
        assert!(!is_lost_worker(&line("with code 0")));
        assert!(!is_lost_worker("[notice] 7#7: start worker process 9"));
    }
}
