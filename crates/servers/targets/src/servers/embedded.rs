//! The server that is built into toll, as a child process: `toll serve`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Instant;

use offload::Kind;
use rustix::process::Resource;
use serde::Deserialize;
use serde_json::Value;
use tls::{AskClient, LibraryContext, Stack};

use crate::launch_context::{ANNOUNCEMENT, LaunchContext};
use crate::nobody;
use crate::openssl_provider;
use crate::program::Binary;
use crate::ready::{self, Unready};
use crate::running::{COUNTERS, Started};
use crate::servers::program::{Invocation, Program};
use crate::target_dir::NAMES;
use crate::{AcceleratorCounts, Running, SendCounters, Settings, TargetError};

/// Descriptors of its process beside those of its connections, at least.
const SPARE: u64 = 64;

pub(crate) struct Embedded;

/// The line that the server prints when it listens.
#[derive(Deserialize)]
struct Announcement {
    tls: SocketAddr,
    plain: SocketAddr,
    /// The TLS library by its name in study files.
    library: Stack,
    /// The same with its version.
    version: String,
    /// The library that private keys are used by, with its version.
    accelerator: Option<String>,
    /// The suites and groups that its TLS library does not have, where that was asked.
    #[serde(default)]
    lacks: Vec<String>,
}

impl Program for Embedded {
    fn binary(&self) -> Binary {
        Binary::Toll
    }

    /// It is one process, whose threads share a table of descriptors.
    fn check(&self, settings: &Settings) -> Result<(), TargetError> {
        openssl_provider::multi_buffer(settings)?;
        let needed = settings.connections as u64 + SPARE;
        match rustix::process::getrlimit(Resource::Nofile).maximum {
            Some(most) if most < needed => Err(TargetError::Settings(format!(
                "the embedded server needs {needed} descriptors for {} connections, but a process \
                 may have {most} here; lower the connections, take nginx, whose workers are \
                 processes, or raise the limit (ulimit -Hn)",
                settings.connections
            ))),
            _ => Ok(()),
        }
    }

    /// Its announcement adds which TLS library it runs on.
    fn version(&self, _binary: &Path, _settings: &Settings) -> Result<String, TargetError> {
        Ok(format!("toll {}", env!("CARGO_PKG_VERSION")))
    }

    /// It takes ports of the system's choice, and announces them; where its addresses are given, those
    /// that were reserved there.
    fn launch(&self, context: &LaunchContext<'_>) -> Invocation {
        Invocation {
            arguments: arguments(context),
            stdout: Some(ANNOUNCEMENT),
            needs_free_ports: !context.settings.target.listen.is_empty(),
            ..Invocation::default()
        }
    }

    fn ready(&self, context: &LaunchContext<'_>, deadline: Instant) -> Result<Started, Unready> {
        let Announcement { tls, plain, library, version, accelerator, lacks } =
            ready::announcement(&context.announcement())?;
        ready::attempt(plain, tls, context.smallest, deadline)?;
        Ok(Started {
            version: match accelerator {
                Some(accelerator) => format!("{}, {version}, {accelerator}", context.version),
                None => format!("{}, {version}", context.version),
            },
            https: tls,
            http: plain,
            stack: Some((library, version)),
            lacks,
        })
    }

    fn sent(&self, server: &Running) -> Result<Option<SendCounters>, TargetError> {
        let path = server.logs().join(COUNTERS);
        SendCounters::settled(&path).map(Some).map_err(TargetError::file(&path))
    }

    fn accelerated(&self, server: &Running) -> Result<Option<AcceleratorCounts>, TargetError> {
        openssl_provider::counts(&server.logs().join(COUNTERS)).map(Some)
    }
}

