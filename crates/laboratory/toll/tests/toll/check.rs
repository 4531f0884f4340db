//! `toll check` on this machine, and its settings in a network namespace of their own.

use std::process::{Command, Output};

use serde_json::Value;
use support::{insta, json_names, text, toll_path};

/// Those whose settings belong to a network namespace.
const ITEMS: &str = "ports,time-wait,backlog,buffers";

fn toll(arguments: &[&str]) -> Output {
    support::toll().arg("check").args(arguments).output().unwrap()
}

/// What a script prints that runs as the root of a namespace, with a network and an empty `/var/lib` of
/// its own. It ends at the first command that fails.
fn in_a_namespace(script: &str) -> String {
    let toll = toll_path().display().to_string();
    let script = format!(
        "set -eu; mount -t tmpfs none /var/lib; cd /proc/sys/net
         echo 60000 60999 > ipv4/ip_local_port_range; echo 0 > ipv4/tcp_tw_reuse
         echo 128 > core/somaxconn; echo 256 > ipv4/tcp_max_syn_backlog
         echo 4096 131072 212992 > ipv4/tcp_rmem
         values() {{ cat ipv4/ip_local_port_range ipv4/tcp_tw_reuse core/somaxconn \
             ipv4/tcp_max_syn_backlog ipv4/tcp_rmem | tr '\\t' ' '; }}
         toll() {{ {toll} check \"$@\"; }}
         {script}"
    );
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "--mount", "sh", "-c", &script]);
    support::run(&mut command)
}

const BEFORE: &str = "60000 60999\n0\n128\n256\n4096 131072 212992\n";
const AFTER: &str = "10240 65535\n1\n4096\n4096\n4096 131072 16777216\n";

