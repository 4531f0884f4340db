//! The bill of a full handshake: what its parts cost by themselves, beside what the server used for all
//! of it. Of bodies it has the [cipher](CipherCost) alone.
//!
//! The private-key operation and TLS in memory come from a table of primitives, the whole is the
//! server's CPU time per handshake. What TLS in memory costs beside the private key is a difference of
//! medians, and so is what the whole costs beside TLS in memory: the kernel, the sockets and the server.
//! Parts that exceed the whole leave a negative difference, which stays what it is.
//!
//! Where the server's CPU time was sampled, the same whole is divided a second time, by classes of work.

use profile::Class;
use serde::Serialize;
use stats::{Decision, Direction, Estimate, difference_of_medians, ratio_of_medians};
use study::{AnswerRule, Metric};
use units::{Hertz, Quantity, percent};

use super::cipher::{self, CipherCost};
use super::cycles::Cycles;
use super::point::Point;
use super::row::Row;
use super::row_figure::RowFigure;
use crate::costs::{AlgorithmRow, Cost};
use crate::figure::Figure;
use crate::findings::{Bar, BarRow, Bars, Column, Series, Table, TableCell};
use crate::label::label;
use crate::wording::{list_of, listed};

/// The bills of the cells of an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Bill {
    /// In the study's order, those with figures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<CellBill>,
    /// The same of an answer about bodies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ciphers: Vec<CipherCost>,
    /// What is lacking or doubtful and why, a sentence each.
    #[serde(skip)]
    pub lacking: Vec<String>,
}

/// The bill of one cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellBill {
    /// The value of the compared key in words.
    pub label: String,
    pub cell: String,
    /// The library of the parts, and its version.
    pub library: String,
    /// Private-key operations per second on one core.
    pub private_key_per_s: Figure,
    /// Handshakes per second of one core.
    pub per_s: Figure,
    /// The second over the first.
    pub share: Estimate,
    /// Where the handshake was measured in memory too.
    pub parts: Option<Parts>,
    /// Where the server's CPU time was sampled too.
    pub sampled: Option<Sampled>,
}

/// CPU time of the server per handshake, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Parts {
    pub whole_ns: Figure,
    pub private_key_ns: Figure,
    /// The rest of TLS in memory.
    pub tls_ns: Estimate,
    /// What is left of the whole: the kernel, the sockets and the server.
    pub rest_ns: Estimate,
}

/// CPU time of the server per handshake by class of work, in nanoseconds: shares of samples of the whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sampled {
    /// Cryptography and the TLS library.
    pub tls_ns: f64,
    /// All else.
    pub rest_ns: f64,
}

impl Sampled {
    /// `None` where nothing reliable was sampled.
    fn of(trials: &Row) -> Option<Self> {
        let cycles = Cycles::of(trials).filter(|cycles| cycles.doubts.is_empty())?;
        let is_tls = |class: Class| class.is_crypto() || class == Class::TlsLibrary;
        let sum = |of_tls: bool| {
            let times =
                cycles.ns_per_operation.iter().filter(|(class, _)| is_tls(**class) == of_tls);
            times.map(|(_, ns)| ns).sum()
        };
        (!cycles.ns_per_operation.is_empty())
            .then(|| Self { tls_ns: sum(true), rest_ns: sum(false) })
    }
}

impl Parts {
    fn of(whole_ns: Figure, private_key_ns: Figure, in_memory: &Figure) -> Option<Self> {
        let less = |a: &Figure, b: &Figure| difference_of_medians(&a.samples, &b.samples).ok();
        Some(Self {
            tls_ns: less(in_memory, &private_key_ns)?,
            rest_ns: less(&whole_ns, in_memory)?,
            whole_ns,
            private_key_ns,
        })
    }
}

