//! A study that includes others, such as `papers`: each is measured by itself, into a folder within that of the
//! whole. What cannot be measured here is left out with its reason.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use cpus::Topology;
use experiment::{Ended, RunError};
use file::StudyFile;
use journal::Results;
use study::Study;
use units::Nanos;

use super::{Arguments, Part, in_words};
use crate::parts::Parts;
use crate::studies::{self, time_of};
use crate::{Failure, interrupt};

/// Runs the studies that a study includes; `file` is its file where it is a new run, and `results` its folder
/// where it is continued.
pub(super) fn run(
    arguments: &Arguments,
    study: &Study,
    file: Option<&StudyFile>,
    results: Option<Results>,
    (machine, interrupted): (&Topology, &AtomicBool),
) -> Result<ExitCode, Failure> {
    arguments.refuse_of_included()?;
    let scale = arguments.scale.as_deref();
    let included = file.map(|file| file.included(study, machine, scale)).transpose();
    let mut included = included.map_err(Failure::request)?.unwrap_or_default();
    included.iter_mut().for_each(|(_, study)| arguments.adjust(study));
    if arguments.dry_run {
        for (_, study) in &included {
            crate::print(&format!("{}\n", in_words(study, &[], &arguments.out)));
        }
        let time: Duration = included.iter().map(|(_, study)| time_of(study)).sum();
        crate::print(&format!("All of it takes {} at most.\n", words(time)));
        return Ok(ExitCode::SUCCESS);
    }
    let results = match results {
        Some(results) => results,
        None => Results::create(&arguments.out, &study.name, SystemTime::now())
            .map_err(Failure::request)?,
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
    present(arguments, &results, &study, &ended, whole)
}

/// How the parts ended.
#[derive(Default)]
struct PartsEnded {
    is_interrupted: bool,
    /// What ended early, and why.
    failed: Vec<String>,
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
        let mut ran = 0;
        let part = Part { study, unchecked: &[], results, name: &name, later };
        match arguments.measure(&part, interrupted, &mut ran) {
            Ok(Ended::Complete) => {}
            Ok(Ended::Interrupted) => {
                ended.is_interrupted = true;
                break;
            }
            Err(error) if ran == 0 => leave_out(arguments, study, results, &error)?,
            Err(error) => {
                eprintln!("toll: {}: {error}", study.name);
                ended.failed.push(study.name.clone());
            }
        }
    }
    Ok(ended)
}

/// Goes on without a study of which nothing can be measured here.
fn leave_out(
    arguments: &Arguments,
    study: &Study,
    results: &Results,
    error: &RunError,
) -> Result<(), Failure> {
    let sentence = format!("{} is left out: {error}", study.name);
    match arguments.is_silent() {
        true => eprintln!("toll: {sentence}"),
        false => arguments.say(&sentence),
    }
    results.write_left_out(&error.to_string()).map_err(Failure::request)
}

/// Writes the reports of what was measured, and prints what became of the claims.
fn present(
    arguments: &Arguments,
    results: &Results,
    study: &Study,
    ended: &PartsEnded,
    whole: Option<Duration>,
) -> Result<ExitCode, Failure> {
    let parts = Parts::read(results, study)?;
    let folder = results.folder().display();
    if parts.is_empty() {
        if ended.is_interrupted {
            eprintln!("toll: interrupted before the first trial ended: nothing was measured");
            return Ok(ExitCode::from(interrupt::EXIT));
        }
        return Err(Failure::request(format!(
            "nothing of {} can be measured here: {}",
            study.name,
            parts.left_out().join("; ")
        )));
    }
    // Printed first: a disk that is full takes the report, not the answers.
    if arguments.json {
        eprintln!("toll: everything is in {folder}");
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
    match &ended.failed[..] {
        _ if ended.is_interrupted => Ok(ExitCode::from(interrupt::EXIT)),
        [] if parts.is_whole() => Ok(ExitCode::SUCCESS),
        _ => Err(Failure::measurement(format!(
            "not every trial was run and is valid; toll run --continue {folder} measures those again"
        ))),
    }
}

fn words(time: Duration) -> Nanos {
    Nanos(time.as_secs().max(1) * 1_000_000_000)
}
