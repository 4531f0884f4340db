//! Studies of a system that is not made.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use support::{Desk, text, toll};

#[test]
fn a_system_that_is_not_made_is_skipped_with_what_makes_it() {
    let desk = |missing: &str| {
        Desk::new(&format!(
            "schema = 1\nquestion = \"?\"\ntrials = 1\n[target]\nserver = \"nginx\"\nsystem = \
             \"debian-99\"\nif-missing = \"{missing}\"\n[load]\nconnections = 1\nduration = \
             \"100ms\"\n[[case]]\nname = \"c\"\n"
        ))
    };
    for missing in ["skip", "fail"] {
        let desk = desk(missing);
        let output = desk.run(&[]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert!(said.contains("make systems SYSTEMS=debian-99"), "{missing}: {said}");
    }
}

/// Its loader is a program that says what that of an older release says.
#[test]
fn a_system_that_is_too_old_for_toll_says_which() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("target/systems/debian-99");
    let libraries = root.join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH));
    fs::create_dir_all(&libraries).unwrap();
    symlink("/etc", root.join("etc")).unwrap();
    fs::write(root.join("toll-system"), "debian-99\nMon, 1 Jan 2035\nnginx\n").unwrap();
    let loader = libraries.join("ld-linux-99.so.2");
    let said = "toll: /lib/libc.so.6: version 'GLIBC_9.99' not found (required by toll)";
    fs::write(&loader, format!("#!/bin/sh\necho \"{said}\" >&2\nexit 1\n")).unwrap();
    fs::set_permissions(&loader, fs::Permissions::from_mode(0o755)).unwrap();
    let study = folder.path().join("study.toml");
    let target = "[target]\nserver = \"embedded\"\nsystem = \"debian-99\"\n";
    let case = "[load]\nconnections = 1\nduration = \"100ms\"\n[[case]]\nname = \"c\"\n";
    fs::write(&study, format!("schema = 1\nquestion = \"?\"\ntrials = 1\n{target}{case}")).unwrap();
    for words in [&["bench", "gcm", "--system", "debian-99"][..], &["run", "study.toml"]] {
        let output = toll().args(words).current_dir(&folder).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let said = text(&output.stderr);
        assert!(said.contains("debian-99") && said.contains("GLIBC_9.99"), "{words:?}: {said}");
    }
}

#[test]
fn algorithms_and_plans_of_a_system_that_is_not_made_name_what_makes_it() {
    for words in [
        &["bench", "gcm", "--system", "debian-99"][..],
        &["plan", "--new-connections", "5/s", "--system", "debian-99"],
    ] {
        let output = toll().args(words).current_dir(std::env::temp_dir()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let said = text(&output.stderr);
        assert!(said.contains("make systems SYSTEMS=debian-99"), "{words:?}: {said}");
    }
}
