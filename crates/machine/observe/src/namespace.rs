//! Work in the network namespace of another process.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Whether the process `pid` has the network namespace of this one.
///
/// # Errors
/// It is gone, or its namespaces may not be read.
pub(crate) fn is_shared_with(pid: u32) -> io::Result<bool> {
    Ok(of("self")? == of(&pid.to_string())?)
}

/// The result of `work` in the network namespace of the process `pid`.
///
/// # Errors
/// Those of `work`; the namespace is another one, which only root may enter, or the process is gone.
pub fn within<T: Send + 'static>(
    pid: u32,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    if is_shared_with(pid)? {
        return work();
    }
    let there = File::open(format!("/proc/{pid}/ns/net"))?;
    // A thread's namespace is its own; this one ends there.
    let thread = std::thread::Builder::new().name("netns".into()).spawn(move || {
        move_into_link_name_space(there.as_fd(), Some(LinkNameSpaceType::Network))?;
        work()
    })?;
    thread.join().map_err(|_| io::Error::other("the thread in its namespace panicked"))?
}

fn of(process: &str) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/{process}/ns/net"))
}
