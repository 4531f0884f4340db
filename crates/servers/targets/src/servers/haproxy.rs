//! HAProxy, 2.4 or later: the end of TLS in front of a backend, as it is used in the field.
//!
//! HAProxy serves no files. Its backend is the embedded server, on CPUs of its own where there are any. What the backend uses is not HAProxy's, and is accounted for apart.

mod configuration;

use std::ffi::OsString;
use std::path::Path;

use self::configuration::{library_configuration, render};
use crate::launch_context::LaunchContext;
use crate::openssl_provider::{self, OPENSSL_CONF};
use crate::program::{self, Binary};
use crate::servers::program::{Invocation, Program};
use crate::{AcceleratorCounts, Running, Settings, TargetError};

const CONFIGURATION: &str = "haproxy.cfg";
/// The file of OpenSSL's configuration for it.
const LIBRARY_CONFIGURATION: &str = "openssl.cnf";

pub(super) struct Haproxy;

impl Program for Haproxy {
    fn binary(&self) -> Binary {
        Binary::Installed { name: "haproxy", package: "haproxy" }
    }

    fn check(&self, settings: &Settings) -> Result<(), TargetError> {
        if settings.target.environment.has(OPENSSL_CONF) {
            return Err(TargetError::Settings(format!(
                "{OPENSSL_CONF} carries the settings of tickets and encrypt-then-MAC to haproxy and \
                 cannot be given in its environment; leave it out"
            )));
        }
        openssl_provider::check(settings)
    }

    /// From what `haproxy -vv` prints.
    fn version(&self, binary: &Path, settings: &Settings) -> Result<String, TargetError> {
        let output = settings.ask(binary, &["-vv".into()], Vec::new())?;
        let said = String::from_utf8_lossy(&output.stdout);
        if settings.target.quic && !has_quic(&said) {
            return Err(TargetError::NoQuic { program: "haproxy", flags: "haproxy -vv" });
        }
        let version = parse_version(&said).ok_or_else(|| {
            let complaint = String::from_utf8_lossy(&output.stderr);
            TargetError::Settings(format!(
                "{} -vv names no version and no OpenSSL that it runs on ({}); use a HAProxy that is built with \
                 OpenSSL",
                binary.display(),
                program::quoted(&format!("{complaint}{said}"), "SSL")
            ))
        })?;
        // Whether it can be used is checked elsewhere.
        Ok(match openssl_provider::multi_buffer(settings) {
            Ok(Some((_, title))) => format!("{version}, {title}"),
            _ => version,
        })
    }

    fn files(
        &self,
        context: &LaunchContext<'_>,
    ) -> Result<Vec<(&'static str, String)>, TargetError> {
        let library = library_configuration(context)?;
        Ok(vec![(CONFIGURATION, render(context)?), (LIBRARY_CONFIGURATION, library)])
    }

    fn configure(&self, context: &mut LaunchContext<'_>) -> Result<(), TargetError> {
        openssl_provider::prepare(context)?;
        context.write_identity(configuration::PEM)?;
        let Invocation { mut arguments, environment, .. } = self.launch(context);
        arguments.push("-c".into());
        context.test(CONFIGURATION, &arguments, environment, complaint)
    }

    /// -db: in the foreground, one process.
    fn launch(&self, context: &LaunchContext<'_>) -> Invocation {
        let library: OsString = context.folder.join(LIBRARY_CONFIGURATION).into();
        Invocation {
            arguments: vec!["-db".into(), "-f".into(), context.folder.join(CONFIGURATION).into()],
            environment: vec![(OPENSSL_CONF.into(), library)],
            ..Invocation::default()
        }
    }

    fn accelerated(&self, server: &Running) -> Result<Option<AcceleratorCounts>, TargetError> {
        openssl_provider::accelerated(server)
    }
}

