//! The bill of a server that runs: how much of its CPU is TLS, of what kind, and what would change it.
//!
//! - `sampler`: watches its threads for a while, which leaves an `observed`; `sample` reads what the kernel writes,
//!   `image`, `unwind` and `kernel_names` find the callers.
//! - `sort`: the line of a sample. `calls`: how often it signs, completes a handshake and ends a connection.
//! - `own_handshake`: what the server prefers, by one handshake of toll's own.
//! - `bill`: shares with their intervals. `levers`: what a change would save. `words`: how it is printed.

mod bill;
mod calls;
mod image;
mod kernel_names;
mod levers;
mod observed;
mod own_handshake;
mod sample;
mod sampler;
mod sort;
mod unwind;
mod words;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cpus::CpuList;
use observe::{Fact, Holder, ProcessTree, ServerProcess, Transport};
use primitives::Algorithm;

pub use bill::{Bill, Count, Lever, LibraryFile, NoBill, Share};
pub use levers::{Costs, RECORD_BYTES};
pub use own_handshake::Preferred;
pub use sampler::{FREQUENCY, WatchError};
pub use sort::{NotSorted, TlsPart};
pub use words::{changes_in_words, compared, in_words, no_bill, plan};

use image::Mapping;

/// A server that was watched.
pub struct Watched {
    pub bill: Bill,
    /// The stacks, as flame graphs are made of them.
    pub folded: String,
    libraries: Vec<Mapping>,
}

/// Watches a server for `duration`, or until it ends or `interrupted` is set. Before that there is one handshake of
/// toll's own with it, if it listens on loopback, which asks for `name`. `progress` is called now and then, with the time
/// that is over.
///
/// # Errors
/// What is lacking, and what to do.
pub fn watch(
    server: ServerProcess,
    name: Option<String>,
    duration: Duration,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(Duration),
) -> Result<Watched, WatchError> {
    let pid = server.pid;
    let listening = match server.found_at_port {
        Some(port) => vec![([127, 0, 0, 1], port).into()],
        None => observe::listening(ProcessTree::find(pid)?.pids()),
    };
    let ports = listening.iter().map(SocketAddr::port).collect();
    let prefers = own_handshake::ask(pid, listening, name);
    let ports = prefers.known().map_or(ports, |of| vec![of.address.port()]);
    let seen = sampler::watch(pid, ports, duration, interrupted, progress)?;
    let folded = profile::folded(sampler::repeated(&seen.stacks));
    let mut bill = Bill::of(server, &seen, prefers);
    if let Some(address) = bill.prefers.known().map(|of| of.address)
        && let Ok(tree) = ProcessTree::find(pid)
        && let pids = tree.pids().collect::<Vec<u32>>()
        && let Fact::Known(others) = observe::sharers(&pids, Transport::Tcp, address)
        && !others.is_empty()
    {
        let others: Vec<String> = others.iter().map(Holder::to_string).collect();
        bill.notes.push(format!(
            "{} listens at {address} too and gets a part of the connections",
            others.join(", ")
        ));
    }
    Ok(Watched { bill, folded, libraries: seen.libraries })
}

/// What has to be measured to say what changes would save.
pub struct ToMeasure {
    pub algorithms: Vec<Algorithm>,
    /// The libcrypto that the server runs.
    pub library: PathBuf,
    /// A CPU that the server does not use.
    pub cpu: CpuList,
}

impl Watched {
    /// What has to be measured.
    ///
    /// # Errors
    /// Why it cannot be.
    pub fn to_measure(&self) -> Result<ToMeasure, String> {
        if let Some(reason) = self.bill.no_bill {
            return Err(no_bill(&self.bill, reason));
        }
        let algorithms = levers::wanted(&self.bill.prefers.clone().or_why()?);
        let library = levers::libcrypto(self.bill.server.pid, &self.libraries)?;
        let servers = self.bill.server_cpus.clone().or_why()?;
        let allowed = CpuList::allowed().map_err(|error| error.to_string())?;
        let free = allowed.without(&servers).ok_or(
            "the server runs on every CPU that toll may use; pin it to some of them, or give toll others",
        )?;
        Ok(ToMeasure { algorithms, library, cpu: free.first(1) })
    }

    /// Lists what changes would save, by the costs of the server's library, and of those of other systems by name.
    ///
    /// # Errors
    /// Why there is none.
    pub fn price(&mut self, costs: &Costs, others: &[(String, Costs)]) -> Result<(), String> {
        let prefers = self.bill.prefers.clone().or_why()?;
        levers::estimate(&mut self.bill, &prefers, costs);
        let (levers, whys) = levers::levers(&self.bill, &prefers, costs, others);
        if levers.is_empty() {
            return Err(whys.join("; "));
        }
        self.bill.not_measured = whys;
        self.bill.levers = levers;
        Ok(())
    }
}
