//! What a load cannot do is said in one line, before it is measured.

use openssl::asn1::Asn1Time;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::x509::{X509, X509Name};

use super::*;

#[test]
fn a_wrong_request_ends_in_one_line_before_anything_starts() {
    let server = Serve::pinned(&["--tls", "1.2"]);
    let https = format!("https://{}/bytes/1KiB", server.tls);
    let plain = format!("http://{}/bytes/1KiB", server.plain);
    let missing = format!("https://{}/missing", server.tls);
    let garbage = server.folder.path().join("garbage.pem");
    std::fs::write(&garbage, "-----BEGIN nothing").unwrap();
    let garbage = garbage.to_str().unwrap();
    let unused = "https://127.0.0.1:1/";
    let not_tls = plain.replace("http:", "https:");
    let refused = [
        &[https.as_str(), "-d", "10"][..],
        &[&https, "--warmup", "1x"],
        &[&https, "--timeout", "5x"],
        &[&https, "-d", "0s"],
        &[&https, "-c", "0"],
        &[&https, "-c", "18446744073709551615"],
        &[&https, "--suite", "AES128-GCM-SHA265"],
        &[&https, "--operation", "walk"],
        &[&https, "--tls", "1.3", "--suite", "AES128-SHA"],
        &[&plain, "--group", "x25519"],
        &[&plain, "--operation", "handshakes"],
        &[&https, "--insecure", "--ca", garbage],
        &[&https, "--arrival", "paced 2Gb"],
        &[&https, "--arrival", "paced 2Gb/s", "--operation", "handshakes"],
        &[&https, "--arrival", "paced 2Gb/s", "--client", "wrk"],
        &[&missing, "--arrival", "paced 2Gb/s"],
        &[&https, "--arrival", "paced 2Gb/s"],
        &[&https, "-H", "Range: bytes=0-9"],
        &[&https, "-H", "X: a\r\nY: b"],
        &[&https, "-H", "X"],
        &[&https, "--source", "192.0.2.1"],
        &[&https, "--source", "nosuch0"],
        &[&https, "--source", "a b"],
        &[&https, "--source", "::1"],
        &[&https, "--source", "lo", "--client", "wrk"],
        &[&https, "-n", "0"],
        &[&https, "-n", "9", "--warmup", "1s"],
        &[&https, "-n", "9", "--client", "wrk"],
        &[&https, "--wakeups", "each", "--client", "wrk"],
        &[&https, "--wakeups", "coalesced", "--arrival", "uniform 100/s"],
        &[&https, "--wakeups", "on"],
        &[&https, "--cpus", "1023"],
        &[&https, "--ca", garbage],
        &[&https, "--ca", "/nonexistent/ca.pem"],
        &[&https],
        &[&https, "--insecure", "--tls", "1.3"],
        &[&https, "--insecure", "--suite", "ECDHE-ECDSA-AES128-SHA"],
        &[&missing, "--insecure"],
        &[&not_tls, "--insecure"],
        &[unused],
        &["127.0.0.1:8443"],
        &["https://192.0.2.1/"],
        &[&https, "--server-pid", "8388608"],
    ];
    // What this process may use is that of the machine.
    let here = CpuList::allowed().unwrap().to_string();
    let names = [
        (server.tls.to_string(), "TLS"),
        (server.plain.to_string(), "PLAIN"),
        (server.folder.path().display().to_string(), "FOLDER"),
        (format!("may use {here}"), "may use CPUS"),
    ];
    let shown = |text: &str| {
        names.iter().fold(text.to_owned(), |text, (here, name)| text.replace(here, name))
    };
    support::assert_golden!(refused.map(|arguments| {
        let output = toll().arg("load").args(arguments).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        assert_eq!(said.lines().count(), 1, "{said}");
        (shown(&arguments.join(" ").escape_debug().to_string()), shown(&said))
    }));
}

