//! A part of a study: the cells that `--only KEY=VALUE` names.

use std::collections::BTreeMap;

use super::error::StudyError;
use super::keys::StudyKey;
use super::unquoted::Unquoted;
use ::keys::did_you_mean;
use study::{Cell, Cut, LostRows, Study};

/// What stands for the name of a table of primitives.
const PRIMITIVES: &str = super::primitives::NAME;

/// What stands for the name of a case.
const CASE: &str = "case";

/// What a cell is asked for.
#[derive(Clone, Copy)]
enum By {
    Case,
    StudyKey(StudyKey),
}

/// Leaves the cells that have one of the values that are wanted of each key which is wanted:
/// `load.suite=AES128-SHA`, `suite=AES128-SHA` or `case=bulk`. Answers whose baseline goes are
/// left out too. What was left out is listed in [`cut`](Study::cut).
///
/// # Errors
/// One line: no key or no value is called so, or no cell has all of it.
pub fn only(study: &mut Study, wanted: &[String]) -> Result<(), StudyError> {
    if wanted.is_empty() {
        return Ok(());
    }
    let is_table =
        |text: &&String| text.split_once('=').is_some_and(|(key, _)| key.trim() == PRIMITIVES);
    let tables: Vec<&String> = wanted.iter().filter(is_table).collect();
    if !tables.is_empty() {
        return match tables.len() == wanted.len() {
            true => only_tables(study, &tables),
            false => Err(StudyError::Unknown(format!(
                "--only {}: tables of primitives have no cells; ask for tables or for cells",
                wanted.join(", ")
            ))),
        };
    }
    let mut by: BTreeMap<String, (By, Vec<String>)> = BTreeMap::new();
    for text in wanted {
        let (which, value) = self::wanted(study, text).map_err(StudyError::Unknown)?;
        by.entry(which.name()).or_insert_with(|| (which, Vec::new())).1.push(value);
    }
    let is_wanted = |cell: &Cell| {
        by.values().all(|(by, values)| by.of(cell).is_some_and(|value| values.contains(&value)))
    };
    let before = study.cells.len();
    let mut cases: Vec<String> = study.cells.iter().map(|cell| cell.case.clone()).collect();
    cases.dedup();
    study.cells.retain(is_wanted);
    if study.cells.is_empty() {
        let all = wanted.join(", ");
        return Err(StudyError::Unknown(format!(
            "--only {all}: no cell of this study matches all of them; leave one out"
        )));
    }
    study.renumber();
    let what = format!("{} of {before} cells, only {}", study.cells.len(), wanted.join(", "));
    study.cut.push(Cut::new("fewer cells", what).losing(LostRows::Of(cases)));
    let tables = std::mem::take(&mut study.primitives.tables);
    study.answers.retain(|answer| !tables.iter().any(|table| table.name == answer.case));
    study.drop_answers();
    if !tables.is_empty() {
        let names = tables.into_iter().map(|table| table.name).collect();
        let cut = Cut::new("no primitives", "no primitives".to_owned());
        study.cut.push(cut.losing(LostRows::Of(names)));
    }
    Ok(())
}

/// Leaves the tables of primitives that are wanted, and no cells.
fn only_tables(study: &mut Study, wanted: &[&String]) -> Result<(), StudyError> {
    let names = || study.primitives.tables.iter().map(|table| table.name.as_str());
    let mut kept: Vec<String> = Vec::new();
    for text in wanted {
        let name = text.split_once('=').map_or("", |(_, name)| name.trim());
        if !names().any(|known| known == name) {
            let hint = match study.primitives.tables.is_empty() {
                true => "; this study has none".to_owned(),
                false => did_you_mean(name, "there are:", names()),
            };
            return Err(StudyError::Unknown(format!(
                "--only {text}: no table of primitives has this name{hint}"
            )));
        }
        kept.push(name.to_owned());
    }
    let tables = study.primitives.tables.iter().map(|table| &table.name);
    let cases = study.cells.iter().map(|cell| &cell.case);
    let mut lost: Vec<String> =
        tables.chain(cases).filter(|name| !kept.contains(name)).cloned().collect();
    lost.dedup();
    study.primitives.tables.retain(|table| kept.contains(&table.name));
    study.answers.retain(|answer| kept.contains(&answer.case));
    study.cells.clear();
    let what = format!("only the primitives {}", kept.join(", "));
    study.cut.push(Cut::new("fewer tables", what).losing(LostRows::Of(lost)));
    Ok(())
}

/// The key and the value that a text asks for.
fn wanted(study: &Study, text: &str) -> Result<(By, String), String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(format!("--only {text} names no value; write KEY=VALUE, such as suite=none"));
    };
    let by = self::by(study, name.trim())?;
    let given = by.canonical(value.trim())?;
    let mut values: Vec<String> = Vec::new();
    for value in study.cells.iter().filter_map(|cell| by.of(cell)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    if values.contains(&given) {
        return Ok((by, given));
    }
    let hint = did_you_mean(&given, "there are:", values.iter().map(String::as_str));
    Err(format!("--only {text}: no cell of this study has {} = {given}{hint}", by.name()))
}

fn by(study: &Study, name: &str) -> Result<By, String> {
    if name == CASE {
        return Ok(By::Case);
    }
    if let Some(key) = StudyKey::named(name) {
        return Ok(By::StudyKey(key));
    }
    let is_swept = |key: &StudyKey| {
        let full = key.to_string();
        study.cells.iter().any(|cell| cell.params.contains_key(&full))
    };
    let named: Vec<StudyKey> = StudyKey::all().filter(|key| key.name == name).collect();
    let swept: Vec<StudyKey> = named.iter().copied().filter(is_swept).collect();
    match (&named[..], &swept[..]) {
        ([key], _) | (_, [key]) => Ok(By::StudyKey(*key)),
        ([], _) => {
            let names: Vec<&str> = StudyKey::all().map(|key| key.name).chain([CASE]).collect();
            Err(format!(
                "--only {name}: there is no such key{}",
                did_you_mean(name, "there are:", names.into_iter())
            ))
        }
        ([one, other, ..], _) => {
            Err(format!("--only {name} is either {one} or {other}; write which"))
        }
    }
}

impl By {
    fn name(self) -> String {
        match self {
            Self::Case => CASE.to_owned(),
            Self::StudyKey(key) => key.to_string(),
        }
    }

    /// The value that a cell has.
    fn of(self, cell: &Cell) -> Option<String> {
        match self {
            Self::Case => Some(cell.case.clone()),
            Self::StudyKey(key) => key.of(cell),
        }
    }

    /// The text that stands for a value and all its aliases.
    fn canonical(self, value: &str) -> Result<String, String> {
        match self {
            Self::Case => Ok(value.to_owned()),
            Self::StudyKey(key) => Unquoted::read(key, value).map(|value| value.canonical),
        }
    }
}
