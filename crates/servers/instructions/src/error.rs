use std::io;
use std::path::PathBuf;

/// Why instructions cannot be counted: what is wrong, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    #[error(
        "instructions are not counted here: valgrind is not installed; apt-get install valgrind"
    )]
    NoValgrind,
    #[error(
        "process {pid} does not run in callgrind; start the server as `valgrind --tool=callgrind \
         --trace-children=yes --callgrind-out-file=/tmp/callgrind.%p SERVER`, or count \
         instructions-by-perf"
    )]
    NotInCallgrind { pid: u32 },
    #[error("callgrind does not take the command {command} to process {pid}: {why}")]
    Command { command: &'static str, pid: u32, why: String },
    #[error(
        "callgrind wrote no new {}.NUMBER; start the server with --callgrind-out-file=/tmp/callgrind.%p, \
         and without --combine-dumps and --separate-threads",
        out.display()
    )]
    NoDump { out: PathBuf },
    #[error("{}: {what}; it is not what callgrind writes", path.display())]
    Malformed { path: PathBuf, what: String },
    #[error("instructions are not counted here: {0}; use instructions (callgrind) instead")]
    NoCounter(io::Error),
    #[error("the instructions of the server cannot be read: {0}")]
    Counter(io::Error),
    #[error("the server's processes changed while its instructions were counted")]
    ProcessesChanged,
    #[error(
        "the server still works {seconds} s after its last answer, so its instructions are not those of the \
         operations; end what else it does"
    )]
    NotSettled { seconds: u64 },
    #[error("{0}")]
    Processes(#[from] observe::ObserveError),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}
