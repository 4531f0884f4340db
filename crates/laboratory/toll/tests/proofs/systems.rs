//! Servers of other releases, in the roots that `make systems` makes. Where none is made, these are skipped.

mod by_loader;
mod changing;
mod damaged;
mod making;

use std::fs;
use std::path::{Path, PathBuf};

use journal::{Journal, Role};
use profile::Class;
use support::{Desk, text};
use trial::TrialRecord;

/// Each system that is made, as a study's `target.system` names it. `TOLL_SYSTEMS=required` says that one is.
fn made() -> Vec<String> {
    let made = targets::systems();
    if made.is_empty() {
        assert!(std::env::var_os("TOLL_SYSTEMS").is_none(), "no system is made");
        println!("skipped: no other release is here: make systems");
    }
    made
}

/// A study of a server of a system, with these lines more under `[target]` and in its case.
fn study(server: &str, system: &str, target: &str, case: &str) -> Desk {
    Desk::new(&format!(
        "schema = 1\nquestion = \"?\"\ntrials = 1\n[target]\nserver = \"{server}\"\nsystem = \
         \"{system}\"\nif-missing = \"fail\"\nobject = \"16KiB\"\ncertificate-key = \"ecdsa:p256\"\n{target}\n[load]\n\
         connections = 4\nwarmup = \"50ms\"\nduration = \"300ms\"\n[[case]]\nname = \"c\"\n{case}\n"
    ))
}

fn measured(desk: &Desk) -> TrialRecord {
    let output = desk.undisturbed(desk.run(&["--quiet"]).output().unwrap());
    desk.lines().pop().unwrap_or_else(|| panic!("{}", text(&output.stderr)))
}

/// What has to hold of a trial of it.
fn check(line: &TrialRecord, system: &str) {
    let receipt = &line.receipt;
    assert!(line.valid, "{system}: {:?} {:?}", receipt.mismatch, line.verdict);
    assert_eq!(receipt.asked.system.as_deref(), Some(system));
    let [release] = &receipt.obtained.system[..] else { panic!("{receipt:?}") };
    assert!(release.contains(", archive of "), "{release}");
    assert!(line.operations.completed > 0 && line.cpu_ns.server.unwrap() > 0);
}

#[test]
fn each_server_runs_on_the_files_of_its_system_alone() {
    for system in made() {
        for server in ["embedded", "nginx", "haproxy", "apache"] {
            let desk = study(server, &system, "", "");
            let line = measured(&desk);
            check(&line, &system);
            // The version is read in the file that is mapped, which has a path of this machine's too.
            let library = line.receipt.obtained.library.join(" ");
            let version = library.split("(OpenSSL ").nth(1).unwrap_or_else(|| panic!("{library}"));
            let version = version.split(')').next().unwrap();
            let file = desk.file("targets.json");
            assert!(file.contains(&format!("OpenSSL {version}")), "{file}");
        }
    }
}

#[test]
fn a_server_without_openssl_comes_from_its_system_too() {
    for system in made() {
        if !targets::is_program(&target_folder().join(&system).join("usr/bin/caddy")) {
            println!("skipped: {system} has no Caddy");
            continue;
        }
        check(&measured(&study("caddy", &system, "", "")), &system);
    }
}

/// The time of its crypto is found by the symbols of its library, which this machine has another one of.
#[test]
fn a_profile_has_the_symbols_of_the_system() {
    for system in made() {
        let case = "load.suite = \"TLS_AES_128_GCM_SHA256\"";
        let desk = study("nginx", &system, "", case);
        let output = desk.run(&["--profile"]).output().unwrap();
        let said = text(&output.stderr);
        let lines = Journal::read(&desk.journal()).unwrap().trials;
        let profile = lines.iter().find(|trial| trial.place.role == Role::Profile);
        let Some(profile) = profile.and_then(|trial| trial.line.profile.as_ref()) else {
            println!("skipped: {said}");
            return;
        };
        let share = |class| profile.share(class).unwrap_or_default();
        let crypto = share(Class::SymmetricCrypto) + share(Class::CryptoWithoutSymbols);
        assert!(crypto > 0.05 && share(Class::HttpServer) > 0.0, "{system}: {profile:?}");
    }
}

fn target_folder() -> PathBuf {
    let folders = support::toll_path();
    folders.ancestors().find(|folder| folder.ends_with("target")).unwrap().join("systems")
}

/// A library of this machine's in another folder.
fn copy_of_this_machines(folder: &Path) -> PathBuf {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let own =
        maps.lines().find_map(|line| line.split_once('/').filter(|of| of.1.contains("/libgcc_s")));
    let copy = folder.join("libgcc_s.so.1");
    fs::copy(format!("/{}", own.unwrap().1), &copy).unwrap();
    copy
}

#[test]
fn a_file_of_this_machine_makes_the_trial_a_mismatch() {
    let folder = tempfile::tempdir().unwrap();
    let copy = copy_of_this_machines(folder.path());
    for system in made().into_iter().take(1) {
        let preload = format!("environment = [\"LD_PRELOAD={}\"]", copy.display());
        let desk = study("nginx", &system, &preload, "");
        let output = desk.run(&["--quiet"]).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
        let line: TrialRecord = desk.lines().pop().unwrap();
        let [mismatch] = &line.receipt.mismatch[..] else { panic!("{:?}", line.receipt.mismatch) };
        assert_eq!(mismatch.what, "system");
        assert!(mismatch.obtained.contains(&copy.display().to_string()), "{mismatch}");
    }
}

