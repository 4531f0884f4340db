//! nginx, 1.19.5 or later.

mod configuration;
mod version;

use std::ffi::OsString;
use std::path::Path;

use offload::Kind;
use rustix::process::Resource;

use self::configuration::Configuration;
use self::version::numbers;
use crate::launch_context::LaunchContext;
use crate::nobody;
use crate::openssl_provider::{self, Lines, OPENSSL_CONF};
use crate::program::{self, Binary};
use crate::servers::program::{Invocation, Program};
use crate::{AcceleratorCounts, Running, Settings, TargetError};

const CONFIGURATION: &str = "nginx.conf";
/// The file of OpenSSL's configuration for it, where it has one of its own.
const LIBRARY_CONFIGURATION: &str = "openssl.cnf";

pub(super) struct Nginx;

impl Program for Nginx {
    fn binary(&self) -> Binary {
        Binary::Installed { name: "nginx", package: "nginx-core" }
    }

    /// With a provider it runs synchronously: it never sets `SSL_MODE_ASYNC`.
    fn check(&self, settings: &Settings) -> Result<(), TargetError> {
        if !openssl_provider::is_wanted(settings) {
            return Ok(());
        }
        if settings.target.environment.has(OPENSSL_CONF) {
            return Err(TargetError::Settings(format!(
                "{OPENSSL_CONF} carries the provider of private keys to nginx and cannot be given in \
                 its environment; leave it out"
            )));
        }
        if settings.target.accelerator != Kind::None && settings.target.cpus.len() > 1 {
            return Err(TargetError::Settings(
                "each of nginx's workers would have a modelled device of its own; give it one CPU, or \
                 use embedded or haproxy"
                    .to_owned(),
            ));
        }
        openssl_provider::check(settings)
    }

    /// From what `nginx -V` prints.
    fn version(&self, binary: &Path, settings: &Settings) -> Result<String, TargetError> {
        let output = settings.ask(binary, &["-V".into()], Vec::new())?;
        let said = String::from_utf8_lossy(&output.stderr);
        if settings.target.quic && !said.contains("--with-http_v3_module") {
            return Err(TargetError::NoQuic { program: "nginx", flags: "nginx -V" });
        }
        parse_version(&said).ok_or_else(|| {
            TargetError::Settings(format!(
                "{} -V names no version and no OpenSSL ({}); use an nginx that is built with its SSL module",
                binary.display(),
                program::quoted(&said, "built with")
            ))
        })
    }

    fn files(
        &self,
        context: &LaunchContext<'_>,
    ) -> Result<Vec<(&'static str, String)>, TargetError> {
        let configuration = Configuration {
            context,
            user: user(context),
            most_descriptors: rustix::process::getrlimit(Resource::Nofile).maximum,
        };
        let mut files = vec![(CONFIGURATION, configuration.render()?)];
        if openssl_provider::is_wanted(context.settings) {
            let Lines { main, sections } = Lines::of(context)?;
            let text = format!("openssl_conf = toll\n\n[toll]\n{main}{sections}");
            files.push((LIBRARY_CONFIGURATION, text));
        }
        Ok(files)
    }

    fn configure(&self, context: &mut LaunchContext<'_>) -> Result<(), TargetError> {
        openssl_provider::prepare(context)?;
        let mut arguments = vec!["-t".into(), "-q".into()];
        arguments.extend(self::arguments(context));
        context.test(CONFIGURATION, &arguments, environment(context), complaint)
    }

    fn launch(&self, context: &LaunchContext<'_>) -> Invocation {
        Invocation {
            arguments: arguments(context),
            environment: environment(context),
            has_children: true,
            ..Invocation::default()
        }
    }

    fn accelerated(&self, server: &Running) -> Result<Option<AcceleratorCounts>, TargetError> {
        openssl_provider::accelerated(server)
    }

    /// nginx 1.21.4 was the first to call `SSL_sendfile`, which OpenSSL has from 3.0 on.
    fn lacks_sendfile(&self, version: &str) -> Option<String> {
        let (server, library) = version.split_once(", ")?;
        if numbers(server.strip_prefix("nginx/")?) < [1, 21, 4].into() {
            return Some(format!("{server} has no SSL_sendfile, which nginx has from 1.21.4 on"));
        }
        (numbers(library.strip_prefix("OpenSSL ")?) < [3].into())
            .then(|| format!("{library} has no SSL_sendfile, which OpenSSL has from 3.0 on"))
    }

    /// The master's line about a worker that did not end in order; it starts another in its place.
    fn incidents(&self) -> Option<fn(&str) -> bool> {
        Some(is_lost_worker)
    }
}

/// The user and the group of its workers, which nginx looks up by their names. A master that is root needs one.
fn user(context: &LaunchContext<'_>) -> Option<String> {
    let etc = context.settings.etc();
    let nobody = || nobody::is_wanted(context).then(|| nobody::names(&etc)).flatten();
    let is_root = rustix::process::geteuid().is_root();
    let names =
        || nobody().map_or_else(|| "root".to_owned(), |(user, group)| format!("{user} {group}"));
    is_root.then(names)
}

/// -e, because until it has read its configuration nginx logs to a system folder.
fn arguments(context: &LaunchContext<'_>) -> Vec<OsString> {
    let folder = context.folder.clone();
    let flags =
        [("-p", folder), ("-e", context.error_log()), ("-c", context.folder.join(CONFIGURATION))];
    flags.into_iter().flat_map(|(flag, path)| [flag.into(), path.into()]).collect()
}

fn environment(context: &LaunchContext<'_>) -> Vec<(OsString, OsString)> {
    let library = context.folder.join(LIBRARY_CONFIGURATION);
    let is_wanted = openssl_provider::is_wanted(context.settings);
    is_wanted.then(|| (OPENSSL_CONF.into(), library.into())).into_iter().collect()
}

fn complaint(line: &str) -> Option<&str> {
    line.strip_prefix("nginx: ").filter(|line| !line.starts_with("configuration file "))
}

fn parse_version(said: &str) -> Option<String> {
    let server = said.lines().find_map(|line| line.strip_prefix("nginx version: "))?;
    let library = said.lines().find_map(|line| line.strip_prefix("built with "))?;
    // "OpenSSL 3.0.2 15 Mar 2022 (running with OpenSSL 3.0.13 30 Jan 2024)" where they differ.
    let library = library.split_once("(running with ").map_or(library, |(_, running)| running);
    let mut words = library.split_whitespace();
    Some(format!("{}, {} {}", server.trim(), words.next()?, words.next()?))
}

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
        let newer = "nginx version: nginx/1.30.6\nbuilt by gcc 16.2.0 (Debian 16.2.0-3) \n\
                     built with OpenSSL 3.6.5 29 Sep 2026\nTLS SNI support enabled\n";
        assert_eq!(parse_version(newer).unwrap(), "nginx/1.30.6, OpenSSL 3.6.5");
        assert_eq!(parse_version("nginx version: nginx/1.22.1\n"), None);
    }

    #[test]
    fn old_versions_have_no_sendfile_with_tls() {
        let lacks = |version: &str| Nginx.lacks_sendfile(version).unwrap_or_default();
        assert_eq!(lacks("nginx/1.22.1, OpenSSL 3.0.22"), "");
        assert_eq!(lacks("nginx/1.21.4 (Ubuntu), OpenSSL 3.0.0"), "");
        assert!(lacks("nginx/1.18.0 (Ubuntu), OpenSSL 3.0.2").contains("1.21.4"));
        assert!(lacks("nginx/1.22.1, OpenSSL 1.1.1n").contains("1.1.1n"));
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
