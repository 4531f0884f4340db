//! Servers of other releases, in the roots that `make systems` makes. Where none is made, these are skipped.

use std::fs;

use journal::{Journal, Role};
use profile::Class;
use support::{Desk, text};
use trial::TrialRecord;

/// Each system that is made, as a study's `target.system` names it.
fn made() -> Vec<String> {
    let made = targets::systems();
    if made.is_empty() {
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

fn target_folder() -> std::path::PathBuf {
    let folders = support::toll_path();
    folders.ancestors().find(|folder| folder.ends_with("target")).unwrap().join("systems")
}

#[test]
fn a_file_of_this_machine_makes_the_trial_a_mismatch() {
    let folder = tempfile::tempdir().unwrap();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let own =
        maps.lines().find_map(|line| line.split_once('/').filter(|of| of.1.contains("/libgcc_s")));
    let own = format!("/{}", own.unwrap().1);
    let copy = folder.path().join("libgcc_s.so.1");
    fs::copy(own, &copy).unwrap();
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
