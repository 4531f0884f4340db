//! File descriptors for the connections: each connection needs one, and the system limits how many
//! a table of descriptors may hold.
//!
//! The limit is raised as far as the process is allowed to. Where that is not enough, a load has
//! several threads on each CPU, and each has its own table (unshare(2), `CLONE_FILES`). The limit
//! counts per table, and this needs no privilege.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::advice;
use wire::{ErrorKind, Failure};

/// Descriptors that a table needs in addition to those of connections.
const SPARE: usize = 64;

/// Threads on one CPU at most: more would cost the client more than it can spare.
const MOST_ON_A_CPU: usize = 16;

/// How a load's connections are divided among threads, and threads among tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tables {
    /// Threads, dealt to the CPUs in turn.
    pub(crate) threads: usize,
    /// Whether each thread has a table of its own.
    pub(crate) is_own: bool,
}

/// There is no room for the load's connections, even with a table per thread.
#[derive(Debug, thiserror::Error)]
#[error(
    "--connections {connections} needs {needed} file descriptors, but this process may have {limit}; {}",
    advice::on_descriptors(*most, *needed)
)]
pub struct NoRoom {
    connections: usize,
    /// What one table would need for all of them.
    needed: u64,
    /// What a table may hold.
    limit: u64,
    /// The most connections for which there is room.
    most: u64,
}

impl Tables {
    /// Makes room for `connections` on `cpus` CPUs: raises the soft limit, and with
    /// `CAP_SYS_RESOURCE` the hard one. Where that is not enough, each thread gets its own table.
    pub(crate) fn make_room(connections: usize, cpus: usize) -> Result<Self, NoRoom> {
        let needed = (connections + SPARE) as u64;
        let limits = getrlimit(Resource::Nofile);
        if limits.current.is_some_and(|current| current < needed) {
            let raised = |current, maximum| {
                setrlimit(Resource::Nofile, Rlimit { current: Some(current), maximum })
            };
            let maximum = limits.maximum.map(|maximum| maximum.max(needed));
            if raised(needed, maximum).is_err()
                && let Some(maximum) = limits.maximum
            {
                // Any process may raise its soft limit to the hard one.
                let _ = raised(maximum, Some(maximum));
            }
        }
        let limit = getrlimit(Resource::Nofile).current;
        Self::within(limit, connections, cpus).ok_or_else(|| {
            let limit = limit.unwrap_or(u64::MAX);
            NoRoom { connections, needed, limit, most: most(limit, cpus) }
        })
    }

    /// The fewest threads that are enough, where a table may hold `limit` descriptors.
    fn within(limit: Option<u64>, connections: usize, cpus: usize) -> Option<Self> {
        let fits = |held: usize| limit.is_none_or(|limit| (held + SPARE) as u64 <= limit);
        let threads = cpus.min(connections);
        if fits(connections) {
            return Some(Self { threads, is_own: false });
        }
        (1..=MOST_ON_A_CPU)
            .map(|on_a_cpu| Self { threads: threads * on_a_cpu, is_own: true })
            .find(|tables| fits(connections.div_ceil(tables.threads)))
    }

    /// Gives the calling thread what it needs before it opens anything.
    pub(crate) fn enter(self) -> io::Result<()> {
        if !self.is_own {
            return Ok(());
        }
        // SAFETY: a load thread opens its epoll and sockets after this and hands none of them to
        // another thread; what was open before is in its table too, until the thread ends.
        unsafe { unshare_unsafe(UnshareFlags::FILES) }.map_err(Into::into)
    }
}

/// There is no descriptor for a socket, or none that can be watched: the system's words, and the limit
/// that they mean.
pub(crate) fn lacking(error: &io::Error) -> Failure {
    let limit = match error.raw_os_error() {
        Some(libc::EMFILE) => ": ulimit -n",
        Some(libc::ENFILE) => ": fs.file-max",
        Some(libc::ENOSPC) => ": fs.epoll.max_user_watches",
        _ => "",
    };
    Failure::new(ErrorKind::Descriptors, format!("{error}{limit}"))
}