/// Without the privilege to raise the limit, which a superuser has.
#[test]
fn too_few_descriptors_for_the_load_that_is_asked_for_are_an_error_before_it_is_tried() {
    let drops = "setpriv --bounding-set -sys_resource";
    let is_dropped = Command::new("sh").args(["-c", &format!("{drops} true")]).output();
    let drops = if is_dropped.unwrap().status.success() { drops } else { "" };
    for (limit, expected) in [
        (
            50,
            "--connections 500 needs 564 file descriptors, but this process may have 50; raise the limit",
        ),
        (
            65,
            "--connections 500 needs 564 file descriptors, but this process may have 65; give at most 16,",
        ),
    ] {
        let toll = toll_path().display().to_string();
        let script = format!(
            "ulimit -n {limit} && exec {drops} {toll} load https://127.0.0.1:1/ -c 500 --cpus 0"
        );
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected) && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn a_body_that_is_not_the_object_is_told_before_anything_is_measured() {
    let root = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        std::fs::create_dir_all(root.path().join("bytes")).unwrap();
        std::fs::write(root.path().join("bytes").join(name), content).unwrap();
    };
    file("64KiB", &[0; 65_536]);
    file("32KiB", &[0; 1000]);
    file("16KiB", &[0; 65_536]);
    let server = Serve::pinned(&["--root", root.path().to_str().unwrap()]);
    for (object, kind) in [
        ("bytes/64KiB", "content: "),
        ("bytes/32KiB", "short-body: "),
        ("bytes/16KiB", "long-body: "),
    ] {
        let output = load(&server, object).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{object}: {said}");
        assert_eq!(text(&output.stdout), "");
        assert!(said.contains(kind) && said.lines().count() == 1, "{object}: {said}");
    }
}

