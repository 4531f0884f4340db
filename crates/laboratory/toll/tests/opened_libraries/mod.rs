//! What a library that the server opens must do, as `openssl s_client`, curl and a study see it.

use std::path::Path;
use std::process::{Output, Stdio};

use support::{Desk, Serve, peer, text, toll};
use tls::{CertificateKey, Identity, Stack, Suite};
use trial::TrialRecord;
use units::Bytes;

/// Whether it is here; what is not, no test tries.
pub(crate) fn is_here(library: Stack) -> bool {
    // What cannot be written is refused once the library is open.
    let mut server = toll();
    server.args(["serve", "--listen", "127.0.0.1:0", "--library", library.name()]);
    let output = server.args(["--write-certificate", "/nowhere/certificate"]).output().unwrap();
    let why = text(&output.stderr);
    let is_here = !why.contains(" is not here: ");
    if !is_here {
        eprintln!("skipped: {why}");
    }
    is_here
}

fn start(library: Stack, options: &[&str]) -> Serve {
    eprintln!("{library} {options:?}");
    Serve::start(&[&["--library", library.name()], options].concat())
}

fn s_client(server: &Serve, arguments: &[&str]) -> String {
    let output = peer("openssl")
        .args(["s_client", "-connect", &server.tls.to_string(), "-CAfile"])
        .arg(server.certificate())
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    text(&[output.stdout, output.stderr].concat())
}

fn curl(server: &Serve, arguments: &[&str], path: &str) -> Vec<u8> {
    let output = asked(server, arguments, path);
    assert!(output.status.success(), "{}", text(&output.stderr));
    output.stdout
}

/// What curl does.
fn asked(server: &Serve, arguments: &[&str], path: &str) -> Output {
    peer("curl")
        .args(["--silent", "--show-error", "--fail", "--max-time", "50", "--cacert"])
        .arg(server.certificate())
        .args(arguments)
        .arg(format!("https://localhost:{}{path}", server.tls.port()))
        .output()
        .unwrap()
}

fn object(size: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    objects::write_to(&mut bytes, size.parse::<Bytes>().unwrap()).unwrap();
    bytes
}

/// Suites of both versions as they are asked for, whole objects, HTTP/2, and sessions that are resumed where that is on.
pub(crate) fn serves(library: Stack) {
    for (suite, key) in [
        ("TLS_AES_128_GCM_SHA256", "ecdsa:p256"),
        ("TLS_CHACHA20_POLY1305_SHA256", "rsa:2048"),
        ("ECDHE-RSA-AES128-GCM-SHA256", "rsa:2048"),
        ("ECDHE-ECDSA-AES256-GCM-SHA384", "ecdsa:p384"),
    ] {
        let server = start(library, &["--certificate-key", key]);
        let suite = Suite::parse(suite).unwrap();
        let offered = match suite.version() {
            tls::Version::Tls13 => ["-tls1_3", "-ciphersuites", suite.openssl_name],
            tls::Version::Tls12 => ["-tls1_2", "-cipher", suite.openssl_name],
        };
        let seen = s_client(&server, &offered);
        assert!(seen.contains(&format!(", Cipher is {}\n", suite.openssl_name)), "{suite}: {seen}");
        assert!(seen.contains("Verify return code: 0 (ok)"), "{seen}");
    }
    for tls in ["1.2", "1.3"] {
        let server = start(library, &["--tls", tls, "--certificate-key", "ecdsa:p256"]);
        for size in ["1B", "16KiB", "1MiB", "16MiB"] {
            let body = curl(&server, &["--http1.1"], &format!("/bytes/{size}"));
            assert!(body == object(size), "{tls} {size}: {} bytes", body.len());
        }
        let version = ["--http2", "--output", "/dev/null", "--write-out", "%{http_version}"];
        assert_eq!(text(&curl(&server, &version, "/bytes/1MiB")), "2");
        assert!(curl(&server, &["--http2"], "/bytes/1MiB") == object("1MiB"));
    }
    for (group, name) in [("x25519", "X25519"), ("secp256r1", "ECDH, prime256v1")] {
        let server = start(library, &[]);
        let seen = s_client(&server, &["-groups", group]);
        assert!(seen.contains(&format!("Temp Key: {name}")), "{group}: {seen}");
    }
    for setting in ["on", "off"] {
        let server = start(library, &["--tls", "1.2", "--tickets", setting]);
        let seen = s_client(&server, &["-tls1_2", "-reconnect"]);
        assert!(seen.contains("New, TLSv1."), "{seen}");
        assert_eq!(seen.contains("Reused, TLSv1."), setting == "on", "{seen}");
    }
}

