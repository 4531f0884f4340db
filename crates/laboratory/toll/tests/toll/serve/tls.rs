//! What TLS agrees on is what was asked for, as `openssl s_client` and curl see it.

use support::peer;
use tls::{Authority, CertificateKey, Identity, Stack, Suite};

use super::server::{Serve, object};

#[test]
fn exactly_the_suite_that_was_asked_for_is_negotiated() {
    for (suite, key, version, name) in [
        ("TLS_AES_128_GCM_SHA256", "rsa:2048", "New, TLSv1.3,", "TLS_AES_128_GCM_SHA256"),
        (
            "TLS_CHACHA20_POLY1305_SHA256",
            "ed25519",
            "New, TLSv1.3,",
            "TLS_CHACHA20_POLY1305_SHA256",
        ),
        ("TLS_RSA_WITH_AES_128_CBC_SHA", "rsa:2048", "Protocol  : TLSv1.2", "AES128-SHA"),
        ("AES128-GCM-SHA256", "rsa:1024", "Protocol  : TLSv1.2", "AES128-GCM-SHA256"),
        ("ECDHE-RSA-AES256-SHA384", "rsa:3072", "Protocol  : TLSv1.2", "ECDHE-RSA-AES256-SHA384"),
        (
            "ECDHE-ECDSA-AES128-GCM-SHA256",
            "ecdsa:p256",
            "Protocol  : TLSv1.2",
            "ECDHE-ECDSA-AES128-GCM-SHA256",
        ),
        (
            "ECDHE-ECDSA-AES256-GCM-SHA384",
            "ecdsa:p384",
            "Protocol  : TLSv1.2",
            "ECDHE-ECDSA-AES256-GCM-SHA384",
        ),
        (
            "ECDHE-ECDSA-AES128-GCM-SHA256",
            "ed25519",
            "Protocol  : TLSv1.2",
            "ECDHE-ECDSA-AES128-GCM-SHA256",
        ),
    ] {
        for library in Stack::BUILT_IN {
            if !library.has_suite(Suite::parse(suite).unwrap()) {
                continue;
            }
            let server = Serve::start_on(library, &["--suites", suite, "--certificate-key", key]);
            let text = server.s_client(&["-cipher", "ALL:@SECLEVEL=0"]);
            assert!(text.contains(version), "{suite} {key}: {text}");
            assert!(text.contains(&format!(", Cipher is {name}\n")), "{suite} {key}: {text}");
            assert!(text.contains("Verify return code: 0 (ok)"), "{text}");
        }
    }
}

#[test]
fn the_group_that_was_asked_for_is_used() {
    for (group, name) in
        [("x25519", "X25519"), ("secp256r1", "ECDH, prime256v1"), ("p-384", "ECDH, secp384r1")]
    {
        for server in Serve::on_each_library(&["--groups", group]) {
            let text = server.s_client(&[]);
            assert!(text.contains(&format!("Temp Key: {name}")), "{group}: {text}");
        }
    }
}

#[test]
fn encrypt_then_mac_is_agreed_to_or_not() {
    for setting in ["on", "off"] {
        let server = Serve::start(&["--suites", "AES128-SHA", "--encrypt-then-mac", setting]);
        let text = server.s_client(&["-tlsextdebug"]);
        assert!(text.contains("Cipher is AES128-SHA"), "{text}");
        let agreed = text.contains("TLS server extension \"encrypt-then-mac\"");
        assert_eq!(agreed, setting == "on", "{text}");
        assert!(
            server.fetch(&["--ciphers", "AES128-SHA", &server.https("/bytes/1MiB")])
                == object("1MiB")
        );
    }
}

#[test]
fn sessions_are_resumed_only_where_that_is_on() {
    for (options, resumed) in [
        (&["--tls", "1.2"][..], false),
        (&["--tls", "1.2", "--tickets", "on"], true),
        (&["--tls", "1.2", "--session-cache", "on"], true),
        (&["--tls", "1.3"], false),
        (&["--tls", "1.3", "--session-cache", "on"], false),
    ] {
        for server in Serve::on_each_library(options) {
            let text = server.s_client(&["-reconnect"]);
            assert!(text.contains("New, TLSv1."), "{text}");
            assert_eq!(text.contains("Reused, TLSv1."), resumed, "{options:?}: {text}");
        }
    }
}

