//! The built-in studies: what each asks, and how long it takes here.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

use cpus::Topology;
use file::{StudyError, StudyFile};
use serde::Serialize;
use study::Study;
use units::Nanos;

use crate::{Exit, Failure, json, screen};

/// A built-in study on this machine.
#[derive(Serialize)]
struct Listed {
    study: &'static str,
    question: String,
    /// As it is, then in each of its scales.
    forms: Vec<StudySize>,
}

/// A study in one size.
#[derive(Serialize)]
struct StudySize {
    /// The name for `--scale`; absent of the whole study.
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<String>,
    /// At most, by the forecast of a dry run; absent where it cannot be run here.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<u64>,
    /// Why it cannot be run here.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<String>,
}

/// Writes a study to change; a file that is there is not replaced.
pub(crate) fn write_new(path: &Path) -> Result<Exit, Failure> {
    let written = File::create_new(path).and_then(|mut file| file.write_all(file::NEW.as_bytes()));
    written.map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::AlreadyExists => "; give the name of a new file",
            _ => "",
        };
        Failure::request(format!("--new: {}: {error}{advice}", path.display()))
    })?;
    let path = path.display();
    crate::print(&format!(
        "{path} has a study of two cells. Change it, and try it: toll run --dry-run {path}\n"
    ));
    Ok(Exit::Done)
}

/// Prints all of them, for a person or as one JSON object.
pub(crate) fn list(machine: &Topology, is_json: bool) -> Result<(), Failure> {
    let listed: Result<Vec<Listed>, StudyError> = file::shipped()
        .into_iter()
        .map(|(study, question)| Ok(Listed { study, question, forms: forms(study, machine)? }))
        .collect();
    let listed = listed.map_err(Failure::request)?;
    match is_json {
        true => json::print(json::STUDIES, &serde_json::json!({ "studies": listed }))?,
        false => crate::print(&in_words(&listed, screen::width())),
    }
    Ok(())
}

fn forms(study: &str, machine: &Topology) -> Result<Vec<StudySize>, StudyError> {
    let file = StudyFile::find(study)?;
    let scales = file.scales().into_iter().map(Some);
    let form = |scale: Option<String>| match time(&file, machine, scale.as_deref()) {
        Ok(time) => StudySize { scale, seconds: Some(time.as_secs().max(1)), why_not: None },
        Err(why) => StudySize { scale, seconds: None, why_not: Some(why.to_string()) },
    };
    Ok(std::iter::once(None).chain(scales).map(form).collect())
}

/// The longest that a study may take at a scale, with all that it includes.
pub(crate) fn time(
    file: &StudyFile,
    machine: &Topology,
    scale: Option<&str>,
) -> Result<Duration, StudyError> {
    let study = file.read(machine, scale)?;
    let included = file.included(&study, machine, scale)?;
    let all = std::iter::once(&study).chain(included.iter().map(|(_, study)| study));
    Ok(all.map(time_of).sum())
}

/// The longest that a study may take by itself.
pub(crate) fn time_of(study: &Study) -> Duration {
    experiment::of(study).iter().map(|of| of.time()).sum()
}

/// A row for each form: how it is called, how long it takes, and what the study asks.
fn in_words(listed: &[Listed], width: usize) -> String {
    let call = |study: &Listed, form: &StudySize| match &form.scale {
        None => study.study.to_owned(),
        Some(scale) => format!("  --scale {scale}"),
    };
    let time = |form: &StudySize| match form.seconds {
        Some(seconds) => Nanos(seconds * 1_000_000_000).to_string(),
        None => "not here".to_owned(),
    };
    let rows: Vec<(String, String, &str)> = listed
        .iter()
        .flat_map(|study| {
            study.forms.iter().map(move |form| {
                let question = if form.scale.is_none() { study.question.as_str() } else { "" };
                (call(study, form), time(form), form.why_not.as_deref().unwrap_or(question))
            })
        })
        .collect();
    let widest = |of: fn(&(String, String, &str)) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let (calls, times) = (widest(|row| row.0.len()), widest(|row| row.1.chars().count()));
    let mut text = String::new();
    for (call, time, words) in &rows {
        let label = format!("{call:<calls$}  {time:>times$}  ");
        text += &(report::wrapped(&label, words, width).join("\n") + "\n");
    }
    text + "\nTimes are the most that a study takes here; toll run STUDY --dry-run shows its parts.\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_aligned_and_questions_wrap_under_themselves() {
        let form = |scale: Option<&str>, seconds, why: Option<&str>| StudySize {
            scale: scale.map(str::to_owned),
            seconds,
            why_not: why.map(str::to_owned),
        };
        let listed = [
            Listed {
                study: "quick",
                question: "What does TLS cost on a machine such as this?".to_owned(),
                forms: vec![form(None, Some(58), None)],
            },
            Listed {
                study: "large",
                question: "What do many cores give?".to_owned(),
                forms: vec![
                    form(None, None, Some("too few CPUs")),
                    form(Some("small"), Some(300), None),
                ],
            },
        ];
        let expected = "\
quick                 58s  What does TLS cost on a machine
                           such as this?
large            not here  too few CPUs
  --scale small      5min
";
        assert!(in_words(&listed, 60).starts_with(expected), "{}", in_words(&listed, 60));
    }
}
