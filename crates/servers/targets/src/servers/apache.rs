//! Apache httpd, 2.4 or later, as Debian packages it: the event MPM with mod_ssl, a worker process
//! for each CPU, no access log, connections that are kept. Workers are pinned to the CPUs together,
//! since Apache pins none to one of them. It needs neither root nor a folder of the system but that of
//! its modules.

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Instant;

use cpus::CpuList;
use rustix::process::Resource;
use tls::{AskClient, Version};

use crate::launch_context::LaunchContext;
use crate::nobody::NOBODY;
use crate::program::{self, Binary};
use crate::ready::{self, Unready};
use crate::running::Started;
use crate::servers::program::{Invocation, Program};
use crate::{Settings, TargetError, openssl};

const CONFIGURATION: &str = "apache.conf";
/// Where Debian puts its modules.
const MODULES_FOLDER: &str = "/usr/lib/apache2/modules";
/// Threads of a worker process at most.
const MOST_THREADS: usize = 10_000;
/// Threads and descriptors of a process beside those of its connections.
const SPARE: usize = 64;
/// The CPUs of the machine, of which Apache makes its number of listening sockets.
const ONLINE: &str = "/sys/devices/system/cpu/online";

pub(super) struct Apache;

impl Program for Apache {
    fn binary(&self) -> Binary {
        Binary::Installed { name: "apache2", package: "apache2" }
    }

    fn check(&self, settings: &Settings) -> Result<(), TargetError> {
        if settings.in_callgrind && rustix::process::geteuid().is_root() {
            return Err(TargetError::NotCounted(
                "apache does not serve as root, and callgrind takes no commands of root to another user's \
                 process; run toll as another user than root"
                    .to_owned(),
            ));
        }
        // A connection and a file for each.
        let needed = 2 * connections_of_a_worker(settings) + SPARE;
        match rustix::process::getrlimit(Resource::Nofile).current {
            Some(most) if most < needed as u64 => Err(TargetError::Settings(format!(
                "apache needs {needed} descriptors in each of its processes for {} connections, but \
                 a process may have {most} here; lower the connections, give the server more CPUs, \
                 or raise the limit (ulimit -n)",
                settings.connections
            ))),
            _ => Ok(()),
        }
    }

    /// From what `apache2 -v` prints, which does not say what mod_ssl runs on.
    fn version(&self, binary: &Path, settings: &Settings) -> Result<String, TargetError> {
        let output = settings.ask(binary, &["-v".into()], Vec::new())?;
        let said = String::from_utf8_lossy(&output.stdout);
        let version = said.lines().find_map(|line| line.strip_prefix("Server version: "));
        version.and_then(|version| version.split_whitespace().next()).map(str::to_owned).ok_or_else(
            || {
                TargetError::Settings(format!(
                    "{} -v names no version ({}); use Apache httpd 2.4",
                    binary.display(),
                    program::quoted(&said, "ersion")
                ))
            },
        )
    }

    fn files(
        &self,
        context: &LaunchContext<'_>,
    ) -> Result<Vec<(&'static str, String)>, TargetError> {
        let online = fs::read_to_string(ONLINE).map_err(TargetError::file(Path::new(ONLINE)))?;
        let online: CpuList = online.trim().parse().map_err(TargetError::Settings)?;
        Ok(vec![(CONFIGURATION, render(context, online.len())?)])
    }

    fn configure(&self, context: &mut LaunchContext<'_>) -> Result<(), TargetError> {
        let mut arguments = arguments(context);
        arguments.push("-t".into());
        context.test(CONFIGURATION, &arguments, Vec::new(), complaint)
    }

    fn launch(&self, context: &LaunchContext<'_>) -> Invocation {
        let mut arguments = arguments(context);
        arguments.extend(["-D".into(), "FOREGROUND".into()]);
        Invocation { arguments, has_children: true, ..Invocation::default() }
    }

    /// It logs its start with the OpenSSL that it runs on.
    fn ready(&self, context: &LaunchContext<'_>, deadline: Instant) -> Result<Started, Unready> {
        let log = fs::read_to_string(context.error_log())?;
        let library = library(&log)
            .ok_or_else(|| Unready::NotYet("it has not logged that it runs".to_owned()))?;
        ready::attempt(context.http[0], context.https[0], context.smallest, deadline)?;
        Ok(Started {
            version: format!("{}, OpenSSL {library}", context.version),
            ..context.started()
        })
    }

    /// It replaces a worker process that crashed.
    fn incidents(&self) -> Option<fn(&str) -> bool> {
        Some(|line| line.contains("child pid") && line.contains("exit signal"))
    }
}