#[test]
fn instructions_are_counted_of_what_the_systems_loader_starts() {
    for system in made().into_iter().take(1) {
        let desk = Desk::new(&format!(
            "schema = 1\nquestion = \"?\"\ntrials = 1\n[target]\nserver = \"nginx\"\nsystem = \
             \"{system}\"\ncertificate-key = \"ecdsa:p256\"\nsession-cache = false\n[load]\ncount = \
             \"instructions\"\nconnections = 1\ntls = \"1.3\"\noperation = \"handshakes\"\n[[case]]\nname = \"c\"\n"
        ));
        let output = desk.run(&[]).output().unwrap();
        let line: TrialRecord =
            desk.lines().pop().unwrap_or_else(|| panic!("{}", text(&output.stderr)));
        assert!(line.valid, "{system}: {:?}", line.receipt.mismatch);
        // A handshake with P-256.
        let counted = line.counted.unwrap().per_operation;
        assert!((3e5..2e7).contains(&counted), "{counted}");
    }
}

/// Algorithms with the OpenSSL of a system, whose files alone toll has mapped; one of this machine's is named.
#[test]
fn algorithms_are_measured_with_the_openssl_of_a_system() {
    for system in made() {
        let bench = |preload: &str| {
            let mut bench = support::toll();
            bench.args(["bench", "aes-128-gcm", "--library", "openssl", "--size", "16KiB"]);
            bench
                .args(["--samples", "3", "--json", "--system", &system])
                .env("LD_PRELOAD", preload);
            bench.output().unwrap()
        };
        let output = bench("");
        let said = text(&output.stderr);
        let found: serde_json::Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{system}: {said}"));
        assert!(found["system"].as_str().unwrap().contains(", archive of "), "{found}");
        let library = format!("usr/lib/{}-linux-gnu/libcrypto.so.3", std::env::consts::ARCH);
        let library = fs::read(target_folder().join(&system).join(library)).unwrap();
        let title = found["libraries"][0]["title"].as_str().unwrap().split(" (").next().unwrap();
        assert!(library.windows(title.len()).any(|of| of == title.as_bytes()), "{title}");
        assert!(found["rows"][0]["cycles_per_op"]["median"].as_f64().unwrap() > 0.0, "{found}");
        let folder = tempfile::tempdir().unwrap();
        let copy = copy_of_this_machines(folder.path());
        let output = bench(&copy.display().to_string());
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
        assert!(
            text(&output.stderr).contains(&copy.display().to_string()),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn runs_of_two_releases_differ_in_release_server_and_library() {
    let systems: Vec<String> = std::iter::once("here".to_owned()).chain(made()).collect();
    let desks = systems.iter().map(|system| study("nginx", system, "", ""));
    let desks: Vec<Desk> = desks.inspect(|desk| drop(measured(desk))).collect();
    for pair in desks.windows(2) {
        let [a, b] = [&pair[0], &pair[1]].map(Desk::results);
        let output = support::toll().args(["compare", "--json"]).arg(a).arg(b).output().unwrap();
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let differences = found["differences"].as_array().unwrap();
        let of = |what: &str| differences.iter().find(|of| of["what"] == what);
        let system = of("target.system").unwrap_or_else(|| panic!("{differences:?}"));
        assert!(systems.iter().any(|name| system["b"] == name.as_str()), "{system}");
        let target = of("nginx").is_some() && of("TLS library").is_some();
        // This machine may have the release of one of them.
        assert!(target || system["a"] == "here", "{differences:?}");
    }
}

/// Each by the functions that it calls, and its datagrams as they came.
#[test]
fn servers_of_a_release_say_how_they_have_quic() {
    for system in made() {
        for server in ["nginx", "haproxy"] {
            let case = "load.http = \"3\"\nload.receive = \"decrypt\"\ntarget.object = \"1MiB\"\n";
            let desk = study(server, &system, "quic = true", case);
            let output = desk.run(&["--quiet"]).output().unwrap();
            let Some(line) = desk.lines::<TrialRecord>().pop() else {
                let said = text(&output.stderr);
                assert!(said.contains("without QUIC"), "{said}");
                continue;
            };
            let receipt = &line.receipt;
            let api = receipt.obtained.quic_api.as_deref().unwrap_or_else(|| panic!("{receipt:?}"));
            let program = target_folder().join(&system).join("usr/sbin").join(server);
            let program = String::from_utf8_lossy(&fs::read(program).unwrap()).into_owned();
            // What Debian has of QUIC is OpenSSL's, or a layer over it, which defines BoringSSL's names itself.
            let start = if program.contains("SSL_set_quic_tls_cbs") { "OpenSSL's" } else { "none" };
            assert!(api.starts_with(start), "{system} {server}: {api}");
            println!(
                "{system} {server}: {api}, GSO {:?}",
                receipt.obtained.quic.unwrap().server_gso
            );
        }
    }
}

/// GSO is seen in what comes, not taken from what was asked.
#[test]
fn datagrams_that_come_together_show_gso() {
    for gso in [true, false] {
        let target = format!("quic = true\nlibrary = \"rustls-ring\"\ngso = {gso}");
        let case = "load.http = \"3\"\nload.receive = \"decrypt\"\ntarget.object = \"1MiB\"\n";
        let line = measured(&study("embedded", "here", &target, case));
        assert_eq!(line.receipt.obtained.quic.unwrap().server_gso, Some(gso));
    }
}