impl Bill {
    /// `None` where the rule asks for none, or nothing of it was measured.
    pub(super) fn of(point: &Point, rows: &[AlgorithmRow]) -> Option<Self> {
        let table = point.rule.nominal.as_ref()?;
        if point.is_of_bodies() {
            let of = |entry| CipherCost::of(point, entry, rows);
            let ciphers: Vec<CipherCost> = point.shown().filter_map(of).collect();
            let timed = point.shown().filter_map(|entry| cipher::timed(point, entry, rows));
            let doubts = [cipher::exceeding(&ciphers), disturbed(timed.map(|(row, _)| row))];
            return Some(Self {
                lacking: doubts.into_iter().flatten().collect(),
                ciphers,
                cells: Vec::new(),
            });
        }
        let rows: Vec<&AlgorithmRow> = rows.iter().filter(|row| row.table == *table).collect();
        let mut bill = Self::default();
        for (entry, per_core) in point.measured() {
            match CellBill::of(&point.rule, entry, per_core, &rows) {
                Ok(cell) => bill.cells.push(cell),
                Err(Some(lacking)) if !bill.lacking.contains(&lacking) => {
                    bill.lacking.push(lacking)
                }
                Err(_) => {}
            }
        }
        let is_asked_for = |row: &AlgorithmRow| {
            point.figures.iter().filter_map(|entry| entry.row.cell()).any(|cell| {
                let parts = [cell.private_key_operation(), cell.handshake_in_memory()];
                parts.contains(&Some(row.key.algorithm))
            })
        };
        let asked_for = rows.iter().copied().filter(|row| is_asked_for(row));
        bill.lacking.extend(disturbed(asked_for));
        bill.lacking.extend(exceeding(&bill.cells));
        Some(bill)
    }
}

impl CellBill {
    fn of(
        rule: &AnswerRule,
        entry: &RowFigure,
        per_core: &Figure,
        rows: &[&AlgorithmRow],
    ) -> Result<Self, Option<String>> {
        let cell = entry.row.cell().ok_or(None)?;
        let row = |algorithm| rows.iter().find(|row| row.key.algorithm == algorithm).copied();
        let cost_of = |row: &AlgorithmRow| match &row.cost {
            Some(cost) => Ok(cost.ns_per_op.clone()),
            None => {
                let none = row.no_figure.as_ref();
                let why = none.map_or("it was not measured", |none| none.why.as_str());
                let of = row.key.algorithm;
                Err(Some(format!("The bill lacks {of} with {}: {why}.", row.library_title)))
            }
        };
        let key = cell.private_key_operation().and_then(row).ok_or(None)?;
        let private_key_ns = cost_of(key)?;
        // A table has the rows of its first library first.
        let in_memory = cell.handshake_in_memory().and_then(row);
        let in_memory = in_memory.filter(|row| row.key.library == key.key.library);
        let whole = entry.row.figure(Metric::ServerCpuPerOperation);
        let parts = match in_memory.zip(whole) {
            Some((row, whole)) => Parts::of(whole, private_key_ns.clone(), &cost_of(row)?),
            None => None,
        };
        let private_key_per_s = private_key_ns.map(|ns| 1e9 / ns).ok_or(None)?;
        let share = ratio_of_medians(&per_core.samples, &private_key_per_s.samples);
        Ok(Self {
            label: label(&rule.compare, &entry.value),
            cell: cell.name.clone(),
            library: key.library_title.clone(),
            share: share.map_err(|_| None)?,
            private_key_per_s,
            per_s: per_core.clone(),
            parts,
            sampled: Sampled::of(&entry.row),
        })
    }

    /// Whether the parts exceed the whole: beyond their intervals, and where these are of too few samples, by
    /// their medians.
    pub fn exceeds(&self) -> bool {
        match &self.parts {
            Some(Parts { tls_ns, rest_ns, .. }) => {
                let is_below_nothing = |part: &Estimate| match Decision::of_interval(part, 0.0) {
                    Decision::TooFew => part.median < 0.0,
                    decision => decision == Decision::Sure(Direction::Below),
                };
                [tls_ns, rest_ns].into_iter().any(is_below_nothing)
            }
            None => cipher::is_more_than_the_whole(&self.share),
        }
    }
}