/// -d, because its own folder is one of the system.
fn arguments(context: &LaunchContext<'_>) -> Vec<OsString> {
    let flags = [("-d", context.folder.clone()), ("-f", context.folder.join(CONFIGURATION))];
    flags.into_iter().flat_map(|(flag, path)| [flag.into(), path.into()]).collect()
}

fn complaint(line: &str) -> Option<&str> {
    (!line.is_empty()).then_some(line)
}

/// `3.0.22` of `Apache/2.4.62 (Debian) OpenSSL/3.0.22 configured -- resuming normal operations`.
fn library(log: &str) -> Option<&str> {
    let line = log.lines().find(|line| line.contains(" configured -- resuming "))?;
    line.split_once(" OpenSSL/")?.1.split_whitespace().next()
}

/// The kernel spreads connections over the workers' sockets by chance, not evenly.
fn connections_of_a_worker(settings: &Settings) -> usize {
    match settings.target.cpus.len() {
        1 => settings.connections,
        workers => settings.connections.div_ceil(workers) * 5 / 4,
    }
}

/// The configuration, on a machine with this many CPUs online.
fn render(context: &LaunchContext<'_>, online: usize) -> Result<String, TargetError> {
    let workers = context.settings.target.cpus.len();
    let connections = connections_of_a_worker(context.settings);
    // While all threads are busy, Apache closes connections that are kept.
    let threads = (connections + SPARE).min(MOST_THREADS);
    // A socket for each worker where the numbers divide, else one for all. That there are buckets at
    // all makes Apache set SO_REUSEPORT.
    let ratio = if online.is_multiple_of(workers) { online / workers } else { online };
    // It refuses to serve as root.
    let user = match rustix::process::geteuid().is_root() {
        true => format!("User #{NOBODY}\nGroup #{NOBODY}\n"),
        false => String::new(),
    };
    let modules = context.settings.named(MODULES_FOLDER)?;
    let cache = match context.settings.target.session_cache {
        true => "shmcb:sessions(67108864)",
        false => "none",
    };
    let line = |at: &SocketAddr| format!("Listen {at}\n");
    let https: Vec<String> = context.https.iter().map(ToString::to_string).collect();
    let processing = match context.settings {
        // callgrind runs one thread at a time, and which is by chance.
        Settings { in_callgrind: true, connections: 1, .. } => format!(
            "LoadModule mpm_prefork_module {modules}/mod_mpm_prefork.so\nServerLimit 1\nStartServers 1\n\
             MaxRequestWorkers 1\n"
        ),
        _ => format!(
            "\
LoadModule mpm_event_module {modules}/mod_mpm_event.so
ServerLimit {workers}
StartServers {workers}
ThreadLimit {threads}
ThreadsPerChild {threads}
MaxRequestWorkers {all_threads}
MinSpareThreads 1
MaxSpareThreads {all_threads}
AsyncRequestWorkerFactor {factor}
",
            all_threads = threads * workers,
            // One idle thread is enough for all connections of a worker to be accepted.
            factor = connections.max(1),
        ),
    };
    Ok(format!(
        "\
{processing}
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule socache_shmcb_module {modules}/mod_socache_shmcb.so
LoadModule ssl_module {modules}/mod_ssl.so
LoadModule http2_module {modules}/mod_http2.so

{user}ServerName localhost
DefaultRuntimeDir {folder}
PidFile {pid}
ErrorLog {error_log}
LogLevel notice

ListenBacklog 65535
ListenCoresBucketsRatio {ratio}
{listen}
Timeout 3600
KeepAlive On
KeepAliveTimeout 3600
MaxKeepAliveRequests 0
EnableSendfile {sendfile}
DocumentRoot {root}

SSLSessionCache {cache}
SSLSessionCacheTimeout 3600
<VirtualHost {https}>
{tls}</VirtualHost>
",
        sendfile = if context.settings.target.sendfile == Some(false) { "Off" } else { "On" },
        folder = quoted(&context.folder)?,
        pid = quoted(&context.folder.join("apache.pid"))?,
        error_log = quoted(&context.error_log())?,
        listen = context.http.iter().chain(&context.https).map(line).collect::<String>(),
        https = https.join(" "),
        root = quoted(context.root)?,
        tls = tls(context)?,
    ))
}

