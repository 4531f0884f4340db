//! A study that includes others, such as `papers`: each is measured by itself, into a folder within that of the
//! whole. What cannot be measured here is left out with its reason.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cpus::Topology;
use experiment::{Ended, ErrorClass};
use file::StudyFile;
use journal::{Results, Unmeasured};
use study::Study;
use units::Nanos;

use super::arguments::{Arguments, PartOfRun, in_words};
use crate::gates::Outcomes;
use crate::parts::Parts;
use crate::studies::{self, time_of};
use crate::{Exit, Failure, outputs};

/// Runs the studies that a study includes; `file` is its file where it is a new run, and `results` its folder
/// where it is continued.
pub(super) fn run(
    arguments: &Arguments,
    study: &Study,
    file: Option<&StudyFile>,
    results: Option<Results>,
    (machine, interrupted): (&Topology, &AtomicBool),
) -> Result<Exit, Failure> {
    arguments.refuse_of_included()?;
    let scale = arguments.scale.as_deref();
    let included = file.map(|file| file.included(study, machine, scale)).transpose();
    let mut included = included.map_err(Failure::request)?.unwrap_or_default();
    included.iter_mut().for_each(|(_, study)| arguments.adjust(study));
    if arguments.dry_run {
        for (_, study) in &included {
            crate::print(&format!("{}\n", in_words(study, &[], arguments.out.as_deref())));
        }
        let time: Duration = included.iter().map(|(_, study)| time_of(study)).sum();
        crate::print(&format!("All of it takes {} at most.\n", words(time)));
        return Ok(Exit::Done);
    }
    let results = match results {
        Some(results) => results,
        None => outputs::folder(arguments.out.as_deref(), &study.name)?,
    };
    // By their names, which those of their folders are.
    let names = included.iter().map(|(_, study)| study.name.clone());
    let study = match file {
        Some(_) => Study { include: names.collect(), ..study.clone() },
        None => study.clone(),
    };
    let _lock = results.lock().map_err(Failure::request)?;
    if let Some(file) = file {
        results.write_study(&file.text, &study).map_err(Failure::request)?;
        for (file, study) in &included {
            let part = results.part(&study.name).map_err(Failure::request)?;
            part.write_study(&file.text, study).map_err(Failure::request)?;
        }
    }
    // What a run of all of it takes, where this is a shorter one.
    let whole = file.filter(|_| scale.is_some());
    let whole = whole.and_then(|file| studies::time(file, machine, None).ok());
    let parts = Parts::studies(&results, &study)?;
    let ended = measure(arguments, &parts, interrupted)?;
    let presented = present(arguments, &results, &study, &ended, whole);
    // Nothing of it has begun.
    if file.is_some() && matches!(&presented, Err(Failure { exit: Exit::Refused, .. })) {
        let parts: Vec<&Results> = parts.iter().map(|(_, part)| part).collect();
        results.remove_unless_logged(&parts);
    }
    presented
}

/// How the parts ended.
#[derive(Default)]
struct PartsEnded {
    is_interrupted: bool,
    /// Whether one was measured, whatever came of it.
    is_any_measured: bool,
    /// Whether one ended early. What cannot be measured here did not.
    is_any_failed: bool,
}

fn measure(
    arguments: &Arguments,
    parts: &[(Study, Results)],
    interrupted: &AtomicBool,
) -> Result<PartsEnded, Failure> {
    let mut ended = PartsEnded::default();
    for (place, (study, results)) in parts.iter().enumerate() {
        let name = format!("{} of {}, {}: ", place + 1, parts.len(), study.name);
        let later = parts[place + 1..].iter().map(|(study, _)| time_of(study)).sum();
        arguments.say(&format!("\n{name}{}", study.question));
        let part = PartOfRun { study, unchecked: &[], results, name: &name, later };
        let error = match arguments.measure(&part, interrupted) {
            Ok(Ended::Complete) => {
                ended.is_any_measured = true;
                continue;
            }
            Ok(Ended::Interrupted) => {
                ended.is_interrupted = true;
                break;
            }
            Err(error) => error,
        };
        let name = &study.name;
        let unmeasured = match error.class() {
            ErrorClass::Absent => {
                let words = format!("{name} is left out: {error}");
                match arguments.is_silent() {
                    true => crate::note(format_args!("{words}")),
                    false => arguments.say(&words),
                }
                Unmeasured::Absent(error.to_string())
            }
            class => {
                crate::note(format_args!("{name}: {error}"));
                ended.is_any_failed = true;
                ended.is_any_measured |= class == ErrorClass::Failed;
                Unmeasured::Failed { failed: error.to_string() }
            }
        };
        // What a report says where nothing of it is in the journal.
        results.write_unmeasured(&unmeasured).map_err(Failure::request)?;
    }
    Ok(ended)
}

/// Writes the reports of what was measured, and prints what became of the claims.
fn present(
    arguments: &Arguments,
    results: &Results,
    study: &Study,
    ended: &PartsEnded,
    whole: Option<Duration>,
) -> Result<Exit, Failure> {
    let parts = Parts::read(results, study)?;
    let folder = results.folder().display();
    if parts.is_empty() {
        if ended.is_interrupted {
            crate::note("interrupted before the first trial ended: nothing was measured");
            return Ok(Exit::Interrupted);
        }
        let exit = if ended.is_any_measured { Exit::Failed } else { Exit::Refused };
        let why = parts.left_out().join("; ");
        let words = format!("nothing of {} can be measured here: {why}", study.name);
        return Err(Failure::new(exit, words));
    }
    // Printed first: a disk that is full takes the report, not the answers.
    if arguments.json {
        crate::note(format_args!("everything is in {folder}"));
    } else {
        let whole = whole.map_or(String::new(), |time| {
            format!("The whole of it (without --scale) takes {} here.\n", words(time))
        });
        let how = match ended.is_interrupted {
            true => format!("\nInterrupted. To measure the rest: toll run --continue {folder}"),
            false => String::new(),
        };
        crate::print(&format!("\n{}\n{whole}Everything is in {folder}{how}\n", parts.in_words()));
    }
    let report = parts.write(results)?;
    if !arguments.json {
        crate::print(&format!("Report: {}\n", report.display()));
    }
    if ended.is_interrupted {
        return Ok(Exit::Interrupted);
    }
    let lacking = parts.lacking(results.folder());
    if let Some(broken) = parts.broken {
        return Err(broken);
    }
    if ended.is_any_failed && !ended.is_any_measured {
        return Err(Failure::request(format!("none of {} could begin", study.name)));
    }
    if ended.is_any_failed && lacking.is_empty() {
        return Err(Failure::measurement(format!(
            "not every study was measured; toll run --continue {folder} measures the rest"
        )));
    }
    Outcomes::default().end(false, &lacking)
}

fn words(time: Duration) -> Nanos {
    Nanos(time.as_secs().max(1) * 1_000_000_000)
}
