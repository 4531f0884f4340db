//! The programs that studies start or compare with, and their versions: each server and each client that
//! `targets` and `peers` know, and the Open MPI that starts ranks.

use clap::ValueEnum;
use cluster::OpenMpi;
use cpus::CpuList;
use observe::Fact;
use peers::{Peer, PeerError};
use targets::{SERVERS, Server, Settings};

use crate::item::{Item, ok};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its name in studies.
    pub item: &'static str,
    /// What it says of its version; why it cannot say it, and what to do.
    pub version: Fact<String>,
}

/// The servers that have to be installed, then the clients, then what starts ranks.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let clients = Peer::value_variants().iter().map(Into::into);
    servers().map(|server| server.name()).chain(clients).chain([OPEN_MPI])
}

const OPEN_MPI: &str = "open-mpi";

fn servers() -> impl Iterator<Item = &'static Server> {
    SERVERS.iter().copied().filter(|server| server.is_installed())
}

/// Looks for each, and asks it for its version.
pub(crate) fn find(cpus: &CpuList) -> Vec<Program> {
    let settings = Settings::new(cpus.clone());
    let servers = servers().filter_map(|server| {
        let version = server.version(&settings)?;
        Some(Program { item: server.name(), version: version.into() })
    });
    let clients = Peer::value_variants()
        .iter()
        .map(|peer| Program { item: peer.into(), version: version(*peer, cpus).into() });
    let open_mpi = OpenMpi::find().map(|open_mpi| open_mpi.to_string());
    let open_mpi = Program { item: OPEN_MPI, version: open_mpi.into() };
    servers.chain(clients).chain([open_mpi]).collect()
}

fn version(peer: Peer, cpus: &CpuList) -> Result<String, PeerError> {
    peers::version(peer, &peers::find(peer)?, cpus)
}

pub(crate) fn items(programs: &[Program]) -> impl Iterator<Item = Item> {
    let item =
        |program: &Program| Item::of(program.item, program.version.clone().or_why().and_then(ok));
    programs.iter().map(item)
}