fn tls(context: &LaunchContext<'_>) -> Result<String, TargetError> {
    let settings = context.settings;
    let on = |setting| if setting { "on" } else { "off" };
    let versions: Vec<String> =
        settings.versions.iter().map(|version| format!("+TLSv{}", version.number())).collect();
    let mut lines = vec![
        "SSLEngine on".to_owned(),
        format!("SSLCertificateFile {}", quoted(&context.certificate())?),
        format!("SSLCertificateKeyFile {}", quoted(&context.key())?),
        format!("SSLProtocol -all {}", versions.join(" ")),
        "SSLHonorCipherOrder on".to_owned(),
        "Protocols h2 http/1.1".to_owned(),
        "H2MaxSessionStreams 1024".to_owned(),
    ];
    let suites = |version| openssl::suites(&settings.suites, version);
    match (suites(Version::Tls12), openssl::has_weak_key(settings)) {
        (None, false) => {}
        (suites, is_weak) => lines.push(format!(
            "SSLCipherSuite {}{}",
            suites.as_deref().unwrap_or("DEFAULT"),
            if is_weak { ":@SECLEVEL=0" } else { "" }
        )),
    }
    lines.extend(suites(Version::Tls13).map(|suites| format!("SSLCipherSuite TLSv1.3 {suites}")));
    lines.extend(
        openssl::groups(settings).map(|groups| format!("SSLOpenSSLConfCmd Groups {groups}")),
    );
    let ask = settings.target.client_certificate;
    if ask != AskClient::None {
        let verify = if ask == AskClient::Require { "require" } else { "optional" };
        lines.push(format!("SSLVerifyClient {verify}"));
        lines.push(format!("SSLCACertificateFile {}", quoted(&context.client_authority())?));
    }
    lines.push(format!("SSLSessionTickets {}", on(settings.target.tickets)));
    if !settings.target.tickets {
        // Without this, OpenSSL would send tickets in TLS 1.3 that name a session in its cache.
        lines.push("SSLOpenSSLConfCmd NumTickets 0".to_owned());
    }
    if !settings.target.encrypt_then_mac {
        lines.push("SSLOpenSSLConfCmd Options -EncryptThenMac".to_owned());
    }
    Ok(lines.iter().map(|line| format!("    {line}\n")).collect())
}

/// A path as a word of Apache's language, in which `$` may begin a variable.
fn quoted(path: &Path) -> Result<String, TargetError> {
    match path.to_str() {
        Some(text) if !text.contains(['$', '"', '\\', '\n']) => Ok(format!("\"{text}\"")),
        _ => Err(TargetError::path("apache", path, "`$`, quotes and backslashes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch_context::tests::context;

    fn settings() -> Settings {
        Settings::new("0,2".parse().unwrap())
    }

    fn rendered(settings: &Settings) -> String {
        render(&context("/f", settings), 4).unwrap()
    }

    #[test]
    fn there_is_room_for_all_connections() {
        let has = |connections, lines: &[&str]| {
            let text = rendered(&Settings { connections, ..settings() });
            for line in lines {
                assert!(text.lines().any(|one| one == *line), "{line}: {text}");
            }
        };
        // Two workers on four CPUs, a socket each.
        has(64, &["ServerLimit 2", "ThreadsPerChild 104", "ListenCoresBucketsRatio 2"]);
        has(64, &["MaxRequestWorkers 208", "AsyncRequestWorkerFactor 40"]);
        has(40_000, &["ThreadsPerChild 10000", "AsyncRequestWorkerFactor 25000"]);
        // One thread where instructions are counted.
        let counted = Settings { in_callgrind: true, connections: 1, ..settings() };
        assert!(rendered(&counted).contains("/mod_mpm_prefork.so\nServerLimit 1\n"));
        assert!(rendered(&Settings { in_callgrind: false, ..counted }).contains("mod_mpm_event"));
        let error = Apache.check(&Settings { connections: 1 << 40, ..settings() }).unwrap_err();
        assert!(matches!(error, TargetError::Settings(_)), "{error}");
    }

    #[test]
    fn the_library_is_that_of_its_log() {
        let log = "[core:notice] AH00094: Command line: ''\n[mpm_event:notice] AH00489: \
                   Apache/2.4.62 (Debian) OpenSSL/3.0.22 configured -- resuming normal operations";
        assert_eq!(library(log), Some("3.0.22"));
        let newer = "[mpm_event:notice] [pid 24294:tid 24294] AH00489: Apache/2.4.69 (Debian) OpenSSL/3.6.5 \
                     configured -- resuming normal operations";
        assert_eq!(library(newer), Some("3.6.5"));
        assert_eq!(library("[ssl:warn] OpenSSL/3.0.22"), None);
    }
}
