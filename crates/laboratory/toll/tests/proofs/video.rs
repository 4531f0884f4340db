//! Paced loads of many files, in memory and on a disk, from a real nginx.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use journal::{Param, TrialLine};
use rustix::fs::Advice;
use support::{Desk, text, toll};
use tempfile::TempDir;
use trial::{Limit, WarningKind};

/// Twelve files of 1 MiB per second.
const STUDY: &str = r#"
schema = 1
question = "What does nginx read from a disk?"
trials = 1
[target]
server = "nginx"
object = "1MiB"
[load]
connections = 4
arrival = "paced 100Mb/s"
warmup = "200ms"
duration = "2s"
verify = "1/2"
[[case]]
name = "video"
"#;

/// A folder where the build is.
fn folder() -> TempDir {
    tempfile::tempdir_in(std::env::current_exe().unwrap().parent().unwrap()).unwrap()
}

/// The same on a disk whose reads the kernel counts; memory is none, nor is a folder of another machine.
fn disk() -> Option<TempDir> {
    let folder = folder();
    let path = folder.path().join("probe");
    let mut file = File::create(&path).unwrap();
    file.write_all(&[1; 1 << 20]).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    let before = read_from_disk();
    std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let counts = read_from_disk() - before >= 1 << 19;
    if !counts {
        eprintln!("skipped: the kernel counts no reads of {}", folder.path().display());
    }
    counts.then_some(folder)
}

/// Bytes that this process had read.
fn read_from_disk() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap();
    let count = io.lines().find_map(|line| line.strip_prefix("read_bytes: "));
    count.unwrap().parse().unwrap()
}

fn trials(more: &str, disk: &Path) -> Vec<TrialLine> {
    let desk = Desk::new(&format!("{STUDY}{more}"));
    let mut run = toll();
    run.arg("run").arg(desk.study()).arg("--out").arg(disk).arg("--json");
    let output = run.output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The line of a refused run.
fn refused(more: &str, disk: &Path) -> String {
    let desk = Desk::new(&format!("{STUDY}{more}"));
    let output = toll().arg("run").arg(desk.study()).arg("--out").arg(disk).output().unwrap();
    let said = crate::errors(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    said
}

#[test]
fn files_on_a_disk_are_read_from_there_and_a_server_that_sends_from_its_cache_is_marked() {
    let Some(disk) = disk() else { return };
    let lines = trials(
        "target.storage = \"disk\"\nload.suite = \"TLS_AES_128_GCM_SHA256\"\n\
         sweep.\"target.files\" = [64, 1]",
        disk.path(),
    );
    let [many, one] = [64, 1].map(|files| {
        let files = Param::Count(files);
        lines.iter().find(|line| line.place.params["target.files"] == files).unwrap()
    });
    for TrialLine { line, .. } in [many, one] {
        assert!(line.valid && line.operations.completed > 0, "{line:?}");
        assert!(line.receipt.obtained.bodies_compared > Some(0), "{:?}", line.receipt);
    }
    let of = |trial: &TrialLine| (trial.line.bytes.read_from_disk.unwrap(), trial.line.bytes.body);
    let is_marked = |trial: &TrialLine| {
        trial.line.warnings.iter().any(|warning| warning.kind == WarningKind::ObjectsInCache)
    };
    let (read, sent) = of(many);
    assert!(read >= sent / 2 && !is_marked(many), "{read} {sent}");
    assert_eq!(many.line.receipt.asked.objects.as_deref(), Some("64 files of 1MiB on disk"));
    let (read, sent) = of(one);
    assert!(read < sent / 2 && is_marked(one), "{read} {sent}");
    let left = std::fs::read_dir(disk.path()).unwrap().map(|entry| entry.unwrap().path());
    for results in left {
        let left = std::fs::read_dir(results).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> =
            left.filter(|name| name.to_string_lossy().starts_with("toll-")).collect();
        assert!(left.is_empty(), "the files go with the run: {left:?}");
    }
}

#[test]
fn files_in_memory_differ_and_are_proven_and_cost_no_reads() {
    let folder = folder();
    let lines = trials("target.files = 50\nload.suite = \"none\"", folder.path());
    let [TrialLine { line, .. }] = &lines[..] else { panic!("{lines:?}") };
    assert!(line.valid && line.operations.completed > 0, "{line:?}");
    assert_eq!(line.receipt.asked.objects.as_deref(), Some("50 files of 1MiB in memory"));
    assert_eq!(line.receipt.asked.pace_bps, Some(100_000_000));
    assert!(line.bytes.read_from_disk.unwrap() < line.bytes.body / 2, "{:?}", line.bytes);
    // On a machine with other work, that may have been the limit instead.
    let limits = [Limit::OfferedLoad, Limit::Noise, Limit::ClientCpu, Limit::ServerCpu];
    assert!(limits.contains(&line.limit().unwrap()), "{:?}", line.verdict);
}

#[test]
fn a_disk_without_room_and_what_no_server_can_do_are_refused_in_one_line() {
    let Some(disk) = disk() else { return };
    let small = disk.path();
    let said = refused(
        "target.storage = \"disk\"\ntarget.files = 1000000\ntarget.object = \"1GiB\"",
        small,
    );
    assert!(said.contains("1000000GiB"), "{said}");
    let said = refused("target.files = 0", small);
    assert!(said.contains("target.files"), "{said}");
    let said = refused("target.files = 9\ntarget.object = \"1KiB 50%, 2KiB 50%\"", small);
    assert!(said.contains("one size"), "{said}");
    let said = refused("target.server = \"embedded\"\ntarget.storage = \"disk\"", small);
    assert!(said.contains("no use"), "{said}");
}
