//! Who was stopped by the CPU quota of a control group, where this process may make such groups.

use std::path::{Path, PathBuf};
use std::process::Command;

use trial::{Limit, QuotaSide, TrialRecord, WarningKind};

use super::bench::{has_two_cpus, line, load, load_by, load_plain};
use support::{Serve, toll, toll_path, until};

const PERIOD_US: u64 = 100_000;

/// A group of its own at the root, which is gone with this; its processes go back to the root.
pub(crate) struct Group {
    folder: PathBuf,
}

impl Group {
    /// With this share of a CPU; `None` where it cannot be made, which is said.
    pub(crate) fn with_quota(share: f64) -> Option<Self> {
        let quota = (share * PERIOD_US as f64) as u64;
        let made = roots().into_iter().find_map(|(root, is_version_1)| {
            static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
            let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let folder = root.join(format!("toll-test-{}-{number}", std::process::id()));
            std::fs::create_dir(&folder).ok()?;
            let group = Self { folder };
            let file = |name| group.folder.join(name);
            match is_version_1 {
                true => std::fs::write(file("cpu.cfs_quota_us"), quota.to_string()),
                false => std::fs::write(file("cpu.max"), format!("{quota} {PERIOD_US}")),
            }
            .ok()?;
            Some(group)
        });
        if made.is_none() {
            eprintln!("skipped: no control group with a CPU quota can be made here");
        }
        made
    }

    fn processes(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }

    fn take(&self, pid: &str) {
        std::fs::write(self.processes(), pid).unwrap();
    }

    /// `toll` within the group.
    pub(crate) fn toll(&self) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.processes());
        command.arg(toll_path());
        command
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let left = std::fs::read_to_string(self.processes()).unwrap_or_default();
        for pid in left.lines() {
            // One that has ended meanwhile cannot be moved.
            let _ = std::fs::write(self.folder.join("../cgroup.procs"), pid);
        }
        // A process that has just ended may still be in it.
        let is_gone = || std::fs::remove_dir(&self.folder).is_ok() || !self.folder.exists();
        until("the group is gone", is_gone);
    }
}

/// Where groups of the controller `cpu` can be made, and whether they are of version 1.
fn roots() -> Vec<(PathBuf, bool)> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let root = |line: &str| {
        let (place, system) = line.split_once(" - ")?;
        let folder = Path::new(place.split(' ').nth(4)?).to_owned();
        let is_version_1 = system.starts_with("cgroup ");
        let has_cpu = system.rsplit([' ', ',']).any(|option| option == "cpu");
        ((is_version_1 && has_cpu) || system.starts_with("cgroup2 "))
            .then_some((folder, is_version_1))
    };
    mounts.lines().filter_map(root).collect()
}

/// The first trial of five that the quota limited: other work may take a CPU before the quota is used up.
pub(crate) fn stopped(mut trial: impl FnMut() -> TrialRecord) -> TrialRecord {
    let mut lines: Vec<TrialRecord> = Vec::new();
    for _ in 0..5 {
        lines.push(trial());
        if lines.last().unwrap().limit().unwrap() == Limit::CpuQuota {
            return lines.pop().unwrap();
        }
    }
    panic!("{:?}", lines.iter().map(|line| &line.verdict).collect::<Vec<_>>());
}

fn is_marked_late(line: &TrialRecord) -> bool {
    line.warnings.iter().any(|warning| warning.kind == WarningKind::LateClient)
}

fn side(line: &TrialRecord) -> Option<QuotaSide> {
    line.evidence().unwrap().held_back().map(|(side, _)| side)
}

#[test]
fn a_server_that_may_use_half_a_cpu_is_limited_by_that() {
    if !has_two_cpus() {
        return;
    }
    let server = Serve::pinned(&["--certificate-key", "rsa:3072"]);
    let Some(group) = Group::with_quota(0.5) else { return };
    group.take(&server.pid());
    let handshakes = ["--operation", "handshakes", "-c", "32", "-d", "1s"];
    let line = stopped(|| line(load(&server, "").args(handshakes)));
    assert_eq!(side(&line), Some(QuotaSide::Server), "{:?}", line.verdict);
    let evidence = line.evidence().unwrap();
    assert!(evidence.server_busy < Some(0.62), "{evidence:?}");
    assert!(
        !line.verdict.as_ref().unwrap().is_of_client() && evidence.client_quota.is_none(),
        "{evidence:?}"
    );
    let quota = line.receipt.obtained.server_quota.as_ref().unwrap();
    assert!((quota.cpus - 0.5).abs() < 1e-9 && quota.throttled_periods >= 4, "{quota:?}");
    assert!((50_000_000..800_000_000).contains(&quota.throttled_ns), "{quota:?}");
    assert!(quota.group.ends_with(group.folder.file_name().unwrap().to_str().unwrap()));
}

#[test]
fn a_client_that_may_use_three_tenths_of_a_cpu_gives_no_latencies_of_the_server() {
    if !has_two_cpus() {
        return;
    }
    let server = Serve::pinned(&[]);
    let Some(group) = Group::with_quota(0.3) else { return };
    let url = format!("http://{}/bytes/1KiB", server.plain);
    for arrival in ["closed", "uniform 20000/s"] {
        let line = stopped(|| {
            let mut load = load_by(group.toll(), &server, &url);
            line(load.args(["-c", "16", "-d", "1s", "--arrival", arrival]))
        });
        assert_eq!(side(&line), Some(QuotaSide::Client), "{arrival}: {:?}", line.verdict);
        assert!(
            line.verdict.as_ref().unwrap().is_of_client() && is_marked_late(&line),
            "{arrival}: {line:?}"
        );
        let words = line.reason();
        assert!(!words.contains("other programs"), "{arrival}: {words}");
        let obtained = &line.receipt.obtained;
        assert!(obtained.client_quota.is_some() && obtained.server_quota.is_none());
    }
}

#[test]
fn a_load_without_a_quota_has_none() {
    let Some(group) = Group::with_quota(0.5) else { return };
    drop(group);
    let server = Serve::pinned(&[]);
    let line = line(load_plain(&server, "bytes/1KiB").args(["-c", "4", "-d", "300ms"]));
    let obtained = &line.receipt.obtained;
    assert_eq!((&obtained.client_quota, &obtained.server_quota), (&None, &None));
}

#[test]
fn toll_check_names_the_quota_that_toll_is_under() {
    let Some(group) = Group::with_quota(0.5) else { return };
    let quota = |mut command: Command| {
        let output = command.args(["check", "--json"]).output().unwrap();
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let items = found["items"].as_array().unwrap().clone();
        items.into_iter().find(|item| item["item"] == "cpu-quota")
    };
    let item = quota(group.toll()).unwrap();
    assert_eq!(item["state"], "bad", "{item}");
    let seen = item["seen"].as_str().unwrap();
    assert!(seen.starts_with("0.50 CPUs (50ms in each 100ms)"), "{seen}");
    assert_ne!(quota(toll()).unwrap()["seen"], seen);
}