/// What `[ALERT]    (7) : config : parsing [h.cfg:1] : ...` complains of, its last line but the
/// summaries that follow.
fn complaint(line: &str) -> Option<&str> {
    let (_, what) = line.strip_prefix("[ALERT]")?.split_once(" : ")?;
    let what = what.strip_prefix("config : ").unwrap_or(what);
    let is_summary = what.starts_with("Error(s) found") || what.starts_with("Fatal errors found");
    (!is_summary).then_some(what)
}

/// Whether it was built with QUIC, by its list of features.
fn has_quic(said: &str) -> bool {
    let list = said.lines().find_map(|line| line.strip_prefix("Feature list : "));
    list.is_some_and(|list| list.split_whitespace().any(|feature| feature == "+QUIC"))
}

fn parse_version(said: &str) -> Option<String> {
    let after = |start: &str| said.lines().find_map(|line| line.strip_prefix(start));
    // Before 2.4 it was "HA-Proxy version".
    let server = after("HAProxy version ").or_else(|| after("HA-Proxy version "))?;
    // "Running on OpenSSL version : " until 3.0, then "Running on SSL library version : ". There are lines of the same
    // form for PCRE and zlib.
    let running =
        said.lines().filter(|line| line.starts_with("Running on ") && line.contains("SSL"));
    let library = running.filter_map(|line| Some(line.split_once(" : ")?.1)).next()?;
    let mut words = library.split_whitespace();
    Some(format!(
        "HAProxy/{}, {} {}",
        server.split_whitespace().next()?,
        words.next()?,
        words.next()?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;
    use cpus::CpuList;

    #[test]
    fn versions_are_read() {
        let said = "HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/\n\
                    Built with OpenSSL version : OpenSSL 3.0.2 15 Mar 2022\n\
                    Running on OpenSSL version : OpenSSL 3.0.22 25 Aug 2026\n";
        assert_eq!(parse_version(said).unwrap(), "HAProxy/2.6.12-1+deb12u4, OpenSSL 3.0.22");
        let said = "HAProxy version 3.2.26-1 2026/10/14 - https://haproxy.org/\n\
                    Running on: Linux 6.18.44 #1 SMP x86_64\n\
                    Built with SSL library version : OpenSSL 3.6.1 27 Jan 2026\n\
                    Running on zlib version : 1.3.1\n\
                    Running on SSL library version : OpenSSL 3.6.5 29 Sep 2026\n";
        assert_eq!(parse_version(said).unwrap(), "HAProxy/3.2.26-1, OpenSSL 3.6.5");
        let without = "HAProxy version 2.6.12\nRunning on zlib version : 1.3.1\n";
        assert_eq!(parse_version(without), None);
    }

    #[test]
    fn quic_is_a_feature_of_its_build() {
        let list = |features: &str| format!("HAProxy version 3.0.5\nFeature list : {features}\n");
        assert!(has_quic(&list("-51DEGREES +OPENSSL +QUIC -QUIC_OPENSSL_COMPAT")));
        assert!(!has_quic(&list("+OPENSSL -QUIC +QUIC_OPENSSL_COMPAT")));
        assert!(!has_quic("HAProxy version 2.6.12\n"));
    }

    #[test]
    fn complaints_are_those_of_alerts() {
        let alert = "[ALERT]    (7) : config : parsing [h.cfg:9] : unknown keyword 'x'";
        assert_eq!(complaint(alert), Some("parsing [h.cfg:9] : unknown keyword 'x'"));
        assert_eq!(complaint("[ALERT]    (7) : config : Fatal errors found in it."), None);
        assert_eq!(complaint("[NOTICE]   (7) : haproxy version is 2.6.12"), None);
    }

    #[test]
    fn what_tells_it_of_tickets_is_not_given_twice() {
        let environment = "OPENSSL_CONF=/x".parse().unwrap();
        let settings = Settings {
            target: Target { environment, ..Settings::new(CpuList::from(0)).target },
            ..Settings::new(CpuList::from(0))
        };
        let error = Haproxy.check(&settings).unwrap_err();
        assert!(error.to_string().contains("OPENSSL_CONF"), "{error}");
    }
}
