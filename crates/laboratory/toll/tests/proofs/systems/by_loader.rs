//! Servers of other releases where no mounts may be made, as in many containers: the system's own loader starts them.

use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Command;

use rustix::process::geteuid;
use support::{Killed, processes_with, text};
use trial::TrialRecord;

use super::{check, made, study, target_folder};

/// The user nobody.
const NOBODY: &str = "65534";

/// Starts its words as an ordinary user, in a user namespace that, where mounts are not allowed, allows no further one.
fn as_user(are_mounts_allowed: bool) -> Command {
    let mut words: Vec<&str> = Vec::new();
    if geteuid().is_root() {
        words.extend(["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
    }
    if !are_mounts_allowed {
        words.extend(["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c"]);
        words.push(
            "echo 0 > /proc/sys/user/max_user_namespaces && echo 0 > /proc/sys/user/max_mnt_namespaces && \
             exec setpriv --ambient-caps -all --inh-caps -all --bounding-set -all \"$@\"",
        );
        words.push("sh");
    }
    if words.is_empty() {
        words.push("env");
    }
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

/// Whether such a user may make mounts; `None` where there can be none, which is said.
fn makes_mounts(are_allowed: bool) -> Option<bool> {
    let status = |words: &[&str]| as_user(are_allowed).args(words).output().unwrap().status;
    if !status(&["true"]).success() {
        println!("skipped: no such user namespace can be made here");
        return None;
    }
    Some(status(&["unshare", "--user", "--map-root-user", "--mount", "true"]).success())
}

/// A trial of a server of a system by such a user; `saw` is asked of the study's folder until it has seen enough.
fn trial(
    server: &str,
    system: &str,
    are_mounts_allowed: bool,
    saw: impl Fn(&str) -> bool,
) -> TrialRecord {
    // Other programs may disturb it; to continue it another user would be needed.
    for _ in 0..5 {
        let desk = study(server, system, "", "load.duration = \"1s\"");
        if geteuid().is_root() {
            let user = NOBODY.parse().ok();
            for path in [desk.path(), &desk.study(), &desk.out()] {
                chown(path, user, user).unwrap();
            }
        }
        let own = desk.run(&["--quiet"]);
        let mut command = as_user(are_mounts_allowed);
        let mut toll = Killed::piped(command.arg(own.get_program()).args(own.get_args()));
        let folder = desk.path().display().to_string();
        let mut has_seen = false;
        while !has_seen && toll.0.try_wait().unwrap().is_none() {
            has_seen = saw(&folder);
        }
        let output = toll.finish();
        match (output.status.code(), desk.lines().pop()) {
            (Some(0), Some(line)) if has_seen => return line,
            (Some(0 | 3), _) => {}
            _ => panic!("{system}, {server}: {}", text(&output.stderr)),
        }
    }
    panic!("{system}, {server}: no trial is valid, or its server was not seen");
}

#[test]
fn each_server_is_started_by_its_systems_loader_where_no_mounts_may_be_made() {
    match makes_mounts(false) {
        None => return,
        Some(makes) => assert!(!makes, "this user makes mounts"),
    }
    for system in made() {
        let root = target_folder().join(&system).canonicalize().unwrap();
        for server in ["embedded", "nginx", "haproxy", "apache", "caddy"] {
            if server == "caddy" && !root.join("usr/bin/caddy").exists() {
                continue;
            }
            let line = trial(server, &system, false, |folder| check_process(server, folder, &root));
            check(&line, &system);
            // By mounts they would have the paths of this machine.
            let library = line.receipt.obtained.library;
            let is_of_root = |path: &String| Path::new(path).starts_with(&root);
            assert!(library.iter().all(is_of_root), "{system}: {library:?}");
            assert!(server == "caddy" || !library.is_empty(), "{system}, {server}");
        }
    }
}

/// Whether the server with this folder in its words was seen: what its loader and OpenSSL were told, and Apache's
/// modules.
fn check_process(server: &str, folder: &str, root: &Path) -> bool {
    let module = if server == "apache" { "/mod_ssl.so" } else { "/libc.so.6" };
    let module_of = |pid: u32| {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        maps.lines().find(|line| line.ends_with(module)).map(str::to_owned)
    };
    let is_of_study = |words: &str| words.contains("/ld-linux-") && words.contains(folder);
    let of_study = processes_with("--inhibit-cache").into_iter().filter(|of| is_of_study(&of.1));
    let seen = of_study.filter_map(|(pid, _)| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        Some((module_of(pid)?, text(&environment)))
    });
    let Some((line, environment)) = seen.into_iter().next() else { return false };
    assert!(line.contains(root.to_str().unwrap()), "{line}");
    for name in ["OPENSSL_CONF=", "OPENSSL_MODULES="] {
        let value = environment.split('\0').find_map(|variable| variable.strip_prefix(name));
        let value = Path::new(value.unwrap_or_else(|| panic!("no {name}")));
        // HAProxy has a configuration of toll's where its settings need that.
        let is_known = value.starts_with(root) || value.starts_with(folder);
        assert!(is_known && value.exists(), "{name}{}", value.display());
    }
    true
}

#[test]
fn an_ordinary_user_has_mounts_of_a_user_namespace_where_they_are_allowed() {
    if makes_mounts(true) != Some(true) {
        return println!("skipped: an ordinary user may make no mounts here");
    }
    for system in made().into_iter().take(1) {
        let line = trial("nginx", &system, true, |_| true);
        check(&line, &system);
        let library = line.receipt.obtained.library;
        assert!(library.iter().all(|path| path.starts_with("/usr/lib/")), "{library:?}");
    }
}