/// Full and resumed handshakes and bulk, each trial valid, whose receipts name the library and its file.
pub(crate) fn is_measured(library: Stack) {
    let name = library.name();
    let desk = Desk::new(&format!(
        "schema = 1\nquestion = \"?\"\ntrials = 1\n[target]\nserver = \"embedded\"\nlibrary = \"{name}\"\n\
         certificate-key = \"ecdsa:p256\"\ntickets = true\nobject = \"1MiB\"\n[load]\nconnections = 4\ntls = \"1.3\"\n\
         group = \"x25519\"\nsuite = \"TLS_AES_128_GCM_SHA256\"\nwarmup = \"50ms\"\nduration = \"300ms\"\n\
         [[case]]\nname = \"handshakes\"\nload.operation = \"handshakes\"\n\
         sweep.\"load.resumption\" = [\"0%\", \"100%\"]\n\
         [[case]]\nname = \"bulk\"\nload.operation = \"requests\"\n"
    ));
    let output = desk.undisturbed(desk.run(&["--quiet"]).output().unwrap());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines: Vec<TrialRecord> = desk.lines();
    assert_eq!(lines.len(), 3);
    for line in lines {
        assert!(line.valid && line.operations.completed > 0, "{:?}", line.receipt.mismatch);
        let obtained = line.receipt.obtained;
        assert_eq!(line.receipt.asked.library.as_deref(), Some(name));
        let [proof] = obtained.library.as_slice() else { panic!("{:?}", obtained.library) };
        assert!(proof.starts_with('/') && proof.contains(library.file().unwrap()), "{proof}");
        assert!(proof.ends_with(')') && proof.contains(" ("), "{proof}");
    }
}

/// Serves clients with a certificate that the authority has issued, of each key in each version, and no others.
pub(crate) fn verifies_clients(library: Stack) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let issue = |name: &str, key| {
        let (client, authority) = Identity::issued_client(key).unwrap();
        let file = |end: &str| path(&format!("{name}.{end}"));
        client.write(Path::new(&file("crt")), Path::new(&file("key"))).unwrap();
        std::fs::write(file("ca"), authority).unwrap();
    };
    issue("stranger", CertificateKey::EcdsaP256);
    for key in [CertificateKey::EcdsaP256, CertificateKey::Rsa(2048)] {
        let name = key.to_string().replace(':', "-");
        issue(&name, key);
        let authority = path(&format!("{name}.ca"));
        let required = ["--client-certificate", "require", "--client-ca", &authority];
        let server = start(library, &required);
        for version in [&["--tls-max", "1.2"][..], &["--tlsv1.3"]] {
            let shown = |who: &str| [path(&format!("{who}.crt")), path(&format!("{who}.key"))];
            let [certificate, private] = shown(&name);
            let own = [version, &["--cert", &certificate, "--key", &private]].concat();
            assert!(curl(&server, &own, "/bytes/16KiB") == object("16KiB"), "{library} {key}");
            let [certificate, private] = shown("stranger");
            for others in [vec!["--cert", &certificate, "--key", &private], Vec::new()] {
                let output = asked(&server, &[version, &others].concat(), "/bytes/16KiB");
                assert!(!output.status.success(), "{library} {key} {version:?} {others:?}");
            }
        }
    }
}

/// Full handshakes with a client certificate of each key, each trial valid.
pub(crate) fn is_measured_with_clients(library: Stack) {
    let name = library.name();
    let desk = Desk::new(&format!(
        "schema = 1\nquestion = \"?\"\ntrials = 1\n[target]\nserver = \"embedded\"\nlibrary = \"{name}\"\n\
         certificate-key = \"ecdsa:p256\"\nclient-certificate = \"require\"\n[load]\nconnections = 4\n\
         tls = \"1.3\"\noperation = \"handshakes\"\nwarmup = \"50ms\"\nduration = \"300ms\"\n\
         [[case]]\nname = \"keys\"\n\
         sweep.\"target.client-certificate-key\" = [\"rsa:2048\", \"ecdsa:p256\"]\n"
    ));
    let output = desk.undisturbed(desk.run(&["--quiet"]).output().unwrap());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let mut keys = Vec::new();
    for line in desk.lines().into_iter().filter(|line: &TrialRecord| line.valid) {
        let obtained = line.receipt.obtained;
        assert_eq!(obtained.client_certificates, obtained.full, "{library}");
        let of_key: Vec<_> = obtained.client_key.into_iter().collect();
        let [(key, count)] = &of_key[..] else { panic!("{of_key:?}") };
        assert_eq!(Some(*count), obtained.full);
        keys.push(key.clone());
    }
    keys.sort_unstable();
    assert_eq!(keys, ["ecdsa:p256", "rsa:2048"], "{library}");
}
