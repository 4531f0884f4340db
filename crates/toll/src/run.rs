use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use cpus::CpuList;
use experiment::cells::{Event, ThisBench};
use experiment::{Ended, RunError};
use file::{LeftOut, StudyFile};
use journal::Results;
use observe::Machine;
use peers::Peer;
use study::Study;
use trial::Line;

use crate::findings::{self, Findings};
use crate::run_primitives::{self, Shown};
use crate::run_progress::RunProgress;
use crate::{Failure, dry_run, gates, interrupt, screen};

/// Run a study: start its servers, load them, and answer its question.
///
/// A study is a file that names servers, loads and what is swept; toll brings some along, `quick`
/// for a first look at this machine in about a minute. Servers run on this machine's loopback, are
/// started once, idle while another one is measured, and are stopped at the end. The trials of all
/// cells are interleaved, so that what drifts touches all alike.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The study: the name of a built-in one (quick), or a study file
    #[arg(required_unless_present = "continue_")]
    study: Option<String>,

    /// Folder in which the folder of this run's results is made
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,

    /// Go on with the run whose results are in this folder: measure what it lacks
    #[arg(long = "continue", id = "continue_", value_name = "DIR", conflicts_with_all = ["study", "out"])]
    continue_: Option<PathBuf>,

    /// Run only the cells that have this value: KEY=VALUE, with the whole key (load.suite) or its last
    /// part (suite), or case=NAME; or, with primitives=NAME, only that table of primitives. Given again for another key, both must fit; for the same key,
    /// either may
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "continue_")]
    only: Vec<String>,

    /// Measure each cell and each table of primitives so often, instead of as often as the study says
    #[arg(long, value_name = "N", conflicts_with = "continue_", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    trials: Option<u32>,

    /// Run the study in another size that its file has, such as quick; the report says what was cut
    #[arg(long, value_name = "NAME", conflicts_with = "continue_")]
    scale: Option<String>,

    /// Also make the load of each cell that the answers are about with this program (wrk, ab, h2load;
    /// handshakes with s_time), in turn with toll and in windows of the same length, and say whether
    /// the two agree and what limited each
    #[arg(long, value_name = "PROGRAM", conflicts_with = "continue_")]
    cross_check: Option<Peer>,

    /// Print the cells, the commands and the time that it would take, and do nothing
    #[arg(long, conflicts_with = "continue_")]
    dry_run: bool,

    /// Print each trial as a line of JSON when it ends, at the end each cross-check as a line too,
    /// and nothing else
    #[arg(long)]
    json: bool,

    /// Show no progress, only the answers
    #[arg(long)]
    quiet: bool,

    #[command(flatten)]
    gates: gates::Gates,
}

const EXAMPLES: &str = "\
Examples:
  toll run quick
      a first look at this machine
  toll run quick --dry-run
      what that would start and do
  toll run quick --cross-check wrk
      the same, and whether wrk finds what toll finds
  toll run my-study.toml --out /tmp/results --json | jq .rate_per_s
      a study of your own, for a program
  toll run --continue results/2026-11-21T20-51-34Z-quick
      go on after Ctrl-C, a crash or a reboot

A run leaves a folder such as results/2026-11-21T20-51-34Z-quick/ with report.html, cells.csv,
journal.jsonl (a line a trial, on disk when the trial ends), latency/ (HdrHistogram logs),
study.toml (the study as you wrote it), cells.json (all that it left open filled in), machine.json, targets.json, logs/ of the
servers, and targets/ with their configurations and certificates; their private keys are removed with
them. toll report DIR makes the report again.";