fn arguments(context: &LaunchContext<'_>) -> Vec<OsString> {
    let settings = context.settings;
    let mut arguments: Vec<OsString> = ["serve", "--json"].map(Into::into).to_vec();
    let at = |addresses: &[SocketAddr]| match context.settings.target.listen.is_empty() {
        true => "127.0.0.1:0".into(),
        false => list(addresses.iter().map(ToString::to_string)),
    };
    let mut add = |flag: &str, value: OsString| arguments.extend([flag.into(), value]);
    add("--listen", at(&context.https));
    add("--listen-plain", at(&context.http));
    add("--cpus", settings.target.cpus.to_string().into());
    // valgrind before 3.21 lacks openat2, which keeps the server beneath its folder; it makes the same objects in memory.
    if !settings.in_callgrind {
        add("--root", context.root.into());
    }
    add("--library", settings.target.library.stack().name().into());
    add("--tls", list(settings.versions.iter().map(|version| version.number())));
    if !settings.suites.is_empty() {
        add("--suites", list(settings.suites.iter().map(|suite| suite.name)));
    }
    if !settings.groups.is_empty() {
        add("--groups", list(settings.groups.iter().map(|group| group.name())));
    }
    add("--certificate", context.certificate().into());
    add("--key", context.key().into());
    if settings.target.client_certificate != AskClient::None {
        add("--client-certificate", settings.target.client_certificate.to_string().into());
        add("--client-ca", context.client_authority().into());
    }
    if settings.target.names.is_some() {
        add("--names", context.folder.join(NAMES).into());
    }
    let target = &settings.target;
    let mut keys = vec!["tickets", "session-cache", "encrypt-then-mac"];
    if target.accelerator != Kind::None {
        keys.extend(["accelerator", "offload"]);
    }
    keys.extend(match target.accelerator {
        Kind::None => &[][..],
        Kind::MultiBuffer => &["batch-wait"],
        Kind::Model => &[
            "accelerator-rate",
            "accelerator-latency",
            "accelerator-queue",
            "accelerator-count",
            "accelerator-completion",
        ],
    });
    if target.provider.is_some() {
        keys.extend(["provider", "offload"]);
    }
    keys.extend(["congestion", "send", "record-size", "records-per-write"]);
    if target.quic {
        keys.push("gso");
    }
    if target.library_context != LibraryContext::default() {
        keys.push("library-context");
    }
    let values = serde_json::to_value(target).unwrap_or_default();
    for key in keys {
        let value = match &values[key] {
            Value::Null => continue,
            Value::Bool(is_on) => if *is_on { "on" } else { "off" }.to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        add(&format!("--{key}"), value.into());
    }
    add("--counters", context.logs.join(COUNTERS).into());
    if target.quic {
        arguments.push("--quic".into());
    }
    if nobody::is_wanted(context) {
        arguments.push("--as-nobody".into());
    }
    arguments
}

fn list<T: AsRef<str>>(items: impl Iterator<Item = T>) -> OsString {
    let items: Vec<T> = items.collect();
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    items.join(",").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch_context::tests::context;
    use crate::{Target, TlsLibrary};
    use tls::{Group, Suite};
    use units::Nanos;

    fn settings() -> Settings {
        Settings::new("0,2".parse().unwrap())
    }

    fn command(settings: &Settings) -> String {
        arguments(&context("/f", settings)).join(" ".as_ref()).into_string().unwrap()
    }

    #[test]
    fn more_connections_than_a_process_has_descriptors_are_refused() {
        assert!(Embedded.check(&settings()).is_ok());
        let many = Settings { connections: 1 << 40, ..settings() };
        let error = Embedded.check(&many).unwrap_err();
        assert!(matches!(error, TargetError::Settings(_)), "{error}");
    }

    #[test]
    fn every_setting_becomes_a_flag() {
        let settings = Settings {
            suites: ["TLS_AES_128_GCM_SHA256", "AES128-SHA"]
                .map(|name| Suite::parse(name).unwrap())
                .to_vec(),
            groups: vec![Group::X25519, Group::Secp256r1],
            target: Target {
                library: TlsLibrary::Own(Stack::RustlsRing),
                tickets: false,
                encrypt_then_mac: false,
                ..settings().target
            },
            ..settings()
        };
        assert_eq!(
            command(&settings),
            "serve --json --listen 127.0.0.1:0 --listen-plain 127.0.0.1:0 --cpus 0,2 \
                 --root /o --library rustls-ring --tls 1.2,1.3 \
                 --suites TLS_AES_128_GCM_SHA256,TLS_RSA_WITH_AES_128_CBC_SHA \
                 --groups x25519,secp256r1 --certificate /f/server.crt --key /f/server.key --tickets off \
                 --session-cache on --encrypt-then-mac off --send user --record-size 16KiB \
                 --records-per-write 16 --counters /l/counters"
        );
    }

    #[test]
    fn quic_is_asked_for_with_or_without_gso() {
        let of = |quic, gso| {
            let target = Target { quic, gso, ..settings().target };
            command(&Settings { target, ..settings() })
        };
        assert!(of(true, false).contains(" --gso off ") && of(true, false).ends_with(" --quic"));
        assert!(of(true, true).contains(" --gso on ") && of(true, true).ends_with(" --quic"));
        // The flag of GSO means nothing without the other one, which toll serve would say.
        assert!(!of(false, true).contains("--gso") && !of(false, true).contains("--quic"));
    }

    #[test]
    fn an_accelerator_is_described_whole() {
        let target = Target {
            accelerator: Kind::Model,
            accelerator_latency: Nanos(1_000_000),
            ..settings().target
        };
        let command = command(&Settings { target, ..settings() });
        assert!(
            command.contains(
                " --accelerator model --offload asynchronous \
                 --accelerator-rate rsa:2048 40000/s, rsa:4096 4130/s --accelerator-latency 1ms \
                 --accelerator-queue 256 --accelerator-count 1 "
            ),
            "{command}"
        );
    }

    #[test]
    fn the_multi_buffer_library_is_told_how_long_to_wait() {
        let target = Target { accelerator: Kind::MultiBuffer, ..settings().target };
        let command = command(&Settings { target, ..settings() });
        let flags = " --accelerator multi-buffer --offload asynchronous --batch-wait 100us ";
        assert!(command.contains(flags), "{command}");
        assert!(!command.contains("--accelerator-rate"), "{command}");
    }

    #[test]
    fn what_is_left_to_the_server_is_not_written() {
        let command = command(&settings());
        for flag in ["--suites", "--groups", "--accelerator"] {
            assert!(!command.contains(flag), "{flag}");
        }
    }
}
