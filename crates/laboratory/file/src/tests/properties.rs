use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::keys::StudyKey;

/// Values of each key, most of which go together.
const VALUES: &[(&str, &[&str])] = &[
    ("target.server", &["\"embedded\"", "\"nginx\"", "\"haproxy\""]),
    ("target.cpus", &["\"0\"", "\"0-1\""]),
    ("target.cores", &["1", "2"]),
    ("target.threads-per-core", &["1", "2"]),
    ("target.certificate-key", &["\"rsa:2048\"", "\"rsa:4096\""]),
    (
        "target.library",
        &["\"openssl\"", "\"openssl-built\"", "\"rustls-ring\"", "\"rustls-aws-lc\""],
    ),
    ("target.client-certificate", &["\"none\"", "\"require\""]),
    ("target.client-certificate-key", &["\"ecdsa:p256\"", "\"rsa:2048\""]),
    ("target.object", &["\"1MiB\"", "\"1.5KiB\"", "\"77B 99.5%, 2MiB 0.5%\""]),
    ("target.storage", &["\"memory\"", "\"disk\""]),
    ("target.files", &["1", "2_000"]),
    ("target.names", &["1", "2_000"]),
    ("target.backend", &["\"plain\"", "\"tls\""]),
    ("target.backend-connections", &["\"kept\"", "\"new\""]),
    ("target.backend-verify", &["true", "false"]),
    ("target.tickets", &["false", "true"]),
    ("target.session-cache", &["false", "true"]),
    ("target.encrypt-then-mac", &["true"]),
    ("target.send", &["\"user\"", "\"ktls-write\"", "\"ktls-sendfile\""]),
    ("target.sendfile", &["true", "false"]),
    ("target.quic", &["true", "false"]),
    ("target.gso", &["true", "false"]),
    ("target.congestion", &["\"reno\""]),
    ("target.accelerator", &["\"none\"", "\"multi-buffer\"", "\"model\""]),
    ("target.offload", &["\"asynchronous\"", "\"synchronous\"", "\"inline\""]),
    ("target.batch-wait", &["\"100us\"", "\"1ms\""]),
    ("target.accelerator-rate", &["\"rsa:2048 500/s\"", "\"rsa:2048 1/s, rsa:4096 2/s\""]),
    ("target.accelerator-latency", &["\"100us\"", "\"1ms\""]),
    ("target.accelerator-queue", &["1", "256"]),
    ("target.accelerator-count", &["1", "4"]),
    ("target.accelerator-completion", &["\"poll\"", "\"event\""]),
    ("target.provider", &["\"qat=/usr/lib/qat.so\""]),
    ("target.record-size", &["\"16KiB\"", "\"512B\""]),
    ("target.records-per-write", &["\"1\"", "\"64\""]),
    ("target.library-context", &["\"shared\"", "\"per-thread\""]),
    ("target.directives", &["\"none\"", "\"tcp_nodelay off; aio threads\""]),
    ("target.program", &["\"installed\"", "\"/opt/nginx/sbin/nginx\""]),
    ("target.system", &["\"here\"", "\"debian-13\""]),
    ("target.library-path", &["\"system\"", "\"/opt/ssl\""]),
    ("target.environment", &["\"none\"", "[\"A=1\"]", "\"A=1 OPENSSL_ia32cap=~0x2\""]),
    ("target.warmup", &["\"20s\"", "\"steady\""]),
    ("load.cpus", &["\"1\"", "\"0,1\""]),
    ("load.client", &["\"toll\"", "\"wrk\"", "\"ab\"", "\"h2load\""]),
    ("load.operation", &["\"requests\"", "\"one-request-per-connection\"", "\"session\""]),
    ("load.requests-per-connection", &["1", "\"8\"", "\"1 20%, 100 80%\""]),
    ("load.method", &["\"HEAD\"", "\"POST\""]),
    ("load.expect", &["200", "\"200, 204\""]),
    ("load.body", &["\"Cargo.toml\""]),
    ("load.session", &["\"petstore\""]),
    ("load.page", &["\"4KiB\"", "\"16KiB\""]),
    ("load.walks", &["1", "20"]),
    ("load.header", &["\"X-Tenant: 7\"", "[\"X-A: 1\", \"X-B: a b\"]"]),
    ("load.source", &["\"127.0.0.2\"", "[\"127.0.0.2\", \"lo\"]"]),
    ("load.count", &["1", "1_000"]),
    ("load.connections", &["1", "64", "1_000"]),
    ("load.tls", &["\"1.3\"", "\"none\"", "\"1.2\""]),
    (
        "load.suite",
        &["\"none\"", "\"AES128-SHA\"", "\"TLS_AES_128_GCM_SHA256\"", "\"ECDHE-RSA-AES128-SHA\""],
    ),
    ("load.sni", &["\"www.example.com\""]),
    ("load.names", &["\"src/tests/names.txt\""]),
    ("load.group", &["\"x25519\"", "\"prime256v1\"", "\"X25519MLKEM768\""]),
    ("load.encrypt-then-mac", &["false", "true"]),
    ("load.key-exchange", &["\"fixed\"", "\"fresh\"", "\"retried\""]),
    ("load.resumption", &["\"0%\"", "\"70%\""]),
    ("load.receive", &["\"walk\"", "\"decrypt\""]),
    ("load.verify", &["\"1/64\"", "\"1/1\""]),
    (
        "load.arrival",
        &[
            "\"closed\"",
            "\"closed, think 5ms\"",
            "\"uniform 0.5/s\"",
            "\"paced 4s\"",
            "\"paced 2Gb/s\"",
        ],
    ),
    ("load.ramp", &["\"0s\"", "\"1500ms\""]),
    ("load.warmup", &["\"0s\"", "\"1.5s\"", "\"1234567ns\""]),
    ("load.duration", &["\"600ms\"", "\"2min\"", "\"7us\""]),
    ("load.wakeups", &["\"coalesced\"", "\"each\"", "\"none\""]),
    ("load.congestion", &["\"reno\""]),
    ("load.close", &["\"fin\"", "\"rst\""]),
    ("load.timeout", &["\"10s\"", "\"0.25s\""]),
    ("load.operation-timeout", &["\"2min\"", "\"1.5s\""]),
    ("load.ca", &["\"/etc/ssl/own.pem\""]),
    ("load.client-certificate", &["\"/etc/ssl/client.pem\""]),
    ("load.client-key", &["\"/etc/ssl/client.key\""]),
    ("load.insecure", &["false"]),
    ("load.http", &["\"1.1\"", "\"2\"", "\"3\""]),
    ("load.streams", &["1", "32"]),
    ("load.max-udp-payload", &["1200", "1452"]),
];

