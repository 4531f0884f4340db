use std::time::{Duration, Instant};

use cpus::CpuList;

use crate::programs::{self, Program};
use observe::machine::{self, Descriptors};
use observe::{Availability, CpuMeter, Fact, ObserveError, SiblingRatio, contention};

use crate::disturbance;
use crate::item::Item;
use observe::Snapshot;

/// Core cycles per byte of AES-128-GCM at 16 KiB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AesGcm {
    pub openssl: f64,
    pub ring: f64,
}

/// What no file says: it was tried, measured, or watched for 1 s.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub cpus: CpuList,
    pub descriptors: Fact<Descriptors>,
    /// How each two of the CPUs get along.
    pub siblings: Fact<Vec<SiblingRatio>>,
    /// Whether a socket takes the kernel's TLS layer.
    pub kernel_tls: Availability,
    /// The queue before loopback, where it has one.
    pub loopback_queue: Fact<Option<String>>,
    /// Whether cycles can be counted.
    pub hardware_counters: Availability,
    /// The version of the system's OpenSSL.
    pub openssl: String,
    pub aes_gcm: Fact<AesGcm>,
    /// The programs that studies start.
    pub programs: Vec<Program>,
    /// This process, which is no background.
    pub own_pid: u32,
    /// CPU time at the beginning of the second,
    pub before: Snapshot,
    /// and at its end.
    pub after: Snapshot,
}

/// What is looked at now, for the progress display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Which CPUs share a core: 15 ms per pair, more where other work uses them.
    Siblings,
    Programs,
    /// What the machine does without load, for 1 s.
    Background,
}

/// How long the machine is watched: a hundred of the ticks in which the kernel counts.
const WATCHED: Duration = Duration::from_secs(1);

impl Measured {
    /// Tries and measures. Takes a little more than 1 s, and more with many CPUs.
    pub fn of_this_machine(
        cpus: &CpuList,
        aes_gcm: Fact<AesGcm>,
        report: &mut dyn FnMut(Stage),
    ) -> Self {
        report(Stage::Siblings);
        let siblings = siblings(cpus).into();
        report(Stage::Programs);
        let programs = programs::find(cpus);
        report(Stage::Background);
        let (before, after) = watched();
        Self {
            cpus: cpus.clone(),
            descriptors: machine::descriptors(),
            siblings,
            kernel_tls: machine::kernel_tls(),
            loopback_queue: observe::loopback_queue().map_err(|error| error.to_string()).into(),
            hardware_counters: machine::hardware_counters(),
            openssl: tls::openssl_version().to_owned(),
            aes_gcm,
            programs,
            own_pid: std::process::id(),
            before,
            after,
        }
    }
}

/// What the hypervisor and other programs take of this machine's CPUs now, where that is too much;
/// watched for 1 s.
pub fn noise() -> Vec<Item> {
    let (before, after) = watched();
    let items = [
        ("steal", disturbance::steal(&before, &after)),
        ("background", disturbance::background(&before, &after, std::process::id())),
    ];
    items
        .into_iter()
        .map(|(name, found)| Item::of(name, found))
        .filter(|item| item.trouble().is_some())
        .collect()
}

/// This machine at the beginning and at the end of the time for which it is watched.
fn watched() -> (Snapshot, Snapshot) {
    let now = || Snapshot::take(CpuMeter::machine(), Instant::now());
    let before = now();
    std::thread::sleep(WATCHED);
    (before, now())
}

/// Each pair of a few CPUs; of more, the first with each of the others, which shows as well whether
/// the CPUs of this machine are hyperthreads.
fn siblings(cpus: &CpuList) -> Result<Vec<SiblingRatio>, ObserveError> {
    if cpus.len() * (cpus.len() - 1) / 2 <= contention::MOST_PAIRS {
        return contention::siblings(cpus);
    }
    let mut all = Vec::new();
    let (first, others) = (cpus.as_slice()[0], &cpus.as_slice()[1..]);
    for other in others {
        all.extend(contention::siblings(&CpuList::from(first).with(&CpuList::from(*other)))?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_program_that_keeps_a_cpu_busy_is_noise() {
        let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let noise = noise();
        busy.kill().unwrap();
        busy.wait().unwrap();
        let background = noise.iter().find(|item| item.name == "background").unwrap();
        assert!(background.seen.contains(" CPUs busy: "), "{}", background.seen);
    }
}
