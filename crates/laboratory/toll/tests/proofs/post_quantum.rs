//! Keys and groups of tomorrow, as a study and OpenSSL's client see them.

use support::{Desk, text};
use trial::TrialRecord;

/// One short trial of each cell.
fn measured(target: &str, load: &str, sweep: &str) -> Vec<TrialRecord> {
    let desk = Desk::new(&format!(
        "schema = 1\nquestion = \"?\"\ntrials = 1\n[target]\nserver = \"embedded\"\n{target}\n[load]\n\
         operation = \"handshakes\"\nconnections = 4\ntls = \"1.3\"\nverify = \"1/1\"\nwarmup = \"50ms\"\n\
         duration = \"300ms\"\n{load}\n[[case]]\nname = \"c\"\n{sweep}\n"
    ));
    let output = desk.undisturbed(desk.run(&["--quiet"]).output().unwrap());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    desk.lines().into_iter().filter(|line: &TrialRecord| line.valid).collect()
}

/// By toll's own handshake and rustls's, each signature verified.
#[test]
fn certificates_of_ml_dsa_are_measured_and_verified() {
    let sweep = "sweep.\"target.certificate-key\" = [\"ml-dsa:44\", \"ml-dsa:65\", \"ml-dsa:87\"]\n\
                 sweep.\"load.key-exchange\" = [\"fixed\", \"fresh\"]";
    let lines = measured("library = \"rustls-aws-lc\"", "", sweep);
    assert_eq!(lines.len(), 6);
    for line in lines {
        let obtained = &line.receipt.obtained;
        let key = line.receipt.asked.certificate_key.as_deref().unwrap();
        let scheme = key.replace("ml-dsa:", "mldsa");
        assert_eq!(obtained.signature_scheme.keys().collect::<Vec<_>>(), [&scheme]);
        assert!(obtained.signatures_verified > Some(0), "{key}");
        // A public key, a signature of the certificate and one of the handshake.
        let least = match key {
            "ml-dsa:44" => 1_312 + 2 * 2_420,
            "ml-dsa:65" => 1_952 + 2 * 3_309,
            _ => 2_592 + 2 * 4_627,
        };
        let received = line.traffic.unwrap().bytes_received;
        assert!(
            (f64::from(least)..f64::from(least + 1_200)).contains(&received),
            "{key}: {received}"
        );
    }
}

#[test]
fn groups_with_ml_kem_are_measured_and_a_second_client_hello_is_counted() {
    let sweep = "sweep.\"load.group\" = [\"X25519MLKEM768\", \"SecP256r1MLKEM768\", \"MLKEM1024\"]\n\
                 sweep.\"load.key-exchange\" = [\"fixed\", \"fresh\", \"retried\"]";
    let target = "library = \"rustls-aws-lc\"\ncertificate-key = \"ecdsa:p256\"";
    let lines = measured(target, "", sweep);
    assert_eq!(lines.len(), 9);
    for line in lines {
        let (asked, obtained) = (&line.receipt.asked, &line.receipt.obtained);
        let group = asked.group.as_ref().unwrap();
        assert_eq!(obtained.group.keys().collect::<Vec<_>>(), [group]);
        let is_retried = asked.key_exchange == Some(load::KeyExchangeMode::Retried);
        let retried = if is_retried { obtained.full } else { Some(0) };
        assert_eq!(obtained.hello_retry_requests, retried, "{group}");
    }
}

#[test]
fn an_openssl_without_ml_dsa_is_one_line_and_the_rest_runs() {
    if openssl::version::number() >= 0x3050_0000 {
        eprintln!("skipped: {} has ML-DSA", tls::openssl_version());
        return;
    }
    let desk = Desk::new(
        "schema = 1\nquestion = \"?\"\ntrials = 1\n[target]\nserver = \"embedded\"\n\
         certificate-key = \"ml-dsa:44\"\n[load]\noperation = \"handshakes\"\nconnections = 4\ntls = \"1.3\"\n\
         warmup = \"50ms\"\nduration = \"300ms\"\n[[case]]\nname = \"c\"\n\
         sweep.\"target.library\" = [\"openssl\", \"rustls-aws-lc\"]\n",
    );
    let output = desk.run(&[]).output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    let skipped: Vec<_> = said.lines().filter(|line| line.starts_with("Skipped: ")).collect();
    assert!(
        matches!(&skipped[..], [line] if line.contains("no signatures with ml-dsa:44")),
        "{said}"
    );
    assert_eq!(desk.lines::<TrialRecord>().len(), 1, "{said}");
}