#[test]
fn the_sentence_comes_first_and_every_item_is_told() {
    let output = toll(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let first = said.lines().next().unwrap();
    assert!(first.contains("spoil") && first.ends_with('.'), "{said}");
    for name in check::names() {
        assert!(said.lines().any(|line| line.split_whitespace().nth(1) == Some(name)), "{name}");
    }
}

/// What OpenSSL does with AES-GCM is measured here, whatever the processor's flags promise.
#[test]
fn aes_gcm_is_measured() {
    let output = toll(&["--json", "--only", "openssl"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let seen = found["items"][0]["seen"].as_str().unwrap();
    assert!(seen.contains(", AES-128-GCM ") && seen.contains(", ring "), "{seen}");
}

#[test]
fn programs_get_one_object() {
    let output = toll(&["--json", "--only", "background,hypervisor"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let items = found["items"].as_array().unwrap();
    assert_eq!((found["schema"].as_u64(), items.len()), (Some(1), 2));
    let is_wrong = |item: &&Value| item["state"] == "warning" || item["state"] == "bad";
    let wrong: Vec<&Value> = items.iter().filter(is_wrong).collect();
    assert_eq!(found["spoiling"], wrong.len());
    for item in wrong {
        assert!(item["why"].is_string() && item["fix"]["advice"].is_string(), "{item}");
    }
}

#[test]
fn programs_get_these_names() {
    let said = in_a_namespace(&format!(
        "(ulimit -n 1000; toll --only {ITEMS},descriptors --json); toll --apply --only {ITEMS} --json
         toll --only {ITEMS} --json; toll --restore --json
         echo 'net.core.somaxconn = 128' > /var/lib/tuned.conf
         echo 'net.core.rmem_default = 7' >> /var/lib/tuned.conf
         toll --like /var/lib/tuned.conf --json"
    ));
    let found: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    insta::assert_snapshot!(json_names(&found, &[]));
}

#[test]
fn settings_of_a_file_are_compared_with_those_here() {
    let script = "echo 'net.ipv4.tcp_tw_reuse = 1' > /var/lib/tuned.conf
         echo 'net.core.somaxconn = 128' >> /var/lib/tuned.conf
         echo 'net.core.rmem_default = 7' >> /var/lib/tuned.conf
         toll --like /var/lib/tuned.conf; toll --like /var/lib/tuned.conf --json";
    let said = in_a_namespace(script);
    let (words, json) = said.split_once('{').unwrap();
    let mut lines = words.lines();
    assert!(lines.next().is_some_and(|line| line.starts_with("1 of the 3 ")));
    assert!(
        lines.next().is_some_and(|line| line.starts_with("net.ipv4.tcp_tw_reuse  0 here, 1 there"))
    );
    let ignored = lines.next().unwrap();
    assert!(ignored.starts_with("net.core.rmem_default"));
    let found: Value = serde_json::from_str(&format!("{{{json}")).unwrap();
    assert_eq!(
        (&found["settings"][1]["here"], &found["settings"][1]["there"]),
        (&"128".into(), &"128".into())
    );
}

#[test]
fn a_published_machine_is_compared_with_this_shells_limits() {
    let script =
        format!("ulimit -Sn 1234; {} check --like xeon-e5-v3-2014 --json", toll_path().display());
    let said = support::run(Command::new("sh").args(["-c", &script]));
    let found: Value = serde_json::from_str(&said).unwrap();
    let soft = &found["settings"][0];
    assert_eq!((&soft["name"], &soft["here"]), (&"soft nofile".into(), &"1234".into()));
    assert_eq!(soft["there"], "150000");
}

#[test]
fn what_was_not_asked_rightly_is_refused_in_a_line() {
    for arguments in [
        &["--apply", "--restore"][..],
        &["--only", "prots"],
        &["--like", "/nothing"],
        &["--like", "/proc/version"],
    ] {
        let output = toll(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&output.stderr).lines().count(), 1, "{arguments:?}");
    }
}

#[test]
fn settings_are_made_and_put_back_exactly() {
    let said = in_a_namespace(&format!(
        "values; toll --only {ITEMS} | head -1; toll --apply --only {ITEMS} | head -1; values
         stat -c %a /var/lib/toll/settings.json; toll --only {ITEMS} | head -2
         toll --restore | head -1; values; ls -A /var/lib/toll"
    ));
    let expected = [
        BEFORE,
        "4 things spoil measurements here; `toll check --apply` can set all, as root.\n",
        "5 settings were made; `toll check --restore` restores them.\n",
        AFTER,
        "600\nNothing here would spoil a measurement.\n",
        "Settings that toll made are in force; `toll check --restore` restores the former \
         values.\n",
        "5 settings were restored.\n",
        BEFORE,
    ];
    assert_eq!(said, expected.concat());
}

#[test]
fn settings_made_twice_keep_their_first_values() {
    let said = in_a_namespace(&format!(
        "toll --apply --only {ITEMS} > /dev/null; echo 0 > ipv4/tcp_tw_reuse; echo 90 > core/somaxconn
         toll --apply --only {ITEMS} --json; toll --restore > /dev/null; values"
    ));
    let (made, values) = said.split_once('\n').unwrap();
    let made: Value = serde_json::from_str(made).unwrap();
    let files: Vec<&str> = made["settings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["file"].as_str().unwrap())
        .collect();
    assert_eq!(files, ["/proc/sys/net/core/somaxconn", "/proc/sys/net/ipv4/tcp_tw_reuse"]);
    assert_eq!(values, BEFORE);
}

#[test]
fn what_a_kill_left_half_done_is_put_back() {
    // The record is whole before the first setting; so a kill leaves it, and some of the settings.
    let said = in_a_namespace(&format!(
        "toll --apply --only {ITEMS} > /dev/null; echo 128 > core/somaxconn
         echo 256 > ipv4/tcp_max_syn_backlog; toll --restore | head -1; values"
    ));
    assert!(said.starts_with("3 ") && said.ends_with(BEFORE), "{said}");
}

#[test]
fn where_settings_cannot_be_written_nothing_is_set_and_it_is_said() {
    // As in a container.
    let said = in_a_namespace(
        "mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys; cd /proc/sys/net
         toll --apply --only ports 2>&1 || echo exit $?
         values; toll --restore 2>&1 || echo exit $?",
    );
    let expected = [
        "Nothing was set.\n  /proc/sys/net/ipv4/ip_local_port_range: 60000 60999, not 10240 65535: \
         it is read-only here, as in a container; set it on the host\n\
         toll: 1 of 1 settings could not be changed\nexit 3\n",
        BEFORE,
        "toll: nothing to restore: there is no /var/lib/toll/settings.json\nexit 2\n",
    ];
    assert_eq!(said, expected.concat());
}