/// `KEY = VALUE` lines of some of the keys.
fn settings(most: usize) -> impl Strategy<Value = Vec<(String, String)>> {
    subsequence(VALUES, 0..=most).prop_flat_map(|keys| {
        keys.into_iter()
            .map(|(key, values)| select(values).prop_map(|value| ((*key).into(), value.into())))
            .collect::<Vec<_>>()
    })
}

fn sweeps() -> impl Strategy<Value = Vec<(String, String)>> {
    subsequence(VALUES, 0..=3).prop_shuffle().prop_flat_map(|keys| {
        keys.into_iter()
            .map(|(key, values)| {
                subsequence(values, 1..=values.len()).prop_shuffle().prop_map(move |values| {
                    (format!("sweep.\"{key}\""), format!("[{}]", values.join(", ")))
                })
            })
            .collect::<Vec<_>>()
    })
}

/// Files that are studies, or nearly.
fn files() -> impl Strategy<Value = String> {
    let lines = |lines: &[(String, String)]| {
        lines.iter().map(|(key, value)| format!("{key} = {value}\n")).collect::<String>()
    };
    let shared = settings(5).prop_map(move |shared| lines(&shared));
    let case = (settings(3), sweeps()).prop_map(move |(mut fixed, sweeps)| {
        fixed.retain(|(key, _)| !sweeps.iter().any(|(sweep, _)| sweep.contains(&**key)));
        let answer = sweeps.first().map(|(key, values)| {
            let key = key.trim_start_matches("sweep.");
            let baseline = values.trim_matches(['[', ']']).split(", ").next().unwrap_or_default();
            format!("[[answer]]\ncase = NAME\nmetric = \"rate\"\ncompare = {key}\nbaseline = {baseline}\n")
        });
        (lines(&fixed) + &lines(&sweeps), answer.unwrap_or_default())
    });
    (shared, vec(case, 1..4), "[ -~]*[a-z\"'\\\\]").prop_map(|(shared, cases, question)| {
        let question = toml::Value::String(question);
        let mut text = format!("schema = 1\nquestion = {question}\n");
        if !shared.contains("target.server") {
            text += "target.server = \"nginx\"\n";
        }
        if !shared.contains("load.operation") {
            text += "load.operation = \"requests\"\n";
        }
        text += &shared;
        for (number, (case, _)) in cases.iter().enumerate() {
            text += &format!("[[case]]\nname = \"case-{number}\"\n{case}");
        }
        for (number, (_, answer)) in cases.iter().enumerate() {
            text += &answer.replace("NAME", &format!("\"case-{number}\""));
        }
        text
    })
}

