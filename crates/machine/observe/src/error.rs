use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{file} does not have the expected form: {what}")]
    Malformed {
        /// The file, or the kind of file.
        file: &'static str,
        what: String,
    },
    /// Or its number belongs to another one now.
    #[error("process {pid} has ended")]
    ProcessGone { pid: u32 },
    /// Nobody waited for them, so the kernel charged nobody with their time.
    #[error("descendants of process {pid} have ended whose CPU time is in no account")]
    CpuTimeLost { pid: u32 },
    #[error("this process has no thread {tid}")]
    ThreadGone { tid: u32 },
    #[error("cannot run on CPU {cpu}: {source}")]
    CpuUnusable { cpu: usize, source: io::Error },
    #[error("CPU {cpu} did not run a probe within its time limit; is a real-time task on it?")]
    CpuStarved { cpu: usize },
    #[error("the CPU sampling thread failed: {0}")]
    Sampler(String),
    #[error("the kernel has no TLS layer (CONFIG_TLS), or its module `tls` is not loaded")]
    NoKernelTls,
    #[error("{0}")]
    NoMemoryCounters(String),
    #[error("{0}")]
    NoEnergyCounters(String),
    #[error("not available here: {0}")]
    NotAvailable(&'static str),
    /// Of another machine, in its words.
    #[error("{0}")]
    OnHost(String),
}

/// The content of a small file of the kernel.
pub(crate) fn read(path: impl AsRef<Path>) -> Result<String, ObserveError> {
    let path = path.as_ref();
    std::fs::read_to_string(path)
        .map_err(|source| ObserveError::Unreadable { path: path.to_owned(), source })
}