#[test]
fn a_process_that_is_not_the_server_has_no_cpu_time_of_it() {
    let server = Serve::pinned(&[]);
    let other = Killed::start(Command::new("sleep").arg("60"));
    let pid = other.pid().to_string();
    let output = load(&server, "bytes/1KiB").args(["--server-pid", &pid]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains(&format!("process {pid} ")), "{said}");
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let server = Serve::pinned(&[]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output =
        load(&server, "bytes/1KiB").args(["-d", "200ms", "--json"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("output cannot"), "{}", text(&output.stderr));
}

/// `openssl req -x509` marks its certificates as those of an authority.
#[test]
fn a_self_signed_certificate_that_is_named_is_trusted_and_no_other_like_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for name in ["one", "other"] {
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
            .args(["-nodes", "-days", "2", "-subj", "/CN=localhost"])
            .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
            .args(["-keyout", &path(&format!("{name}.key")), "-out", &path(&format!("{name}.pem"))])
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    let server = Serve::pinned(&["--certificate", &path("one.pem"), "--key", &path("one.key")]);
    let url = format!("https://{}/bytes/1KiB", server.tls);
    let load = |authority: &str| {
        let mut command = toll();
        command.args(["load", &url, "-d", "200ms", "--warmup", "0s", "-c", "2", "--json"]);
        command.args(["--ca", authority]).output().unwrap()
    };
    let output = load(&path("one.pem"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let line: TrialRecord = serde_json::from_slice(&output.stdout).unwrap();
    assert!(line.valid && line.operations.completed > 0);
    let output = load(&path("other.pem"));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("authentication: "), "{said}");
}

#[test]
fn a_process_that_holds_toll_is_no_server() {
    let server = Serve::pinned(&[]);
    let url = format!("https://{}/bytes/1KiB", server.tls);
    let own = std::process::id().to_string();
    let output = toll().args(["load", &url, "--insecure", "--server-pid", &own]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(&own), "{said}");
}

#[test]
fn an_object_that_is_not_there_is_named_before_the_load() {
    let server = Serve::pinned(&[]);
    let output = load(&server, "").args(["--object", "1KiB 75%, /missing 25%"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/missing"), "{}", text(&output.stderr));
    let both = load(&server, "bytes/1KiB").args(["--object", "1KiB"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2));
    assert!(text(&both.stderr).contains("URL's path"), "{}", text(&both.stderr));
}

#[test]
fn a_program_that_is_not_installed_is_named_with_its_package() {
    let empty = tempfile::tempdir().unwrap();
    for (client, package) in [("wrk", "wrk"), ("ab", "apache2-utils"), ("h2load", "nghttp2-client")]
    {
        let output = toll()
            .args(["load", "https://127.0.0.1:1/", "--client", client])
            .args(["--cpus", &first_cpu().to_string()])
            .env("PATH", empty.path())
            .output()
            .unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        let expected = format!("apt-get install {package}, or leave --client {client} out\n");
        assert!(said.contains("is not installed") && said.ends_with(&expected), "{said}");
    }
}

/// A server that takes connections and says nothing: the probe waits for it, but not after Ctrl-C.
#[test]
fn ctrl_c_ends_the_probe_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    for url in [format!("http://{address}/"), format!("https://{address}/")] {
        let mut command = toll();
        command.args(["load", &url, "--insecure", "--timeout", "1h", "--cpus"]);
        let mut process = Killed::piped(command.arg(last_cpu().to_string()));
        let _connection = listener.accept().unwrap();
        process.send("-INT");
        assert_eq!(process.exit_code(), Some(130));
    }
}

#[test]
fn a_proxy_of_the_environment_is_named_where_others_would_use_it() {
    let told = |url: &str, variable: &str| {
        let mut load = toll();
        load.args(["load", url, "--insecure", "--i-operate-this-host", "-n", "1"]);
        let output = load.env(variable, "http://127.0.0.1:3128").output().unwrap();
        text(&output.stderr).contains(&format!("{variable} is set and not used"))
    };
    let closing = |ip: IpAddr| {
        let port = TcpListener::bind((ip, 0)).unwrap();
        let address = port.local_addr().unwrap();
        std::thread::spawn(move || port.incoming().for_each(drop));
        address
    };
    // An address of this machine that is no loopback address, where it has one.
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let Ok(own) = socket.connect("192.0.2.1:1").and_then(|()| socket.local_addr()) else {
        eprintln!("skipped: this machine has loopback addresses alone");
        return;
    };
    let own = closing(own.ip());
    assert!(told(&format!("https://{own}/"), "HTTPS_PROXY"));
    assert!(told(&format!("http://{own}/"), "http_proxy"));
    assert!(!told(&format!("http://{own}/"), "HTTPS_PROXY"));
    let loopback = closing([127, 0, 0, 1].into());
    assert!(!told(&format!("https://{loopback}/"), "HTTPS_PROXY"));
}

/// An authority whose time was over long ago, in PEM form.
fn expired_authority() -> String {
    let curve = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let key = PKey::from_ec_key(EcKey::generate(&curve).unwrap()).unwrap();
    let mut name = X509Name::builder().unwrap();
    name.append_entry_by_text("CN", "Old Root").unwrap();
    let name = name.build();
    let mut authority = X509::builder().unwrap();
    authority.set_version(2).unwrap();
    authority.set_subject_name(&name).unwrap();
    authority.set_issuer_name(&name).unwrap();
    authority.set_pubkey(&key).unwrap();
    authority.set_not_before(&Asn1Time::from_unix(0).unwrap()).unwrap();
    authority.set_not_after(&Asn1Time::from_unix(86_400).unwrap()).unwrap();
    authority.sign(&key, MessageDigest::sha256()).unwrap();
    String::from_utf8(authority.build().to_pem().unwrap()).unwrap()
}

#[test]
fn an_authority_that_has_expired_is_named() {
    let server = Serve::pinned(&[]);
    let own = std::fs::read_to_string(server.certificate()).unwrap();
    let file = server.folder.path().join("authorities.pem");
    let warned = |authorities: &str| {
        std::fs::write(&file, authorities).unwrap();
        let mut command = toll();
        command
            .arg("load")
            .arg(format!("https://{}/bytes/1KiB", server.tls))
            .arg("--ca")
            .arg(&file);
        command.args(["-c", "2", "--warmup", "300ms", "-d", "300ms"]);
        let mut warnings = line(&mut command).warnings.into_iter();
        warnings.find(|warning| warning.kind == WarningKind::ExpiredAuthority)
    };
    assert_eq!(warned(&own), None);
    let warning = warned(&format!("{own}{}", expired_authority())).unwrap();
    assert!(warning.seen.contains("CN=Old Root"), "{warning}");
}
