//! `toll plan`: how many cores traffic needs, checked by the traffic itself.

mod arguments;
mod cells;
mod document;
mod energy;
mod latency;
mod log;
mod memory;
mod outcome;
mod page;
mod parts;
mod percent;
mod rounds;
mod scaling;
mod traffic;
mod words;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use answer::gate::Reached;
use experiment::{Ended, Event};
use journal::{Results, TrialLine};
use observe::Machine;
use study::Study;

use crate::json::Versioned;
use crate::outputs::{self, Found};
use crate::progress::RunProgress;
use crate::{Exit, Failure, interrupt, json};
pub(crate) use arguments::Arguments;
use cells::{CORRECTIONS, Cells, Window};
use outcome::LinkUse;
use traffic::PlannedTraffic;

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
    main(&Arguments { json, verbose, out: out.map(Path::to_owned), ..plan })
}

pub(crate) fn main(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(path) = &arguments.file {
        let text = std::fs::read_to_string(path);
        let name = path.display().to_string();
        let text = text.map_err(|error| Failure::request(format!("{name}: {error}")))?;
        let Arguments { json, verbose, .. } = *arguments;
        return of_file(&name, &text, arguments.out.as_deref(), (json, verbose));
    }
    let interrupted = interrupt::flag()?;
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
    let folder = tempfile::tempdir().map_err(Failure::request)?;
    let pilot = |number: usize, study: &str, cells: &mut Cells| {
        let results = results_in(folder.path(), &format!("pilot-{number}"))?;
        let lines = measure(study, &results, arguments.json, &interrupted)?;
        lines.map(|lines| cells.rates(&lines)).transpose()
    };
    let mut rates = pilot(0, &cells.closed_loop(), &mut cells)?;
    for (number, trials) in (1..).zip(CORRECTIONS) {
        let Some(found) = rates else { break };
        rates = pilot(number, &cells.open_loop(&Window::Pilot, trials, &found), &mut cells)?;
    }
    let Some(rates) = rates else { return Ok(Exit::Interrupted) };
    let results = outputs::folder(arguments.out.as_deref(), "plan")?;
    let study = cells.open_loop(&Window::Measured, arguments.trials, &rates);
    let lines = measure(&study, &results, arguments.json, &interrupted)?;
    let Some(lines) = lines else {
        let folder = results.folder().display();
        crate::note(format_args!(
            "interrupted; toll run --continue {folder} measures the rest of its cells"
        ));
        return Ok(Exit::Interrupted);
    };
    let several = cells.several_cores(arguments.trials, &rates);
    let mut on_several = Vec::new();
    if of_plan(&several)?.cells.len() > 1 {
        let results = results_in(results.folder(), "cores")?;
        match measure(&several, &results, arguments.json, &interrupted)? {
            Some(lines) => on_several = lines,
            None => return Ok(Exit::Interrupted),
        }
    }
    let mut outcome = rounds::outcome(arguments, &wanted, &cells, &lines, &on_several)?;
    let machine = results.machine().map_err(Failure::measurement)?;
    outcome.links = LinkUse::all();
    outcome.cpu_quota = machine.as_ref().and_then(Machine::cpu_quota);
    outcome.name_what_is_missing(arguments);
    if !cells.has_ends(&rates) {
        let why = "too few of them end in a second for a trial to have them, so that the check has kept ones";
        outcome.not_measured.push(format!("new connections beside the rest: {why}"));
    }
    if let Some(open) = arguments.open_connections {
        // With a process for each trial, and kept beside the others.
        let memory = results_in(results.folder(), "memory")?;
        let lines = measure(&cells.memory(open), &memory, arguments.json, &interrupted)?;
        let Some(lines) = lines else { return Ok(Exit::Interrupted) };
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
    if !outcome.check.holds() {
        return Err(Failure::measurement("the plan did not stand its check"));
    }
    match outcome.latency.as_ref().filter(|latency| latency.result == Reached::NotMet) {
        Some(latency) => Err(Failure::new(Exit::NotMet, format!("not kept: {}", latency.limit))),
        None => Ok(Exit::Done),
    }
}

fn results_in(parent: &Path, name: &str) -> Result<Results, Failure> {
    Results::create(parent, name, SystemTime::now()).map_err(Failure::request)
}

fn of_plan(text: &str) -> Result<Study, Failure> {
    file::parse("plan.toml", text, &crate::topology()?, None).map_err(Failure::request)
}

/// Measures a study; its trials, or `None` where it was interrupted.
fn measure(
    text: &str,
    results: &Results,
    is_silent: bool,
    interrupted: &AtomicBool,
) -> Result<Option<Vec<TrialLine>>, Failure> {
    let study = of_plan(text)?;
    let _lock = results.lock().map_err(Failure::request)?;
    results.write_study(text, &study).map_err(Failure::measurement)?;
    let experiments = experiment::of(&study);
    crate::machine::write(&experiments, results)?;
    for experiment in experiments {
        experiment.check()?;
        let mut progress = RunProgress::new(!is_silent);
        let mut tell = |event: Event<'_>| match event {
            Event::Lacks(text) => progress.beside(|| crate::note(text)),
            Event::Progress { left, words } => progress.show(left, words),
            Event::Says(_) | Event::Started(_) | Event::Finished { .. } => {}
        };
        if experiment.run(results, interrupted, &mut tell)? == Ended::Interrupted {
            return Ok(None);
        }
    }
    Ok(Some(results.entries().map_err(Failure::measurement)?.trials))
}
