//! nginx's configuration, in the form that published measurements of it use: a worker for each
//! core, pinned, with 8192 connections, `multi_accept`, no access log, connections that are kept.
//! Where a process may not have the descriptors for a load, several workers share each core. It
//! needs neither root nor a folder of the system.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;

use tls::{AskClient, SendMode, Version};

use super::version::server_numbers;
use crate::backend::NAME;
use crate::launch_context::LaunchContext;
use crate::target_dir::NAMES;
use crate::{Backend, BackendConnections, Target, TargetError, openssl};

/// Descriptors of a worker at least, where the system allows as many: a connection and a file for
/// each of 8192 connections, and room.
const DESCRIPTORS: u64 = 65_536;
/// Connections of a worker, as in published configurations; more where more are asked for.
const CONNECTIONS: u64 = 8192;
/// Connections and descriptors that a worker needs beside those of its clients.
const SPARE: u64 = 64;
/// Workers on a core at most.
const MOST_ON_A_CORE: u64 = 16;
/// Connections that the kernel keeps until a worker accepts them; it takes no more than
/// `net.core.somaxconn`.
const BACKLOG: u32 = 65_535;
/// nginx's own default of `ssl_ciphers`.
const DEFAULT_CIPHERS: &str = "HIGH:!aNULL:!MD5";

/// All that the configuration depends on.
pub(super) struct Configuration<'a> {
    pub(super) context: &'a LaunchContext<'a>,
    /// The workers' user and group, where the master is root; else they run as nginx itself does.
    pub(super) user: Option<String>,
    /// The system's limit of descriptors, if there is one.
    pub(super) most_descriptors: Option<u64>,
}

/// What the workers may have.
struct Room {
    workers_on_a_core: u64,
    /// Of a worker.
    connections: u64,
    /// Of a worker.
    descriptors: u64,
}

impl Configuration<'_> {
    /// # Errors
    /// A path that nginx's configuration cannot hold.
    pub(super) fn render(&self) -> Result<String, TargetError> {
        let Room { workers_on_a_core, connections, descriptors } = self.room()?;
        let mut text = self.main(workers_on_a_core, descriptors)?;
        write!(
            text,
            "\
events {{
    use epoll;
    worker_connections {connections};
    multi_accept on;
}}

