use std::time::Duration;

use tempfile::TempDir;

use super::*;

/// A machine with two CPUs that has run for a moment: `/proc` and the control groups, as files.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        files.set("/proc/sys/kernel/osrelease", "6.1.0");
        files.set("/boot/config-6.1.0", "CONFIG_HZ=250\nCONFIG_NO_HZ=y\n");
        files.set("/sys/devices/system/cpu/possible", "0-1\n");
        for cpu in [0, 1] {
            let pid = 10 + cpu;
            files.set(&format!("/proc/{pid}/comm"), &format!("ksoftirqd/{cpu}\n"));
            files.set(&format!("/proc/{pid}/cmdline"), "");
            files.set(&format!("/proc/{pid}/schedstat"), "0 0 1\n");
        }
        files.ticks([[0; 3]; 2]);
        files
    }

    /// With the scheduler's account of each CPU, which begins at these nanoseconds.
    fn and_account(self, used: [u64; 2]) -> Self {
        let mounts = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                      33 31 0:30 / /cg/cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n";
        self.set("/proc/self/mountinfo", mounts);
        self.set("/cg/cpuacct/release_agent", "");
        self.account(used);
        self
    }

    fn account(&self, [first, second]: [u64; 2]) {
        self.set("/cg/cpuacct/cpuacct.usage_percpu", &format!("{first} {second} \n"));
    }

    /// In steps of 10 ms: user, idle and stolen time of each CPU.
    fn ticks(&self, cpus: [[u64; 3]; 2]) {
        let line = |(cpu, [user, idle, steal]): (usize, &[u64; 3])| {
            format!("cpu{cpu} {user} 0 0 {idle} 0 0 0 {steal}\n")
        };
        self.set("/proc/stat", &cpus.iter().enumerate().map(line).collect::<String>());
    }

    fn set(&self, file: &str, text: &str) {
        let path = self.root().path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn root(&self) -> Root {
        Root::at(self.0.path())
    }

    /// Of 140 ms, at the end of which the files are changed.
    fn window(&self, change: impl FnOnce(&Self)) -> CpuWindow {
        let (meter, start) = (CpuMeter::of(self.root()), Instant::now());
        let before = meter.read(start).unwrap();
        change(self);
        let after = meter.read(start + Duration::from_millis(140)).unwrap();
        after.since(&before).unwrap()
    }
}

/// In which CPU 0 was idle for 28 ms by the scheduler's account, and always busy by the samples. Idle time is not
/// sampled, so the two are more than the window.
fn both(files: &Files) {
    files.ticks([[14, 2, 0], [0, 14, 0]]);
    files.set("/cg/cpuacct/cpuacct.usage_percpu", "5112000000 7000000000\n");
}

fn sourced(of: Option<CpuShare>) -> (f64, CpuTimeSource) {
    let of = of.unwrap().rounded();
    (of.share, of.source.unwrap())
}

#[test]
fn the_schedulers_account_comes_before_the_samples() {
    let files = Files::new().and_account([5_000_000_000, 7_000_000_000]);
    let window = files.window(both);
    assert_eq!(sourced(window.programs(&[0])), (0.8, CpuTimeSource::Cpuacct));
    assert_eq!(sourced(window.programs(&[0, 1])), (0.4, CpuTimeSource::Cpuacct));
    assert_eq!(sourced(window.idle(&[0])), (0.2, CpuTimeSource::Cpuacct));
    assert_eq!(sourced(window.busy(&[0])), (0.8, CpuTimeSource::Cpuacct));
    // Up to a tick of 4 ms is missing at either end.
    assert_eq!(window.programs(&[0]).unwrap().rounded().error, 0.0117);
    assert_eq!(window.programs(&[0, 2]), None);
}

#[test]
fn without_an_account_the_samples_say_how_little_they_know() {
    let window = Files::new().window(both);
    assert_eq!(sourced(window.programs(&[0])), (1.0, CpuTimeSource::ProcStat));
    assert_eq!(sourced(window.idle(&[0])), (0.1429, CpuTimeSource::ProcStat));
    // Of 35 samples all saw a program, which leaves a doubt.
    assert!(window.programs(&[0]).unwrap().error > 0.04);
}

#[test]
fn half_of_the_samples_are_the_least_certain() {
    let files = Files::new();
    let error = |user: u64| {
        let window = files.window(|files| files.ticks([[user, 14 - user, 0], [0, 14, 0]]));
        files.ticks([[0; 3]; 2]);
        window.programs(&[0]).unwrap().error
    };
    assert!((0.09..0.1).contains(&error(7)), "{}", error(7));
    assert!(error(7) > error(1) && error(1) > error(0) && error(0) > 0.04);
}

