use super::*;
use crate::{Fact, Root};
use units::Nanos;

/// A tree with a process 7 in this group.
struct Tree {
    folder: tempfile::TempDir,
}

const UNIFIED: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
const VERSION_1: &str = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
     34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
     35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
     41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

impl Tree {
    fn new(mounts: &str, groups: &str, files: &[(&str, &str)]) -> Self {
        let tree = Self { folder: tempfile::tempdir().unwrap() };
        tree.write("/proc/self/mountinfo", mounts);
        tree.write("/proc/7/cgroup", groups);
        for (file, text) in files {
            tree.write(&format!("/sys/fs/cgroup/{file}"), text);
        }
        tree
    }

    fn root(&self) -> Root {
        Root::at(self.folder.path())
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.root().path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }

    fn limits(&self) -> CgroupLimits {
        CgroupLimits::read(&self.root(), "7")
    }

    fn cpus(&self) -> Option<f64> {
        let Fact::Known(quota) = self.limits().cpu_quota else { panic!("{:?}", self.limits()) };
        quota.map(CpuQuota::cpus)
    }

    fn throttling(&self) -> Throttling {
        QuotaWatch::within(&self.root(), [7]).read()
    }
}

fn version_2(files: &[(&str, &str)]) -> Tree {
    Tree::new(UNIFIED, "0::/a.slice/b.scope", files)
}

#[test]
fn the_tightest_quota_on_the_way_to_the_root_counts() {
    let tree = version_2(&[
        ("a.slice/cpu.max", "150000 100000"),
        ("a.slice/b.scope/cpu.max", "max 100000"),
        ("a.slice/memory.max", "1048576"),
        ("a.slice/b.scope/memory.max", "max"),
        ("a.slice/cpuset.cpus.effective", "0-3"),
        ("cpuset.cpus.effective", "0-7"),
        (
            "a.slice/b.scope/memory.pressure",
            "some avg10=12.50 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0",
        ),
    ]);
    assert_eq!(tree.cpus(), Some(1.5));
    let limits = tree.limits();
    assert_eq!(limits.memory_bytes, Fact::Known(Some(1 << 20)));
    assert_eq!(limits.cpus.known().unwrap().to_string(), "0-3");
    assert_eq!(limits.memory_pressure, Fact::Known(MemoryPressure { some: 0.125 }));
    let json = serde_json::to_string(&limits).unwrap();
    assert_eq!(serde_json::from_str::<CgroupLimits>(&json).unwrap(), limits);
    tree.write("/sys/fs/cgroup/a.slice/b.scope/cpu.max", "50000 100000");
    assert_eq!(tree.cpus(), Some(0.5));
}

#[test]
fn the_root_of_version_2_limits_nothing() {
    let tree = Tree::new(UNIFIED, "0::/", &[("cpuset.cpus.effective", "0-1")]);
    let limits = tree.limits();
    assert_eq!((tree.cpus(), limits.memory_bytes.clone()), (None, Fact::Known(None)));
    assert!(limits.memory_pressure.known().is_none());
    let json = serde_json::to_string(&limits).unwrap();
    assert_eq!(serde_json::from_str::<CgroupLimits>(&json).unwrap(), limits);
}

#[test]
fn a_controller_of_version_1_is_looked_up_there() {
    let groups = "5:memory:/\n4:cpuset:/\n3:cpu,cpuacct:/web\n0::/elsewhere";
    let tree = Tree::new(
        VERSION_1,
        groups,
        &[
            ("cpu,cpuacct/cpu.cfs_quota_us", "-1"),
            ("cpu,cpuacct/cpu.cfs_period_us", "100000"),
            ("cpu,cpuacct/web/cpu.cfs_quota_us", "30000"),
            ("cpu,cpuacct/web/cpu.cfs_period_us", "100000"),
            ("cpuset/cpuset.effective_cpus", "0-1"),
            ("memory/memory.limit_in_bytes", "9223372036854771712"),
        ],
    );
    assert_eq!(tree.cpus(), Some(0.3));
    let limits = tree.limits();
    assert_eq!(limits.memory_bytes, Fact::Known(None));
    assert_eq!(limits.cpus.known().unwrap().as_slice(), [0, 1]);
    let quota = limits.cpu_quota.known().unwrap().unwrap();
    assert_eq!(quota.to_string(), "0.30 CPUs (30ms in each 100ms)");
}