/// What was disturbed while it was timed alone.
fn disturbed<'a>(rows: impl Iterator<Item = &'a AlgorithmRow>) -> Option<String> {
    let disturbed = rows.filter(|row| row.cost.as_ref().is_some_and(Cost::is_disturbed));
    let names = listed(disturbed.map(|row| row.key.algorithm.to_string()))?;
    Some(format!(
        "Something else used the core while {names} was timed alone: the figure is too high."
    ))
}

/// Those whose parts exceed the whole.
fn exceeding(cells: &[CellBill]) -> Option<String> {
    let exceeding = cells.iter().filter(|cell| cell.exceeds());
    let items = listed(exceeding.map(|cell| cell.label.clone()))?;
    Some(format!(
        "Of {items} the parts exceed the whole. They were not measured alike: the library, the core's \
         frequency or what else used the core differed."
    ))
}

/// Parts of bills, each with what tells it from the others.
type Labelled<'a, T> = Vec<(String, &'a T)>;

fn labelled<'a, T>(
    bills: &[(String, &'a Bill)],
    parts: fn(&Bill) -> &[T],
    label: fn(&T) -> &str,
) -> Labelled<'a, T> {
    let of = |(answer, bill): &(String, &'a Bill)| {
        let labelled = |part: &'a T| (list_of([answer.as_str(), label(part)]), part);
        parts(bill).iter().map(labelled).collect::<Vec<_>>()
    };
    bills.iter().flat_map(of).collect()
}

/// Of handshakes, or of bodies, a row for each cell; `None` where the study asks for neither.
pub(super) fn table(bills: &[(String, &Bill)]) -> Option<Table> {
    let cells = labelled(bills, |bill| &bill.cells, |cell| &cell.label);
    let ciphers = labelled(bills, |bill| &bill.ciphers, |cost| &cost.label);
    match (cells.is_empty(), ciphers.is_empty()) {
        (false, _) => Some(of_handshakes(&cells)),
        (true, false) => Some(of_ciphers(&ciphers)),
        (true, true) => None,
    }
}

fn of_handshakes(bills: &Labelled<'_, CellBill>) -> Table {
    let parts = || bills.iter().filter_map(|(_, cell)| cell.parts.as_ref());
    let unit = Quantity::Nanos.unit_for(parts().map(|parts| parts.whole_ns.median()));
    let per_s = bills.iter().flat_map(|(_, cell)| [&cell.private_key_per_s, &cell.per_s]);
    let rate = Quantity::PerSecond.unit_for(per_s.map(Figure::median));
    let rates = |name: &str, of: fn(&CellBill) -> &Figure| {
        let cells = bills.iter().map(|(_, cell)| TableCell::figure(of(cell), &rate));
        Column::numbers(name, rate.name, cells)
    };
    let times = |name: &str, of: &dyn Fn(&Parts) -> Estimate| {
        let cell = |(_, cell): &(String, &CellBill)| {
            let part = cell.parts.as_ref().map(of);
            part.map_or_else(TableCell::default, |part| TableCell::figure(part, &unit))
        };
        Column::numbers(name, unit.name, bills.iter().map(cell))
    };
    let sampled = |name: &str, of: fn(&CellBill) -> Option<f64>| {
        let cell = |(_, cell): &(String, &CellBill)| match of(cell) {
            Some(ns) => (unit.number(ns), ns).into(),
            None => TableCell::default(),
        };
        Column::numbers(name, unit.name, bills.iter().map(cell)).yields_to(2)
    };
    let share = |(_, cell): &(String, &CellBill)| (percent(cell.share.median), cell.share.median);
    let library = bills.first().map(|(_, cell)| cell.library.clone()).unwrap_or_default();
    Table {
        title: "What a full handshake takes of the server's CPU".to_owned(),
        notes: vec![format!(
            "The private key and TLS in memory were timed alone, with {library}; the rest is the difference: \
             kernel, sockets and server."
        )],
        columns: vec![
            Column::words(
                "",
                bills.iter().map(|(label, cell)| TableCell::about(&cell.cell, label.clone())),
            ),
            rates("private key alone", |cell| &cell.private_key_per_s).yields_to(1),
            rates("handshakes per core", |cell| &cell.per_s).yields_to(3),
            Column::numbers("of the private key's rate", "", bills.iter().map(share)),
            times("whole", &|parts| parts.whole_ns.estimate),
            times("private key", &|parts| parts.private_key_ns.estimate),
            times("rest of TLS", &|parts| parts.tls_ns),
            times("rest", &|parts| parts.rest_ns),
            sampled("TLS, sampled", |cell| Some(cell.sampled.as_ref()?.tls_ns)),
            sampled("rest, sampled", |cell| Some(cell.sampled.as_ref()?.rest_ns)),
        ],
        ..Table::default()
    }
}

