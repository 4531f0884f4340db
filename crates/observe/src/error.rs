use std::io;
use std::path::{Path, PathBuf};

/// Why something could not be observed.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The kernel does not let a file be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A file of the kernel does not read as its documentation says.
    #[error("{file} does not have the expected form: {what}")]
    Malformed {
        /// The file, or the kind of file.
        file: &'static str,
        /// What is wrong, and where.
        what: String,
    },
    /// The process has ended, or its number belongs to another one now.
    #[error("process {pid} has ended")]
    ProcessGone {
        /// Its number.
        pid: u32,
    },
    /// The thread has ended, or is none of this process.
    #[error("this process has no thread {tid}")]
    ThreadGone {
        /// Its number.
        tid: u32,
    },
    /// A thread of toll could not be started or pinned to the CPU.
    #[error("cannot run on CPU {cpu}: {source}")]
    CpuUnusable {
        cpu: usize,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The CPU gave a probe no time; something with a higher priority occupies it.
    #[error("CPU {cpu} did not run a probe within its time limit; is a real-time task on it?")]
    CpuStarved { cpu: usize },
    /// The sampling thread cannot be started or has failed.
    #[error("the CPU sampling thread failed: {0}")]
    Sampler(String),
    /// The kernel encrypts for nobody.
    #[error("the kernel has no TLS layer (CONFIG_TLS), or its module `tls` is not loaded")]
    NoKernelTls,
    /// This kind of machine does not give the answer.
    #[error("not available here: {0}")]
    NotAvailable(&'static str),
}

/// The content of a small file of the kernel.
pub(crate) fn read(path: impl AsRef<Path>) -> Result<String, ObserveError> {
    let path = path.as_ref();
    std::fs::read_to_string(path)
        .map_err(|source| ObserveError::Unreadable { path: path.to_owned(), source })
}
