//! The command `run`.

mod arguments;
mod included;

use std::sync::atomic::AtomicBool;

use answer::compare::{ComparedRun, Comparison};
use cpus::Topology;
use experiment::{Ended, ErrorClass, RunError};
use file::StudyFile;
use journal::Results;
use peers::Peer;
use study::Study;

pub(crate) use arguments::Arguments;
use arguments::{PartOfRun, in_words};

use crate::outputs::{self, Found};
use crate::{Exit, Failure, interrupt, json, plan, screen, studies};

pub(crate) fn main(arguments: &Arguments) -> Result<Exit, Failure> {
    let interrupted = interrupt::flag()?;
    let machine = crate::topology()?;
    if arguments.list {
        studies::list(&machine, arguments.json)?;
        return Ok(Exit::Done);
    }
    if let Some(path) = &arguments.new {
        return studies::write_new(path);
    }
    arguments.exports.check(arguments.json.then_some("--json"))?;
    let (study, file, results) = match (&arguments.continue_, &arguments.study) {
        (Some(folder), _) => {
            let results = Results::open(folder).map_err(Failure::request)?;
            (outputs::study(&results)?, None, Some(results))
        }
        (None, study) => {
            let name = study.as_deref().unwrap_or_default();
            let file = StudyFile::find(name).map_err(Failure::request)?;
            if plan::is_in(&file.text) {
                arguments.check_for_a_plan(name)?;
                let how = (arguments.json, arguments.verbose);
                return plan::of_file(name, &file.text, arguments.out.as_deref(), how);
            }
            let file = file.varied(&machine, arguments.scale.as_deref(), &arguments.vary);
            let file = file.map_err(Failure::request)?;
            (arguments.study(&file, &machine)?, Some(file), None)
        }
    };
    measured(arguments, study, file.as_ref(), results, None, (&machine, &interrupted))
}

/// Runs the study of a load that is kept, and compares it with an earlier run.
pub(crate) fn of_load(
    arguments: &Arguments,
    file: &StudyFile,
    earlier: Option<&ComparedRun>,
) -> Result<Exit, Failure> {
    let interrupted = interrupt::flag()?;
    let machine = crate::topology()?;
    arguments.exports.check(arguments.json.then_some("--json"))?;
    let study = arguments.study(file, &machine)?;
    measured(arguments, study, Some(file), None, earlier, (&machine, &interrupted))
}

/// Measures a study and presents it. `file` is its file where it is a new run, and `results` its folder where it is
/// continued.
fn measured(
    arguments: &Arguments,
    study: Study,
    file: Option<&StudyFile>,
    results: Option<Results>,
    earlier: Option<&ComparedRun>,
    (machine, interrupted): (&Topology, &AtomicBool),
) -> Result<Exit, Failure> {
    if !study.include.is_empty() {
        return included::run(arguments, &study, file, results, (machine, interrupted));
    }
    let own = study.cells.len();
    let (mut study, unchecked) = match arguments.cross_check {
        Some(peer) => file::with_cross_check(&study, peer).map_err(Failure::request)?,
        None => (study, Vec::new()),
    };
    arguments.gates.check(&study, earlier.is_some())?;
    if file.is_some() {
        arguments.gates.settle(&mut study);
    }
    arguments.exports.check_of(&study, !arguments.gates.is_empty())?;
    if arguments.dry_run {
        crate::print(&in_words(&study, &unchecked, arguments.out.as_deref()));
        return Ok(Exit::Done);
    }
    // A client of the study that is not installed is left out, but not one of the command line.
    let mut clients = study.cells[own..].iter().filter_map(|cell| Peer::of(cell.load.client));
    clients.try_for_each(|peer| peers::find(peer).map(drop)).map_err(Failure::request)?;
    let results = match results {
        Some(results) => results,
        None => outputs::folder(arguments.out.as_deref(), &study.name)?,
    };
    let _lock = results.lock().map_err(Failure::request)?;
    let is_new = file.is_some();
    let written =
        file.map_or(Ok(()), |file| results.write_study(&file.text, &study).map_err(RunError::from));
    let part = PartOfRun::alone(&study, &unchecked, &results);
    let ended = written.and_then(|()| arguments.measure(&part, interrupted));
    let found = match &ended {
        // Nothing was done, so nothing that was measured before is to be told again.
        Err(error) if error.class() != ErrorClass::Failed => None,
        _ => Some(Found::read(&results)?).filter(|found| !found.is_empty()),
    };
    match (found, ended) {
        (Some(found), ended) => arguments.present(&results, &found, earlier, ended),
        (None, Ok(Ended::Interrupted)) => {
            crate::note("interrupted before the first trial ended: nothing was measured");
            Ok(Exit::Interrupted)
        }
        (None, Ok(Ended::Complete)) => Err(Failure::measurement("no trial was run")),
        (None, Err(error)) => {
            if is_new {
                results.remove_unless_logged(&[]);
            }
            Err(error.into())
        }
    }
}