pub(crate) fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let interrupted = interrupt::flag()?;
    let allowed = CpuList::allowed()
        .map_err(|error| Failure::request(format!("cannot read the CPU affinity: {error}")))?;
    let (study, text, results) = match (&arguments.continue_, &arguments.study) {
        (Some(folder), _) => {
            let results = Results::open(folder).map_err(Failure::request)?;
            (findings::study(&results)?, None, Some(results))
        }
        (None, study) => {
            let name = study.as_deref().unwrap_or_default();
            let file = StudyFile::find(name).map_err(Failure::request)?;
            (arguments.study(&file, &allowed)?, Some(file.text), None)
        }
    };
    let (study, unchecked) = match arguments.cross_check {
        Some(peer) => file::with_cross_check(&study, peer).map_err(Failure::request)?,
        None => (study, Vec::new()),
    };
    arguments.gates.check(&study)?;
    if arguments.dry_run {
        crate::print(&dry_run::in_words(&study, &unchecked, &arguments.out));
        return Ok(ExitCode::SUCCESS);
    }
    let results = match results {
        Some(results) => results,
        None => Results::create(&arguments.out, &study.name, SystemTime::now())
            .map_err(Failure::request)?,
    };
    let _lock = results.lock().map_err(Failure::request)?;
    let is_new = text.is_some();
    let written =
        text.map_or(Ok(()), |text| results.write_study(&text, &study).map_err(RunError::from));
    let mut ran = 0;
    let ended = written
        .and_then(|()| arguments.measure(&study, &unchecked, &results, &interrupted, &mut ran));
    match ended {
        // Nothing was done, so nothing that was measured before is to be told again.
        Err(error) if ran == 0 => {
            let message = error.to_string();
            if is_new {
                results.remove_unless_log_named(&message);
            }
            Err(Failure::request(message))
        }
        ended => arguments.present(&study, &results, ended),
    }
}

impl Arguments {
    /// The study of this file, cut as the options say.
    fn study(&self, file: &StudyFile, allowed: &CpuList) -> Result<Study, Failure> {
        let mut study = file.read(allowed, self.scale.as_deref()).map_err(Failure::request)?;
        file::only(&mut study, &self.only).map_err(Failure::request)?;
        if let Some(trials) = self.trials {
            study.measure_so_often(trials);
        }
        Ok(study)
    }

    fn measure(
        &self,
        study: &Study,
        unchecked: &[LeftOut],
        results: &Results,
        interrupted: &AtomicBool,
        ran: &mut usize,
    ) -> Result<Ended, RunError> {
        let say = |text: String| self.say(&text);
        run_primitives::check(&study.primitives)?;
        write_machine(study, results)?;
        for note in dry_run::notes(study).into_iter().chain(dry_run::not_checked(unchecked)) {
            say(format!("Note: {note}."));
        }
        if !study.primitives.tables.is_empty() {
            say(format!("Forecast: {}.", run_primitives::forecast(&study.primitives)));
        }
        // The servers first: what they lack is told before minutes are spent.
        if !study.cells.is_empty() {
            match self.trials(study, results, interrupted, ran)? {
                Ended::Complete => {}
                Ended::Interrupted => return Ok(Ended::Interrupted),
            }
        }
        let shown = Shown { json: self.json, quiet: self.quiet };
        run_primitives::measure(&study.primitives, results, shown, interrupted, ran)
    }

