//! What a run would do, without doing any of it.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use cpus::CpuList;
use study::{Cell, LeftOut, LoadClient, Protocol, Server, Study};
use units::{Nanos, thousands};

/// What a trial takes beside its warm-up and window: measuring the core's frequency, starting the
/// load, closing its connections, writing the journal.
pub(crate) const OVERHEAD: Duration = Duration::from_millis(80);

/// The range of fewer trials covers the median with less than 95%.
const LEAST_TRIALS: u32 = 6;

/// The cells, the commands and the time, for a person.
pub(crate) fn in_words(study: &Study, unchecked: &[LeftOut], out: &Path) -> String {
    let trials = study.cells.len() * study.trials as usize;
    let mut text = format!(
        "{}\n\n{} cells, {} trials each, {} trials in all; about {}. Nothing was started.\n\n",
        study.question,
        study.cells.len(),
        study.trials,
        thousands(trials as u64),
        rounded(forecast(study)),
    );
    let mut line = |line: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    };
    for note in notes(study).into_iter().chain(not_checked(unchecked)) {
        line(format!("Note: {note}."));
    }
    let width = study.cells.iter().map(|cell| cell.name.len()).max().unwrap_or_default();
    for cell in &study.cells {
        line(format!("  {:<width$}  {}", cell.name, load(cell)));
    }
    line("\nCommands that would be started, each for the whole run:".to_owned());
    let folder = out.join(format!("TIME-{}", study.name));
    for command in study::commands(study, "OBJECTS", &folder.display().to_string()) {
        line(format!("  {command}"));
    }
    text
}

/// What keeps a study from answering well, however it is measured.
pub(crate) fn notes(study: &Study) -> Vec<String> {
    let mut notes = Vec::new();
    let is_shared = |cell: &&Cell| {
        let client = cell.load.cpus.as_slice();
        let server = cell.target.pinned_to().map_or(&[][..], CpuList::as_slice);
        server.iter().any(|cpu| client.contains(cpu))
    };
    let shared = study.cells.iter().filter(is_shared).count();
    if shared > 0 {
        notes.push(format!(
            "in {shared} of {} cells server and client share a CPU (target.cpus and load.cpus), so \
             neither is loaded fully: believe costs per operation, not rates",
            study.cells.len()
        ));
    }
    if study.trials < LEAST_TRIALS {
        notes.push(format!(
            "with {} trials a cell no interval reaches 95%; write trials = {LEAST_TRIALS} or more",
            study.trials
        ));
    }
    notes
}

/// Which cells no other client checks, though one was asked to, and why.
pub(crate) fn not_checked(unchecked: &[LeftOut]) -> Vec<String> {
    let told = |LeftOut { cell, why }: &LeftOut| format!("{cell} is not cross-checked: {why}");
    unchecked.iter().map(told).collect()
}

/// How long all trials take, the starting of the servers left out.
pub(crate) fn forecast(study: &Study) -> Duration {
    let trials = study.cells.len() as u32 * study.trials;
    Duration::from_nanos(study.measuring_time().0) + OVERHEAD * trials
}

fn rounded(time: Duration) -> Nanos {
    Nanos(time.as_secs().max(1) * 1_000_000_000)
}

fn load(cell: &Cell) -> String {
    let load = &cell.load;
    let server = match &cell.target.server {
        Server::Address(address) => address.url.to_string(),
        server => {
            format!("{server} (CPU {}, {})", cell.target.cpus, cell.target.certificate_key)
        }
    };
    let mut words = vec![
        server,
        format!("{} from CPU {}", load.operation, load.cpus),
        format!("{} connections", load.connections),
    ];
    let is_started = !matches!(cell.target.server, Server::Address(_));
    if is_started && load.operation != ::load::Operation::Handshakes {
        words.push(format!("{} objects", load.object));
    }
    match &load.protocol {
        Protocol::Plain => words.push("plain HTTP".to_owned()),
        Protocol::Tls { version, suite, group, .. } => {
            words.push(version.map_or("TLS".to_owned(), |version| version.to_string()));
            words.extend(suite.map(|suite| suite.name.to_owned()));
            words.extend(group.map(|group| group.to_string()));
        }
    }
    match load.client {
        LoadClient::Toll => {
            words.push(format!("{} after a warm-up of {}", load.duration, load.warmup));
        }
        LoadClient::Other(peer) => words.push(format!("{} by {peer}", load.duration)),
    }
    words.join(", ")
}
