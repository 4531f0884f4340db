//! `toll plan`: how many cores traffic needs, checked by the traffic itself.

mod arguments;
mod bench;
mod by_round;
mod cells;
mod check;
mod device;
mod device_bench;
mod document;
mod energy;
mod kinds;
mod latency;
mod lever_outcome;
mod lever_words;
mod log;
mod memory;
mod offers;
mod outcome;
mod own_levers;
mod page;
mod parts;
mod phrases;
mod rounds;
mod savings;
mod scaling;
mod today;
mod together;
mod traffic;
mod tried;
mod words;

use std::path::Path;
use std::sync::atomic::Ordering;

use answer::gate::Reached;
use journal::Results;
use observe::Machine;

use crate::json::Versioned;
use crate::outputs::{self, Found};
use crate::progress::in_minutes;
use crate::{Exit, Failure, interrupt, json};
pub(crate) use arguments::Arguments;
use bench::{Bench, on_several_cores, results_in};
use cells::{Cells, Rates, Window};
use device::DeviceOutcome;
use outcome::{LinkUse, PlanOutcome};
use together::Combination;
use traffic::PlannedTraffic;
use tried::Tried;

/// Whether this file has a plan, not a study.
pub(crate) fn is_in(file: &str) -> bool {
    document::is_plan(file)
}

/// Plans what the table `[plan]` of a file asks for.
pub(crate) fn of_file(
    name: &str,
    text: &str,
    out: Option<&Path>,
    (json, verbose): (bool, bool),
) -> Result<Exit, Failure> {
    let plan = document::parse(text);
    let plan = plan.map_err(|why| Failure::request(format!("{name}: {why}")))?;
    main(Arguments { json, verbose, out: out.map(Path::to_owned), ..plan })
}

