//! Studies of HAProxy and Apache.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use cpus::CpuList;
use support::{Desk, Serve, first_cpu, text, toll};
use targets::{Objects, Settings};
use trial::{Obtained, TrialRecord, WarningKind};
use units::Bytes;

/// Runs a study with these lines under `[target]` and in its only case; its valid trials.
fn valid(target: &str, case: &str) -> (Desk, Vec<TrialRecord>) {
    let desk = Desk::new(&format!(
        "schema = 1\nquestion = \"?\"\ntrials = 1\n[target]\n{target}\n[load]\nconnections = 4\n\
         warmup = \"50ms\"\nduration = \"300ms\"\n[[case]]\nname = \"c\"\n{case}\n"
    ));
    let output = desk.undisturbed(desk.run(&["--quiet"]).output().unwrap());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = desk.lines().into_iter().filter(|line: &TrialRecord| line.valid);
    let lines: Vec<TrialRecord> = lines.filter(|line| line.operations.completed > 0).collect();
    (desk, lines)
}

#[test]
fn haproxy_is_measured_without_its_backend() {
    let (desk, lines) = valid(
        "server = \"haproxy\"\nif-missing = \"fail\"\nobject = \"256KiB\"",
        "sweep.\"load.suite\" = [\"none\", \"AES128-SHA\", \"TLS_AES_128_GCM_SHA256\"]",
    );
    assert_eq!(lines.len(), 3);
    for line in &lines {
        let cpu = line.cpu_ns;
        assert!(cpu.server.unwrap() > 0 && cpu.backend.unwrap() > 0, "{cpu:?}");
        assert!(line.evidence().unwrap().backend_busy.is_some());
        let warned = line.warnings.iter().any(|warning| warning.kind == WarningKind::SharedBackend);
        assert_eq!(warned, CpuList::allowed().unwrap().len() < 3, "{:?}", line.warnings);
    }
    let results = desk.results();
    for target in ["haproxy", "backend"] {
        let files = fs::read_dir(results.join("targets").join(target)).unwrap().flatten();
        let names: Vec<_> = files.map(|file| file.file_name().into_string().unwrap()).collect();
        assert!(names.iter().any(|name| name == "server.crt"), "{names:?}");
        assert!(!names.iter().any(|name| name.ends_with("key") || name.ends_with("pem")));
    }
    let logs = results.join("logs");
    assert!(logs.join("haproxy/output.log").is_file() && logs.join("backend").is_dir());
}

/// hitch has two workers and a third process of the same name, which has nothing to do.
#[test]
fn a_process_that_does_not_serve_is_no_uneven_worker() {
    let cpus = CpuList::allowed().unwrap();
    if Command::new("hitch").arg("--version").output().is_err() || cpus.len() < 2 {
        eprintln!("skipped: hitch is not installed, or there is one CPU only");
        return;
    }
    let backend = Serve::start(&["--cpus", &first_cpu().to_string()]);
    let folder = tempfile::tempdir().unwrap();
    let pem = folder.path().join("server.pem");
    let command = format!(
        "cat {{key}} {{cert}} >{pem}; exec hitch {user}--workers=2 --backend={backend} \
         --frontend=[127.0.0.1]:{{port}} {pem}",
        // It does not serve as root.
        user = if rustix::process::geteuid().is_root() { "--user=nobody " } else { "" },
        pem = pem.display(),
        backend = backend.plain.to_string().replace("127.0.0.1", "[127.0.0.1]"),
    );
    let (_desk, lines) = valid(
        &format!("server = \"command\"\ncommand = '{command}'\ncpus = \"{}\"", cpus.first(2)),
        "load.operation = \"handshakes\"",
    );
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert!(line.cpu_ns.server.unwrap() > 0);
    let uneven = line.warnings.iter().find(|it| it.kind == WarningKind::UnevenWorkers);
    assert!(uneven.is_none(), "{uneven:?}");
}

#[test]
fn apache_is_measured_with_what_it_negotiated() {
    let suites = ["TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_AES_128_GCM_SHA256"];
    let (desk, lines) = valid(
        "server = \"apache\"\nif-missing = \"fail\"\nobject = \"64KiB\"\nencrypt-then-mac = true",
        &format!("sweep.\"load.suite\" = {suites:?}\nload.encrypt-then-mac = true"),
    );
    let mut negotiated = Vec::new();
    assert_eq!(lines.len(), 2);
    for line in &lines {
        assert!(line.cpu_ns.server.unwrap() > 0, "{:?}", line.cpu_ns);
        assert!(line.receipt.mismatch.is_empty(), "{:?}", line.receipt);
        let libraries = &line.receipt.obtained.library;
        assert!(libraries.iter().any(|library| library.contains("libssl.so")), "{libraries:?}");
        for (suite, connections) in &line.receipt.obtained.suite {
            negotiated.push((suite.clone(), *connections, line.receipt.obtained.encrypt_then_mac));
        }
    }
    negotiated.sort_unstable();
    let [cbc, gcm] = suites.map(str::to_owned);
    assert_eq!(negotiated, [(gcm, 4, Some(false)), (cbc, 4, Some(true))]);
    assert!(desk.results().join("targets/apache/apache.conf").is_file());
}

/// Go sends its ticket before the client has finished, in the flight that has its certificate.
#[test]
fn tickets_that_come_within_the_servers_first_flight_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new(CpuList::allowed().unwrap());
    let objects = Arc::new(Objects::make(&[Bytes(1)], folder.path()).unwrap());
    let caddy = targets::by_name("caddy").unwrap();
    let server = targets::start(caddy, &settings, &objects, folder.path(), None).unwrap();
    let url = format!("https://{}/bytes/1B", server.facts().https);
    for (resumption, operation) in
        [("0%", "handshakes"), ("100%", "handshakes"), ("100%", "one-request-per-connection")]
    {
        let output = toll()
            .args(["load", &url, "--json", "--insecure", "-c", "4", "-n", "40", "--tls", "1.3"])
            .args(["--operation", operation, "--resumption", resumption])
            .output()
            .unwrap();
        let line: TrialRecord = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
        let Obtained { tickets, collected_tickets, resumed, .. } = line.receipt.obtained;
        let resumes = resumption == "100%";
        assert!(line.valid, "{:?}", line.receipt.mismatch);
        assert_eq!((tickets, resumed), (Some(40), Some(if resumes { 40 } else { 0 })));
        assert_eq!(collected_tickets, resumes.then_some(4));
    }
}
