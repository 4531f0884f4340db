//! What `toll run` is asked for, and what that makes of a study: how it is cut, how its cells are measured, and what a
//! dry run says of it.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cpus::Topology;
use experiment::{DryRun, Ended, Event, Experiment, RunError};
use file::{LeftOut, StudyFile};
use journal::{Entry, Results};
use keys::Suggested;
use peers::Peer;
use study::{Profiling, Study};

use crate::exports::Exports;
use crate::progress::RunProgress;
use crate::{Failure, LOAD, OUTPUT, TARGET, gates, json, machine, outputs, screen};

/// Run a study: start its servers, load them, and answer its question.
///
/// A study is a file that names servers, loads and the settings to sweep. Some are built in, such as
/// `quick`, a first look at this machine in about a minute. Servers run on this machine's loopback,
/// are restarted each round, idle while another one is measured, and are stopped at the end. The
/// trials of all cells (combinations of settings) are interleaved, so that drift affects all alike.
#[derive(Default, clap::Args)]
#[command(after_long_help = EXAMPLES, after_help = crate::MORE)]
pub(crate) struct Arguments {
    /// The study: the name of a built-in one (quick), or a study file
    #[arg(
        required_unless_present_any = ["continue_", "list", "new"],
        value_parser = Suggested::<String>::new(study_names),
        hide_possible_values = true,
        help_heading = TARGET,
    )]
    pub(crate) study: Option<String>,

    /// List the built-in studies: the question of each, and how long it takes here
    #[arg(long, conflicts_with_all = ["study", "continue_"], help_heading = TARGET)]
    pub(crate) list: bool,

    /// Write a study to change into this file, with comments, and do nothing else
    #[arg(long, value_name = "FILE", conflicts_with_all = ["study", "continue_", "list"], help_heading = TARGET)]
    pub(crate) new: Option<PathBuf>,

    /// The folder of this run's results
    ///
    /// A folder that is there already, and is no run, keeps runs by time and study. An earlier run of that name is
    /// kept beside it, with the time in its name [default: results/TIME-STUDY].
    #[arg(help_heading = OUTPUT, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Continue the run whose results are in this folder: measure what is missing
    #[arg(help_heading = TARGET, long = "continue", id = "continue_", value_name = "DIR", conflicts_with_all = ["study", "out"])]
    pub(crate) continue_: Option<PathBuf>,

    /// Run only the cells that have this value, such as suite=NAME or case=NAME
    ///
    /// The key is whole (load.suite) or its last part (suite). With primitives=NAME, only that table
    /// of primitives. Repeatable: a cell must have one of the values given for each key.
    #[arg(
        long,
        value_name = "KEY=VALUE",
        conflicts_with = "continue_",
        value_parser = Suggested::<String>::new(parts),
        hide_possible_values = true,
        help_heading = TARGET,
    )]
    pub(crate) only: Vec<String>,

    /// Give each case these values of a key too, in turns, and compare them
    ///
    /// KEY is whole, such as target.library-path=/opt/old/lib,/opt/new/lib. Each cell is measured with each
    /// value, and an answer compares them with the first, from trials of the same rounds;
    /// --gate 'KEY:regression<=5%' judges that. Repeatable.
    #[arg(
        help_heading = TARGET,
        long,
        value_name = "KEY=V1,V2",
        conflicts_with = "continue_",
    )]
    pub(crate) vary: Vec<String>,

    /// How many times to measure each cell, instead of the study's number
    #[arg(help_heading = LOAD, long, value_name = "N", conflicts_with = "continue_", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) trials: Option<u32>,

    /// Run the study at one of the scales in its file, such as quick
    #[arg(help_heading = LOAD, long, value_name = "NAME", conflicts_with = "continue_")]
    pub(crate) scale: Option<String>,

    /// Also load with wrk, ab or h2load, and show whether the two agree
    ///
    /// The load of each cell in the answers is repeated with that program (handshakes with s_time), in
    /// turn with toll and in windows of the same length. The report shows what limited each.
    #[arg(help_heading = LOAD, hide_possible_values = true, long, value_name = "PROGRAM", conflicts_with = "continue_")]
    pub(crate) cross_check: Option<Peer>,

    /// Also sample where the servers' CPU time goes, with perf
    ///
    /// In a trial of its own for each cell, after all others; needs perf, and root or
    /// kernel.perf_event_paranoid=0. A study asks for the same with profile = true.
    #[arg(help_heading = LOAD, long, conflicts_with = "continue_")]
    pub(crate) profile: bool,

    /// Your own rules that sort functions into classes of work, tried before toll's
    #[arg(help_heading = LOAD, long, value_name = "FILE", requires = "profile")]
    pub(crate) profile_rules: Option<PathBuf>,

    /// Print the cells, the commands and the time that the run would take, and do nothing
    #[arg(help_heading = OUTPUT, long, conflicts_with = "continue_")]
    pub(crate) dry_run: bool,

    /// Print each trial as a line of JSON when it ends, and nothing else
    ///
    /// At the end each cross-check is a line too. With --list, the list is one JSON object.
    #[arg(help_heading = OUTPUT, long)]
    pub(crate) json: bool,

    /// Show no progress, only the answers
    #[arg(help_heading = OUTPUT, long)]
    pub(crate) quiet: bool,

    /// Also show each server that is started, with its version and settings
    #[arg(help_heading = OUTPUT, short, long)]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) gates: gates::Gates,

    #[command(flatten)]
    pub(crate) exports: Exports,
}

