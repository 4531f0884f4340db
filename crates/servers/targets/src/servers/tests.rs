//! The registry, and how each server is configured with the same settings.

use offload::Way;
use tls::{CertificateKey, Group, Suite};

use crate::launch_context::tests::context;
use crate::{SERVERS, Settings, Target, by_name};

#[test]
fn each_is_found_by_its_name() {
    for server in SERVERS {
        assert_eq!(by_name(server.name()), Some(*server));
    }
    assert_eq!(by_name("ngnix"), None);
}

#[test]
fn each_uses_the_keys_that_mean_something_to_it() {
    let uses = |server: &str, key: &str| by_name(server).unwrap().uses(key);
    for server in ["embedded", "nginx", "haproxy"] {
        assert!(uses(server, "tickets") && uses(server, "cpus") && uses(server, "server"));
        assert!(!uses(server, "command") && !uses(server, "pid"), "{server}");
    }
    assert!(uses("command", "command") && uses("command", "certificate-key"));
    assert!(!uses("command", "tickets") && !uses("command", "url"));
    assert!(uses("address", "url") && uses("address", "server"));
    assert!(!uses("address", "cores") && !uses("address", "session-cache"));
}

/// All files of a server's configuration, one after another.
fn configuration(server: &str, settings: &Settings) -> String {
    let server = by_name(server).unwrap().program().unwrap();
    let files = server.files(&context("/f", settings)).unwrap();
    files.into_iter().map(|(_, text)| text).collect()
}

fn settings() -> Settings {
    Settings::new("0,2".parse().unwrap())
}

#[test]
fn each_setting_is_carried_out() {
    let settings = Settings {
        suites: ["TLS_AES_128_GCM_SHA256", "AES128-SHA", "AES128-GCM-SHA256"]
            .map(|name| Suite::parse(name).unwrap())
            .to_vec(),
        groups: vec![Group::X25519, Group::Secp256r1],
        target: Target {
            certificate_key: CertificateKey::Rsa(1024),
            tickets: false,
            session_cache: false,
            encrypt_then_mac: false,
            ..settings().target
        },
        ..settings()
    };
    for (server, part) in [
        ("nginx", NGINX_PROCESSES),
        ("nginx", NGINX),
        ("apache", APACHE),
        ("haproxy", HAPROXY),
        ("haproxy", HAPROXYS_OPENSSL),
    ] {
        let text = configuration(server, &settings);
        assert!(text.contains(part), "{server}: {text}");
    }
}