fn of_ciphers(ciphers: &Labelled<'_, CipherCost>) -> Table {
    let costs = ciphers.iter().map(|(_, cost)| cost.s_per_gb.median());
    let unit = Quantity::SecondsPerGigabyte.unit_for(costs);
    fn cycles<'a>((_, cost): &(String, &'a CipherCost)) -> &'a Figure {
        &cost.cycles_per_byte
    }
    let of_byte = Quantity::CyclesPerByte.unit_for(ciphers.iter().map(cycles).map(Figure::median));
    let share = |(_, cost): &(String, &CipherCost)| (percent(cost.share.median), cost.share.median);
    let library = ciphers.first().map(|(_, cost)| cost.library.clone()).unwrap_or_default();
    Table {
        title: "What the cipher alone takes of the server's CPU".to_owned(),
        notes: vec![format!("The cipher was timed alone, with {library}.")],
        columns: vec![
            Column::words(
                "",
                ciphers.iter().map(|(label, cost)| TableCell::about(&cost.cell, label.clone())),
            ),
            Column::numbers(
                "cipher",
                of_byte.name,
                ciphers.iter().map(|of| TableCell::figure(cycles(of), &of_byte)),
            ),
            Column::words("at", ciphers.iter().map(|(_, cost)| Hertz(cost.core_hz).to_string()))
                .yields_to(1),
            Column::numbers(
                "cipher",
                unit.name,
                ciphers.iter().map(|(_, cost)| TableCell::figure(&cost.s_per_gb, &unit)),
            ),
            Column::numbers("of the server's CPU", "", ciphers.iter().map(share)),
        ],
        ..Table::default()
    }
}

/// A stacked bar for each cell; `None` where none has its parts.
pub(super) fn chart(bills: &[(String, &Bill)], subtitle: String) -> Option<Bars> {
    let bills = labelled(bills, |bill| &bill.cells, |cell| &cell.label);
    let cells: Vec<(&String, &Parts)> =
        bills.iter().filter_map(|(label, cell)| Some((label, cell.parts.as_ref()?))).collect();
    let unit = Quantity::Nanos.unit_for(cells.iter().map(|(_, parts)| parts.whole_ns.median()));
    let row = |(cell, parts): &(&String, &Parts)| {
        let bar = |(series, name, estimate): (Series, &str, Estimate)| Bar {
            name: name.to_owned(),
            series,
            figure: Some(Figure::from(estimate)),
            ..Bar::default()
        };
        let bars = [
            (Series::PrivateKey, "private key", parts.private_key_ns.estimate),
            (Series::Tls, "rest of TLS", parts.tls_ns),
            (Series::Rest, "kernel, sockets and server", parts.rest_ns),
        ];
        BarRow { label: (*cell).clone(), bars: bars.map(bar).to_vec(), lacking: None }
    };
    (!cells.is_empty()).then(|| Bars {
        title: "What a full handshake is made of".to_owned(),
        subtitle,
        axis: format!("{} of the server's CPU time per full handshake; lower is better", unit.name),
        unit,
        is_stacked: true,
        rows: cells.iter().map(row).collect(),
        ..Bars::default()
    })
}