/// What is measured at once: a study, or one of those that a study includes.
#[derive(Clone, Copy)]
pub(super) struct PartOfRun<'a> {
    pub(super) study: &'a Study,
    pub(super) unchecked: &'a [LeftOut],
    pub(super) results: &'a Results,
    /// Which of several it is, before what it does.
    pub(super) name: &'a str,
    /// How long those after it take.
    pub(super) later: Duration,
}

impl<'a> PartOfRun<'a> {
    pub(super) fn alone(study: &'a Study, unchecked: &'a [LeftOut], results: &'a Results) -> Self {
        Self { study, unchecked, results, name: "", later: Duration::ZERO }
    }
}

/// What completion offers.
fn study_names() -> Vec<String> {
    file::shipped().into_iter().map(|(name, _)| name.to_owned()).collect()
}

/// What completion offers: the servers.
fn parts() -> Vec<String> {
    targets::SERVERS.iter().map(|server| format!("server={}", server.name())).collect()
}

const EXAMPLES: &str = "\
Examples:
  toll run --list
      the built-in studies, and how long each takes here
  toll run quick
      a first look at this machine
  toll run quick --dry-run
      what that would start, and how long it would take
  toll run quick --cross-check wrk
      the same, and whether wrk measures the same
  toll run --new my-study.toml
      writes a study of two cells, to change
  toll run my-study.toml --out /tmp/results --json | jq .rate_per_s
      a study of your own, for a program
  toll run my-study.toml --vary target.library=openssl,rustls-ring --gate 'target.library:regression<=5%'
      the same with two libraries in turns; exits with 1 if the second is worse by more than 5% in a cell
  toll run papers --scale quick
      the five published measurements, and whether their claims hold here
  toll run --continue results/2026-11-21T20-51-34Z-quick
      continue after Ctrl-C, a crash or a reboot

A run leaves a folder such as results/2026-11-21T20-51-34Z-quick/ with report.html, cells.csv,
journal.jsonl (one line per trial, on disk when the trial ends), latency/ (HdrHistogram logs),
study.toml (the study as you wrote it, and a [[vary]] for each --vary; session-1.toml is a copy of
its session file), cells.json (with every setting filled in), machine.json, targets.json, logs/ of
the servers, and targets/ with their configurations and certificates; their private keys are
removed with them. toll report DIR makes the report again.";

impl Arguments {
    /// The study of this file, cut as the options say.
    pub(super) fn study(&self, file: &StudyFile, machine: &Topology) -> Result<Study, Failure> {
        let mut study = file.read(machine, self.scale.as_deref()).map_err(Failure::request)?;
        if study.include.is_empty() {
            file::only(&mut study, &self.only).map_err(Failure::request)?;
        }
        self.adjust(&mut study);
        Ok(study)
    }

    /// What the options say of any study.
    pub(super) fn adjust(&self, study: &mut Study) {
        if self.profile {
            study.profile = Some(Profiling { rules: self.profile_rules.clone() });
        }
        if let Some(trials) = self.trials {
            study.set_trials(trials);
        }
    }

