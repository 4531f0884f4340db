//! What used each CPU: a chart for each answer about handshakes, a table of all cells.

use units::percent;

use super::words::title;
use crate::analysis::{Answer, Bar, CellSummary, CpuUse};
use crate::findings::{Chart, Column, Section, Series, Stack, StackRow, Stacks, Table};
use crate::label::label;

/// Those of all answers that say what proves that they are about handshakes, each once.
pub(super) fn charts(answers: &[Answer], cells: &[CellSummary]) -> Vec<Chart> {
    let mut charts: Vec<Stacks> = Vec::new();
    let of_handshakes = answers.iter().filter(|answer| answer.purity.is_some());
    for chart in of_handshakes.filter_map(|answer| chart(answer, cells)) {
        if !charts.contains(&chart) {
            charts.push(chart);
        }
    }
    charts.into_iter().map(Chart::Stacks).collect()
}

/// A row for each CPU, and in it a bar for each cell that is compared; along a key, at its last
/// value.
fn chart(answer: &Answer, cells: &[CellSummary]) -> Option<Stacks> {
    let last = answer.curve.as_ref().and_then(|curve| curve.points.last());
    let bars = last.map_or(&answer.bars, |point| &point.bars);
    let of_bar = |bar: &Bar| -> Option<&[CpuUse]> {
        let cell = cells.iter().find(|cell| cell.cell == bar.cell)?;
        (!cell.cpus.is_empty()).then_some(&cell.cpus)
    };
    let known: Vec<(&str, &[CpuUse])> =
        bars.iter().filter_map(|bar| Some((bar.label.as_str(), of_bar(bar)?))).collect();
    let mut numbers: Vec<usize> =
        known.iter().flat_map(|(_, cpus)| cpus.iter().map(|cpu| cpu.cpu)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let row = |number: usize| {
        let of_cpu = |(name, cpus): &(&str, &[CpuUse])| {
            let cpu = cpus.iter().find(|cpu| cpu.cpu == number)?;
            Some(Stack { name: (*name).to_owned(), parts: parts(cpu) })
        };
        let bars = known.iter().filter_map(of_cpu).collect();
        StackRow { label: format!("CPU {number}"), bars }
    };
    let common = answer.common.iter().map(|(key, value)| label(key, value));
    let mut subtitle: Vec<String> = std::iter::once(answer.case.clone()).chain(common).collect();
    subtitle.extend(last.map(|point| point.label.clone()));
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    subtitle.push(match names[..] {
        [] => return None,
        [name] => name.to_owned(),
        _ => format!("from above: {}", names.join(", ")),
    });
    Some(Stacks {
        title: "What used each CPU".to_owned(),
        subtitle: subtitle.join(", "),
        rows: numbers.into_iter().map(row).collect(),
        legend: PARTS.to_vec(),
    })
}

const PARTS: [(Series, &str); 5] = [
    (Series::Server, "server"),
    (Series::Client, "client"),
    (Series::Others, "other programs"),
    (Series::Interrupts, "interrupts"),
    (Series::Stolen, "hypervisor"),
];

fn parts(cpu: &CpuUse) -> Vec<(Series, f64)> {
    let CpuUse { server, client, others, interrupts, stolen, .. } = *cpu;
    let shares = [server, client, others, interrupts, stolen];
    PARTS.iter().map(|(series, _)| *series).zip(shares).collect()
}

/// A row for each CPU of each cell; none where nothing is known of any.
pub(super) fn section(cells: &[CellSummary]) -> Option<Section> {
    let rows: Vec<(&CellSummary, &CpuUse)> =
        cells.iter().flat_map(|cell| cell.cpus.iter().map(move |cpu| (cell, cpu))).collect();
    let column = |name: &str, of: fn(&CpuUse) -> f64| {
        // What rounds to nothing has no sign.
        let shares = rows.iter().map(|(_, cpu)| of(cpu) + 0.0);
        Column::numbers(name, "", shares.map(|share| (percent(share), share)))
    };
    let number = |(_, cpu): &(&CellSummary, &CpuUse)| (cpu.cpu.to_string(), cpu.cpu as f64);
    let columns = vec![
        Column::words("cell", rows.iter().map(|(cell, _)| title(cell))),
        Column::numbers("CPU", "", rows.iter().map(number)),
        column("server", |cpu| cpu.server),
        column("client", |cpu| cpu.client),
        column("other programs", |cpu| cpu.others),
        column("interrupts", |cpu| cpu.interrupts),
        column("hypervisor", |cpu| cpu.stolen),
        column("idle", |cpu| cpu.idle),
    ];
    (!rows.is_empty()).then(|| Section {
        title: "What used each CPU",
        about: "Medians over the valid trials of a cell. What a server or a client uses is known of \
                all its CPUs together, and is shared out by what programs used on each. Interrupts \
                are those that the kernel counts apart.",
        tables: vec![Table { title: "CPU by CPU".to_owned(), columns, ..Table::default() }],
    })
}
