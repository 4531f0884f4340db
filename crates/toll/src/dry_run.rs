//! What a run would do, without doing any of it.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use crate::run_primitives;
use ::load::Client;
use cpus::CpuList;
use file::LeftOut;
use study::{Cell, Forecast, Study};
use units::{Nanos, thousands};

/// What a trial takes beside its warm-up and window: measuring the core's frequency, starting the
/// load, closing its connections, writing the journal.
pub(crate) const OVERHEAD: Duration = Duration::from_millis(80);

/// The range of fewer trials covers the median with less than 95%.
const LEAST_TRIALS: u32 = 6;

/// The cells, the commands and the time, for a person.
pub(crate) fn in_words(study: &Study, unchecked: &[LeftOut], out: &Path) -> String {
    let mut parts = Vec::new();
    if !study.cells.is_empty() {
        let (cells, trials) = (study.cells.len(), study.trials);
        parts.push(format!("{cells} cells, {trials} trials each, {}", forecast(study.forecast())));
    }
    if !study.primitives.tables.is_empty() {
        parts.push(run_primitives::forecast(&study.primitives));
    }
    let mut text =
        format!("{}\n\n{}. Nothing was started.\n\n", study.question, parts.join("; and "));
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
    if !study.cells.is_empty() {
        line("\nCommands that would be started, each for the whole run:".to_owned());
    }
    let folder = out.join(format!("TIME-{}", study.name));
    for command in experiment::cells::commands(study, "OBJECTS", &folder.display().to_string()) {
        line(format!("  {command}"));
    }
    if !study.primitives.tables.is_empty() {
        line("\nCommands that would measure primitives, once a round:".to_owned());
    }
    for command in run_primitives::commands(&study.primitives) {
        line(format!("  {command}"));
    }
    text
}

/// What keeps a study from answering well, however it is measured.
pub(crate) fn notes(study: &Study) -> Vec<String> {
    let mut notes: Vec<String> = study.cut.iter().map(|cut| format!("cut: {cut}")).collect();
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
    if study.trials < LEAST_TRIALS && !study.cells.is_empty() {
        notes.push(format!(
            "with {} trials a cell no interval reaches 95%; write trials = {LEAST_TRIALS} or more",
            study.trials
        ));
    }
    notes
}

/// Which cells no other client checks, though one was asked to, and why.
pub(crate) fn not_checked(unchecked: &[LeftOut]) -> Vec<String> {
    let why = |LeftOut { cell, why }: &LeftOut| format!("{cell} is not cross-checked: {why}");
    unchecked.iter().map(why).collect()
}

/// Trials and their time in words, the starting of the servers left out.
pub(crate) fn forecast(forecast: Forecast) -> String {
    let (held, steps) = (thousands(forecast.held), forecast.searching);
    let time = rounded(time(&forecast));
    let trials = if forecast.held == 1 { "trial" } else { "trials" };
    match steps {
        0 => format!("{held} {trials} in all; about {time}"),
        _ => format!(
            "{held} {trials} and at most {} short ones that search; at most about {time}, and longer \
             only where a maximum does not hold",
            thousands(steps)
        ),
    }
}

/// What all of it takes.
pub(crate) fn time(forecast: &Forecast) -> Duration {
    let trials = forecast.held.saturating_add(forecast.searching);
    let overhead = OVERHEAD.saturating_mul(u32::try_from(trials).unwrap_or(u32::MAX));
    Duration::from_nanos(forecast.time.0).saturating_add(overhead)
}

fn rounded(time: Duration) -> Nanos {
    Nanos(time.as_secs().max(1).saturating_mul(1_000_000_000))
}

fn load(cell: &Cell) -> String {
    let load = &cell.load;
    let target = &cell.target;
    let server = match &target.url {
        Some(url) => url.to_string(),
        None => format!("{} (CPU {}, {})", target.server, target.cpus, target.certificate_key),
    };
    let mut words = vec![server, format!("{} from CPU {}", load.operation, load.cpus)];
    match &cell.find {
        Some(find) => words.push(format!(
            "{} from {} to {} for the most {} while {}",
            find.over.key(),
            find.over.value(find.from),
            find.over.value(find.to),
            find.maximize,
            find.ceiling
        )),
        None => words.push(format!("{} connections", load.connections)),
    }
    if target.url.is_none() && load.operation != ::load::Operation::Handshakes {
        words.push(format!("{} objects", target.object));
    }
    if load.is_plain() {
        words.push("plain HTTP".to_owned());
    } else {
        words.push(load.asked_version().map_or("TLS".to_owned(), |version| version.to_string()));
        words.extend(load.only_suite().map(|suite| suite.name.to_owned()));
        words.extend(load.group.map(|group| group.to_string()));
    }
    let held = cell.held_for();
    match load.client {
        Client::Toll => words.push(format!("{held} after a warm-up of {}", load.warmup())),
        peer => words.push(format!("{held} by {peer}")),
    }
    words.extend(cell.find.map(|find| format!("found in steps of {}", find.step)));
    words.join(", ")
}
