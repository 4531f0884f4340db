//! Caddy, 2.6 or later: a server in Go, with Go's own TLS. It serves files over HTTP/1.1, HTTP/2 and HTTP/3.
//!
//! Go has no choice of suites in TLS 1.3, no session cache, and no encrypt-then-MAC; it gives tickets.
//! So it negotiates what a client offers of what Go has.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};
use tls::Version;

use crate::launch_context::LaunchContext;
use crate::program::{self, Binary};
use crate::servers::program::{Invocation, Program};
use crate::{Settings, TargetError};

const CONFIGURATION: &str = "caddy.json";

pub(super) struct Caddy;

impl Program for Caddy {
    fn binary(&self) -> Binary {
        Binary::Installed { name: "caddy", package: "caddy" }
    }

    /// From what `caddy version` prints, which does not say what Go it was built with.
    fn version(&self, binary: &Path, settings: &Settings) -> Result<String, TargetError> {
        let output = settings.ask(binary, &["version".into()], Vec::new())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.split_whitespace().next().map(|version| version.trim_start_matches('v'));
        match version.filter(|version| version.starts_with(|first: char| first.is_ascii_digit())) {
            Some(version) => Ok(format!("Caddy/{version}, Go's TLS")),
            None => Err(TargetError::Settings(format!(
                "{} version names no version ({}); use Caddy 2",
                binary.display(),
                program::quoted(&text, "addy")
            ))),
        }
    }

    fn files(
        &self,
        context: &LaunchContext<'_>,
    ) -> Result<Vec<(&'static str, String)>, TargetError> {
        Ok(vec![(CONFIGURATION, format!("{:#}\n", configuration(context)))])
    }

    fn launch(&self, context: &LaunchContext<'_>) -> Invocation {
        let configuration = context.folder.join(CONFIGURATION);
        Invocation {
            arguments: vec!["run".into(), "--config".into(), configuration.into()],
            environment: vec![
                // Go takes the machine's number of CPUs where more are allowed later.
                ("GOMAXPROCS".into(), context.settings.target.cpus.len().to_string().into()),
                ("XDG_DATA_HOME".into(), context.folder.clone().into()),
                ("XDG_CONFIG_HOME".into(), context.folder.clone().into()),
            ],
            needs_free_ports: true,
            ..Invocation::default()
        }
    }

    /// Its TLS is part of its program.
    fn libraries(&self) -> &'static [&'static str] {
        &[]
    }
}

/// Its configuration: two servers that answer with files, without an administrative interface and without
/// certificates of its own.
fn configuration(context: &LaunchContext<'_>) -> Value {
    let quic = context.settings.target.quic;
    let mut handlers = vec![json!({"handler": "file_server", "root": context.root})];
    if quic {
        // Without this, responses over HTTP/1.1 and 2 would have a field more than they have without HTTP/3.
        handlers.insert(0, json!({"handler": "headers", "response": {"delete": ["Alt-Svc"]}}));
    }
    let routes = json!([{"handle": handlers}]);
    let server = |listen: &[SocketAddr], protocols: &[&str]| {
        let listen: Vec<String> = listen.iter().map(ToString::to_string).collect();
        json!({
            "listen": listen,
            "routes": routes,
            "automatic_https": {"disable": true},
            "protocols": protocols,
            "idle_timeout": "1h",
        })
    };
    let mut https = server(&context.https, if quic { &["h1", "h2", "h3"] } else { &["h1", "h2"] });
    https["tls_connection_policies"] = json!([policy(context.settings)]);
    json!({
        "admin": {"disabled": true, "config": {"persist": false}},
        "logging": {"logs": {"default": {"level": "WARN"}}},
        "apps": {
            "tls": {
                "certificates": {
                    "load_files": [{"certificate": context.certificate(), "key": context.key()}],
                },
            },
            "http": {"servers": {"https": https, "http": server(&context.http, &["h1", "h2c"])}},
        },
    })
}

/// The versions and groups that it takes.
fn policy(settings: &Settings) -> Value {
    let version = |version: Option<&Version>| version.map(|of| format!("tls{}", of.number()));
    let mut policy = json!({
        "protocol_min": version(settings.versions.iter().min()),
        "protocol_max": version(settings.versions.iter().max()),
    });
    if !settings.groups.is_empty() {
        let names: Vec<_> = settings.groups.iter().map(|group| group.name()).collect();
        policy["curves"] = json!(names);
    }
    policy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch_context::tests::context;
    use tls::Group;

    #[test]
    fn versions_and_groups_are_carried_out() {
        let settings = Settings {
            versions: vec![Version::Tls13],
            groups: vec![Group::X25519],
            ..Settings::new("0,2".parse().unwrap())
        };
        let text = configuration(&context("/f", &settings));
        let policy = &text["apps"]["http"]["servers"]["https"]["tls_connection_policies"][0];
        let expected = json!({"protocol_min": "tls1.3", "protocol_max": "tls1.3",
                              "curves": ["x25519"]});
        assert_eq!(*policy, expected);
    }

    #[test]
    fn http3_is_one_of_its_protocols_where_it_is_asked_for() {
        let mut settings = Settings::new("0".parse().unwrap());
        for (quic, protocols) in [(false, json!(["h1", "h2"])), (true, json!(["h1", "h2", "h3"]))] {
            settings.target.quic = quic;
            let text = configuration(&context("/f", &settings));
            assert_eq!(text["apps"]["http"]["servers"]["https"]["protocols"], protocols);
        }
    }
}
