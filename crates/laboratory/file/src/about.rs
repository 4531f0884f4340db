//! What an answer is about: a case or a table of primitives, their keys and the values of these.

use std::collections::BTreeMap;

use super::case::Case;
use super::error::Flaw;
use super::fields::Field;
use super::merged::canonical;
use ::keys::did_you_mean;
use ::primitives::{Algorithm, library};
use study::Cell;
use study::primitive::{ALGORITHM, AlgorithmTable, CACHE, HARDWARE, LIBRARY};

/// The cases by their names, each with its cells.
pub(super) type Cases<'a> = BTreeMap<&'a str, (&'a Case<'a>, Vec<Cell>)>;

/// What one answer is about.
#[derive(Clone, Copy)]
pub(super) enum About<'a> {
    Case(&'a Case<'a>),
    Table(&'a AlgorithmTable),
}

impl About<'_> {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Case(case) => &case.name,
            Self::Table(table) => &table.name,
        }
    }

    /// What its rows differ in.
    fn keys(&self) -> Vec<String> {
        match self {
            Self::Case(case) => case.sweeps.iter().map(|sweep| sweep.key.to_string()).collect(),
            Self::Table(_) => [ALGORITHM, LIBRARY, HARDWARE, CACHE].map(str::to_owned).into(),
        }
    }

    /// A key whose values are compared.
    pub(super) fn compared(&self, field: Field<'_>) -> Result<String, Flaw> {
        let key = self.key(field.text()?).map_err(|why| field.wrong(&why))?;
        match self {
            Self::Table(table) if table.values(&key).len() < 2 => Err(field.wrong(&format!(
                "has one value in primitives {}, so there is nothing to compare; write another there",
                table.name
            ))),
            _ => Ok(key),
        }
    }

    pub(super) fn along(&self, field: Field<'_>, compare: &str) -> Result<String, Flaw> {
        let along = self.compared(field)?;
        match along == compare {
            false => Ok(along),
            true => Err(field.wrong("is what is compared; write another key that the case sweeps")),
        }
    }

    /// One of its keys.
    pub(super) fn key(&self, text: &str) -> Result<String, String> {
        let keys = self.keys();
        if keys.iter().any(|key| key == text) {
            return Ok(text.to_owned());
        }
        let (what, list) = match self {
            Self::Case(_) => ("is not swept by case", "it sweeps"),
            Self::Table(_) => ("is not a list of primitives", "its lists are"),
        };
        let hint = match keys.is_empty() {
            true => "; it sweeps nothing".to_owned(),
            false => did_you_mean(text, list, keys.iter().map(String::as_str)),
        };
        Err(format!("{what} {}{hint}", self.name()))
    }

    /// A value of one of its keys, as it is kept.
    pub(super) fn value(&self, key: &str, field: Field<'_>) -> Result<String, Flaw> {
        let (text, values, what) = match self {
            Self::Case(case) => {
                let Some(sweep) = case.sweep(key) else { return Err(field.flaw("is not swept")) };
                let named = field.called(sweep.key.table.name(), sweep.key.name);
                let all = sweep.values.iter().chain(&sweep.written);
                let what = format!("not a value of the sweep of {}", sweep.key);
                (canonical(sweep.key, named)?, all.map(|value| value.text.clone()).collect(), what)
            }
            Self::Table(table) => {
                let text = field.text()?;
                let canonical = match key {
                    ALGORITHM => text.parse::<Algorithm>().ok().map(|of| of.to_string()),
                    LIBRARY => library::canonical(text).ok(),
                    _ => None,
                };
                let what = format!("no {key} of primitives {}", table.name);
                (canonical.unwrap_or_else(|| text.to_owned()), table.values(key), what)
            }
        };
        let values: Vec<String> = values;
        match values.contains(&text) {
            true => Ok(text),
            false => {
                let hint = did_you_mean(&text, "these are", values.iter().map(String::as_str));
                Err(field.wrong(&format!("is {what}{hint}")))
            }
        }
    }
}

/// The case that a field names.
pub(super) fn case<'a, 'c>(
    field: Field<'_>,
    cases: &'c Cases<'a>,
) -> Result<(&'a Case<'a>, &'c [Cell]), Flaw> {
    let text = field.text()?;
    cases.get(text).map(|(case, cells)| (*case, cells.as_slice())).ok_or_else(|| {
        let names = cases.keys().copied();
        field.wrong(&format!(
            "is not a case of this study{}",
            did_you_mean(text, "its cases are", names)
        ))
    })
}
