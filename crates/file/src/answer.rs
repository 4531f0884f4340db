//! An `[[answer]]`: one figure of the cells of a case, over the values of one swept key.

use std::collections::BTreeMap;

use super::case::{Case, Sweep};
use super::document::AnswerKeys;
use super::error::Flaw;
use super::fields::Field;
use super::headline;
use super::primitives::named;
use super::up_to::UpTo;
use ::keys::did_you_mean;
use load::Operation;
use study::headline::RowOf;
use study::metric::Kind;
use study::primitive::Table;
use study::reference::{Published, PublishedUnit, Reference};
use study::{AnswerRule, Cell, Metric};

/// The keys whose value `none` is plain HTTP.
const PLAIN: [&str; 2] = ["load.tls", "load.suite"];

/// The cases by their names, each with its cells.
pub(super) type Cases<'a> = BTreeMap<&'a str, (&'a Case<'a>, Vec<Cell>)>;

/// Reads an answer about one of `cases`; `tables` are those of primitives.
pub(super) fn read(
    fields: Field<'_>,
    cases: &Cases<'_>,
    tables: &[Table],
    reference: Option<&Reference>,
) -> Result<AnswerRule, Flaw> {
    let AnswerKeys { metric, crossover, project, gate, .. } = fields.read()?;
    let (case, cells) = case(fields.field("case")?, cases)?;
    let is_of_handshakes = cells.iter().any(|cell| cell.load.operation == Operation::Handshakes);
    let field = fields.field("metric")?;
    if metric.row().kind == Kind::State {
        return Err(field.wrong(
            "is neither good nor bad, so it makes no answer; gate it with --gate, or choose another \
             metric",
        ));
    }
    if metric.row().is_of_bodies && is_of_handshakes {
        return Err(field.wrong(&format!(
            "is about bodies, but case {} makes handshakes only; use rate or rate-per-server-cpu",
            case.name
        )));
    }
    let sweep = compared(fields.field("compare")?, case)?;
    let rule = AnswerRule {
        case: case.name.clone(),
        metric,
        compare: sweep.key.to_string(),
        baseline: baseline(fields.field("baseline")?, sweep)?,
        along: fields.get("along").map(|field| along(field, case, sweep)).transpose()?,
        crossover,
        published: fields.get("published").map_or(Ok(Vec::new()), |field| {
            let kind = format!("than metric = {}; leave it out", metric.name());
            published(field, reference, |of| match counts(of.unit, metric) {
                true => Ok(()),
                false => Err(format!("has another unit or kind ({}) {kind}", of.says)),
            })
        })?,
        project: project.into_iter().map(|UpTo(cores)| cores).collect(),
        gates: gate,
        nominal: fields
            .get("nominal")
            .map(|field| nominal(field, metric, cells, tables))
            .transpose()?,
        written: headline::read(fields, &Metric::of_cells().collect::<Vec<_>>(), |row| {
            cell(row, cases, &case.name)
        })?,
    };
    let (kind, has_along) = (metric.row().kind, rule.along.is_some());
    for (key, is_wrong, why) in [
        (
            "nominal",
            has_along,
            "cannot be used with `along`; leave `along` out, or write another answer",
        ),
        (
            "project",
            kind != Kind::Throughput,
            "needs the metric goodput or rate; write one of these",
        ),
        (
            "gate",
            kind == Kind::Tax,
            "needs a ratio, and a tax is none; gate goodput-per-server-cpu",
        ),
        (
            "along",
            metric == Metric::TlsTax,
            "cannot be used with tls-tax; leave it out, or choose another metric",
        ),
        ("crossover", rule.crossover && !has_along, "needs `along`; write along = \"...\" too"),
        (
            "crossover",
            rule.crossover && kind == Kind::Cost,
            "needs a metric of which more is better; choose one such as goodput",
        ),
    ] {
        if let Some(field) = fields.get(key).filter(|_| is_wrong) {
            return Err(field.flaw(why));
        }
    }
    if metric == Metric::TlsTax && !(PLAIN.contains(&&*rule.compare) && rule.baseline == "none") {
        return Err(field.wrong(
            "is what TLS costs; write compare = \"load.suite\" or \"load.tls\" and baseline = \
             \"none\", which is plain HTTP",
        ));
    }
    Ok(rule)
}

fn case<'a, 'c>(
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

fn compared<'a>(field: Field<'_>, case: &'a Case<'a>) -> Result<&'a Sweep<'a>, Flaw> {
    let text = field.text()?;
    case.sweep(text).ok_or_else(|| {
        let swept: Vec<String> = case.sweeps.iter().map(|sweep| sweep.key.to_string()).collect();
        let hint = match swept.is_empty() {
            true => "; it sweeps nothing".to_owned(),
            false => did_you_mean(text, "it sweeps", swept.iter().map(String::as_str)),
        };
        field.wrong(&format!("is not swept by case {}{hint}", case.name))
    })
}

fn along(field: Field<'_>, case: &Case<'_>, sweep: &Sweep<'_>) -> Result<String, Flaw> {
    let along = compared(field, case)?;
    match along.key == sweep.key {
        false => Ok(along.key.to_string()),
        true => Err(field.wrong("is what is compared; write another key that the case sweeps")),
    }
}