pub(crate) fn main(arguments: Arguments) -> Result<Exit, Failure> {
    if let Some(path) = &arguments.file {
        let text = std::fs::read_to_string(path);
        let name = path.display().to_string();
        let text = text.map_err(|error| Failure::request(format!("{name}: {error}")))?;
        let Arguments { json, verbose, .. } = arguments;
        return of_file(&name, &text, arguments.out.as_deref(), (json, verbose));
    }
    let interrupted = interrupt::flag()?;
    let arguments = &document::with_bill(arguments)?;
    arguments.check()?;
    let log = match &arguments.access_log {
        Some(path) => match log::read(arguments, path, &interrupted)? {
            Some(log) => Some(log),
            None => return Ok(Exit::Interrupted),
        },
        None => None,
    };
    let wanted = PlannedTraffic::of(arguments, log)?;
    let mut cells = Cells::new(arguments, &wanted)?;
    Tried::check_own(arguments, &cells)?;
    let folder = tempfile::tempdir().map_err(Failure::request)?;
    let mut bench = Bench::new(folder.path(), arguments.json, &interrupted);
    let Some((pilot, mut rates)) = bench.first_rates(&cells)? else {
        return Ok(Exit::Interrupted);
    };
    let mut tried = None;
    if arguments.levers.is_some() {
        let chosen =
            Tried::choose(arguments, &wanted, (&mut cells, &mut rates), &pilot, &mut bench)?;
        let Some(chosen) = chosen else { return Ok(Exit::Interrupted) };
        announce(&chosen);
        tried = Some(chosen);
    }
    let Some(rates) = bench.corrected(&mut cells, rates)? else { return Ok(Exit::Interrupted) };
    if let Some(tried) = &mut tried {
        tried.drop_without(&cells);
    }
    let results = outputs::folder(arguments.out.as_deref(), "plan")?;
    let study = cells.open_loop(&Window::Measured, arguments.trials, &rates);
    let (lines, is_whole) = bench.measure(&study, &results)?;
    // Of levers, what was measured until then is kept.
    if !is_whole && (tried.is_none() || lines.iter().all(|of| of.place.round == 0)) {
        let folder = results.folder().display();
        crate::note(format_args!(
            "interrupted; toll run --continue {folder} measures the rest of its cells"
        ));
        return Ok(Exit::Interrupted);
    }
    let mut on_several = Vec::new();
    if is_whole && let Some(several) = on_several_cores(&cells, arguments.trials, &rates)? {
        let results = results_in(results.folder(), "cores")?;
        match bench.measure(&several, &results)? {
            (lines, true) => on_several = lines,
            (_, false) => return Ok(Exit::Interrupted),
        }
    }
    let mut outcome =
        rounds::outcome(arguments, &wanted, &cells, tried.as_ref(), &lines, &on_several)?;
    if let Some(tried) = &tried {
        combine(arguments, tried, (&mut cells, &rates), &mut bench, &results, &mut outcome)?;
    }
    if let Some(device) = &arguments.device {
        let saved = device_bench::saved(arguments, &wanted, &mut bench, &results);
        let saved = saved.map_err(|failure| failure.message);
        let price = arguments.price.unwrap_or_default();
        let of = (&wanted.traffic, &outcome.plan);
        outcome.device = Some(DeviceOutcome::of(device, saved, of, outcome.scale, price));
    }
    let machine = results.machine().map_err(Failure::measurement)?;
    outcome.links = LinkUse::all();
    outcome.cpu_quota = machine.as_ref().and_then(Machine::cpu_quota);
    outcome.name_what_is_missing(arguments);
    if !cells.has_ends(&rates) {
        let why = "too few of them end in a second for a trial to have them, so that the check has kept ones";
        outcome.not_measured.push(format!("new connections beside the rest: {why}"));
    }
    let is_interrupted = || interrupted.load(Ordering::Relaxed);
    if let Some(open) = arguments.open_connections.filter(|_| !is_interrupted()) {
        // With a process for each trial, and kept beside the others.
        let memory = results_in(results.folder(), "memory")?;
        let (lines, is_whole) = bench.measure(&cells.memory(open), &memory)?;
        if !is_whole {
            return Ok(Exit::Interrupted);
        }
        outcome.remember(open, &lines);
    }
    let file = serde_json::to_string_pretty(&Versioned { schema: json::PLAN, of: &outcome });
    let file = file.map_err(Failure::measurement)?;
    results.write_derived("plan.json", &file).map_err(Failure::measurement)?;
    let mut found = Found::read(&results)?;
    found.lead_with(page::shown(&outcome));
    results.write_derived("plan.html", &found.html()?).map_err(Failure::measurement)?;
    match arguments.json {
        true => json::print(json::PLAN, &outcome)?,
        false => {
            crate::print(&words::of(&outcome, arguments.verbose));
            let folder = results.folder().display();
            crate::print(&format!("Everything is in {folder}; plan.html shows it.\n"));
        }
    }
    if is_interrupted() {
        return Ok(Exit::Interrupted);
    }
    if !outcome.check.holds() {
        return Err(Failure::measurement("the plan did not stand its check"));
    }
    match outcome.latency.as_ref().filter(|latency| latency.result == Reached::NotMet) {
        Some(latency) => Err(Failure::new(Exit::NotMet, format!("not kept: {}", latency.limit))),
        None => Ok(Exit::Done),
    }
}

/// Says what is tried, and how long all takes, before it begins.
fn announce(tried: &Tried) {
    let no_time = match &*tried.no_time {
        [] => String::new(),
        changes => format!(" No time for: {} (--time).", changes.join("; ")),
    };
    crate::note(format_args!(
        "{} to come: {}.{no_time}",
        in_minutes(tried.takes),
        tried.names().join("; ")
    ));
}

/// Measures the best changes together, and the traffic with them.
fn combine(
    arguments: &Arguments,
    tried: &Tried,
    (cells, rates): (&mut Cells, &Rates),
    bench: &mut Bench<'_>,
    results: &Results,
    outcome: &mut PlanOutcome,
) -> Result<(), Failure> {
    let scale = outcome.scale;
    let Some(levers) = &mut outcome.levers else { return Ok(()) };
    let Some(combination) = Combination::choose(tried, levers, cells) else {
        levers.no_combination = Some("no change is shown to save anything".to_owned());
        return Ok(());
    };
    let results = results_in(results.folder(), "together")?;
    let measured = combination.measure(arguments, cells, rates, bench, &results);
    let found = measured.and_then(|(lines, is_whole)| match is_whole {
        true => combination.outcome(cells, scale, &lines),
        false => Err(Failure::measurement("it was interrupted")),
    });
    match found {
        Ok(together) => levers.together = Some(together),
        Err(failure) => levers.no_combination = Some(failure.message),
    }
    Ok(())
}
