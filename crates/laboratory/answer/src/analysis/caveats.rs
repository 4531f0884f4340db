//! Why an answer is weaker than it looks: what limited its trials, and which are lacking.

use load::Client;
use std::collections::BTreeMap;

use stats::rounds_to_decide;
use study::metric::Kind;
use trial::Limit;
use units::counted;

use super::point::Point;
use super::row_figure::RowFigure;
use crate::caveat::Caveat;
use crate::figure::Figure;
use crate::limits::{in_words, of_trials};
use crate::measured::{IS_A_MAXIMUM, TrialCounts};
use crate::wording::{capitalized, grouped, list, listed, plain_percent, unique};

/// All caveats, the client's limits first.
pub(super) fn caveats(point: &Point) -> Vec<Caveat> {
    let others = other_clients(point)
        .into_iter()
        .chain(cells_lacking(point))
        .chain(unpaired(point))
        .chain(invalid(point))
        .chain(disturbed(point))
        .chain(incomplete(point))
        .chain(figures_lacking(point))
        .chain(few_trials(point))
        .chain(one_process(point));
    other_limits(point).into_iter().chain(others.map(Caveat::from)).collect()
}

/// Each caveat once: as it is where it holds at `all` places, else with the places where it does.
pub(super) fn said_once(
    caveats: impl IntoIterator<Item = (Caveat, String)>,
    all: usize,
) -> Vec<Caveat> {
    let words = |(caveat, at): (Caveat, Vec<String>)| match at.len() == all {
        true => caveat,
        false => caveat.at(&list(&at)),
    };
    grouped(caveats).into_iter().map(words).collect()
}

/// Up to this many cells are listed one by one; more are in the table.
const FEW: usize = 2;

