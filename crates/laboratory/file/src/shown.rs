//! What an answer shows beside its figures, and what each part of that needs.

use std::collections::BTreeSet;

use super::error::Flaw;
use super::fields::Field;
use super::primitives::named;
use ::keys::{did_you_mean, full};
use offload::Way;
use study::metric::Kind;
use study::primitive::AlgorithmTable;
use study::reference::{Published, PublishedUnit, Reference};
use study::{AnswerRule, Cell, Metric, Show};

/// What is shown beside the figures, each of which fits the answer. What only says how is refused without it.
pub(super) fn show(
    fields: Field<'_>,
    rule: &AnswerRule,
    cells: &[Cell],
) -> Result<BTreeSet<Show>, Flaw> {
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
pub(super) fn nominal(
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
pub(super) fn published(
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
pub(super) fn counts(unit: PublishedUnit, metric: Metric) -> bool {
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

/// Refuses a published figure of a server in an answer about primitives.
pub(super) fn check_published(published: &Published) -> Result<(), String> {
    match published.unit {
        PublishedUnit::Ratio | PublishedUnit::CyclesPerByte | PublishedUnit::Words => Ok(()),
        _ => Err(format!(
            "is of a server ({}), and this answer is about primitives; leave it out",
            published.says
        )),
    }
}