/// A piece of the shipped study is taken away, said twice, or replaced.
fn mutated() -> impl Strategy<Value = String> {
    const PIECES: [&str; 14] = [
        "",
        "\"",
        "[",
        "]",
        "=",
        "\n",
        "\u{0}",
        "0",
        "-1",
        "true",
        "none",
        "\u{1f512}",
        "[[case]]\n",
        "1e999",
    ];
    let place = || any::<proptest::sample::Index>();
    vec((place(), 0..30usize, select(&PIECES[..]), any::<bool>()), 1..6).prop_map(|changes| {
        let mut text: Vec<char> = QUICK.chars().collect();
        for (place, length, piece, again) in changes {
            let start = place.index(text.len() + 1);
            let end = (start + length).min(text.len());
            let mut new: Vec<char> = piece.chars().collect();
            if again {
                new.extend_from_slice(&text[start..end]);
                new.extend_from_slice(&text[start..end]);
            }
            text.splice(start..end, new);
        }
        text.into_iter().collect()
    })
}

fn check_never_panics(text: &str) -> Result<(), TestCaseError> {
    match crate::parse("test.toml", text, &allowed(), None) {
        Ok(study) => prop_assert!(!study.cells.is_empty() && study.trials > 0),
        Err(error) => prop_assert!(!error.to_string().contains(['\n', '\r']), "{}", error),
    }
    Ok(())
}

#[test]
fn every_key_has_values_to_try() {
    // All but the first are of one server each or of other machines, and tried beside this.
    let left_out = ["target.if-missing", "target.command", "target.url", "target.pid"];
    let of_servers =
        ["target.i-operate-this-host", "target.connect-to", "target.crypto", "target.aes"];
    let of_hosts = ["target.host", "target.listen", "load.ranks"];
    let left_out = [&left_out[..], &of_servers, &of_hosts].concat();
    for key in StudyKey::all().map(|key| key.to_string()) {
        let is_tried = VALUES.iter().any(|(name, _)| *name == key);
        assert!(is_tried || left_out.contains(&&*key), "{key}");
    }
}

#[test]
fn what_a_study_leaves_open_is_among_the_settings_of_its_cells() {
    let settings = parse(QUICK).cells[4].settings();
    for (key, value) in [
        ("target.cpus", "0"),
        ("target.object", "1MiB"),
        ("load.tls", "none"),
        ("load.receive", "walk"),
        ("load.warmup", "50ms"),
        ("load.timeout", "10s"),
    ] {
        let found = settings.iter().find(|(name, _)| name == key);
        assert_eq!(found.map(|(_, value)| value.as_str()), Some(value), "{key}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 4096, ..ProptestConfig::default() })]

    #[test]
    fn results_hold_the_study_as_it_was(text in files()) {
        let study = crate::parse("test.toml", &text, &allowed(), None);
        prop_assume!(study.is_ok());
        let study = study.unwrap();
        prop_assert_eq!(&read_back(&study), &study, "{}", text);
    }

    #[test]
    fn files_that_are_nearly_studies_never_panic(text in files()) {
        check_never_panics(&text)?;
    }

    #[test]
    fn a_damaged_study_never_panics(text in mutated()) {
        check_never_panics(&text)?;
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        check_never_panics(&text)?;
    }
}
