//! An `[[answer]]` about primitives: the costs of a table over one of its lists.

use units::Bytes;

use super::answer::published;
use super::document::{Sentence, TableAnswerKeys, UpTo};
use super::error::Flaw;
use super::fields::Field;
use super::primitives::{Size, named};
use ::keys::did_you_mean;
use primitives::library;
use study::primitive::{Dimension, Rule, Table};
use study::reference::{Published, PublishedUnit, Reference};

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
    Ok(Rule {
        question: question.map(|Sentence(question)| question),
        primitives: table.name.clone(),
        compare,
        baseline: baseline(fields.field("baseline")?, table, compare)?,
        at: at(fields.get("at"), table, sizes)?,
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

fn baseline(field: Field<'_>, table: &Table, compare: Dimension) -> Result<String, Flaw> {
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
        let Size(size) = value.read()?;
        if !table.sizes.contains(&size) {
            let names: Vec<String> = table.sizes.iter().map(ToString::to_string).collect();
            return Err(value.wrong(&format!(
                "is not a size of primitives {}; these are {}",
                table.name,
                names.join(", ")
            )));
        }
        at.push(size);
    }
    at.retain(|size| sizes.contains(size));
    at.sort_unstable_by_key(|size| size.0);
    at.dedup();
    if at.is_empty() {
        at.extend(sizes.last());
    }
    Ok(at)
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