    /// Refuses options that are about the cells of one study.
    pub(super) fn refuse_of_included(&self) -> Result<(), Failure> {
        let refused = [
            ("--only", !self.only.is_empty()),
            ("--cross-check", self.cross_check.is_some()),
            ("--gate", !self.gates.is_empty()),
            ("--markdown, --junit or --benchmark-json", !self.exports.is_empty()),
        ];
        match refused.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Failure::request(format!(
                "{option} is about the cells of one study, and this one includes others; run that study by \
                 itself"
            ))),
            None => Ok(()),
        }
    }

    /// Measures what the journal lacks.
    pub(super) fn measure(
        &self,
        part: &PartOfRun<'_>,
        interrupted: &AtomicBool,
    ) -> Result<Ended, RunError> {
        let PartOfRun { study, unchecked, results, name, later } = *part;
        let experiments = experiment::of(study);
        experiments.iter().try_for_each(|experiment| experiment.check())?;
        machine::write(&experiments, results)?;
        for note in notes(&experiments, unchecked) {
            self.say(&format!("Note: {note}."));
        }
        // It takes a second, which nobody is to wait for who does not see what comes of it.
        let noise = if self.is_silent() { Vec::new() } else { check::noise() };
        let seen: Vec<&str> = noise.iter().map(|item| item.seen.as_str()).collect();
        if !seen.is_empty() {
            self.say(&format!(
                "Note: this machine is noisy now: {}. Figures are more reliable once that ends.",
                seen.join("; ")
            ));
        }
        for experiment in &experiments {
            self.say(&format!("Forecast: {}.", experiment.forecast()));
        }
        for (place, experiment) in experiments.iter().enumerate() {
            let mut progress = RunProgress::new(!self.is_silent());
            let mut tell = |event: Event<'_>| match event {
                Event::Says(text) => progress.beside(|| self.say(&text)),
                Event::Started(text) if self.verbose => progress.beside(|| self.say(&text)),
                Event::Started(_) => {}
                Event::Lacks(text) if self.is_silent() => crate::note(text),
                Event::Lacks(text) => progress.beside(|| self.say(&text)),
                Event::Progress { left, words } => progress.show(left + later, &|| {
                    let (parts, doing) = words();
                    (format!("{name}{parts}"), doing)
                }),
                Event::Finished { entries, wrong } => {
                    for entry in entries {
                        if let Entry::Trial(trial) = entry {
                            progress.note(&trial.line);
                        }
                    }
                    progress.beside(|| match self.json {
                        // It cannot fail: the same lines have just been written to the journal.
                        true => entries.iter().for_each(|entry| drop(json::print_line(entry))),
                        false => wrong.iter().for_each(|text| self.say(text)),
                    });
                }
            };
            match experiment.run(results, interrupted, &mut tell) {
                Ok(Ended::Complete) => {}
                Err(error) if place > 0 => return Err(RunError::AfterOthers(Box::new(error))),
                ended => return ended,
            }
        }
        Ok(Ended::Complete)
    }

    /// Whether it says nothing while it measures.
    pub(super) fn is_silent(&self) -> bool {
        self.quiet || self.prints_no_words()
    }

    /// Whether stdout is for a program.
    pub(super) fn prints_no_words(&self) -> bool {
        self.json || self.exports.take_stdout()
    }

    /// Beside the answers: a forecast, a note.
    pub(super) fn say(&self, text: &str) {
        if !self.is_silent() {
            crate::print_beside(screen::wrapped(&format!("{text}\n")));
        }
    }
}

/// What a run would do, for a person.
pub(super) fn in_words(study: &Study, unchecked: &[LeftOut], out: Option<&Path>) -> String {
    let experiments = experiment::of(study);
    let folder = outputs::planned_folder(out, &study.name);
    let plans: Vec<DryRun> = experiments.iter().map(|of| of.plan(&folder)).collect();
    let summaries: Vec<&str> = plans.iter().map(|plan| plan.summary.as_str()).collect();
    let mut text =
        format!("{}\n\n{}. Nothing was started.\n\n", study.question, summaries.join("; and "));
    for note in study
        .cut
        .iter()
        .map(|cut| format!("cut: {}", cut.what))
        .chain(notes(&experiments, unchecked))
    {
        text += &format!("Note: {note}.\n");
    }
    for part in plans.iter().flat_map(|plan| &plan.parts) {
        text += &format!("  {part}\n");
    }
    for DryRun { heading, commands, .. } in plans {
        text += &format!("\n{heading}:\n");
        text.extend(commands.iter().map(|command| format!("  {command}\n")));
    }
    text
}

/// What keeps a study from answering well, however it is measured. What was cut from it, its report says.
fn notes(experiments: &[Box<dyn Experiment + '_>], unchecked: &[LeftOut]) -> Vec<String> {
    let unchecked =
        unchecked.iter().map(|LeftOut { cell, why }| format!("{cell} is not cross-checked: {why}"));
    experiments.iter().flat_map(|of| of.notes()).chain(unchecked).collect()
}
