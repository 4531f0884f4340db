//! Study files: TOML in, a [`Study`] out.
//!
//! A file says what is measured; what it leaves out has a value that stands in `docs/study-files.md`
//! and in the results. Nothing is guessed: an unknown key, a number without its unit, a combination
//! that cannot be measured are errors of one line that name the line of the file.
//!
//! The keys of targets and loads are the fields of [`targets::Target`] and [`load::Plan`]. A cell grows
//! as a [`draft`]: `[target]` and `[load]`, then the case, then one combination of its sweep; then
//! serde reads the two structs.

mod answer;
mod case;
mod check;
mod coalescing;
mod cross_check;
mod draft;
mod error;
mod fields;
mod find;
mod headline;
mod keys;
mod merged;
mod only;
mod primitive_answer;
mod primitives;
mod ranks;
mod scale;
mod search;
mod shipped;
mod syntax;
#[cfg(test)]
mod tests;
mod until;

use std::collections::BTreeMap;

use cpus::Topology;
use serde::Deserialize;
use targets::Restart;
use toml::de::DeTable;

pub use cross_check::{LeftOut, with_cross_check};
pub use error::StudyError;
pub use only::only;
pub use shipped::{StudyFile, shipped};

use case::{Case, MOST_CELLS};
use draft::Draft;
use error::Flaw;
use fields::{Field, Fields, Source};
use keys::Table;
use merged::{Level, Merged};
use scale::Scale;
use study::primitive::Primitives;
use study::reference::Reference;
use study::{Hosts, Profiling, Study};

/// The only form of study files so far.
const SCHEMA: u64 = 1;
const SEED: u64 = 7;
const TRIALS: u32 = 7;
const MOST_TRIALS: u32 = 10_000;
/// TOML's integers are signed.
const LARGEST_SEED: u64 = i64::MAX.unsigned_abs();

const KEYS: [&str; 18] = [
    "schema",
    "name",
    "question",
    "reference",
    "seed",
    "trials",
    "restart",
    "until",
    "profile",
    "hosts",
    ranks::NAME,
    "target",
    "load",
    "find",
    "case",
    primitives::NAME,
    "answer",
    "scale",
];

/// Reads a study from the text of a file. Where the text gives it no name, it has the file's,
/// without folder and `.toml`. Where it names no CPUs, the server takes the first of `machine`
/// and the load the second.
///
/// # Errors
/// The first thing that is wrong, in one line that names file and line.
pub fn parse(file: &str, text: &str, machine: &Topology) -> Result<Study, StudyError> {
    parse_at(file, text, machine, None)
}

/// As [`parse`](parse), in the form of a `[scale.NAME]` of the file.
///
/// # Errors
/// The first thing that is wrong, in one line that names file and line; the file has no such
/// scale.
pub fn parse_at(
    file: &str,
    text: &str,
    machine: &Topology,
    scale: Option<&str>,
) -> Result<Study, StudyError> {
    read(file, text, machine, scale).map_err(|flaw| flaw.in_file(file))
}