#[test]
fn a_container_sees_its_own_groups_alone() {
    // With a name space of its own; with its host's paths and only its own group mounted.
    let own_root = Tree::new(UNIFIED, "0::/", &[("cpu.max", "50000 100000")]);
    assert_eq!(own_root.cpus(), Some(0.5));
    let mount = UNIFIED.replace(" / /sys", " /docker/1f /sys");
    let host_paths =
        Tree::new(&mount, "0::/docker/1f/sub", &[("cpu.max", "50000 100000"), ("sub/x", "")]);
    assert_eq!(host_paths.cpus(), Some(0.5));
    // A name space within the one that was mounted.
    let mount = UNIFIED.replace(" / /sys", " /.. /sys");
    let sibling = Tree::new(&mount, "0::/../web", &[("web/cpu.max", "20000 100000")]);
    assert_eq!(sibling.cpus(), Some(0.2));
    for (mount, path) in [
        (UNIFIED.to_owned(), "/../web"),
        (mount, "/"),
        (UNIFIED.replace(" / /sys", " /docker/1 /sys"), "/docker/1f"),
        (String::new(), "/"),
    ] {
        let tree = Tree::new(&mount, &format!("0::{path}"), &[("cpu.max", "50000 100000")]);
        assert!(tree.limits().cpu_quota.known().is_none(), "{mount} {path}");
        assert_eq!(tree.throttling(), Throttling::default());
    }
}

#[test]
fn what_cannot_be_read_is_not_known_and_says_why() {
    for malformed in ["", "many 100000", "50000 0", "50000"] {
        let tree = version_2(&[("a.slice/cpu.max", malformed)]);
        let Fact::Unknown { not_available_here: why } = tree.limits().cpu_quota else {
            panic!("{malformed}")
        };
        assert!(why.contains("CPU quota"), "{malformed}: {why}");
    }
    let gone = CgroupLimits::read(&version_2(&[]).root(), "8").cpu_quota;
    assert!(
        matches!(gone, Fact::Unknown { not_available_here } if not_available_here.contains("/proc/8"))
    );
}

#[test]
fn the_group_that_was_stopped_for_longest_held_its_processes_back() {
    let stat = |throttled, us: u64| {
        format!("usage_usec 5\nnr_periods 9\nnr_throttled {throttled}\nthrottled_usec {us}")
    };
    let tree = version_2(&[
        ("a.slice/cpu.max", "150000 100000"),
        ("a.slice/cpu.stat", &stat(3, 1_000)),
        ("a.slice/b.scope/cpu.max", "50000 100000"),
        ("a.slice/b.scope/cpu.stat", &stat(0, 0)),
    ]);
    let before = tree.throttling();
    let idle = tree.throttling().since(&before).unwrap();
    assert_eq!((idle.quota.cpus(), idle.time), (0.5, Nanos(0)), "the tightest");
    tree.write("/sys/fs/cgroup/a.slice/cpu.stat", &stat(10, 501_000));
    let throttled = tree.throttling().since(&before).unwrap();
    assert_eq!(throttled.group, "/sys/fs/cgroup/a.slice");
    assert_eq!((throttled.quota.cpus(), throttled.periods), (1.5, 7));
    assert_eq!(throttled.time, Nanos(500_000_000));
    assert_eq!(Throttling::default().since(&before), None);
}

#[test]
fn version_1_counts_in_nanoseconds() {
    let tree = Tree::new(
        VERSION_1,
        "3:cpu,cpuacct:/web",
        &[
            ("cpu,cpuacct/web/cpu.cfs_quota_us", "30000"),
            ("cpu,cpuacct/web/cpu.cfs_period_us", "100000"),
            ("cpu,cpuacct/web/cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_time 5"),
        ],
    );
    let before = tree.throttling();
    tree.write(
        "/sys/fs/cgroup/cpu,cpuacct/web/cpu.stat",
        "nr_periods 2\nnr_throttled 2\nthrottled_time 70000005\nnr_bursts 0\nburst_time 0",
    );
    assert_eq!(tree.throttling().since(&before).unwrap().time, Nanos(70_000_000));
}
