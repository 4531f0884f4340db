//! Samples by `perf`: recorded on some CPUs, then read as the JSON that `perf data convert` writes,
//! which has `perf`'s own symbols.

mod maps;
mod recording;
mod samples;

pub use maps::Maps;
pub use recording::Recording;
pub use samples::{Samples, read};

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use cpus::CpuList;
use observe::PARANOID_ALLOWS_CPUS;
use targets::Captured;

/// What is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Event {
    /// The core's cycles, by its counters.
    Cycles,
    /// The time of a CPU, by the kernel's timer: where interrupts are off, a sample lands where they
    /// are on again.
    CpuClock,
}

/// Samples per second and CPU.
pub const FREQUENCY: u32 = 4_999;

/// Why there is no profile: what is lacking, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum PerfError {
    #[error(
        "perf is not installed: apt-get install linux-perf (Debian) or linux-tools-generic (Ubuntu)"
    )]
    Missing,
    #[error(
        "kernel.perf_event_paranoid is {0}, so only root may sample a CPU: \
         sysctl kernel.perf_event_paranoid={PARANOID_ALLOWS_CPUS}, or run toll as root"
    )]
    Paranoid(i32),
    #[error("the kernel hides the addresses of its symbols: sysctl kernel.kptr_restrict=0")]
    HiddenSymbols,
    #[error("perf {what} failed: {why}")]
    Failed { what: &'static str, why: String },
    #[error("perf did not {what} within {seconds} s")]
    Late { what: &'static str, seconds: u64 },
    #[error("{}: {why}", path.display())]
    File { path: PathBuf, why: String },
}

/// Starts `perf`: it ends with toll, and a terminal's Ctrl-C reaches toll only.
fn start(what: &'static str, arguments: Vec<OsString>) -> Result<Captured, PerfError> {
    let failed = |why: io::Error| PerfError::Failed { what, why: why.to_string() };
    let cpus = CpuList::allowed().map_err(failed)?;
    Captured::start(Path::new("perf"), arguments, &[], &cpus).map_err(|(program, why)| {
        match why.kind() {
            io::ErrorKind::NotFound if program == Path::new("perf") => PerfError::Missing,
            _ => failed(why),
        }
    })
}