/// The kernel gives each connection to one of two threads, which know each other's tickets.
#[test]
fn sessions_are_resumed_by_threads_with_library_contexts_of_their_own() {
    let cpus = cpus::CpuList::allowed().unwrap();
    let cpus: Vec<String> = cpus.as_slice().iter().take(2).map(ToString::to_string).collect();
    for key in ["rsa:2048", "ecdsa:p256"] {
        let server = Serve::start(&[
            "--library-context",
            "per-thread",
            "--tickets",
            "on",
            "--tls",
            "1.2",
            "--certificate-key",
            key,
            "--cpus",
            &cpus.join(","),
        ]);
        for _ in 0..4 {
            let text = server.s_client(&["-reconnect"]);
            assert_eq!(text.matches("New, TLSv1.").count(), 1, "{text}");
            assert_eq!(text.matches("Reused, TLSv1.").count(), 5, "{text}");
            assert!(text.contains("Verify return code: 0 (ok)"), "{text}");
        }
        assert!(server.fetch(&[&server.https("/bytes/1MiB")]) == object("1MiB"));
    }
}

#[test]
fn tickets_of_tls_1_3_are_sent_only_where_they_are_on() {
    for setting in ["on", "off"] {
        for server in Serve::on_each_library(&["--tickets", setting]) {
            let output = peer("sh")
                .args(["-c", &format!(
                    "printf 'GET /bytes/1B HTTP/1.0\\r\\n\\r\\n' | openssl s_client -connect {} -msg -ign_eof",
                    server.tls
                )])
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.contains("200 OK"), "{text}");
            assert_eq!(text.contains("NewSessionTicket"), setting == "on", "{text}");
        }
    }
}

#[test]
fn records_have_the_size_that_was_asked_for() {
    let options = ["--record-size", "512B", "--records-per-write", "3", "--tls", "1.3"];
    for server in Serve::on_each_library(&options) {
        assert!(server.fetch(&[&server.https("/bytes/1MiB")]) == object("1MiB"));
        let output = peer("sh")
            .args(["-c", &format!(
                "printf 'GET /bytes/64KiB HTTP/1.0\\r\\n\\r\\n' | openssl s_client -connect {} -msg -ign_eof",
                server.tls
            )])
            .output()
            .unwrap();
        // 512 bytes of content, one of content type and a tag of 16 make 529, 0x0211.
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("17 03 03 02 11"), "no record of 529 bytes");
        assert!(!text.contains("17 03 03 40 11"), "a record of 16 KiB");
    }
}

#[test]
fn a_given_certificate_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("c.pem"), folder.path().join("k.pem"));
    tls::Identity::generate(tls::CertificateKey::EcdsaP384)
        .unwrap()
        .write(&certificate, &key)
        .unwrap();
    let (certificate, key) = (certificate.to_str().unwrap(), key.to_str().unwrap());
    for server in Serve::on_each_library(&["--certificate", certificate, "--key", key]) {
        assert_eq!(
            server.fetch(&["--cacert", certificate, &server.https("/bytes/1KiB")]),
            object("1KiB")
        );
    }
}

/// RFC 6066, section 3.
#[test]
fn a_name_that_a_client_asks_for_has_no_case() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("usual.pem"), folder.path().join("key.pem"));
    let identity = Identity::generate(CertificateKey::EcdsaP256).unwrap();
    identity.write(&certificate, &key).unwrap();
    let authority = Authority::generate().unwrap();
    for name in ["one.example", "Two.Example"] {
        let certified = authority.certify([name].into_iter(), &identity.key_pem).unwrap();
        std::fs::write(folder.path().join(format!("{name}.crt")), &certified[0]).unwrap();
    }
    let options =
        [("--certificate", &certificate), ("--key", &key), ("--names", &folder.path().to_owned())]
            .map(|(option, path)| [option.to_owned(), path.display().to_string()]);
    let options: Vec<&str> = options.iter().flatten().map(String::as_str).collect();
    for server in Serve::on_each_library(&options) {
        for (asked, shown) in [
            ("one.example", "one.example"),
            ("ONE.Example", "one.example"),
            ("two.example", "Two.Example"),
            ("Two.Example", "Two.Example"),
            ("three.example", "localhost"),
        ] {
            let text = server.s_client(&["-servername", asked]);
            let subject = text.lines().find(|line| line.starts_with("subject=")).unwrap();
            assert!(subject.ends_with(shown), "{asked}: {subject}");
        }
    }
}
