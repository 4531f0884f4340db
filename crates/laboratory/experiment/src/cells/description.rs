//! What a run will do with its cells, in words.

use keys::full;
use std::time::Duration;

use answer::label_in;
use cpus::CpuList;

use super::length::{Length, time};
use journal::Role;
use load::{Arrival, Client, Operation};
use stats::rounds_to_decide;
use study::find::Over;
use study::{Cell, Forecast, Param, Study};
use units::{Nanos, counted, thousands};

/// Warnings about the cells, whatever the trials will be.
pub(super) fn notes(study: &Study) -> Vec<String> {
    let mut notes = Vec::new();
    // Where instructions are counted, no time matters.
    let is_counted = |cell: &Cell| cell.load.counter().is_some();
    let is_shared = |cell: &&Cell| {
        if cell.load.ranks.is_some() || is_counted(cell) {
            return false;
        }
        let client = cell.load.cpus.as_slice();
        let server = cell.target.pinned_here().map_or(&[][..], CpuList::as_slice);
        server.iter().any(|cpu| client.contains(cpu))
    };
    let shared = study.cells.iter().filter(is_shared).count();
    if shared > 0 {
        notes.push(format!(
            "in {shared} of {} cells server and client share a CPU (target.cpus and load.cpus), so \
             neither is loaded fully: use costs per operation, not rates",
            study.cells.len()
        ));
    }
    notes.extend(too_few("trials", study.trials, study.most_comparisons()));
    notes
}

/// That so many trials or rounds cannot decide what an answer compares whatever they show, where that is so.
pub(crate) fn too_few(what: &str, count: u32, comparisons: usize) -> Option<String> {
    let needed = rounds_to_decide(comparisons);
    let cannot = match count < rounds_to_decide(1) {
        true => "show no difference at 95%".to_owned(),
        false => format!(
            "decide the {comparisons} comparisons of an answer at 95% only where they agree"
        ),
    };
    (count < needed).then(|| format!("{count} {what} {cannot}; write {what} = {needed} or more"))
}

/// The cells, a line each.
pub(super) fn list(study: &Study) -> Vec<String> {
    let width = study.cells.iter().map(|cell| cell.name.len()).max().unwrap_or_default();
    study.cells.iter().map(|cell| format!("{:<width$}  {}", cell.name, load(cell))).collect()
}

/// The trials of a study and their time in words; of one with an `until`, the fewest and the most.
pub(super) fn forecast_of(study: &Study) -> String {
    let least = forecast(study.forecast());
    let Some(until) = &study.until else { return least };
    let most = Length::of(study).most_rounds(Duration::ZERO);
    let Forecast { sampling, .. } = study.forecast();
    let at_most = rounded(time(&Forecast { sampling, ..study.forecast_of(most) }));
    format!(
        "at least {least}; then up to {most} rounds, at most about {at_most}, until all intervals \
         are within {} of their medians",
        until.interval
    )
}

/// Trials and their time in words, the starting of the servers left out.
pub(super) fn forecast(forecast: Forecast) -> String {
    let Forecast { held, searching: steps, sampling, .. } = forecast;
    let time = rounded(time(&forecast));
    let trials = match (held, sampling) {
        (_, 0) => counted(held, "trial"),
        (0, _) => format!("{} of CPU samples", counted(sampling, "trial")),
        _ => format!("{}, and {} of CPU samples,", counted(held, "trial"), thousands(sampling)),
    };
    match steps {
        0 => format!("{trials} in all; about {time}"),
        _ => format!(
            "{trials} and at most {} short ones that search; at most about {time}, and longer \
             only where a maximum does not hold",
            thousands(steps)
        ),
    }
}

fn rounded(time: Duration) -> Nanos {
    Nanos(time.as_secs().max(1).saturating_mul(1_000_000_000))
}

/// Keys of a target that the words of a cell name anyway.
const SHOWN: [&str; 5] =
    [full::SERVER, full::CPUS, full::CORES, full::CERTIFICATE_KEY, full::OBJECT];

