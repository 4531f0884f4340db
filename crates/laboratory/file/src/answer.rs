//! An `[[answer]]`: one figure of the cells of a case or of the rows of a table, over the values of one of their
//! keys.

use std::collections::{BTreeMap, BTreeSet};

use super::case::Case;
use super::document::{AnswerKeys, Sentence};
use super::error::Flaw;
use super::fields::Field;
use super::merged::canonical;
use super::primitives::named;
use super::up_to::UpTo;
use super::{headline, primitives};
use ::keys::{did_you_mean, full};
use ::primitives::{Algorithm, Unit, library};
use load::Operation;
use offload::Way;
use study::headline::{BestOf, HeadlineTemplates, RowOf};
use study::metric::Kind;
use study::primitive::{ALGORITHM, AlgorithmTable, CACHE, HARDWARE, LIBRARY, MessageSize, SIZE};
use study::reference::{Published, PublishedUnit, Reference};
use study::{AnswerRule, Cell, Metric, Param, Show};
use targets::Restart;
use units::Bytes;

/// The keys whose value `none` is plain HTTP.
const PLAIN: [&str; 2] = [full::VERSION, full::SUITE];

/// Whose rows an answer compares.
pub(super) const CASE: &str = "case";

/// The cases by their names, each with its cells.
pub(super) type Cases<'a> = BTreeMap<&'a str, (&'a Case<'a>, Vec<Cell>)>;

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

/// What one answer is about.
#[derive(Clone, Copy)]
enum About<'a> {
    Case(&'a Case<'a>),
    Table(&'a AlgorithmTable),
}