/// Which other limit than the server's CPU was found, in how many trials, and what to do.
fn other_limits(point: &Point) -> Vec<Caveat> {
    type Found = (usize, Vec<String>, &'static str);
    let mut by_limit: BTreeMap<(bool, Limit), Found> = BTreeMap::new();
    let all = point.figures.iter().map(|entry| entry.row.trials.valid).sum();
    let entries = point.figures.iter();
    // A figure of the whole load is missing where trials did not serve it; the reason is given.
    let metric = point.rule.metric;
    let has_figure = |entry: &&RowFigure| !entry.row.covers_whole_load(metric);
    for entry in entries.filter(has_figure).filter(|entry| entry.row.is_limited_by_others()) {
        let valid = entry.row.trials.valid;
        for (&limit, &count) in &entry.row.limits {
            let first = entry.row.valid().find(|line| line.limit() == Some(limit));
            let Some(verdict) = first.and_then(|line| line.verdict.as_ref()) else { continue };
            let remedy = verdict.remedy();
            if !IS_A_MAXIMUM.contains(&limit) {
                let key = (!verdict.is_of_client(), limit);
                let (trials, cells, _) =
                    by_limit.entry(key).or_insert_with(|| (0, Vec::new(), remedy));
                *trials += count;
                cells.push(format!("{} {}", of_trials(count, valid), point.with(entry)));
            }
        }
    }
    let told = by_limit.into_iter().map(|((_, limit), (trials, cells, remedy))| {
        let trials = if cells.len() > FEW { of_trials(trials, all) } else { list(&cells) };
        let text = format!("{} {}: {remedy}.", capitalized(&trials), in_words(limit));
        Caveat { text, limit: Some((limit, remedy)) }
    });
    told.collect()
}

/// Which cells another program than toll's client made the load of.
fn other_clients(point: &Point) -> Option<String> {
    let client = |entry: &RowFigure| Some(entry.row.cell()?.load.client);
    let others = point.figures.iter().filter_map(client).filter(|client| *client != Client::Toll);
    let programs = listed(unique(others).iter().map(ToString::to_string))?;
    Some(match point.shared(|cell| cell.load.client) {
        Some(_) => format!("{programs} made the load; toll did not verify its counts."),
        None => format!(
            "Different programs made the load: {programs} made some of it. toll did not verify its \
             counts, and differences may come from the clients."
        ),
    })
}

/// Which cells have no figure and why; what a tax is taken from has none of its own.
fn cells_lacking(point: &Point) -> Vec<String> {
    let is_lacking = |entry: &&RowFigure| match point.kind() == Kind::Tax && entry.is_baseline {
        true => entry.row.samples(point.rule.metric).is_empty(),
        false => entry.figure.is_none(),
    };
    let reason = |entry: &RowFigure| {
        let rest = if entry.is_baseline { "; nothing is compared with it" } else { "" };
        (format!("{}{rest}", point.lacking(entry)), point.with(entry))
    };
    let reasons = grouped(point.figures.iter().filter(is_lacking).map(reason)).into_iter();
    reasons.map(|(why, cells)| format!("Not measured {}: {why}.", list(&cells))).collect()
}

/// Which cells have a figure that cannot be compared with the baseline's, and why.
fn unpaired(point: &Point) -> Vec<String> {
    let Some(baseline) = point.baseline().filter(|entry| entry.figure.is_some()) else {
        return Vec::new();
    };
    let is_unpaired =
        |entry: &&RowFigure| !entry.is_baseline && entry.figure.is_some() && entry.ratio.is_none();
    let told = |entry: &RowFigure| {
        let (name, other) = (&entry.label, &baseline.label);
        let why = point.why_unpaired(entry, baseline)?;
        Some(format!("No comparison of {name} with {other}: {why}."))
    };
    point.shown().filter(is_unpaired).filter_map(told).collect()
}

fn invalid(point: &Point) -> Option<String> {
    let mut first = None;
    let mut cells = Vec::new();
    for entry in &point.figures {
        let TrialCounts { done, valid, .. } = entry.row.trials;
        // Where none is valid, the cell is said to be lacking.
        if 0 < valid && valid < done {
            cells.push(format!("{} of {done} trials {}", done - valid, point.with(entry)));
            first = first.or_else(|| entry.row.why_invalid());
        }
    }
    let first = first?;
    Some(format!("Not valid and not in the figures: {}; the first: {first}.", list(&cells)))
}

/// Which algorithms were timed while other work used the core.
fn disturbed(point: &Point) -> Option<String> {
    let disturbed = point.figures.iter().filter(|entry| entry.row.is_disturbed());
    let names = listed(disturbed.map(|entry| point.with(entry)))?;
    Some(format!(
        "Other work used the core, so the figures {names} are too high, and ratios with them are doubtful. Measure \
         again while nothing else runs."
    ))
}

fn incomplete(point: &Point) -> Option<String> {
    let lacking = |entry: &&RowFigure| {
        let TrialCounts { planned, done, .. } = entry.row.trials;
        0 < done && done < planned
    };
    let told = |entry: &RowFigure| {
        let TrialCounts { planned, done, .. } = entry.row.trials;
        format!("{done} of {planned} {} {}", point.samples(), point.with(entry))
    };
    let cells = listed(point.figures.iter().filter(lacking).map(told))?;
    Some(format!("The run is not complete: it has {cells}."))
}

/// In which valid trials the figure is not known, where others have it.
fn figures_lacking(point: &Point) -> Option<String> {
    let told = |entry: &RowFigure| {
        let valid = entry.row.trials.valid;
        let known = entry.row.samples(point.rule.metric).len();
        let is_lacking = 0 < known && known < valid;
        let told = || format!("{} {}", of_trials(valid - known, valid), point.with(entry));
        is_lacking.then(told)
    };
    let cells = capitalized(&listed(point.figures.iter().filter_map(told))?);
    Some(format!("{cells} {}; the figures use the others.", point.unknown()))
}

/// How sure the intervals are where trials are too few.
fn few_trials(point: &Point) -> Option<String> {
    let ratios = point.figures.iter().filter_map(|entry| Some(&entry.ratio.as_ref()?.figure));
    let figures: Vec<&Figure> =
        point.measured().into_iter().map(|(_, figure)| figure).chain(ratios).collect();
    let fewest = figures.iter().min_by_key(|figure| figure.estimate.n)?;
    let n = fewest.estimate.n;
    let enough = rounds_to_decide(point.family());
    if fewest.estimate.has_enough_samples() {
        let family = counted(point.family() as u64, "comparison");
        return point.has_too_few().then(|| {
            let samples = point.samples();
            format!("{n} {samples} do not decide {family} together: measure at least {enough}.")
        });
    }
    let is_of_all = figures.iter().all(|figure| figure.estimate.n == n);
    let (one, many) = match point.kind() {
        Kind::Tax => ("pair of trials", "pairs of trials"),
        Kind::Cycles => ("round", "rounds"),
        _ => ("valid trial", "valid trials"),
    };
    let coverage = plain_percent(fewest.estimate.interval.coverage);
    Some(match (n, is_of_all) {
        (1, true) => format!(
            "One {one} gives no interval and proves no difference: measure at least {enough}."
        ),
        (1, false) => format!(
            "Some figures are from one {one}, which gives no interval and proves no difference: \
             measure at least {enough}."
        ),
        _ => format!(
            "With {}{n} {many} an interval covers the true median with a probability of \
             {coverage}, not 95%: measure at least {enough}.",
            if is_of_all { "" } else { "as few as " },
        ),
    })
}

/// Which servers were one process in all rounds, so that starts of the same program were not compared.
fn one_process(point: &Point) -> Option<String> {
    let is_one = |RowFigure { row, .. }: &&RowFigure| {
        let valid = row.lines.iter().filter(|trial| trial.line.valid);
        let mut processes =
            valid.map(|trial| (trial.place.process, &trial.place.target)).peekable();
        let Some(first @ (Some(_), _)) = processes.next() else { return false };
        processes.peek().is_some() && processes.all(|other| other == first)
    };
    let name = |entry: &RowFigure| {
        let target = &entry.row.cell()?.target;
        Some(target.url.as_ref().map_or_else(|| target.server.to_string(), ToString::to_string))
    };
    let servers = listed(unique(point.figures.iter().filter(is_one).filter_map(name)))?;
    Some(format!(
        "{servers} ran as one process in all rounds: the intervals leave out how processes of one \
         program differ."
    ))
}
