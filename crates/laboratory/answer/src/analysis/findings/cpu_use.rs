//! What used each CPU: a chart for each answer about handshakes, a table of all cells.

use units::{Quantity, percent};

use super::cell_labels::title;
use crate::analysis::{Answer, CpuUse, Figure, Row, RowFigure};
use crate::findings::{self, BarRow, Bars, Chart, Column, Section, Series, Table};
use crate::wording::unique;

/// Those of all answers that say what proves that they are about handshakes, each once.
pub(super) fn charts(answers: &[Answer]) -> Vec<Chart> {
    let of_handshakes = answers.iter().filter(|answer| answer.purity.is_some());
    let charts = unique(of_handshakes.filter_map(chart));
    charts.into_iter().map(Chart::Bars).collect()
}

/// For each CPU a row for each cell that is compared; along a key, at its last value.
fn chart(answer: &Answer) -> Option<Bars> {
    let last = answer.points.last()?;
    let of_row = |of: &'_ RowFigure| {
        let cpus = of.row.cpus().into_iter();
        cpus.map(|cpu| (of.label.clone(), cpu)).collect::<Vec<_>>()
    };
    let mut known: Vec<(String, CpuUse)> = last.shown().flat_map(of_row).collect();
    known.sort_by_key(|(_, cpu)| (cpu.of_host, cpu.cpu));
    let at = last.value_along().map(|value| format!(", {value}"));
    (!known.is_empty()).then(|| Bars {
        title: "What used each CPU".to_owned(),
        subtitle: answer.subtitle() + &at.unwrap_or_default(),
        axis: "% of the CPU's time".to_owned(),
        unit: Quantity::Share.unit_for([]),
        is_share: true,
        is_stacked: true,
        rows: known.into_iter().map(row).collect(),
        ..Bars::default()
    })
}

type Part = (Series, &'static str, fn(&CpuUse) -> f64);

/// What uses a CPU.
const PARTS: [Part; 5] = [
    (Series::Server, "server", |cpu| cpu.server),
    (Series::Client, "client", |cpu| cpu.client),
    (Series::Others, "other programs", |cpu| cpu.others),
    (Series::Interrupts, "interrupts", |cpu| cpu.interrupts),
    (Series::Stolen, "hypervisor", |cpu| cpu.stolen),
];

fn row((name, cpu): (String, CpuUse)) -> BarRow {
    let part = |(series, name, of): Part| findings::Bar {
        name: name.to_owned(),
        series,
        // By the kernel's rounding, what is nothing can be less.
        figure: Figure::of(vec![of(&cpu).max(0.0)]),
        ..findings::Bar::default()
    };
    let label = format!("CPU {}, {name}", number(&cpu));
    BarRow { label, bars: PARTS.map(part).to_vec(), lacking: None }
}

fn number(cpu: &CpuUse) -> String {
    match cpu.of_host {
        true => format!("{} of the server's host", cpu.cpu),
        false => cpu.cpu.to_string(),
    }
}

/// A row for each CPU of each cell; none where nothing is known of any.
pub(super) fn section<'a>(cells: &[&'a Row]) -> Option<Section> {
    let of_cell = |cell: &'a Row| cell.cpus().into_iter().map(move |cpu| (cell, cpu));
    let rows: Vec<(&Row, CpuUse)> = cells.iter().copied().flat_map(of_cell).collect();
    let column = |name: &str, of: fn(&CpuUse) -> f64| {
        // What rounds to nothing has no sign.
        let shares = rows.iter().map(|(_, cpu)| of(cpu) + 0.0);
        Column::numbers(name, "", shares.map(|share| (percent(share), share)))
    };
    let number = |(_, cpu): &(&Row, CpuUse)| (number(cpu), cpu.cpu as f64);
    let mut columns = vec![
        Column::words("cell", rows.iter().map(|(cell, _)| title(cell))),
        Column::numbers("CPU", "", rows.iter().map(number)),
    ];
    columns.extend(PARTS.map(|(_, name, of)| column(name, of)));
    columns.push(column("idle", |cpu| cpu.idle));
    (!rows.is_empty()).then(|| Section {
        title: "What used each CPU",
        about: "Medians over the valid trials of a cell. The CPU time of a server or a client is \
                known for all its CPUs together, and is shared out in proportion to what programs used \
                on each. Interrupts are those that the kernel counts separately.",
        tables: vec![Table { title: "CPU by CPU".to_owned(), columns, ..Table::default() }],
    })
}