/// Reads an answer: a rule, and of a table that has algorithms both of bytes and of operations one for each.
pub(super) fn read(fields: Field<'_>, known: &Known<'_>) -> Result<Vec<AnswerRule>, Flaw> {
    let keys: AnswerKeys = fields.read()?;
    let of_cases = [CASE, "metric", "along", "nominal"];
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
        ..rule(fields, keys, about, compare)?
    };
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
    compare: String,
) -> Result<AnswerRule, Flaw> {
    Ok(AnswerRule {
        question: keys.question.map(|Sentence(question)| question),
        case: about.name().to_owned(),
        metric: Metric::Rate,
        baseline: about.value(&compare, fields.field("baseline")?)?,
        compare,
        along: None,
        at: Vec::new(),
        show: BTreeSet::new(),
        published: Vec::new(),
        project: keys.project.into_iter().map(|UpTo(cores)| cores).collect(),
        gates: keys.gate,
        nominal: None,
        written: None,
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
        ..rule(fields, keys, about, compare.clone())?
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

impl About<'_> {
    fn name(&self) -> &str {
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
    fn compared(&self, field: Field<'_>) -> Result<String, Flaw> {
        let key = self.key(field.text()?).map_err(|why| field.wrong(&why))?;
        match self {
            Self::Table(table) if table.values(&key).len() < 2 => Err(field.wrong(&format!(
                "has one value in primitives {}, so there is nothing to compare; write another there",
                table.name
            ))),
            _ => Ok(key),
        }
    }

    fn along(&self, field: Field<'_>, compare: &str) -> Result<String, Flaw> {
        let along = self.compared(field)?;
        match along == compare {
            false => Ok(along),
            true => Err(field.wrong("is what is compared; write another key that the case sweeps")),
        }
    }

    /// One of its keys.
    fn key(&self, text: &str) -> Result<String, String> {
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
    fn value(&self, key: &str, field: Field<'_>) -> Result<String, Flaw> {
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

/// What is shown beside the figures, each of which fits the answer. What only says how is refused without it.
fn show(fields: Field<'_>, rule: &AnswerRule, cells: &[Cell]) -> Result<BTreeSet<Show>, Flaw> {
    let mut all = BTreeSet::new();
    for field in fields.get("show").map(Field::one_or_more).unwrap_or_default() {
        let show: Show = field.read()?;
        if let Some(needs) = lacks(show, rule, cells) {
            return Err(field.wrong(needs));
        }
        all.insert(show);
    }
    for (key, show, name) in
        [("nominal", Show::Bill, "bill"), ("project", Show::Projection, "projection")]
    {
        if let Some(field) = fields.get(key).filter(|_| !all.contains(&show)) {
            return Err(field.flaw(&format!("has no effect; write show = \"{name}\" too")));
        }
    }
    Ok(all)
}

/// What an answer about these cells would need for this, where it does not have it; a table has no cells.
fn lacks(show: Show, rule: &AnswerRule, cells: &[Cell]) -> Option<&'static str> {
    let AnswerRule { metric, compare, along, .. } = rule;
    let way = |cell: &Cell| cell.target.accelerator().map(|device| device.way);
    let is_device = |of: &Published| of.unit == PublishedUnit::GbpsOfDevice;
    let of_table = cells.is_empty();
    let tax = "needs metric = \"tls-tax\"";
    let (fits, needs) = match show {
        Show::Projection if !of_table && metric.row().kind != Kind::Throughput => (
            false,
            "needs a metric of what all cores do together; choose one such as rate or goodput",
        ),
        Show::Projection => {
            let has_cores = !rule.project.is_empty() || along.as_deref() == Some(full::CORES);
            (has_cores, "needs numbers of cores; write project = [8, 16]")
        }
        _ if of_table => {
            (false, "is of a server, and this answer is about primitives; leave it out")
        }
        Show::Bill => {
            (rule.nominal.is_some(), "needs a table of primitives; write nominal = \"...\"")
        }
        Show::Crossover if along.is_none() => (false, "needs `along`; write along = \"...\" too"),
        Show::Crossover => (
            metric.row().kind != Kind::Cost,
            "needs a metric of which more is better; choose one such as goodput",
        ),
        Show::HitRate => (compare == full::RESUMPTION, "needs compare = \"load.resumption\""),
        Show::Offload => (
            *metric == Metric::ServerCpuPerOperation
                && cells.iter().any(|cell| way(cell) == Some(Way::Inline)),
            "needs metric = \"server-cpu-per-operation\", and cells with target.offload = \"inline\"",
        ),
        Show::DeviceUse => (
            *metric == Metric::Rate && cells.iter().any(|cell| way(cell).is_some()),
            "needs metric = \"rate\", and cells with target.accelerator = \"model\"",
        ),
        Show::PerDevice => (
            rule.published.iter().any(is_device),
            "needs the published figure of a device; write its name in published",
        ),
        Show::ReadingClient | Show::Sendfile | Show::Loopback => (*metric == Metric::TlsTax, tax),
        Show::Prediction => (
            matches!(metric, Metric::Rate | Metric::RatePerServerCpu),
            "needs metric = \"rate\" or \"rate-per-server-cpu\"",
        ),
        Show::LittlesLaw => {
            (along.as_deref() == Some(full::CONNECTIONS), "needs along = \"load.connections\"")
        }
    };
    (!fits).then_some(needs)
}

/// The table that has what the server's key does in each handshake of the case, or what seals its records.
fn nominal(
    field: Field<'_>,
    metric: Metric,
    cells: &[Cell],
    tables: &[AlgorithmTable],
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

fn private_keys(field: Field<'_>, cells: &[Cell], table: &AlgorithmTable) -> Result<(), Flaw> {
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
fn record_ciphers(field: Field<'_>, cells: &[Cell], table: &AlgorithmTable) -> Result<(), Flaw> {
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
fn published(
    fields: Field<'_>,
    reference: Option<&Reference>,
    check: impl Fn(&Published) -> Result<(), String>,
) -> Result<Vec<Published>, Flaw> {
    let Some(field) = fields.get("published") else { return Ok(Vec::new()) };
    let one = |field: Field<'_>| {
        let published = figure(field, reference)?;
        check(&published).map_err(|why| field.wrong(&why))?;
        Ok(published)
    };
    field.one_or_more().into_iter().map(one).collect()
}

/// A figure of the study's reference.
pub(super) fn figure(field: Field<'_>, reference: Option<&Reference>) -> Result<Published, Flaw> {
    let text = field.text()?;
    let Some(reference) = reference else {
        return Err(field.flaw("needs a reference; write reference = \"...\" at the top"));
    };
    reference.figure(text).ok_or_else(|| {
        let hint = did_you_mean(text, "its figures are", reference.figures());
        field.wrong(&format!("is not a figure of the study's reference{hint}"))
    })
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
        PublishedUnit::Pace => metric.covers_whole_load(),
        PublishedUnit::Words => true,
        PublishedUnit::CyclesPerByte | PublishedUnit::Share => false,
    }
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

/// Whether a row is the best of those that differ in what is compared.
pub(super) const BEST: &str = "best";

/// Which cell a row is, of the answer's case where it names no other.
fn cell(fields: Field<'_>, cases: &Cases<'_>, usual: &str, compare: &str) -> Result<RowOf, Flaw> {
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

fn algorithm(of: &Param) -> Option<Algorithm> {
    match of {
        Param::Algorithm(algorithm) => Some(*algorithm),
        _ => None,
    }
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
fn at(
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