#[test]
fn a_containers_group_is_not_the_machines() {
    let files = Files::new().and_account([0, 0]);
    std::fs::remove_file(files.root().path("/cg/cpuacct/release_agent")).unwrap();
    assert_eq!(sourced(files.window(both).programs(&[0])).1, CpuTimeSource::ProcStat);
    // Nor is an account by which the kernel's own work for the network cannot be told from programs.
    let files = Files::new().and_account([5_000_000_000, 7_000_000_000]);
    files.set("/proc/10/cmdline", "a program of that name");
    assert_eq!(sourced(files.window(both).programs(&[0])).1, CpuTimeSource::ProcStat);
}

#[test]
fn the_kernels_own_work_for_the_network_is_no_programs() {
    let files = Files::new().and_account([5_000_000_000, 7_000_000_000]);
    let window = files.window(|files| {
        both(files);
        files.set("/proc/10/schedstat", "14000000 0 9\n");
    });
    assert_eq!(sourced(window.programs(&[0])), (0.7, CpuTimeSource::Cpuacct));
    assert_eq!(sourced(window.idle(&[0])), (0.2, CpuTimeSource::Cpuacct));
}

#[test]
fn the_thread_that_reads_is_no_other_program() {
    let files = Files::new().and_account([5_000_000_000, 7_000_000_000]);
    let window = files.window(both);
    let beside = |cpus: [usize; 2]| {
        let [then, now] = cpus.map(|cpu| TaskTime { cpu, ran: Nanos(0) });
        let now = TaskTime { ran: Nanos(28_000_000), ..now };
        CpuWindow { observer: Some(now.since(&then)), ..window.clone() }
    };
    assert_eq!(sourced(beside([0, 0]).programs(&[0])), (0.6, CpuTimeSource::Cpuacct));
    assert_eq!(sourced(beside([1, 1]).programs(&[0])), (0.8, CpuTimeSource::Cpuacct));
    // Where it ran on both, half of it may have been here.
    let moved = beside([1, 0]).programs(&[0]).unwrap();
    assert_eq!(sourced(Some(moved)), (0.7, CpuTimeSource::Cpuacct));
    assert!(moved.error > window.programs(&[0]).unwrap().error);
    assert_eq!(sourced(beside([1, 0]).programs(&[0, 1])), (0.3, CpuTimeSource::Cpuacct));
}

#[test]
fn stolen_time_is_neither_idle_nor_certain_in_a_short_window() {
    let files = Files::new().and_account([0, 0]);
    let window = files.window(|files| {
        files.ticks([[10, 1, 2], [0, 14, 0]]);
        files.account([105_000_000, 0]);
    });
    let steal = window.steal(0).unwrap();
    assert_eq!(sourced(Some(steal)), (0.1429, CpuTimeSource::ProcStat));
    assert!(steal.exceeds(0.1) && !window.steal(1).unwrap().exceeds(0.0));
    assert_eq!(sourced(window.idle(&[0])), (0.1071, CpuTimeSource::Cpuacct));
    // One step of 10 ms may be a moment.
    let window = files.window(|files| files.ticks([[20, 2, 3], [0, 28, 0]]));
    assert!(!window.steal(0).unwrap().exceeds(0.05));
}

#[test]
fn interrupts_of_a_cpu_without_programs_are_not_idleness() {
    let files = Files::new().and_account([0, 0]);
    let window = files.window(|files| {
        files.set("/proc/stat", "cpu0 0 0 0 4 0 2 8 0\ncpu1 0 0 0 14 0 0 0 0\n");
    });
    assert_eq!(sourced(window.idle(&[0])), (0.2857, CpuTimeSource::ProcStat));
    assert_eq!(sourced(window.idle(&[1])), (1.0, CpuTimeSource::Cpuacct));
}

#[test]
fn this_machine_is_read() {
    let meter = CpuMeter::machine();
    let before = meter.read(Instant::now()).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let window = meter.read(Instant::now()).unwrap().since(&before).unwrap();
    let cpus: Vec<usize> = window.cpus().collect();
    let (programs, idle) = (window.programs(&cpus).unwrap(), window.idle(&cpus).unwrap());
    assert!(!cpus.is_empty() && programs.error > 0.0 && idle.error > 0.0, "{programs:?} {idle:?}");
    assert_eq!(before.since(&before), None);
}