impl Arguments {
    /// A plan has cells of its own, which are neither cut nor judged.
    fn check_for_a_plan(&self, name: &str) -> Result<(), Failure> {
        let is_plain = self.only.is_empty()
            && self.vary.is_empty()
            && self.trials.is_none()
            && self.scale.is_none()
            && self.cross_check.is_none()
            && !(self.profile || self.dry_run)
            && self.gates.is_empty()
            && self.exports.is_empty();
        let what = format!("{name} has a plan: only --out, --json and --quiet go with it");
        if is_plain { Ok(()) } else { Err(Failure::request(what)) }
    }

    /// Writes the report of what was measured, however the run ended, and prints it.
    fn present(
        &self,
        results: &Results,
        findings: &Found,
        earlier: Option<&ComparedRun>,
        ended: Result<Ended, RunError>,
    ) -> Result<Exit, Failure> {
        // Printed first: a disk that is full takes the report, not the answers.
        let comparison = earlier.map(|earlier| Comparison::of(earlier, &findings.run, &[]));
        let outcomes = match &comparison {
            Some(comparison) => self.gates.judge_later(findings, comparison)?,
            None => self.gates.judge(findings)?,
        };
        let report = findings.write(results);
        if self.json {
            for check in &findings.run.analysis.cross_checks {
                json::print_line(&serde_json::json!({ "cross_check": check }))?;
            }
        }
        if self.prints_no_words() {
            crate::print_beside(outcomes.in_words());
            crate::note(format_args!("everything is in {}", results.folder().display()));
        } else {
            let folder = results.folder().display();
            let how = match ended {
                Ok(Ended::Interrupted) => {
                    format!("\nInterrupted. To measure the rest: toll run --continue {folder}")
                }
                _ => String::new(),
            };
            let report = match &report {
                Ok(path) => format!("Report: {}\n", path.display()),
                Err(_) => String::new(),
            };
            let words = findings.in_words();
            let compared = comparison.as_ref().map_or_else(String::new, |comparison| {
                format!("{}\n", report::comparison(comparison, screen::width(), screen::style()))
            });
            let gates = outcomes.in_words();
            crate::print(&format!(
                "\n{compared}{words}\n{gates}{report}Everything is in {folder}{how}\n"
            ));
        }
        let exported = findings.export(&self.exports, outcomes.all());
        match ended {
            Ok(_) => {
                report?;
                exported?;
            }
            // The reason why the run ended is the last line.
            Err(_) => exported.unwrap_or_else(|failure| crate::note(failure.message)),
        }
        match ended {
            Ok(ended) => outcomes
                .end(ended == Ended::Interrupted, findings.lacking(results.folder()).as_slice()),
            Err(error) => Err(Failure::new(
                error.class().into(),
                format!("{error}; what was measured before is in {}", results.folder().display()),
            )),
        }
    }
}