fn read(file: &str, text: &str, machine: &Topology, scale: Option<&str>) -> Result<Study, Flaw> {
    let lines = fields::line_starts(text);
    let source = Source::new(text, &lines);
    let table = DeTable::parse(text).map_err(|error| syntax::flaw(source, &error))?;
    let fields = Fields::all(source, table.get_ref(), "");
    fields.check_known("a study", &KEYS)?;
    check_schema(&fields)?;
    let name = match fields.get("name") {
        Some(field) => named(field)?,
        None => named_as(file)?,
    };
    let question = match fields.get("question") {
        Some(field) => field.sentence()?.to_owned(),
        None => return Err(Flaw::lacking("the study has no question; write question = \"...\"")),
    };
    let seed = fields.get("seed").map_or(Ok(SEED), |field| field.integer(0, LARGEST_SEED))?;
    let trials = fields.get("trials").map_or(Ok(TRIALS), trials)?;
    let until = fields.get("until").map(until::read).transpose()?;
    let restart = fields.get("restart").map(Restart::deserialize).transpose()?;
    let profile = fields.get("profile").map_or(Ok(false), Field::flag)?;
    let hosts = fields.get("hosts").map(hosts).transpose()?;
    let ranks = ranks::read(&fields)?;
    let mut cut = Vec::new();
    let scale = Scale::find(&fields, scale)?;

    let mut shared = Draft::new(machine.allowed());
    for table in Table::ALL {
        if let Some(field) = fields.get(table.name()) {
            shared.apply(field, table, Level::File)?;
        }
    }
    if let Some(field) = fields.get(find::NAME) {
        shared.apply_find(field, Level::File)?;
    }
    shared.check()?;
    let mut cases = cases(&fields, &shared)?;
    let trials = match &scale {
        Some(scale) => scale.apply(trials, &mut cases, &mut cut)?,
        None => trials,
    };
    let has = match &scale {
        Some(scale) => scale.has(&cases, &mut cut)?,
        None => vec![true; cases.len()],
    };
    let mut cells = Vec::new();
    let mut by_name = BTreeMap::new();
    for (case, is_in_scale) in cases.iter().zip(has) {
        let (of_case, left_out) = case
            .cells(machine, &ranks)
            .map_err(|flaw| flaw.within(&format!("case {}", case.name), case.line))?;
        by_name.insert(case.name.as_str(), (case, of_case.clone()));
        if is_in_scale {
            cells.extend(of_case);
            cut.extend(left_out);
        }
    }
    let written = primitives::tables(&fields, &shared, machine.allowed())?;
    if cases.is_empty() && written.is_empty() {
        return Err(Flaw::lacking(
            "the study has no case; write a [[case]] with a name, or [[primitives]]",
        ));
    }
    let mut scaled = written.clone();
    if let Some(scale) = &scale {
        scale.apply_to_tables(&mut scaled, &mut cut)?;
    }
    let reference = fields.get("reference").map(reference).transpose()?;
    let (mut answers, mut of_primitives) = (Vec::new(), Vec::new());
    for (line, fields) in fields.tables("answer", "")? {
        let known = reference.as_ref();
        match fields.get(primitives::NAME) {
            Some(_) => {
                of_primitives.push(primitive_answer::read(line, &fields, &written, &scaled, known)?)
            }
            None => answers.push(answer::read(line, &fields, &by_name, &written, known)?),
        }
    }
    coalescing::settle(&mut cells, &answers);
    if let Some(scale) = &scale {
        by_name.retain(|name, _| cells.iter().any(|cell| cell.case == *name));
        scale.drop_answers(&by_name, &mut answers, &mut cut);
    }
    let primitives = Primitives { tables: scaled, answers: of_primitives };
    let reference = fields.get("reference").map(Field::text).transpose()?.map(str::to_owned);
    let mut study = Study {
        name,
        question,
        seed,
        trials,
        until,
        restart,
        profile: profile.then(Profiling::default),
        hosts: hosts.unwrap_or_default(),
        ranks: ranks.into_iter().map(|rank| rank.place).collect(),
        cells,
        answers,
        primitives,
        reference,
        cut,
    };
    study.drop_answers();
    Ok(study)
}

fn check_schema(fields: &Fields<'_>) -> Result<(), Flaw> {
    match fields.get("schema") {
        None => Err(Flaw::lacking(format!("the file has no schema; write schema = {SCHEMA}"))),
        Some(field) => match field.integer(0, u64::MAX)? {
            SCHEMA => Ok(()),
            _ => Err(field.wrong(&format!("is not known here; this toll reads schema = {SCHEMA}"))),
        },
    }
}

/// How other machines are reached.
fn hosts(field: Field<'_>) -> Result<Hosts, Flaw> {
    Merged::table(&field.fields("hosts.")?, "hosts", ::keys::names::<Hosts>())?.read()
}

fn reference(field: Field<'_>) -> Result<Reference, Flaw> {
    Reference::find(field.text()?).map_err(|why| field.flaw(&format!("is wrong: {why}")))
}

fn trials(field: Field<'_>) -> Result<u32, Flaw> {
    let trials = field.integer(1, MOST_TRIALS.into())?;
    Ok(u32::try_from(trials).unwrap_or(MOST_TRIALS))
}

fn named(field: Field<'_>) -> Result<String, Flaw> {
    let name = field.text()?;
    match is_name(name) {
        true => Ok(name.to_owned()),
        false => {
            Err(field.wrong("is not a valid name for a study; use letters, digits and hyphens"))
        }
    }
}

fn named_as(file: &str) -> Result<String, Flaw> {
    let last = file.rsplit('/').next().unwrap_or(file);
    let name = last.strip_suffix(".toml").unwrap_or(last);
    match is_name(name) {
        true => Ok(name.to_owned()),
        false => Err(Flaw::lacking(
            "the file's name is not a valid name for a study; write one such as name = \"my-study\"",
        )),
    }
}

/// A name is part of a folder's.
fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(fits)
}

fn cases<'a>(fields: &Fields<'a>, shared: &Draft<'a>) -> Result<Vec<Case<'a>>, Flaw> {
    let mut cases: Vec<Case<'a>> = Vec::new();
    let mut known = BTreeMap::new();
    let mut size = 0usize;
    for (line, fields) in fields.tables("case", "")? {
        let case = Case::read(line, &fields, shared)?;
        if let Some(other) = known.insert(case.name.clone(), line) {
            let name = &case.name;
            let what = format!("a case {name} begins at line {other} already; rename one");
            return Err(Flaw::at(line, what));
        }
        cases.push(case);
        size = check_size(size, &cases[cases.len() - 1])?;
    }
    Ok(cases)
}

/// How many cells there are with those of this case.
fn check_size(before: usize, case: &Case<'_>) -> Result<usize, Flaw> {
    let size = before.saturating_add(case.size());
    if size > MOST_CELLS { Err(case::too_many(&case.name, case.line)) } else { Ok(size) }
}