http {{
    access_log off;
    default_type application/octet-stream;
{sending}{temporary}{upstream}
    server {{
{listen}{content}
{certificate}{tls}    }}
{names}}}
",
            sending = self.sending(),
            temporary = self.temporary()?,
            listen = self.listen(),
            upstream = self.upstream()?,
            content = self.content()?,
            certificate = self.certificate(&self.context.certificate())?,
            tls = self.tls()?,
            names = self.names()?,
        )
        .map_err(unwritable)?;
        Ok(text)
    }

    fn listen(&self) -> String {
        let lines = |addresses: &[SocketAddr], tls: &str| -> String {
            let line = |at: &SocketAddr| {
                format!("        listen {at}{tls} reuseport backlog={BACKLOG};\n")
            };
            addresses.iter().map(line).collect()
        };
        let http2 = if self.has_http2_directive() { "" } else { " http2" };
        let quic = match self.context.settings.target.quic {
            true => {
                let line = |at: &SocketAddr| format!("        listen {at} quic reuseport;\n");
                self.context.https.iter().map(line).collect()
            }
            false => String::new(),
        };
        lines(&self.context.http, "") + &lines(&self.context.https, &format!(" ssl{http2}")) + &quic
    }

    /// Whether HTTP/2 is a directive, from 1.25.1 on, and then of listeners without TLS too. Before it is a
    /// word of a listener, which without TLS would take HTTP/1.1 from it.
    fn has_http2_directive(&self) -> bool {
        server_numbers(&self.context.version).is_some_and(|of| of >= [1, 25, 1].into())
    }

    /// How many workers there are, and how many connections and descriptors each may have: room for
    /// all connections of the load where the system lets it, else for its part of them.
    fn room(&self) -> Result<Room, TargetError> {
        let most = self.most_descriptors.unwrap_or(u64::MAX);
        let settings = self.context.settings;
        // A connection that is passed on has another one to the backend.
        let each = if settings.target.backend().is_some() { 2 } else { 1 };
        let (all, cores) = (each * settings.connections as u64, settings.target.cpus.len() as u64);
        // The kernel spreads connections over the workers' sockets by chance, not evenly.
        let part = |workers| if workers == 1 { all } else { all.div_ceil(workers) * 5 / 4 };
        let fits = |on_a_core: &u64| part(cores * on_a_core) + SPARE <= most;
        let Some(workers_on_a_core) = (1..=MOST_ON_A_CORE).find(fits) else {
            return Err(TargetError::Settings(format!(
                "nginx needs {} descriptors in each of {} workers for {all} connections, but a \
                 process may have {most} here; lower the connections, give the server more CPUs, or \
                 raise the limit (ulimit -Hn)",
                part(cores * MOST_ON_A_CORE) + SPARE,
                cores * MOST_ON_A_CORE,
            )));
        };
        // Those of a worker include its own, such as the listening ones.
        let connections = (all + SPARE).max(CONNECTIONS);
        Ok(Room {
            workers_on_a_core,
            connections: connections.min(most.max(CONNECTIONS)),
            descriptors: (2 * connections).max(DESCRIPTORS).min(most),
        })
    }

    fn main(&self, workers_on_a_core: u64, descriptors: u64) -> Result<String, TargetError> {
        let cpus = self.context.settings.target.cpus.as_slice();
        let masks: Vec<String> =
            (0..workers_on_a_core).flat_map(|_| cpus).map(|&cpu| mask(cpu)).collect();
        let user = self.user.as_ref().map_or_else(String::new, |user| format!("user {user};\n"));
        Ok(format!(
            "\
{user}daemon off;
master_process on;
worker_processes {workers};
worker_cpu_affinity {masks};
worker_rlimit_nofile {descriptors};
pid {pid};
error_log {error_log} notice;

",
            workers = masks.len(),
            masks = masks.join(" "),
            pid = quoted(&self.context.folder.join("nginx.pid"))?,
            error_log = quoted(&self.context.error_log())?,
        ))
    }

    /// How connections are kept and responses sent, with the study's own directives.
    fn sending(&self) -> String {
        let Target { send, sendfile, directives, quic, gso, .. } = &self.context.settings.target;
        // Where TLS is in user space, it matters to plain HTTP alone.
        let sendfile = match sendfile.unwrap_or(*send != SendMode::KtlsWrite) {
            true => "sendfile on",
            false => "sendfile off",
        };
        let own = [
            sendfile,
            "tcp_nopush on",
            "tcp_nodelay on",
            "keepalive_timeout 1h",
            "keepalive_requests 1000000000",
            "http2_max_concurrent_streams 1024",
        ];
        // Room for all names without collisions.
        let hash = ["server_names_hash_max_size 65536", "server_names_hash_bucket_size 128"];
        let hash = hash.into_iter().filter(|_| self.context.settings.target.names.is_some());
        let http2 = self.has_http2_directive().then_some("http2 on");
        let http3 = [
            "http3_max_concurrent_streams 1024",
            if *gso { "quic_gso on" } else { "quic_gso off" },
        ];
        let http3 = http3.into_iter().filter(|_| *quic);
        let own = own.into_iter().chain(http2).chain(http3).chain(hash);
        let lines = self.not_replaced(own).chain(directives.iter());
        lines.map(|line| format!("    {line};\n")).collect()
    }

    /// Those of toll's lines that the study's directives do not replace.
    fn not_replaced<L: AsRef<str>>(
        &self,
        lines: impl IntoIterator<Item = L>,
    ) -> impl Iterator<Item = L> {
        let given = &self.context.settings.target.directives;
        let name = |line: &L| line.as_ref().split(' ').next().map(str::to_owned);
        lines.into_iter().filter(move |line| !name(line).is_some_and(|name| given.has(&name)))
    }

    fn temporary(&self) -> Result<String, TargetError> {
        ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .into_iter()
            .map(|kind| {
                let path = quoted(&self.context.folder.join(format!("{kind}_temp")))?;
                Ok(format!("    {kind}_temp_path {path};\n"))
            })
            .collect()
    }

    /// What a server answers with: files, or what its backend does.
    fn content(&self) -> Result<String, TargetError> {
        let scheme = match self.context.settings.target.backend() {
            None => return Ok(format!("        root {};\n", quoted(self.context.root)?)),
            Some(Backend::Plain) => "http",
            Some(Backend::Tls) => "https",
        };
        Ok(format!(
            "        location / {{\n            proxy_pass {scheme}://backend;\n        }}\n"
        ))
    }

    /// The backend, where there is one. Bodies go through memory: without a limit nginx would write those that
    /// come faster than they go to a disk.
    fn upstream(&self) -> Result<String, TargetError> {
        let target = &self.context.settings.target;
        let (Some(backend), Some(at)) = (target.backend(), &self.context.backend) else {
            return Ok(String::new());
        };
        let is_kept = target.backend_connections == BackendConnections::Kept;
        let kept = match is_kept {
            true => format!(
                "        keepalive {};\n        keepalive_requests 1000000000;\n        keepalive_timeout 1h;\n",
                self.context.settings.connections as u64 + SPARE
            ),
            false => String::new(),
        };
        let connection = if is_kept { "\"\"" } else { "close" };
        let mut lines = vec![
            "proxy_http_version 1.1".to_owned(),
            format!("proxy_set_header Connection {connection}"),
            "proxy_max_temp_file_size 0".to_owned(),
        ];
        if backend == Backend::Tls {
            lines.push(format!("proxy_ssl_name {NAME}"));
            lines.push("proxy_ssl_server_name on".to_owned());
            lines.push("proxy_ssl_protocols TLSv1.3".to_owned());
            lines.push("proxy_ssl_session_reuse off".to_owned());
            if target.backend_verify {
                lines.push("proxy_ssl_verify on".to_owned());
                lines.push(format!("proxy_ssl_trusted_certificate {}", quoted(&at.certificate)?));
            }
        }
        let lines: String = lines.iter().map(|line| format!("    {line};\n")).collect();
        Ok(format!(
            "    upstream backend {{\n        server {};\n{kept}    }}\n{lines}",
            at.address
        ))
    }

    /// A server for each name, which has the same files; over plain HTTP the first one serves all.
    fn names(&self) -> Result<String, TargetError> {
        let Some(count) = self.context.settings.target.names else { return Ok(String::new()) };
        let listen: String =
            self.context.https.iter().map(|at| format!("        listen {at} ssl;\n")).collect();
        let (content, tls) = (self.content()?, self.tls()?);
        objects::names(count)
            .map(|name| {
                let file = self.context.folder.join(NAMES).join(format!("{name}.crt"));
                let certificate = self.certificate(&file)?;
                Ok(format!(
                    "    server {{\n{listen}        server_name {name};\n{content}\
                     {certificate}{tls}    }}\n"
                ))
            })
            .collect()
    }

    fn certificate(&self, certificate: &Path) -> Result<String, TargetError> {
        let (certificate, key) = (quoted(certificate)?, quoted(&self.context.key())?);
        let lines =
            [format!("ssl_certificate {certificate}"), format!("ssl_certificate_key {key}")];
        Ok(self.not_replaced(lines).map(|line| format!("        {line};\n")).collect())
    }

    fn tls(&self) -> Result<String, TargetError> {
        let settings = self.context.settings;
        let on = |setting| if setting { "on" } else { "off" };
        let mut lines = vec![
            format!("ssl_protocols {}", protocols(&settings.versions)),
            format!("ssl_ciphers {}", self.ciphers()),
            "ssl_prefer_server_ciphers on".to_owned(),
            format!("ssl_buffer_size {}", settings.target.record_size.get()),
        ];
        let ask = settings.target.client_certificate;
        if ask != AskClient::None {
            let verify = if ask == AskClient::Require { "on" } else { "optional" };
            lines.push(format!("ssl_verify_client {verify}"));
            let authority = quoted(&self.context.client_authority())?;
            lines.push(format!("ssl_client_certificate {authority}"));
        }
        if settings.target.send.is_kernels() {
            lines.push("ssl_conf_command Options KTLS".to_owned());
        }
        if let Some(suites) = openssl::suites(&settings.suites, Version::Tls13) {
            lines.push(format!("ssl_conf_command Ciphersuites {suites}"));
        }
        if let Some(groups) = openssl::groups(settings) {
            lines.push(format!("ssl_ecdh_curve {groups}"));
        }
        lines.push(format!("ssl_session_tickets {}", on(settings.target.tickets)));
        if !settings.target.tickets {
            // Without this, OpenSSL would send tickets in TLS 1.3 that name a session in its cache.
            lines.push("ssl_conf_command NumTickets 0".to_owned());
        }
        let cache = if settings.target.session_cache { "shared:toll:64m" } else { "off" };
        lines.push(format!("ssl_session_cache {cache}"));
        lines.push("ssl_session_timeout 1h".to_owned());
        if !settings.target.encrypt_then_mac {
            lines.push("ssl_conf_command Options -EncryptThenMac".to_owned());
        }
        Ok(self.not_replaced(lines).map(|line| format!("        {line};\n")).collect())
    }

    /// OpenSSL's list for TLS 1.2, with its security level for all versions.
    fn ciphers(&self) -> String {
        let settings = self.context.settings;
        let suites = openssl::suites(&settings.suites, Version::Tls12);
        let suites = suites.unwrap_or_else(|| DEFAULT_CIPHERS.to_owned());
        match openssl::has_weak_key(settings) {
            true => format!("{suites}:@SECLEVEL=0"),
            false => suites,
        }
    }
}