fn load(cell: &Cell) -> String {
    let load = &cell.load;
    let target = &cell.target;
    let server = match &target.url {
        Some(url) => url.to_string(),
        None => format!("{} (CPU {}, {})", target.server, target.cpus, target.certificate_key),
    };
    let from = match load.ranks {
        Some(count) => counted(count.get().into(), "rank"),
        None => format!("CPU {}", load.cpus),
    };
    let mut words = vec![server, format!("{} from {from}", load.operation)];
    match &cell.find {
        Some(find) => words.push(format!(
            "{} from {} to {} for the most {} while {}",
            find.over.key(),
            find.over.value(find.from),
            find.over.value(find.to),
            find.maximize,
            find.ceiling
        )),
        None => words.push(connections(cell)),
    }
    match (&load.session, load.operation) {
        (Some(session), _) => {
            words.push(format!("pages of {} of {}", load.page(), session.display()));
        }
        (None, Operation::Handshakes) => {}
        (None, _) if target.url.is_some() => {}
        (None, _) => words.push(match study::files(target, load) {
            Some(files) => files.to_string(),
            None => format!("{} objects", target.object),
        }),
    }
    if let Some(requests) = &load.requests_per_connection {
        words.push(label_in(
            load.operation,
            full::REQUESTS_PER_CONNECTION,
            &Param::Text(requests.to_string()),
        ));
    }
    let is_shown = cell.find.is_none() && !cell.params.contains_key(full::ARRIVAL);
    if load.arrival != Arrival::CLOSED && is_shown {
        words.push(load.arrival.to_string());
    }
    if load.is_plain() {
        words.push("plain HTTP".to_owned());
    } else {
        words.push(load.asked_version().map_or("TLS".to_owned(), |version| version.to_string()));
        words.extend(load.only_suite().map(|suite| suite.name.to_owned()));
        words.extend(load.group.map(|group| group.to_string()));
    }
    let is_shown_already = |key: &str| !key.starts_with("target.") || SHOWN.contains(&key);
    let others = cell.params.iter().filter(|(key, _)| !is_shown_already(key));
    words.extend(others.map(|(key, value)| label_in(load.operation, key, value)));
    let held = cell.held_for();
    match load.client {
        Client::Toll => words.push(format!("{held} after a warm-up of {}", load.warmup())),
        peer => words.push(format!("{held} by {peer}")),
    }
    words.extend(cell.find.map(|find| format!("found in steps of {}", find.step)));
    words.join(", ")
}

fn connections(cell: &Cell) -> String {
    let count = Param::Count(cell.load.connections as u64);
    label_in(cell.load.operation, full::CONNECTIONS, &count)
}

/// How many trials are left; for searches only the maximum is known.
pub(super) fn left(ahead: &Forecast) -> String {
    let at_most = if ahead.searching > 0 { "at most " } else { "" };
    let trials = ahead.held.saturating_add(ahead.searching).saturating_add(ahead.sampling);
    format!("{at_most}{} trials", thousands(trials))
}

/// The cell by its swept values, the server first, and the purpose of a trial of a search.
pub(super) fn doing(cell: &Cell, role: Role) -> String {
    let mut words = vec![cell.target.server.to_string()];
    words.extend(
        cell.params
            .iter()
            .filter(|(key, _)| *key != full::SERVER)
            .map(|(key, value)| label_in(cell.load.operation, key, value)),
    );
    if role == Role::Profile {
        words.push("sampled".to_owned());
    } else if let Some(find) = &cell.find {
        let load = match find.over {
            Over::Connections => connections(cell),
            Over::Arrival(_) => cell.load.arrival.to_string(),
        };
        let verb = if role == Role::Search { "tries" } else { "holds" };
        words.push(format!("{verb} {load}"));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_counted_in_trials() {
        let ahead = |searching| Forecast { held: 1_200, searching, ..Forecast::default() };
        assert_eq!(left(&ahead(0)), "1,200 trials");
        assert_eq!(left(&ahead(34)), "at most 1,234 trials");
    }
}
