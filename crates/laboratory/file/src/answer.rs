//! An `[[answer]]`: one figure of the cells of a case or of the rows of a table, over the values of one of their
//! keys.

use super::about::{About, Cases, case};
use super::case::{Sweep, sweep};
use super::document::{AnswerKeys, Sentence};
use super::error::Flaw;
use super::fields::Field;
use super::primitives::named;
use super::rows::{CASE, ONLY, algorithm, at, cell, only, table_row};
use super::shown::{check_published, counts, nominal, published, show};
use super::up_to::UpTo;
use super::{headline, primitives};
use ::keys::full;
use ::primitives::Unit;
use load::Operation;
use study::headline::{HeadlineTemplates, RowOf};
use study::metric::Kind;
use study::primitive::{ALGORITHM, AlgorithmTable, SIZE};
use study::reference::Reference;
use study::{AnswerRule, Metric, Study};
use targets::Restart;

/// The keys whose value `none` is plain HTTP.
const PLAIN: [&str; 2] = [full::VERSION, full::SUITE];

/// What answers can be about.
pub(super) struct Known<'a> {
    pub(super) cases: &'a Cases<'a>,
    /// The tables as they are written.
    pub(super) tables: &'a [AlgorithmTable],
    /// As a scale leaves them.
    pub(super) scaled: &'a [AlgorithmTable],
    pub(super) reference: Option<&'a Reference>,
    pub(super) restart: Option<Restart>,
}

/// Reads an answer: a rule, and of a table that has algorithms both of bytes and of operations one for each.
pub(super) fn read(fields: Field<'_>, known: &Known<'_>) -> Result<Vec<AnswerRule>, Flaw> {
    let keys: AnswerKeys = fields.read()?;
    let of_cases = [CASE, ONLY, "metric", "along", "nominal"];
    let (other, why) = match fields.get(primitives::NAME) {
        Some(_) => {
            (&of_cases[..], "is of cases, and this answer is about primitives; leave it out")
        }
        None => (&["at"][..], "is of primitives, and this answer is about a case; leave it out"),
    };
    if let Some(field) = other.iter().find_map(|key| fields.get(key)) {
        return Err(field.flaw(why));
    }
    match fields.get(primitives::NAME) {
        Some(field) => of_table(fields, keys, named(field, known.tables)?, known),
        None => Ok(vec![of_case(fields, keys, known)?]),
    }
}

