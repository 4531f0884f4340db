//! The bill of a handshake as a stacked bar and a row for each cell; of bodies the cipher has a row.

use stats::Estimate;
use units::{Hertz, Quantity, percent};

use super::bars::{combinations, subtitle};
use crate::analysis::{Answer, CellBill, CipherCost, Figure, Parts};
use crate::findings::{Bar, BarRow, Bars, Column, Series, Table, TableCell};

/// Cells with what tells them from the others.
type Labelled<'a, T> = Vec<(String, &'a T)>;

fn labelled<'a, T>(
    answers: &'a [&'a Answer],
    cells: impl Fn(&'a Answer) -> &'a [T],
    label: impl Fn(&T) -> &str,
) -> Labelled<'a, T> {
    let each = combinations(answers).into_iter().zip(answers).flat_map(|(combination, answer)| {
        let label = |cell: &T| match answers.len() {
            1 => label(cell).to_owned(),
            _ => format!("{combination}, {}", label(cell)),
        };
        cells(answer).iter().map(|cell| (label(cell), cell)).collect::<Vec<_>>()
    });
    each.collect()
}

fn bills<'a>(answers: &'a [&'a Answer]) -> Labelled<'a, CellBill> {
    let cells = |answer: &'a Answer| answer.bill.as_ref().map_or(&[][..], |bill| &bill.cells);
    labelled(answers, cells, |cell| &cell.label)
}

/// Of handshakes, or of bodies; `None` where the study asks for neither.
pub(super) fn table(answers: &[&Answer]) -> Option<Table> {
    let bills = bills(answers);
    let of_bodies = |answer| -> &[CipherCost] {
        let answer: &Answer = answer;
        answer.bill.as_ref().map_or(&[], |bill| &bill.ciphers)
    };
    let ciphers = labelled(answers, of_bodies, |cost| &cost.label);
    match (bills.is_empty(), ciphers.is_empty()) {
        (false, _) => Some(of_handshakes(&bills)),
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

/// `None` where no cell has its parts.
pub(super) fn chart(answers: &[&Answer]) -> Option<Bars> {
    let bills = bills(answers);
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
        subtitle: subtitle(answers),
        axis: format!("{} of the server's CPU time per full handshake; lower is better", unit.name),
        unit,
        is_stacked: true,
        rows: cells.iter().map(row).collect(),
        ..Bars::default()
    })
}