/// The most connections of a load on `cpus` CPUs, where a table may hold `limit` descriptors.
fn most(limit: u64, cpus: usize) -> u64 {
    limit.saturating_sub(SPARE as u64).saturating_mul((cpus * MOST_ON_A_CPU) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::{AsFd, AsRawFd};

    fn own(threads: usize) -> Option<Tables> {
        Some(Tables { threads, is_own: true })
    }

    #[test]
    fn tables_are_shared_where_one_has_room_for_all() {
        let shared = |threads| Some(Tables { threads, is_own: false });
        assert_eq!(Tables::within(None, 50_000, 2), shared(2));
        assert_eq!(Tables::within(Some(50_064), 50_000, 2), shared(2));
        assert_eq!(Tables::within(Some(1_000), 1, 2), shared(1));
    }

    #[test]
    fn the_fewest_threads_with_room_are_divided_equally_among_cpus() {
        assert_eq!(Tables::within(Some(20_000), 50_000, 1), own(3));
        assert_eq!(Tables::within(Some(50_063), 50_000, 1), own(2));
        assert_eq!(Tables::within(Some(20_000), 50_000, 2), own(4));
        assert_eq!(Tables::within(Some(20_000), 50_000, 4), own(4));
        assert_eq!(Tables::within(Some(64 + 100), 1_600, 1), own(16));
    }

    #[test]
    fn a_load_for_which_no_number_of_threads_has_room_is_refused() {
        assert_eq!(Tables::within(Some(64 + 100), 1_601, 1), None);
        assert_eq!(Tables::within(Some(64), 1, 1), None);
        assert_eq!(Tables::within(Some(0), 5, 1), None);
    }

    #[test]
    fn the_most_connections_have_room_and_no_more() {
        for cpus in [1, 3] {
            for limit in [64, 65, 164, 20_000] {
                let most = most(limit, cpus) as usize;
                let has_room = |connections| {
                    connections > 0 && Tables::within(Some(limit), connections, cpus).is_some()
                };
                // With fewer connections than CPUs there are fewer threads.
                assert!(most == 0 || has_room(most), "{limit} {cpus}");
                assert!(!has_room(most + 1), "{limit} {cpus}");
            }
        }
    }

    #[test]
    fn what_is_lacking_is_named_by_its_limit() {
        for (code, limit) in [
            (libc::EMFILE, "(os error 24): ulimit -n"),
            (libc::ENFILE, "(os error 23): fs.file-max"),
            (libc::ENOSPC, "(os error 28): fs.epoll.max_user_watches"),
            (libc::ENOMEM, "(os error 12)"),
        ] {
            let lacking = lacking(&io::Error::from_raw_os_error(code));
            let (kind, seen) = (lacking.kind, &lacking.seen);
            assert_eq!(kind, ErrorKind::Descriptors);
            assert!(seen.ends_with(limit), "{seen}");
        }
    }

    #[test]
    fn a_thread_with_its_own_table_shares_no_descriptors_with_others() {
        let before = std::fs::File::open("/dev/null").unwrap();
        let tables = Tables { threads: 1, is_own: true };
        let opened = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                tables.enter().unwrap();
                // Descriptors that were open before stay open, under the same numbers.
                assert!(rustix::fs::fstat(before.as_fd()).is_ok());
                let own = std::fs::File::open("/dev/zero").unwrap();
                let here = format!("/proc/thread-self/fd/{}", own.as_raw_fd());
                assert_eq!(std::fs::read_link(here).unwrap().to_str(), Some("/dev/zero"));
                let of_process = format!("/proc/self/fd/{}", own.as_raw_fd());
                std::fs::read_link(of_process).ok()
            });
            thread.join().unwrap()
        });
        assert_ne!(opened.as_deref().and_then(|path| path.to_str()), Some("/dev/zero"));
    }
}