/// The table that has what the server's key does in each handshake of the case, or what seals its records.
fn nominal(
    field: Field<'_>,
    metric: Metric,
    cells: &[Cell],
    tables: &[Table],
) -> Result<String, Flaw> {
    let table = named(field, tables)?;
    match metric {
        Metric::RatePerServerCpu => private_keys(field, cells, table)?,
        Metric::TlsTax => record_ciphers(field, cells, table)?,
        _ => {
            return Err(field.wrong(
                "needs the metric of one core; write metric = \"rate-per-server-cpu\", or \"tls-tax\" for \
                 ciphers",
            ));
        }
    }
    Ok(table.name.clone())
}

fn private_keys(field: Field<'_>, cells: &[Cell], table: &Table) -> Result<(), Flaw> {
    for cell in cells {
        let case = &cell.case;
        let Some(algorithm) = cell.private_key_operation() else {
            return Err(field.wrong(&format!(
                "needs full handshakes with a key that toll made; not all cells of case {case} have it"
            )));
        };
        if !table.algorithms.contains(&algorithm) {
            return Err(field.wrong(&format!(
                "lacks the algorithm {algorithm}, which is what the key of a server of case {case} \
                 does; write it there"
            )));
        }
    }
    Ok(())
}

/// What no table can have of a cell is missing there alone.
fn record_ciphers(field: Field<'_>, cells: &[Cell], table: &Table) -> Result<(), Flaw> {
    let ciphers = cells.iter().filter_map(|cell| Some((cell, cell.record_cipher()?)));
    for (cell, cipher) in ciphers {
        let (case, size) = (&cell.case, cell.record_size());
        if !table.algorithms.contains(&cipher) {
            return Err(field.wrong(&format!(
                "lacks the algorithm {cipher}, which seals the records of a cell of case {case}; write it \
                 there"
            )));
        }
        if !table.sizes.contains(&size) {
            return Err(field.wrong(&format!(
                "lacks the size {size}, which is that of the records of case {case}; write it there"
            )));
        }
    }
    Ok(())
}

/// One figure of the study's reference or a list of them, each of which must fit.
pub(super) fn published(
    field: Field<'_>,
    reference: Option<&Reference>,
    check: impl Fn(&Published) -> Result<(), String>,
) -> Result<Vec<Published>, Flaw> {
    let one = |field: Field<'_>| {
        let text = field.text()?;
        let Some(reference) = reference else {
            return Err(field.flaw("needs a reference; write reference = \"...\" at the top"));
        };
        let published = reference.figure(text).ok_or_else(|| {
            let hint = did_you_mean(text, "its figures are", reference.figures());
            field.wrong(&format!("is not a figure of the study's reference{hint}"))
        })?;
        check(&published).map_err(|why| field.wrong(&why))?;
        Ok(published)
    };
    field.one_or_more().into_iter().map(one).collect()
}

/// Whether a published figure counts what the metric does.
fn counts(unit: PublishedUnit, metric: Metric) -> bool {
    match unit {
        PublishedUnit::Ratio => metric != Metric::TlsTax,
        PublishedUnit::Gbps => metric == Metric::Goodput,
        PublishedUnit::GbpsPerCore | PublishedUnit::GbpsOfDevice => {
            metric == Metric::GoodputPerServerCpu
        }
        PublishedUnit::PerSecond => metric == Metric::Rate,
        PublishedUnit::Cpus => metric == Metric::ServerCpus,
        PublishedUnit::Pace => metric.is_of_whole_load(),
        PublishedUnit::Words => true,
        PublishedUnit::CyclesPerByte => false,
    }
}

/// Which cell a row is, of the answer's case where it names no other.
fn cell(fields: Field<'_>, cases: &Cases<'_>, usual: &str) -> Result<RowOf, Flaw> {
    let name =
        fields.get("case").map(|field| Ok(case(field, cases)?.0.name.as_str())).transpose()?;
    let name = name.unwrap_or(usual);
    let (case, _) = &cases[name];
    let is_best = fields.get("best").map_or(Ok(false), Field::read)?;
    let others = fields.iter().filter(|field| !["case", "best"].contains(&field.key));
    let params = others.map(|field| {
        let sweep = case.sweep(field.key).ok_or_else(|| {
            let swept: Vec<String> =
                case.sweeps.iter().map(|sweep| sweep.key.to_string()).collect();
            let hint = did_you_mean(field.key, "it sweeps", swept.iter().map(String::as_str));
            field.flaw(&format!("is not swept by case {name}{hint}"))
        })?;
        Ok((sweep.key.to_string(), baseline(field, sweep)?))
    });
    Ok(RowOf { case: name.to_owned(), params: params.collect::<Result<_, Flaw>>()?, is_best })
}

/// A value of a sweep as it is kept.
fn baseline(field: Field<'_>, sweep: &Sweep<'_>) -> Result<String, Flaw> {
    let text = sweep.key.canonical(field.called(sweep.key.table.name(), sweep.key.name))?;
    if sweep.values.iter().chain(&sweep.written).any(|value| value.text == text) {
        return Ok(text);
    }
    let values = sweep.values.iter().map(|value| value.text.as_str());
    let hint = did_you_mean(&text, "these are", values);
    Err(field.wrong(&format!("is not a value of the sweep of {}{hint}", sweep.key)))
}
