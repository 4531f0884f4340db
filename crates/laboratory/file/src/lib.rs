//! Study files: TOML in, a [`Study`] out.
//!
//! A file says what is measured; what it leaves out has a value that stands in `docs/study-files.md`
//! and in the results. Nothing is guessed: an unknown key, a number without its unit, a combination
//! that cannot be measured are errors of one line that name the line of the file.
//!
//! The keys of targets and loads are the fields of [`targets::Target`] and [`load::Plan`]. A cell grows
//! as a [`draft`]: `[target]` and `[load]`, then the case, then one combination of its sweep; then
//! serde reads the two structs.

mod about;
mod answer;
mod case;
mod check;
mod claim;
mod cross_check;
mod document;
mod draft;
mod error;
mod fields;
mod find;
mod headline;
mod include;
mod included;
mod keys;
mod merged;
mod only;
mod primitives;
mod ranks;
mod read;
mod releases;
mod rows;
mod scale;
mod search_keys;
mod shipped;
mod shown;
mod syntax;
#[cfg(test)]
mod tests;
mod unquoted;
mod up_to;
mod vary;
mod wakeups;

use std::collections::BTreeMap;

use cpus::Topology;
use toml::de::{DeTable, DeValue};

pub use cross_check::{LeftOut, with_cross_check};
pub use error::StudyError;
pub use only::only;
pub use shipped::{NEW, StudyFile, shipped};

use case::Case;
use document::{Document, StudyName};
use draft::Draft;
use error::Flaw;
use fields::{Field, Source};
use merged::Level;
use scale::Scale;
use study::primitive::Primitives;
use study::reference::Reference;
use study::{Profiling, Study};

/// Reads a study from the text of a file, in the form of a `[scale.NAME]` of it where one is wanted. Where
/// the text gives it no name, it has the file's, without folder and `.toml`. Where it names no CPUs, the
/// server takes the first of `machine` and the load the second.
///
/// # Errors
/// The first thing that is wrong, in one line that names file and line; the file has no such
/// scale.
pub fn parse(
    file: &str,
    text: &str,
    machine: &Topology,
    scale: Option<&str>,
) -> Result<Study, StudyError> {
    read(file, text, machine, scale, targets::systems()).map_err(|flaw| flaw.in_file(file))
}

/// With the releases that are made.
fn read(
    file: &str,
    text: &str,
    machine: &Topology,
    scale: Option<&str>,
    made: Vec<String>,
) -> Result<Study, Flaw> {
    let lines = fields::line_starts(text);
    let source = Source::new(text, &lines);
    let table = DeTable::parse(text).map_err(|error| syntax::flaw(source, &error))?;
    let mut root = DeValue::Table(table.into_inner());
    releases::name(&mut root, made);
    let fields = Field::alone(source, &root);
    let document: Document = fields.read()?;
    let name = document.name.map_or_else(|| named_as(file), Ok)?.0;
    let ranks = ranks::check(fields, document.rank)?;
    let scale = Scale::find(fields, scale)?;
    let mut cut = Vec::new();

    let mut shared = Draft::new(machine.allowed());
    shared.apply(fields, Level::File);
    let varied = case::varied(fields)?;
    let mut cases = cases(fields, &shared, &varied)?;
    // Both have rows, which are found by the name.
    for field in fields.tables(primitives::NAME)? {
        let field = field.field("name")?;
        let name = field.text()?;
        if cases.iter().any(|case| case.name == name) {
            return Err(field.wrong("is the name of a case too; rename one"));
        }
    }
    let mut trials = document.trials.0;
    if let Some(scale) = &scale {
        trials = scale.apply(trials, &mut cases, &mut cut)?;
    }
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
    let written = primitives::tables(fields, &shared, machine.allowed())?;
    let includes = include::check(fields, !(cases.is_empty() && written.is_empty()))?;
    if cases.is_empty() && written.is_empty() && includes.is_empty() {
        return Err(Flaw::lacking(
            "the study has no case; write a [[case]] with a name, or [[primitives]]",
        ));
    }
    let mut scaled = written.clone();
    if let Some(scale) = &scale {
        scale.apply_to_tables(&mut scaled, &mut cut)?;
    }
    let reference = fields.get("reference").map(reference).transpose()?;
    let known = answer::Known {
        cases: &by_name,
        tables: &written,
        scaled: &scaled,
        reference: reference.as_ref(),
        restart: document.restart,
    };
    let mut answers = Vec::new();
    for fields in fields.tables("answer")? {
        answers.extend(answer::read(fields, &known)?);
    }
    let claims = fields.tables("claim")?.into_iter().map(|fields| claim::read(fields, &known));
    let claims = claims.collect::<Result<_, Flaw>>()?;
    wakeups::settle(&mut cells, &answers);
    let mut study = Study {
        name,
        question: document.question.0,
        seed: document.seed,
        trials,
        until: document.until,
        restart: document.restart,
        profile: document.profile.then(Profiling::default),
        hosts: document.hosts,
        ranks: ranks.into_iter().map(|rank| rank.place).collect(),
        cells,
        answers,
        claims,
        include: includes,
        primitives: Primitives { tables: scaled },
        reference: document.reference,
        cut,
    };
    answer::add_varied(&varied, &mut study)?;
    if let Some(scale) = &scale {
        by_name.retain(|name, _| study.cells.iter().any(|cell| cell.case == *name));
        scale.drop_answers(&by_name, &mut study.answers, &mut study.cut);
    }
    study.drop_answers();
    Ok(study)
}

fn reference(field: Field<'_>) -> Result<Reference, Flaw> {
    Reference::find(field.text()?).map_err(|why| field.flaw(&format!("is wrong: {why}")))
}

fn named_as(file: &str) -> Result<StudyName, Flaw> {
    let last = file.rsplit('/').next().unwrap_or(file);
    let name = last.strip_suffix(".toml").unwrap_or(last);
    name.parse().map_err(|_| {
        Flaw::lacking(
            "the file's name is not a valid name for a study; write one such as name = \"my-study\"",
        )
    })
}

fn cases<'a>(
    fields: Field<'a>,
    shared: &Draft<'a>,
    varied: &[Field<'a>],
) -> Result<Vec<Case<'a>>, Flaw> {
    let mut cases: Vec<Case<'a>> = Vec::new();
    let mut size = 0usize;
    for fields in fields.tables("case")? {
        let case = Case::read(fields, shared, varied)?;
        if let Some(Case { name, line, .. }) = cases.iter().find(|other| other.name == case.name) {
            let what = format!("a case {name} begins at line {line} already; rename one");
            return Err(Flaw::at(case.line, what));
        }
        size = case.size_with(size)?;
        cases.push(case);
    }
    Ok(cases)
}
