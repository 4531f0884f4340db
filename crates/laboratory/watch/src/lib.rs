//! The bill of a server that runs: how much of its CPU is TLS, of what kind, and what would change it.
//!
//! - `sampler`: watches its threads for a while; `perf_event` has the kernel's side of it, `image`, `unwind` and
//!   `kernel_names` find the callers.
//! - `sort`: the line of a sample. `calls`: how often it signs, completes a handshake and ends a connection.
//! - `own_handshake`: what the server prefers, by one handshake of toll's own.
//! - `bill`: shares with their intervals. `levers`: what a change would save. `words`: how it is printed.

mod bill;
mod calls;
mod image;
mod kernel_names;
mod levers;
mod own_handshake;
mod perf_event;
mod sampler;
mod sort;
mod unwind;
mod words;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cpus::CpuList;
use observe::{Fact, ProcessTree, ServerProcess};
use primitives::bench::BenchProgress;

pub use bill::{Bill, Count, Lever, LibraryFile, NoBill, Share};
pub use own_handshake::Preferred;
pub use sampler::{FREQUENCY, WatchError};
pub use sort::{NotSorted, TlsPart};
pub use words::{in_words, no_bill};

use image::Mapping;

/// A server that was watched.
pub struct Watched {
    pub bill: Bill,
    /// The stacks, as flame graphs are made of them.
    pub folded: String,
    libraries: Vec<Mapping>,
}

/// Watches a server for `duration`, or until it ends or `interrupted` is set. Before that there is one handshake of
/// toll's own with it, if it listens on loopback. `progress` is called now and then, with the time that is over.
///
/// # Errors
/// What is lacking, and what to do.
pub fn watch(
    server: ServerProcess,
    duration: Duration,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(Duration),
) -> Result<Watched, WatchError> {
    let prefers = match server.found_at_port {
        Some(port) => own_handshake::ask(&[([127, 0, 0, 1], port).into()]),
        None => match observe::is_in_other_namespace(server.pid) {
            true => Fact::unknown("it is in another network namespace, as in a container"),
            false => {
                let pids = ProcessTree::find(server.pid)?;
                own_handshake::ask(&observe::listening(pids.pids()))
            }
        },
    };
    let seen = sampler::watch(server.pid, duration, interrupted, progress)?;
    let folded = profile::folded(sampler::repeated(&seen.stacks));
    let bill = Bill::of(server, &seen, prefers);
    Ok(Watched { bill, folded, libraries: seen.libraries })
}

impl Watched {
    /// The CPU on which costs can be measured: one that the server does not use.
    ///
    /// # Errors
    /// There is none, or nothing is there to be measured: why.
    pub fn free_cpus(&self) -> Result<CpuList, String> {
        if let Some(reason) = self.bill.no_bill {
            return Err(no_bill(&self.bill, reason));
        }
        levers::libcrypto(self.bill.server.pid, &self.libraries)?;
        let servers = self.bill.server_cpus.clone().or_why()?;
        let allowed = CpuList::allowed().map_err(|error| error.to_string())?;
        allowed.without(&servers).ok_or_else(|| {
            "the server runs on every CPU that toll may use; pin it to some of them, or give toll others".to_owned()
        })
    }

    /// Measures what the changes would save, on one of these CPUs.
    ///
    /// # Errors
    /// Why no change is listed.
    pub fn measure(
        &mut self,
        cpus: &CpuList,
        interrupted: &AtomicBool,
        progress: &mut dyn FnMut(BenchProgress),
    ) -> Result<(), String> {
        let library = levers::libcrypto(self.bill.server.pid, &self.libraries)?;
        let lever = levers::certificate(&self.bill, &library, cpus, interrupted, progress)?;
        self.bill.levers.push(lever);
        Ok(())
    }
}
