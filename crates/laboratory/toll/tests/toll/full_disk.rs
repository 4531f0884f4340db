//! A disk that becomes full: what `toll run` measured stays, and can be gone on with; nothing is left
//! that holds nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use journal::Journal;
use support::{Desk, text, toll_path};

/// Twelve trials, of which 64 KiB hold a few.
const STUDY: &str = r#"
schema = 1
question = "What is left of a run when the disk is full?"
trials = 6
[target]
server = "embedded"
object = "16KiB"
[load]
connections = 2
warmup = "50ms"
duration = "300ms"
[[case]]
name = "one"
[[case]]
name = "other"
load.connections = 4
"#;

/// Runs a script as root of its own namespaces, with these arguments.
pub(crate) fn run_script(script: &str, arguments: &[&Path]) -> Output {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script, "sh"]).arg(toll_path());
    command.args(arguments).output().unwrap()
}

/// Runs the study into a file system of 64 KiB, whose files are then copied to `saved`.
fn run_on_a_small_disk(study: &Path, saved: &Path) -> Output {
    const SCRIPT: &str = r#"
        set -u
        mount -t tmpfs -o size=64k none /mnt || exit 99
        "$1" run "$2" --out /mnt
        code=$?
        cp -r /mnt/. "$3" || exit 98
        exit $code
    "#;
    run_script(SCRIPT, &[study, saved])
}

#[test]
fn a_full_disk_ends_the_run_with_what_was_measured() {
    let desk = Desk::new(STUDY);
    let saved = desk.out();
    let ended = run_on_a_small_disk(&desk.study(), &saved);
    let (said, why) = (text(&ended.stdout), text(&ended.stderr));
    assert_eq!(ended.status.code(), Some(3), "{why}\n{said}");
    let last = why.lines().last().unwrap();
    assert!(last.contains("No space left on device"), "{why}");
    assert!(last.contains(" in /mnt/"), "{why}");

    let journal = desk.journal();
    assert!(!Journal::read(&journal).unwrap().trials.is_empty());
    assert!(said.contains("incomplete") && said.contains(" of 12 trials"), "{said}");

    // A trial that a busy machine spoiled is told as one; here it counts that it was made.
    let went_on = desk.go_on();
    let why = text(&went_on.stderr);
    assert!(went_on.status.success() || why.contains("valid"), "{why}");
    let lines = Journal::read(&journal).unwrap().trials;
    let made: BTreeSet<_> =
        lines.iter().map(|trial| (trial.place.cell.clone(), trial.place.round)).collect();
    assert_eq!(made.len(), 12, "{made:?}");
    assert!(desk.results().join("report.html").is_file());
}

#[test]
fn a_full_disk_keeps_no_empty_file_or_folder() {
    let desk = Desk::new(STUDY);
    const SCRIPT: &str = r#"
        mount -t tmpfs -o size=64k none /mnt || exit 99
        head -c 65536 /dev/zero >/mnt/full
        "$1" serve --listen 127.0.0.1:0 --certificate-key ecdsa:p256 \
            --write-certificate /mnt/cert.pem; echo $?
        "$1" run "$2" --out /mnt; echo $?
        head -c 20480 /dev/zero >/mnt/full
        "$1" run "$2" --out /mnt >/dev/null
        head -c 65536 /dev/zero >>/mnt/full
        "$1" run --quiet --continue /mnt/*-small; echo $?
        find /mnt -name '*.pem' -o -name 'server.*' -size 0 -o -name '*.new'
        ls /mnt | wc -l
    "#;
    let ended = run_script(SCRIPT, &[&desk.study()]);
    // Beside the file that fills the disk there is the folder of the one run that could begin.
    assert_eq!(text(&ended.stdout), "2\n2\n2\n2\n", "{}", text(&ended.stderr));
}