fn unwritable(error: std::fmt::Error) -> TargetError {
    TargetError::Settings(error.to_string())
}

fn protocols(versions: &[Version]) -> String {
    let names: Vec<String> =
        versions.iter().map(|version| format!("TLSv{}", version.number())).collect();
    names.join(" ")
}

/// The bit mask of one CPU as nginx reads it: the rightmost digit is CPU 0.
fn mask(cpu: usize) -> String {
    format!("1{}", "0".repeat(cpu))
}

/// A path as a word of nginx's language, in which `$` begins a variable and cannot be quoted.
fn quoted(path: &Path) -> Result<String, TargetError> {
    match path.to_str() {
        Some(text) if !text.contains('$') => {
            Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
        }
        _ => Err(TargetError::path("nginx", path, "`$`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use crate::launch_context::tests::context;

    fn rendered(settings: &Settings, most_descriptors: Option<u64>) -> Result<String, TargetError> {
        let context = context("/r/targets/nginx", settings);
        Configuration { context: &context, user: None, most_descriptors }.render()
    }

    #[test]
    fn there_is_room_for_all_connections_or_a_refusal() {
        let rendered = |connections, cpus: &str, most_descriptors| {
            let settings = Settings { connections, ..Settings::new(cpus.parse().unwrap()) };
            rendered(&settings, most_descriptors)
        };
        let has = |text: String, connections: &str, descriptors: &str| {
            assert!(text.contains(&format!("worker_connections {connections};")), "{text}");
            assert!(text.contains(&format!("worker_rlimit_nofile {descriptors};")), "{text}");
        };
        has(rendered(64, "0", None).unwrap(), "8192", "65536");
        has(rendered(50_000, "0", None).unwrap(), "50064", "100128");
        has(rendered(50_000, "0", Some(60_000)).unwrap(), "50064", "60000");
        // Four workers share them, with some room each.
        has(rendered(50_000, "0-3", Some(20_000)).unwrap(), "20000", "20000");
        has(rendered(64, "0", Some(1024)).unwrap(), "8192", "1024");
        // One cannot hold them all, so each core has several: four, and two on each of three.
        for (cpus, masks) in [("0", "1 1 1 1"), ("0-2", "1 10 100 1 10 100")] {
            let text = rendered(50_000, cpus, Some(20_000)).unwrap();
            assert!(text.contains(&format!("worker_cpu_affinity {masks};")), "{text}");
            let workers = masks.split(' ').count();
            assert!(text.contains(&format!("worker_processes {workers};")), "{text}");
            has(text, "20000", "20000");
        }
        for (connections, cpus, most) in [(50_000, "0", 2_000), (1000, "0", 100), (1, "0", 64)] {
            let error = rendered(connections, cpus, Some(most)).unwrap_err();
            assert!(matches!(error, TargetError::Settings(_)), "{error}");
        }
    }

    #[test]
    fn quic_has_the_port_of_tls_over_tcp() {
        let mut settings = Settings::new("0".parse().unwrap());
        assert!(!rendered(&settings, None).unwrap().contains("quic"));
        settings.target.quic = true;
        let many = rendered(&settings, None).unwrap();
        assert!(many.contains("    quic_gso on;\n"), "{many}");
        settings.target.gso = false;
        let text = rendered(&settings, None).unwrap();
        assert!(text.contains("    quic_gso off;\n"), "{text}");
        assert!(text.contains("        listen 127.0.0.1:1 quic reuseport;\n"), "{text}");
        assert!(text.contains("    http3_max_concurrent_streams 1024;\n"), "{text}");
    }

    #[test]
    fn how_it_sends_is_written_and_directives_replace() {
        let rendered = |send, directives: &str| {
            let mut settings = Settings::new("0".parse().unwrap());
            settings.target.send = send;
            settings.target.record_size = "4KiB".parse().unwrap();
            settings.target.directives = directives.parse().unwrap();
            rendered(&settings, None).unwrap()
        };
        let user = rendered(SendMode::User, "none");
        assert!(user.contains("sendfile on;") && !user.contains("KTLS"), "{user}");
        assert!(user.contains("ssl_buffer_size 4096;"), "{user}");
        let write = rendered(SendMode::KtlsWrite, "none");
        assert!(write.contains("sendfile off;"), "{write}");
        assert!(write.contains("ssl_conf_command Options KTLS;"), "{write}");
        let paper = "aio threads; tcp_nodelay off; ssl_session_cache shared:SSL:10m";
        let replaced = rendered(SendMode::KtlsSendfile, paper);
        assert!(replaced.contains("sendfile on;") && replaced.contains("KTLS"), "{replaced}");
        for line in ["    aio threads;", "    tcp_nodelay off;", "    tcp_nopush on;"] {
            assert!(replaced.lines().any(|one| one == line), "{line}: {replaced}");
        }
        assert_eq!(replaced.matches("tcp_nodelay").count(), 1, "{replaced}");
        assert_eq!(replaced.matches("ssl_session_cache").count(), 1, "{replaced}");
    }

    #[test]
    fn requests_are_passed_on_as_it_was_asked() {
        let rendered = |backend, connections, is_verified| {
            let mut settings = Settings::new("0".parse().unwrap());
            settings.target.server = crate::by_name("nginx").unwrap();
            settings.target.backend = backend;
            settings.target.backend_connections = connections;
            settings.target.backend_verify = is_verified;
            settings.target.names = std::num::NonZeroU32::new(2);
            rendered(&settings, None).unwrap()
        };
        let (kept, new) = (BackendConnections::Kept, BackendConnections::New);
        let files = rendered(None, kept, true);
        assert!(
            files.matches("root \"/o\";").count() == 3 && !files.contains("proxy_pass"),
            "{files}"
        );
        let plain = rendered(Some(Backend::Plain), kept, true);
        assert_eq!(plain.matches("proxy_pass http://backend;").count(), 3, "{plain}");
        assert!(plain.contains("server 127.0.0.1:3;\n        keepalive 128;"), "{plain}");
        assert!(!plain.contains("root ") && !plain.contains("proxy_ssl"), "{plain}");
        let tls = rendered(Some(Backend::Tls), new, true);
        assert!(tls.contains("proxy_pass https://backend;"), "{tls}");
        assert!(
            tls.contains("proxy_set_header Connection close;") && !tls.contains("keepalive 128")
        );
        assert!(tls.contains("proxy_ssl_trusted_certificate \"/b/server.crt\";"), "{tls}");
        assert!(!rendered(Some(Backend::Tls), kept, false).contains("proxy_ssl_verify"));
    }

    #[test]
    fn masks_reach_beyond_64_cpus() {
        assert_eq!(mask(0), "1");
        assert_eq!(mask(3), "1000");
        assert_eq!(mask(70).len(), 71);
    }

    #[test]
    fn paths_are_quoted_or_refused() {
        assert_eq!(quoted(Path::new(r#"/a b/{c};"\d"#)).unwrap(), r#""/a b/{c};\"\\d""#);
        let error = quoted(Path::new("/a/$b")).unwrap_err();
        assert!(matches!(error, TargetError::Path { .. }), "{error}");
    }
}
