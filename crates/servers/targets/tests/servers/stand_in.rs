//! The start of a server whose program is not what it should be.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cpus::CpuList;
use targets::{Objects, Settings, Target, TargetError};
use tls::CertificateKey;
use units::Bytes;

/// The error of a start whose program is this shell script.
fn start(script: &str) -> TargetError {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    support::write_program(&program, script);
    start_program(program)
}

fn start_program(program: PathBuf) -> TargetError {
    let folder = tempfile::tempdir().unwrap();
    let objects = Arc::new(Objects::make(&[Bytes(10)], folder.path()).unwrap());
    let mut settings =
        Settings { toll: Some(program), ..Settings::new(CpuList::allowed().unwrap()) };
    // An RSA key takes half a second to make.
    settings.target.certificate_key = CertificateKey::EcdsaP256;
    let embedded = targets::by_name("embedded").unwrap();
    targets::start(embedded, &settings, &objects, folder.path(), None).unwrap_err()
}

#[test]
fn its_complaint_is_quoted() {
    let error = start("echo 'toll: no such suite' >&2; exit 2");
    let TargetError::Died { how, log, .. } = &error else { panic!("{error}") };
    assert!(how.ends_with('2') && log.ends_with("suite"), "{error}");
}

#[test]
fn another_program_is_seen_by_what_it_prints() {
    let message = start("echo hello; exec sleep 60").to_string();
    assert!(message.contains("`hello`"), "{message}");
}

#[test]
fn one_that_announces_and_ends_has_died() {
    let script = r#"echo '{"tls":"127.0.0.1:1","plain":"127.0.0.1:1","pid":1,"library":"openssl","version":"x"}'; kill -9 $$"#;
    let error = start(script);
    assert!(matches!(&error, TargetError::Died { how, .. } if how.contains("SIGKILL")), "{error}");
}

#[test]
fn a_program_that_cannot_be_run_is_named() {
    let error = start_program("/nowhere/toll".into());
    assert!(
        matches!(&error, TargetError::Spawn { program, .. } if program.ends_with("nowhere/toll")),
        "{error}"
    );
}

#[test]
fn a_command_that_listens_elsewhere_is_told_where() {
    let folder = tempfile::tempdir().unwrap();
    let own_port = folder.path().join("port");
    let script = format!(
        r#"import socket, time
listener = socket.create_server(("127.0.0.1", 0))
open("{}", "w").write(str(listener.getsockname()[1]))
time.sleep(60)"#,
        own_port.display()
    );
    let program = folder.path().join("program.py");
    std::fs::write(&program, script).unwrap();
    // The shell stays, so that the server is its child.
    let command = format!("python3 {} {{port}}; exit 1", program.display());
    let settings = Settings::new(CpuList::allowed().unwrap());
    let target = Target {
        command: Some(command.parse().unwrap()),
        certificate_key: CertificateKey::EcdsaP256,
        ..settings.target
    };
    let settings = Settings { target, start_limit: Some(Duration::from_secs(3)), ..settings };
    let objects = Arc::new(Objects::make(&[Bytes(10)], folder.path()).unwrap());
    let kind = targets::by_name("command").unwrap();
    let error = targets::start(kind, &settings, &objects, folder.path(), None).unwrap_err();
    let port: u16 = std::fs::read_to_string(own_port).unwrap().parse().unwrap();
    let at = SocketAddr::from(([127, 0, 0, 1], port));
    assert!(error.to_string().contains(&at.to_string()), "{error}");
    let TargetError::NotReady { listens, .. } = error else { panic!("{error}") };
    assert_eq!(listens, Some(vec![at]));
}

#[test]
fn a_build_without_quic_is_left_out_where_quic_is_asked_for() {
    let nginx = |flags: &str| {
        format!("printf 'nginx version: nginx/1.27.3\\nbuilt with OpenSSL 3.5.1\\n{flags}\\n' >&2")
    };
    let haproxy = |feature: &str| {
        format!(
            "printf 'HAProxy version 3.0.5\\nFeature list : +OPENSSL {feature}\\n\
             Running on OpenSSL version : OpenSSL 3.5.1\\n'"
        )
    };
    for (name, without, with) in [
        ("nginx", nginx("--with-http_v2_module"), nginx("--with-http_v3_module")),
        ("haproxy", haproxy("-QUIC"), haproxy("+QUIC")),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let server = targets::by_name(name).unwrap();
        let mut settings = Settings::new(CpuList::allowed().unwrap());
        settings.program_folders = vec![folder.path().to_owned()];
        settings.target.server = server;
        for (script, has_quic) in [(without, false), (with, true)] {
            support::write_program(&folder.path().join(name), &script);
            settings.target.quic = false;
            assert!(server.version(&settings).unwrap().is_ok(), "{name}");
            settings.target.quic = true;
            match server.version(&settings).unwrap() {
                Ok(_) => assert!(has_quic, "{name}"),
                Err(error) => assert!(!has_quic && error.is_missing(), "{error}"),
            }
        }
    }
}