fn of_case(fields: Field<'_>, keys: AnswerKeys, known: &Known<'_>) -> Result<AnswerRule, Flaw> {
    let (case, cells) = case(fields.field(CASE)?, known.cases)?;
    let about = About::Case(case);
    let field = fields.field("metric")?;
    let metric: Metric = field.read()?;
    let is_of_handshakes = cells.iter().any(|cell| cell.load.operation == Operation::Handshakes);
    if metric.row().kind == Kind::State {
        return Err(field.wrong(
            "is neither good nor bad, so it makes no answer; gate it with --gate, or choose another \
             metric",
        ));
    }
    if Metric::OF_ALGORITHMS.contains(&metric) {
        return Err(
            field.wrong("is of algorithms, which a case has none of; choose another metric")
        );
    }
    if metric.is_of_connections() {
        let few =
            cells.iter().find(|cell| (cell.load.connections as u64) < Metric::LEAST_CONNECTIONS);
        if let Some(cell) = few {
            return Err(field.wrong(&format!(
                "cannot be told from what else a server allocates with {} connections; use {} or more",
                cell.load.connections,
                Metric::LEAST_CONNECTIONS
            )));
        }
        if known.restart != Some(Restart::Trial) {
            return Err(field.wrong(
                "needs restart = \"trial\", since memory that connections free stays with the process",
            ));
        }
    }
    let is_counted = cells.iter().any(|cell| cell.load.counter().is_some());
    if is_counted && !metric.is_of_counts() || !is_counted && metric.is_of_instructions() {
        let (has, other) = match is_counted {
            true => ("counts instructions", "instructions-per-operation or instructions-per-kib"),
            false => ("counts none", "another metric, or load.count = \"instructions\" there"),
        };
        return Err(
            field.wrong(&format!("does not go with case {}, which {has}; use {other}", case.name))
        );
    }
    if metric.row().is_of_bodies && is_of_handshakes {
        return Err(field.wrong(&format!(
            "is about bodies, but case {} makes handshakes only; use rate or rate-per-server-cpu",
            case.name
        )));
    }
    let compare = about.compared(fields.field("compare")?)?;
    let along = fields.get("along").map(|field| about.along(field, &compare)).transpose()?;
    let metrics: Vec<Metric> = Metric::of_cells().collect();
    let nominal = fields.get("nominal").map(|field| nominal(field, metric, cells, known.tables));
    let nominal = nominal.transpose()?;
    let rule = AnswerRule {
        only: only(fields, about)?,
        metric,
        along,
        nominal,
        published: published(fields, known.reference, |of| match counts(of.unit, metric) {
            true => Ok(()),
            false => Err(format!(
                "has another unit or kind ({}) than metric = {}; leave it out",
                of.says,
                metric.name()
            )),
        })?,
        written: headline::read(fields, &metrics, |row| {
            cell(row, known.cases, &case.name, &compare)
        })?,
        ..rule(fields, keys, about, &compare)?
    };
    if let Some(field) = fields.get(ONLY).filter(|_| !rule.names(&rule.baseline)) {
        return Err(field.flaw(&format!("lacks the baseline, {}; write it too", rule.baseline)));
    }
    let rule = AnswerRule { show: show(fields, &rule, cells)?, ..rule };
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

/// What both kinds of answers say.
fn rule(
    fields: Field<'_>,
    keys: AnswerKeys,
    about: About<'_>,
    compare: &str,
) -> Result<AnswerRule, Flaw> {
    let baseline = about.value(compare, fields.field("baseline")?)?;
    Ok(AnswerRule {
        question: keys.question.map(|Sentence(question)| question),
        project: keys.project.into_iter().map(|UpTo(cores)| cores).collect(),
        gates: keys.gate,
        ..AnswerRule::new(about.name(), Metric::Rate, compare, &baseline)
    })
}

fn of_table(
    fields: Field<'_>,
    keys: AnswerKeys,
    table: &AlgorithmTable,
    known: &Known<'_>,
) -> Result<Vec<AnswerRule>, Flaw> {
    let about = About::Table(table);
    let compare = about.compared(fields.field("compare")?)?;
    let scaled = known.scaled.iter().find(|other| other.name == table.name);
    let at = at(fields.get("at"), table, scaled.map_or(&[], |table| &table.sizes))?;
    let units = [Unit::Byte, Unit::Operation];
    let has = |unit: &Unit| table.algorithms.iter().any(|algorithm| algorithm.unit() == *unit);
    let metrics: Vec<Metric> = units.into_iter().flat_map(Metric::of_algorithm).collect();
    let row = |row: Field<'_>| table_row(row, table, &compare, at.last());
    let written = headline::read(fields, &metrics, row)?;
    let rule = AnswerRule {
        along: Some(SIZE.to_owned()),
        published: published(fields, known.reference, check_published)?,
        ..rule(fields, keys, about, &compare)?
    };
    let rule = AnswerRule { show: show(fields, &rule, &[])?, ..rule };
    let of_unit = |unit: Unit| {
        let algorithm = |row: &RowOf| algorithm(row.params.get(ALGORITHM)?);
        let is_own = |written: &HeadlineTemplates| {
            written.rows.values().find_map(algorithm).is_none_or(|of| of.unit() == unit)
        };
        AnswerRule {
            metric: Metric::of_algorithm(unit)[0],
            at: if unit == Unit::Byte { at.clone() } else { Vec::new() },
            written: written.clone().filter(is_own),
            ..rule.clone()
        }
    };
    Ok(units.into_iter().filter(has).map(of_unit).collect())
}

/// Adds what a `[[vary]]` asks: an answer for each case and metric of it, which compares the values of a key with the
/// first, where the study has none of its own.
pub(super) fn add_varied(varied: &[Field<'_>], study: &mut Study) -> Result<(), Flaw> {
    let mut cases: Vec<String> = study.cells.iter().map(|cell| cell.case.clone()).collect();
    cases.dedup();
    if cases.is_empty() && !varied.is_empty() {
        return Err(Flaw::lacking(
            "the study has no case of its own, which could have these values; name one that has",
        ));
    }
    for field in varied {
        let Sweep { key, values, .. } = sweep(*field)?;
        let (key, baseline) = (key.to_string(), &values[0].text);
        for case in &cases {
            let answers = study.answers.iter();
            let own: Vec<Metric> = answers
                .filter(|rule| rule.case == *case && rule.compare == key)
                .map(|rule| rule.metric)
                .collect();
            let lacking = study.metrics_of(case).into_iter().filter(|metric| !own.contains(metric));
            for metric in lacking.collect::<Vec<_>>() {
                let mut cells = study.cells.iter().filter(|cell| cell.case == *case);
                if !cells.all(|cell| metric.is_of(cell)) {
                    let why = "makes cells that have nothing to compare; leave a value out";
                    return Err(field.flaw(why));
                }
                study.answers.push(AnswerRule::new(case, metric, &key, baseline));
            }
        }
    }
    Ok(())
}
