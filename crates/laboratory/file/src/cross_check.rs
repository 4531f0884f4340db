//! A study's cells once more, made by toll and by another program side by side.
//!
//! Each checked cell becomes a case of its own that sweeps `load.client` over both, so that results
//! hold all of it: a run that is continued, and a report that is made again, know nothing more.

use load::{Arrival, Client, Close, Operation, Percent, Plan};
use peers::Peer;
use tls::{Cipher, Suite};
use units::Nanos;

use super::check;
use ::keys::full;
use study::{Cell, Only, Study};

/// Keys that the pair has its own values of, or that mean nothing to another program.
const OWN: [&str; 13] = [
    "load.cpus",
    "load.connections",
    "load.duration",
    "load.timeout",
    "load.encrypt-then-mac",
    "load.key-exchange",
    "load.resumption",
    "load.receive",
    "load.verify",
    "load.arrival",
    "load.warmup",
    "load.ramp",
    "load.close",
];

/// A cell that is not checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub cell: String,
    /// Why, in words.
    pub why: String,
}

/// The study with two more cells for each cell of its answers that `peer` can make: toll's and
/// the program's, at a server that offers nothing else, in windows of the same length (in whole
/// seconds, which is what such programs know). Handshakes are made by `s_time`, whichever
/// program it is, one after the other. With it come the cells that are left out.
///
/// # Errors
/// There is no cell that it can make; why not the first.
pub fn with_cross_check(of: &Study, peer: Peer) -> Result<(Study, Vec<LeftOut>), String> {
    let has_answer = |cell: &Cell| of.answers.iter().any(|answer| answer.case == cell.case);
    let has_any = of.cells.iter().any(has_answer);
    let is_main = |cell: &&Cell| has_answer(cell) || !has_any;
    let mut study = of.clone();
    let mut left_out = Vec::new();
    for cell in of.cells.iter().filter(is_main) {
        match pair(cell, peer) {
            Ok(pair) => study.cells.extend(pair),
            Err(why) => left_out.push(LeftOut { cell: cell.name.clone(), why }),
        }
    }
    match left_out.first() {
        Some(first) if study.cells.len() == of.cells.len() => {
            Err(format!("{peer} can check no cell of this study: {}: {}", first.cell, first.why))
        }
        _ => Ok((study, left_out)),
    }
}

/// The cell as toll and as the program make it, or why the program cannot.
fn pair(cell: &Cell, asked: Peer) -> Result<[Cell; 2], String> {
    let peer = match cell.load.operation {
        Operation::Handshakes => Peer::STime,
        _ => asked,
    };
    check_comparable(cell, peer)?;
    let connections = if peer == Peer::STime { 1 } else { cell.load.connections };
    let threads = peer.most_cpus().min(connections);
    let plan = Plan {
        connections,
        cpus: cell.load.cpus.first(threads),
        duration: whole_seconds(cell.load.duration),
        timeout: whole_seconds(cell.load.timeout),
        ..cell.load.clone()
    };
    // What another program does in its own way is left open.
    let theirs = Plan {
        client: peer.into(),
        encrypt_then_mac: None,
        key_exchange: None,
        receive: None,
        verify: None,
        ramp: Nanos(0),
        warmup: None,
        wakeups: None,
        congestion: None,
        ..plan.clone()
    };
    check::refused_by_client(&cell.target, &theirs)?;
    // What their wake-ups cost the server, toll's shall cost it too.
    let plan = Plan { wakeups: plan.wakeups.or(Some(theirs.wakeups())), ..plan };
    let only = Only::of(&cell.target, &plan);
    let case = format!("{}-{}", cell.name, peer.to_string().replace('_', "-"));
    let of = |number: usize, load: Plan| {
        let mut params = cell.params.clone();
        params.retain(|key, _| !OWN.contains(&key.as_str()));
        params.set(full::CLIENT, &load.client.to_string());
        let name = format!("{case}-{number:04}");
        Cell { name, case: case.clone(), params, load, only, find: None, ..cell.clone() }
    };
    Ok([of(1, plan), of(2, theirs)])
}

/// What the program would do otherwise than toll does, and nobody could tell it.
fn check_comparable(cell: &Cell, peer: Peer) -> Result<(), String> {
    if cell.load.client != Client::Toll {
        return Err(format!("{} makes its load already", cell.load.client));
    }
    if cell.params.contains_key(full::CLIENT) {
        return Err("its case compares clients already".to_owned());
    }
    if cell.find.is_some() {
        return Err("the load to compare at is only found in the run".to_owned());
    }
    if cell.load.ranks.is_some() {
        return Err("ranks make its load; sweep load.client in the study instead".to_owned());
    }
    if cell.load.arrival != Arrival::CLOSED {
        return Err(format!("{peer} asks again as soon as it has its answer"));
    }
    if cell.load.count.is_some() {
        return Err(format!("{peer} runs for a time"));
    }
    if cell.load.close != Close::Fin {
        return Err(format!("{peer} closes in its own way"));
    }
    if cell.load.is_plain() {
        return Ok(());
    }
    if cell.load.resumption != Percent::default() {
        return Err(format!("{peer} resumes no share of its sessions"));
    }
    let is_cbc = |suite: &Suite| matches!(suite.cipher, Cipher::Aes128Cbc | Cipher::Aes256Cbc);
    let agrees = cell.target.encrypt_then_mac && cell.load.only_suite().is_none_or(is_cbc);
    if agrees && cell.load.encrypt_then_mac != Some(true) {
        return Err(format!(
            "{peer} offers encrypt-then-MAC, to which the target agrees, and toll does not"
        ));
    }
    if cell.target.tickets || cell.target.session_cache {
        let resumes = cell.load.operation == Operation::OneRequestPerConnection;
        if resumes {
            return Err(format!("{peer} resumes sessions wherever the target lets it"));
        }
    }
    Ok(())
}

/// Rounded up.
fn whole_seconds(time: Nanos) -> Nanos {
    const SECOND: u64 = 1_000_000_000;
    Nanos(time.0.div_ceil(SECOND).max(1).saturating_mul(SECOND))
}
