//! `toll load --http 3`, against the embedded server and where there is none.

use support::{Serve, text, toll};
use tls::{CertificateKey, Identity};
use trial::TrialRecord;

/// The options of a server with QUIC.
const QUIC: [&str; 3] = ["--quic", "--library", "rustls-ring"];

fn load(server: &Serve, options: &[&str]) -> TrialRecord {
    let url = format!("https://{}/bytes/20000B", server.tls);
    let output = toll()
        .args(["load", &url, "--json", "--http", "3", "-c", "2"])
        .args(options)
        .args((!options.contains(&"--ca")).then_some("--insecure"))
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

#[test]
fn requests_are_compared_and_the_receipt_says_what_carried_them() {
    let server = Serve::start(&QUIC);
    let line = load(&server, &["-n", "60", "--streams", "8", "--verify", "1/1"]);
    assert!(line.valid, "{:?}", line.receipt.mismatch);
    assert_eq!((line.operations.completed, line.bytes.body), (60, 60 * 20_000));
    let obtained = &line.receipt.obtained;
    assert_eq!((obtained.streams, obtained.full), (Some(8), Some(2)));
    assert_eq!(obtained.http, [("3 on QUIC 1".to_owned(), 2)].into());
    let quic = obtained.quic.as_ref().unwrap();
    assert_eq!((quic.drops, quic.retries, quic.longest_received), (0, 0, 1_452), "{quic:?}");
}

#[test]
fn handshakes_are_valid_without_streams_full_and_resumed() {
    let server = Serve::start(&[&QUIC[..], &["--tickets", "on"]].concat());
    for (resumption, full, resumed) in [("0%", 30, 0), ("100%", 0, 30)] {
        let options = ["--operation", "handshakes", "-n", "30", "--resumption", resumption];
        let line = load(&server, &options);
        assert!(line.valid, "{:?}", line.receipt.mismatch);
        assert_eq!((line.operations.completed, line.operations.errors.len()), (30, 0));
        let obtained = &line.receipt.obtained;
        assert_eq!((obtained.full, obtained.resumed), (Some(full), Some(resumed)), "{resumption}");
    }
}

/// A server sends no more than three times what it has received until the client has answered (RFC 9000, section
/// 8.1), which such a chain goes beyond.
#[test]
fn certificates_of_ml_dsa_are_verified_and_take_one_more_datagram_of_the_client() {
    let datagrams = |key: &str, scheme: &str| {
        let server =
            Serve::start(&["--quic", "--library", "rustls-aws-lc", "--certificate-key", key]);
        let certificate = server.certificate().display().to_string();
        let options = ["--operation", "handshakes", "-n", "20", "--verify", "1/1"];
        let line = load(&server, &[&options[..], &["--ca", &certificate]].concat());
        assert!(line.valid, "{:?}", line.receipt.mismatch);
        let obtained = &line.receipt.obtained;
        assert_eq!((line.operations.completed, obtained.full), (20, Some(20)), "{key}");
        assert_eq!(obtained.signatures_verified, Some(20), "{key}");
        assert_eq!(obtained.signature_scheme, [(scheme.to_owned(), 20)].into());
        obtained.quic.as_ref().unwrap().datagrams_sent
    };
    let short = datagrams("ecdsa:p256", "ecdsa_secp256r1_sha256");
    // ClientHello, an acknowledgement, Finished and CONNECTION_CLOSE.
    let long = datagrams("ml-dsa:87", "mldsa87");
    assert!(long >= 4 * 20 && long > short, "{long} and {short}");
}

#[test]
fn client_certificates_are_shown_where_the_server_requires_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    for name in ["own", "strange"] {
        let (client, authority) = Identity::issued_client(CertificateKey::EcdsaP256).unwrap();
        let (certificate, key) = (file(&format!("{name}.crt")), file(&format!("{name}.key")));
        client.write(certificate.as_ref(), key.as_ref()).unwrap();
        std::fs::write(file(&format!("{name}.ca")), authority).unwrap();
    }
    let required = ["--client-certificate", "require", "--client-ca", &file("own.ca")];
    let server = Serve::start(&[&QUIC[..], &required, &["--tickets", "on"]].concat());
    let with = |name: &str| {
        let (certificate, key) = (file(&format!("{name}.crt")), file(&format!("{name}.key")));
        ["--client-certificate".to_owned(), certificate, "--client-key".to_owned(), key]
    };
    let own = with("own");
    let own = own.each_ref().map(String::as_str);
    for (options, connections) in [
        (&["--operation", "requests"][..], 2),
        (&["--operation", "handshakes"], 20),
        (&["--operation", "handshakes", "--resumption", "50%"], 20),
    ] {
        let line = load(&server, &[&["-n", "20"], options, &own].concat());
        assert!(line.valid, "{options:?}: {:?}", line.receipt.mismatch);
        let obtained = &line.receipt.obtained;
        let (full, resumed) = (obtained.full.unwrap(), obtained.resumed.unwrap());
        assert_eq!((line.operations.completed, full + resumed), (20, connections), "{options:?}");
        assert_eq!(resumed > 0, options.contains(&"--resumption"), "{options:?}");
        assert_eq!(obtained.client_certificates, Some(full), "{options:?}");
        assert_eq!(obtained.certificate_requests, Some(full), "{options:?}");
        assert_eq!(obtained.client_key.get("ecdsa:p256"), Some(&full), "{options:?}");
    }
    for (client, expected) in
        [(&[][..], "--client-certificate FILE"), (&with("strange"), "trust who issued it")]
    {
        let url = format!("https://{}/bytes/1KiB", server.tls);
        let mut command = toll();
        let output =
            command.args(["load", &url, "--http", "3", "--insecure"]).args(client).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
}

#[test]
fn a_server_without_quic_is_refused_at_once_and_by_name() {
    let server = Serve::start(&[]);
    let url = format!("https://{}/", server.tls);
    let output = toll().args(["load", &url, "--http", "3", "--insecure"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("refused"), "{}", text(&output.stderr));
}
