//! Which rows an answer or a claim names.

use super::about::{About, Cases, case};
use super::error::Flaw;
use super::fields::Field;
use super::primitives;
use ::primitives::{Algorithm, Unit};
use study::headline::{BestOf, RowOf};
use study::primitive::{ALGORITHM, AlgorithmTable, CACHE, HARDWARE, LIBRARY, MessageSize, SIZE};
use study::{Param, Params};
use units::Bytes;

/// Whose rows an answer compares.
pub(super) const CASE: &str = "case";

/// Which of them.
pub(super) const ONLY: &str = "only";

/// Whether a row is the best of those that differ in what is compared.
pub(super) const BEST: &str = "best";

/// Which cell a row is, of the answer's case where it names no other.
pub(super) fn cell(
    fields: Field<'_>,
    cases: &Cases<'_>,
    usual: &str,
    compare: &str,
) -> Result<RowOf, Flaw> {
    match fields.get(CASE) {
        Some(field) => cell_of(fields, field, cases, compare),
        None => row(fields, About::Case(cases[usual].0), compare, &[CASE, BEST]),
    }
}

/// Which cell a row is, of the case that a field names.
pub(super) fn cell_of(
    fields: Field<'_>,
    named: Field<'_>,
    cases: &Cases<'_>,
    compare: &str,
) -> Result<RowOf, Flaw> {
    row(fields, About::Case(case(named, cases)?.0), compare, &[CASE, BEST])
}

/// The algorithm of a row's parameter, where it is one.
pub(super) fn algorithm(of: &Param) -> Option<Algorithm> {
    match of {
        Param::Algorithm(algorithm) => Some(*algorithm),
        _ => None,
    }
}

/// The cells that an answer is about, by values that they have; all, where it has no such key. There may be none, where
/// a scale leaves a value out or the machine lacks cores.
pub(super) fn only(fields: Field<'_>, about: About<'_>) -> Result<Vec<Params>, Flaw> {
    let named = fields.get(ONLY).map(Field::one_or_more).unwrap_or_default();
    let params = named.into_iter().map(|field| {
        let params = row(field, about, "", &[])?.params;
        match params.is_empty() {
            false => Ok(params),
            true => Err(field.flaw("names no values; write { \"target.server\" = \"nginx\" }")),
        }
    });
    params.collect()
}

/// The values of a row that it names.
fn row(fields: Field<'_>, about: About<'_>, compare: &str, others: &[&str]) -> Result<RowOf, Flaw> {
    let value = |key: &str, field| Ok(Param::of(key, &about.value(key, field)?));
    let named = fields.iter().filter(|field| !others.contains(&field.key));
    let params = named.map(|field| {
        let key = about.key(field.key).map_err(|why| field.flaw(&why))?;
        let value = value(&key, field)?;
        Ok((key, value))
    });
    let params = params.collect::<Result<_, Flaw>>()?;
    let best = match fields.get(BEST) {
        None => None,
        Some(field) => match field.elements() {
            None => field.read::<bool>()?.then_some(BestOf::All),
            Some(these) if these.len() < 2 => {
                return Err(field.flaw("is the best of two or more; name them, or write true"));
            }
            Some(these) => {
                let these = these.into_iter().map(|field| {
                    Ok([(compare.to_owned(), value(compare, field)?)].into_iter().collect())
                });
                Some(BestOf::These(these.collect::<Result<_, Flaw>>()?))
            }
        },
    };
    Ok(RowOf { case: about.name().to_owned(), params, best })
}

/// Which row of a table; of a list that it does not name the first value, and the largest of the answer's sizes.
pub(super) fn table_row(
    fields: Field<'_>,
    table: &AlgorithmTable,
    compare: &str,
    largest: Option<&Bytes>,
) -> Result<RowOf, Flaw> {
    let mut row = row(fields, About::Table(table), compare, &[primitives::NAME, SIZE, BEST])?;
    for key in [ALGORITHM, LIBRARY, HARDWARE, CACHE] {
        let is_open = row.best.is_some() && key == compare;
        let first = table.values(key).into_iter().next().filter(|_| !is_open);
        if let Some(first) = first.filter(|_| !row.params.contains_key(key)) {
            row.params.set(key, &first);
        }
    }
    // What is the same for all is no parameter of a row.
    let own = table.all_rows().into_iter().next().map(|row| row.params).unwrap_or_default();
    row.params.retain(|key, _| own.contains_key(key));
    let is_of_bytes =
        |of: &Param| algorithm(of).is_some_and(|algorithm| algorithm.unit() == Unit::Byte);
    if row.params.get(ALGORITHM).is_some_and(is_of_bytes) {
        let own = fields.get(SIZE).map(|field| size(field, table)).transpose()?;
        let size = own.or_else(|| largest.copied());
        row.params.extend(size.map(|size| (SIZE.to_owned(), Param::Size(size))));
    }
    Ok(row)
}

/// The sizes that are written, but for those that a scale leaves out; the largest where there are none.
pub(super) fn at(
    field: Option<Field<'_>>,
    table: &AlgorithmTable,
    sizes: &[Bytes],
) -> Result<Vec<Bytes>, Flaw> {
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

fn size(field: Field<'_>, table: &AlgorithmTable) -> Result<Bytes, Flaw> {
    let MessageSize(size) = field.read()?;
    if table.sizes.contains(&size) {
        return Ok(size);
    }
    let names: Vec<String> = table.sizes.iter().map(ToString::to_string).collect();
    let names = names.join(", ");
    Err(field.wrong(&format!("is not a size of primitives {}; these are {names}", table.name)))
}
