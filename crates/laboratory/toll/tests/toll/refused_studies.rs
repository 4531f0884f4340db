//! Studies of what cannot be: refused in a line before anything starts, or left out and named.

use std::process::Output;

use support::{Desk, text, toll};

#[test]
fn keys_that_do_not_fit_are_refused_in_one_line() {
    let study = |target: &str, load: &str, answer: &str| {
        format!(
            "schema = 1\nquestion = \"?\"\n[target]\nserver = \"embedded\"\n{target}\n[load]\n\
             operation = \"handshakes\"\n{load}\n[[case]]\nname = \"c\"\n\
             sweep.\"load.connections\" = [1, 2]\n[[primitives]]\nname = \"t\"\n\
             algorithms = [\"RSA-2048 sign\"]\nlibraries = [\"openssl\"]\n{answer}\n"
        )
    };
    let nominal = "[[answer]]\ncase = \"c\"\nmetric = \"rate-per-server-cpu\"\n\
                   compare = \"load.connections\"\nbaseline = 1\nnominal = \"t\"";
    let static_rsa = "suite = \"AES128-GCM-SHA256\"";
    let ecdsa = "certificate-key = \"ecdsa:p256\"";
    for (study, expected) in [
        (study(ecdsa, "", nominal), "lacks the algorithm ECDSA P-256 sign"),
        (study("cores = 1\nthreads-per-core = 3", "", ""), "a core has 1 or 2 threads"),
        (study(ecdsa, static_rsa, ""), "cannot be negotiated with target.certificate-key"),
        (study("library = \"rustls-ring\"", static_rsa, ""), "rustls-ring does not have"),
    ] {
        let desk = Desk::new(&study);
        let output = desk.run(&[]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
        assert!(said.contains(expected) && desk.results_if_any().is_none(), "{said}");
    }
}

#[test]
fn what_an_accelerator_cannot_do_is_refused_in_a_line() {
    for (target, why) in [
        ("offload = \"inline\"", "uses private keys on the CPU"),
        ("accelerator-count = 2", "uses private keys on the CPU"),
        (
            "accelerator = \"model\"\ncertificate-key = \"rsa:3072\"",
            "has no rate for rsa:3072; add one, such as rsa:3072 40000/s",
        ),
        ("accelerator = \"model\"\ncertificate-key = \"ecdsa:p256\"", "only signs; use rsa:2048"),
        (
            "accelerator = \"model\"\naccelerator-rate = \"rsa:4096 1/s\"",
            "has no rate for rsa:2048",
        ),
        (
            "accelerator = \"model\"\nlibrary = \"openssl-built\"",
            "the accelerator is one of the system's OpenSSL",
        ),
    ] {
        let desk = Desk::new(&format!(
            "schema = 1\nquestion = \"?\"\n[target]\nserver = \"embedded\"\n{target}\n[load]\n\
             operation = \"handshakes\"\n[[case]]\nname = \"c\"\n\
             sweep.\"load.connections\" = [1, 2]\n"
        ));
        let output = desk.run(&["--dry-run"]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{target}: {said}");
        assert!(said.contains(why) && said.trim_end().lines().count() == 1, "{target}: {said}");
    }
}

#[test]
fn a_refusal_leaves_no_folder() {
    let study = |target: &str| {
        format!(
            "schema = 1\nquestion = \"?\"\ntrials = 1\n[target]\n{target}\n[load]\nconnections = 2\n\
             warmup = \"50ms\"\nduration = \"300ms\"\n[[case]]\nname = \"c\"\n"
        )
    };
    let including = "schema = 1\nquestion = \"?\"\ninclude = [\"part.toml\"]\n";
    for target in [
        "server = \"embedded\"\nstorage = \"disk\"\nobject = \"900TiB\"",
        "server = \"address\"\nurl = \"https://192.0.2.1/\"",
    ] {
        let (alone, including) = (Desk::new(&study(target)), Desk::new(including));
        std::fs::write(including.path().join("part.toml"), study(target)).unwrap();
        for desk in [alone, including] {
            let output = desk.run(&["--quiet"]).output().unwrap();
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(desk.results_if_any().is_none(), "{said}");
        }
    }
}

/// A study of one mode beside user TLS, with these lines under `[target]`.
fn beside_user_tls(target: &str) -> Desk {
    Desk::new(&format!(
        "schema = 1\nquestion = \"?\"\ntrials = 1\n[target]\ncertificate-key = \"ecdsa:p256\"\n{target}\n\
         [load]\nconnections = 2\nwarmup = \"50ms\"\nduration = \"300ms\"\n[[case]]\nname = \"c\"\n\
         sweep.\"target.send\" = [\"user\", \"ktls-write\"]\n[[answer]]\ncase = \"c\"\n\
         metric = \"rate\"\ncompare = \"target.send\"\nbaseline = \"user\"\n"
    ))
}

#[test]
fn a_mode_that_the_kernel_lacks_is_skipped_and_named() {
    let Some(lacking) = check::kernel_tls_lacking() else {
        eprintln!("skipped: this kernel has TLS");
        return;
    };
    let output = beside_user_tls("server = \"embedded\"").run(&["--quiet"]).output().unwrap();
    let printed = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    let named = format!("embedded: embedded cannot send by kTLS write: {lacking}");
    assert!(printed.contains(&named), "{printed}");
    let output =
        beside_user_tls("server = \"embedded\"\nif-missing = \"fail\"").run(&["--quiet"]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains(&lacking), "{}", text(&output.stderr));
}

#[test]
fn what_cannot_send_so_ends_with_one_line() {
    let refused = |output: Output, why: &str| {
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.lines().count() == 1 && said.contains(why), "{said}");
    };
    let run = |target: &str| beside_user_tls(target).run(&["--quiet"]).output().unwrap();
    refused(run("server = \"apache\""), "toll knows no way to have apache send");
    let directive = "server = \"nginx\"\ndirectives = \"no_such_thing on\"";
    refused(run(directive), "unknown directive \"no_such_thing\"");
    let serve = ["serve", "--listen", "127.0.0.1:0", "--send", "ktls-write"];
    let cbc = toll().args(serve).args(["--suites", "AES128-SHA"]).output().unwrap();
    match check::kernel_tls_lacking() {
        Some(lacking) => refused(cbc, &lacking),
        None => refused(cbc, "the kernel's TLS does not have TLS_RSA_WITH_AES_128_CBC_SHA"),
    }
}