#[test]
fn a_server_that_is_told_nothing_keeps_its_defaults() {
    for (server, present, absent) in [
        (
            "nginx",
            &[
                "ssl_ciphers HIGH:!aNULL:!MD5;",
                "ssl_session_tickets on;",
                "ssl_session_cache shared:toll:64m;",
            ][..],
            &["ssl_conf_command", "ssl_ecdh_curve", "SECLEVEL"][..],
        ),
        (
            "apache",
            &["SSLSessionCache shmcb:"],
            &["SSLCipherSuite", "SSLOpenSSLConfCmd", "SECLEVEL"],
        ),
        (
            "haproxy",
            &["tune.ssl.cachesize 20000"],
            &["ciphers ", "ciphersuites", "curves", "no-tls", "NumTickets", "Options"],
        ),
    ] {
        let text = configuration(server, &settings());
        for part in present {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        for part in absent {
            assert!(!text.contains(part), "{part} is in {text}");
        }
    }
}

#[test]
fn a_provider_is_loaded_and_waited_for_as_each_server_can() {
    let of = |server: &str, offload| {
        let target = Target { provider: "qat=/q.so".parse().ok(), offload, ..settings().target };
        configuration(server, &Settings { target, ..settings() })
    };
    let section = "[key_provider]\nmodule = /q.so\nactivate = 1\n";
    let main = "providers = providers\nalg_section = algorithms\n";
    for (server, offload, pauses) in [
        ("haproxy", Way::Asynchronous, true),
        ("haproxy", Way::Synchronous, false),
        ("nginx", Way::Synchronous, false),
    ] {
        let text = of(server, offload);
        assert!(text.contains(section) && text.contains(main), "{server}: {text}");
        assert_eq!(text.contains("\n    ssl-mode-async\n"), pauses, "{server}: {text}");
    }
    for server in ["haproxy", "nginx"] {
        let text = configuration(server, &settings());
        assert!(!text.contains("providers") && !text.contains("ssl-mode-async"), "{text}");
    }
}

const NGINX_PROCESSES: &str = "\
daemon off;
master_process on;
worker_processes 2;
worker_cpu_affinity 1 100;
";

const NGINX: &str = r#"pid "/f/nginx.pid";
error_log "/l/error.log" notice;

events {
    use epoll;
    worker_connections 8192;
    multi_accept on;
}

http {
    access_log off;
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    keepalive_timeout 1h;
    keepalive_requests 1000000000;
    http2_max_concurrent_streams 1024;
    client_body_temp_path "/f/client_body_temp";
    proxy_temp_path "/f/proxy_temp";
    fastcgi_temp_path "/f/fastcgi_temp";
    uwsgi_temp_path "/f/uwsgi_temp";
    scgi_temp_path "/f/scgi_temp";

    server {
        listen 127.0.0.1:2 reuseport backlog=65535;
        listen 127.0.0.1:1 ssl http2 reuseport backlog=65535;
        root "/o";

        ssl_certificate "/f/server.crt";
        ssl_certificate_key "/f/server.key";
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_ciphers AES128-SHA:AES128-GCM-SHA256:@SECLEVEL=0;
        ssl_prefer_server_ciphers on;
        ssl_buffer_size 16384;
        ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
        ssl_ecdh_curve X25519:P-256;
        ssl_session_tickets off;
        ssl_conf_command NumTickets 0;
        ssl_session_cache off;
        ssl_session_timeout 1h;
        ssl_conf_command Options -EncryptThenMac;
    }
}
"#;

const APACHE: &str = "\
SSLSessionCache none
SSLSessionCacheTimeout 3600
<VirtualHost 127.0.0.1:1>
    SSLEngine on
    SSLCertificateFile \"/f/server.crt\"
    SSLCertificateKeyFile \"/f/server.key\"
    SSLProtocol -all +TLSv1.2 +TLSv1.3
    SSLHonorCipherOrder on
    Protocols h2 http/1.1
    H2MaxSessionStreams 1024
    SSLCipherSuite AES128-SHA:AES128-GCM-SHA256:@SECLEVEL=0
    SSLCipherSuite TLSv1.3 TLS_AES_128_GCM_SHA256
    SSLOpenSSLConfCmd Groups X25519:P-256
    SSLSessionTickets off
    SSLOpenSSLConfCmd NumTickets 0
    SSLOpenSSLConfCmd Options -EncryptThenMac
</VirtualHost>
";

const HAPROXY: &str = "\
global
    nbthread 2
    cpu-map auto:1/1-2 0 2
    tune.ssl.cachesize 0
    tune.ssl.lifetime 3600
    tune.h2.max-concurrent-streams 1024
    log stderr format raw daemon notice

defaults
    mode http
    timeout connect 10s
    timeout client 1h
    timeout server 1h
    timeout http-keep-alive 1h
    http-reuse always
    option http-ignore-probes

frontend clients
    bind 127.0.0.1:2
    bind 127.0.0.1:1 ssl crt '/f/server.pem' ssl-min-ver TLSv1.2 \
ssl-max-ver TLSv1.3 ciphers AES128-SHA:AES128-GCM-SHA256 ciphersuites TLS_AES_128_GCM_SHA256 \
curves X25519:P-256 no-tls-tickets alpn h2,http/1.1
    default_backend objects

backend objects
    server objects 127.0.0.1:3
";

/// OpenSSL's configuration for HAProxy.
const HAPROXYS_OPENSSL: &str =
    "CipherString = DEFAULT:@SECLEVEL=0\nNumTickets = 0\nOptions = -EncryptThenMac\n";

#[test]
fn every_server_that_toll_starts_has_a_program() {
    for server in SERVERS {
        assert_eq!(server.program().is_some(), server.is_started(), "{server}");
    }
}
