//! What the author of a study writes of an answer: `headline`, `same`, `advice`, and the rows that they
//! speak of.

use std::collections::BTreeMap;

use study::Metric;
use study::headline::{Decides, HeadlineTemplates, RowOf, Template};

use super::document::Sentence;
use super::error::Flaw;
use super::fields::Field;
use ::keys::did_you_mean;

/// Those keys of an answer.
const KEYS: [&str; 5] = ["rows", "decides", "headline", "same", "advice"];

/// What is written of an answer whose rows have these metrics, where `row` reads what a row is; `None` where
/// nothing is.
pub(super) fn read(
    fields: Field<'_>,
    metrics: &[Metric],
    row: impl Fn(Field<'_>) -> Result<RowOf, Flaw>,
) -> Result<Option<HeadlineTemplates>, Flaw> {
    let Some(headline) = fields.get("headline") else {
        let stray = KEYS.iter().find_map(|key| fields.get(key));
        return match stray {
            Some(field) => Err(field.flaw("needs a headline; write headline = \"...\" too")),
            None => Ok(None),
        };
    };
    let rows = match fields.get("rows") {
        Some(field) => rows(field, row)?,
        None => return Err(headline.flaw("needs rows to speak of; write rows.NAME = { ... }")),
    };
    let names: Vec<&str> = rows.keys().map(String::as_str).collect();
    let template = |field: Field<'_>| {
        let Sentence(text) = field.read()?;
        Template::new(&text, &names, metrics).map_err(|why| field.flaw(&why))
    };
    let decides = match fields.get("decides") {
        Some(field) => Some(Decides {
            rows: two_rows(field, &names)?,
            same: match fields.get("same") {
                Some(field) => template(field)?,
                None => {
                    let why = "needs the sentence for no difference; write same = \"...\" too";
                    return Err(field.flaw(why));
                }
            },
            advice: fields.get("advice").map(template).transpose()?,
        }),
        None => match ["same", "advice"].iter().find_map(|key| fields.get(key)) {
            Some(field) => {
                let why = "needs two rows to decide it; write decides = [\"one\", \"other\"] too";
                return Err(field.flaw(why));
            }
            None => None,
        },
    };
    Ok(Some(HeadlineTemplates { headline: template(headline)?, decides, rows }))
}

fn rows(
    field: Field<'_>,
    row: impl Fn(Field<'_>) -> Result<RowOf, Flaw>,
) -> Result<BTreeMap<String, RowOf>, Flaw> {
    let row = |field: Field<'_>| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !field.key.chars().all(is_name) || field.key.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(field.flaw("is not a valid name for a row; use letters, digits and _"));
        }
        Ok((field.key.to_owned(), row(field.fields()?)?))
    };
    field.fields()?.iter().map(row).collect()
}

fn two_rows(field: Field<'_>, rows: &[&str]) -> Result<[String; 2], Flaw> {
    let name = |field: Field<'_>| {
        let name = field.text()?;
        match rows.contains(&name) {
            true => Ok(name.to_owned()),
            false => {
                let hint = did_you_mean(name, "its rows are", rows.iter().copied());
                Err(field.wrong(&format!("is none of its rows{hint}")))
            }
        }
    };
    let names: Vec<String> = field.values()?.into_iter().map(name).collect::<Result<_, Flaw>>()?;
    names.try_into().map_err(|_| field.flaw("is a list of two rows; write [\"one\", \"other\"]"))
}
