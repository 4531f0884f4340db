//! An `[[answer]]` about primitives: the costs of a table over one of its lists.

use std::collections::BTreeMap;

use units::Bytes;

use super::answer::published;
use super::document::{Sentence, TableAnswerKeys};
use super::error::Flaw;
use super::fields::Field;
use super::headline;
use super::primitives::{Size, named};
use super::up_to::UpTo;
use ::keys::did_you_mean;
use primitives::{Unit, library};
use study::Metric;
use study::headline::RowOf;
use study::primitive::{Dimension, Rule, SIZE, Table};
use study::reference::{Published, PublishedUnit, Reference};

/// What an algorithm has for an author's sentences.
const METRICS: [Metric; 4] =
    [Metric::CyclesPerByte, Metric::CyclesPerOperation, Metric::BytesPerSecond, Metric::Rate];

/// Reads an answer about one of `tables`, as they are written and as a scale leaves them.
pub(super) fn read(
    fields: Field<'_>,
    written: &[Table],
    scaled: &[Table],
    reference: Option<&Reference>,
) -> Result<Rule, Flaw> {
    let TableAnswerKeys { question, project, gate, .. } = fields.read()?;
    let table = named(fields.field("primitives")?, written)?;
    let compare = compared(fields.field("compare")?, table)?;
    let sizes = scaled.iter().find(|other| other.name == table.name).map_or(&[][..], |t| &t.sizes);
    let at = at(fields.get("at"), table, sizes)?;
    Ok(Rule {
        question: question.map(|Sentence(question)| question),
        primitives: table.name.clone(),
        compare,
        baseline: value(fields.field("baseline")?, table, compare)?,
        written: headline::read(fields, &METRICS, |fields| row(fields, table, compare, &at))?,
        at,
        published: fields
            .get("published")
            .map_or(Ok(Vec::new()), |field| published(field, reference, check_published))?,
        project: project.into_iter().map(|UpTo(cores)| cores).collect(),
        gates: gate,
    })
}

fn compared(field: Field<'_>, table: &Table) -> Result<Dimension, Flaw> {
    let dimension = field.read::<Dimension>()?;
    match dimension.values(table).len() {
        0 | 1 => Err(field.wrong(&format!(
            "has one value in primitives {}, so there is nothing to compare; write another there",
            table.name
        ))),
        _ => Ok(dimension),
    }
}

const DIMENSIONS: [&str; 4] = ["algorithm", "library", "hardware", "cache"];

/// Which row of the table; of a list that it does not name the first value, and the largest of the answer's
/// sizes.
fn row(fields: Field<'_>, table: &Table, compare: Dimension, at: &[Bytes]) -> Result<RowOf, Flaw> {
    let is_best = fields.get("best").map_or(Ok(false), Field::read)?;
    let is_known = |key: &str| key == SIZE || key == "best" || DIMENSIONS.contains(&key);
    if let Some(field) = fields.iter().find(|field| !is_known(field.key)) {
        let keys = DIMENSIONS.into_iter().chain([SIZE, "best"]);
        let hint = did_you_mean(field.key, "its keys are", keys);
        return Err(field.flaw(&format!("is not a key of a row of primitives{hint}")));
    }
    let mut params = BTreeMap::new();
    for dimension in Dimension::ALL {
        let own = fields.get(dimension.into()).map(|field| value(field, table, dimension));
        let first = || dimension.values(table).into_iter().next();
        let is_open = is_best && dimension == compare;
        let value = own.transpose()?.or_else(|| if is_open { None } else { first() });
        params.extend(value.map(|value| (dimension.to_string(), value)));
    }
    let is_of_bytes = |name: &String| {
        name.parse::<primitives::Algorithm>().is_ok_and(|of| of.unit() == Unit::Byte)
    };
    if params.get(Dimension::Algorithm.as_ref()).is_some_and(is_of_bytes) {
        let own = fields.get(SIZE).map(|field| size(field, table)).transpose()?;
        let size = own.or_else(|| at.last().copied());
        params.extend(size.map(|size| (SIZE.to_owned(), size.to_string())));
    }
    Ok(RowOf { case: table.name.clone(), params, is_best })
}

/// A value of one of the table's lists.
fn value(field: Field<'_>, table: &Table, compare: Dimension) -> Result<String, Flaw> {
    let text = field.text()?;
    let asked = match compare {
        Dimension::Algorithm => text
            .parse::<primitives::Algorithm>()
            .map_or_else(|_| text.to_owned(), |a| a.to_string()),
        Dimension::Library => library::canonical(text).unwrap_or_else(|_| text.to_owned()),
        Dimension::Hardware | Dimension::Cache => text.to_owned(),
    };
    let values = compare.values(table);
    match values.contains(&asked) {
        true => Ok(asked),
        false => Err(field.wrong(&format!(
            "is no {compare} of primitives {}{}",
            table.name,
            did_you_mean(&asked, "these are", values.iter().map(String::as_str))
        ))),
    }
}

/// The sizes that are written, but for those that a scale leaves out; the largest where there are none.
fn at(field: Option<Field<'_>>, table: &Table, sizes: &[Bytes]) -> Result<Vec<Bytes>, Flaw> {
    let mut at = Vec::new();
    for value in field.map(Field::one_or_more).unwrap_or_default() {
        at.push(size(value, table)?);
    }
    at.retain(|size| sizes.contains(size));
    at.sort_unstable_by_key(|size| size.0);
    at.dedup();
    if at.is_empty() {
        at.extend(sizes.last());
    }
    Ok(at)
}

fn size(field: Field<'_>, table: &Table) -> Result<Bytes, Flaw> {
    let Size(size) = field.read()?;
    if table.sizes.contains(&size) {
        return Ok(size);
    }
    let names: Vec<String> = table.sizes.iter().map(ToString::to_string).collect();
    let names = names.join(", ");
    Err(field.wrong(&format!("is not a size of primitives {}; these are {names}", table.name)))
}

fn check_published(published: &Published) -> Result<(), String> {
    match published.unit {
        PublishedUnit::Ratio | PublishedUnit::CyclesPerByte | PublishedUnit::Words => Ok(()),
        _ => Err(format!(
            "is of a server ({}), and this answer is about primitives; leave it out",
            published.says
        )),
    }
}