    /// The trials of all cells.
    fn trials(
        &self,
        study: &Study,
        results: &Results,
        interrupted: &AtomicBool,
        ran: &mut usize,
    ) -> Result<Ended, RunError> {
        let say = |text: String| self.say(&text);
        let mut bench = ThisBench::new(study, results.folder().to_owned())
            .map_err(|error| RunError::Start(error.to_string()))?;
        if let Some(note) = bench.note() {
            say(format!("Note: {note}."));
        }
        say(format!("Forecast: {}.", dry_run::forecast(study.forecast())));
        let mut progress: Option<RunProgress> = None;
        let mut tell = |event: Event<'_>| match event {
            Event::Skipped(target) => {
                say(format!("Skipped: {}.", target.skipped.as_deref().unwrap_or_default()));
            }
            Event::Started(target) => say(format!(
                "{}: {} answers ({}).",
                target.name,
                target.version.as_deref().unwrap_or("the server"),
                target.settings
            )),
            Event::Begins { done, ahead } => {
                if done > 0 {
                    let to_come = dry_run::forecast(ahead);
                    say(format!("In the journal: {done} trials; to come: {to_come}."));
                }
                progress = Some(RunProgress::new(!self.quiet && !self.json));
            }
            Event::Progress { cell, role, ahead, moment } => {
                if let Some(progress) = &progress {
                    progress.show(cell, role, &ahead, &moment);
                }
            }
            Event::Impossible { cell, load, why } => {
                let note = || say(format!("Note: {} cannot go to {load}: {why}.", cell.name));
                match &progress {
                    Some(progress) => progress.beside(note),
                    None => note(),
                }
            }
            Event::Finished(line) => {
                *ran += 1;
                if let Some(progress) = &progress {
                    progress.beside(|| self.tell_of(line));
                }
            }
        };
        experiment::cells::run(study, results, &mut bench, interrupted, &mut tell)
    }

    fn say(&self, text: &str) {
        if !self.json && !self.quiet {
            crate::print(&screen::wrapped(&format!("{text}\n")));
        }
    }

    /// Of a trial that has ended: all of it for a program, only what is wrong for a person.
    fn tell_of(&self, line: &Line) {
        if self.json {
            // It cannot fail: the same line has just been written to the journal.
            if let Ok(text) = serde_json::to_string(line) {
                crate::print(&format!("{text}\n"));
            }
        } else if let Some(why) = line.why_invalid()
            && !self.quiet
        {
            let cell = line.place.as_ref().map_or("", |place| place.cell.as_str());
            crate::print(&format!("Not valid: a trial of {cell}: {why}.\n"));
        }
    }

    /// Writes the report of what was measured, however the run ended, and prints it.
    fn present(
        &self,
        study: &Study,
        results: &Results,
        ended: Result<Ended, RunError>,
    ) -> Result<ExitCode, Failure> {
        let findings = Findings::read(results)?;
        if findings.analysis.is_empty() {
            return match ended {
                Ok(Ended::Interrupted) => {
                    eprintln!(
                        "toll: interrupted before the first trial ended: nothing was measured"
                    );
                    Ok(ExitCode::from(interrupt::EXIT))
                }
                Ok(Ended::Complete) => Err(Failure::measurement("no trial was run")),
                Err(error) => Err(Failure::request(error)),
            };
        }
        // Printed first: a disk that is full takes the report, not the answers.
        let outcomes = self.gates.judge(study, &findings.analysis)?;
        let report = findings.write(results);
        if self.json {
            for check in &findings.analysis.cross_checks {
                let line = serde_json::json!({ "cross_check": check });
                crate::print(&format!("{line}\n"));
            }
            eprint!("{}", outcomes.in_words());
            eprintln!("toll: everything is in {}", results.folder().display());
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
            let gates = outcomes.in_words();
            crate::print(&format!("\n{words}\n{gates}{report}Everything is in {folder}{how}\n"));
        }
        if ended.is_ok() {
            report?;
        }
        match ended {
            Ok(Ended::Interrupted) => Ok(ExitCode::from(interrupt::EXIT)),
            Ok(Ended::Complete) if findings.is_whole() => {
                outcomes.failure().map(|()| ExitCode::SUCCESS)
            }
            Ok(Ended::Complete) => Err(Failure::measurement(format!(
                "not every trial is valid; toll run --continue {} measures those again",
                results.folder().display()
            ))),
            Err(error) => Err(Failure::measurement(format!(
                "{error}; what was measured before is in {}",
                results.folder().display()
            ))),
        }
    }
}

/// Writes what the machine is; where a run goes on, checks that it still is.
fn write_machine(study: &Study, results: &Results) -> Result<(), RunError> {
    let mut cpus = String::new();
    for cell in &study.cells {
        let server = cell.target.pinned_to().map(|cpus| format!("{cpus},"));
        cpus += &format!("{}{},", server.unwrap_or_default(), cell.load.cpus);
    }
    for table in &study.primitives.tables {
        cpus += &format!("{},", table.cpus);
    }
    let cpus = cpus
        .trim_end_matches(',')
        .parse::<CpuList>()
        .map_err(|error| RunError::Start(error.to_string()))?;
    let machine = Machine::read(&cpus);
    match results.machine()? {
        Some(earlier) => machine
            .difference(&earlier)
            .map_or(Ok(()), |difference| Err(RunError::MachineChanged(difference))),
        None => Ok(results.write_machine(&machine)?),
    }
}
