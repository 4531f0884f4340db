//! What used each CPU of the machine during the trials of a cell.

use std::collections::BTreeMap;

use cpus::CpuList;
use serde::Serialize;
use trial::{CoreSeries, TrialRecord};
use units::{Quantity, percent};

use super::findings::cell_labels::title;
use super::point::Point;
use super::row::Row;
use super::row_figure::RowFigure;
use crate::figure::Figure;
use crate::findings::{Bar, BarRow, Bars, Column, Section, Series, Table};

/// What used one CPU: shares of its time, each the median over the trials.
///
/// The kernel counts what a CPU does, and what a process uses on all its CPUs together. So the
/// server's time is taken to lie on each of its CPUs in proportion to what programs used there, and
/// the client's likewise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct CpuUse {
    pub cpu: usize,
    /// Whether it is one of the server's machine, where that is another one than the client's.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub of_host: bool,
    pub server: f64,
    pub client: f64,
    /// Other programs, the server's backend among them.
    pub others: f64,
    /// The kernel, for interrupts and their deferred work, where it counts that apart.
    pub interrupts: f64,
    /// Taken away by the hypervisor.
    pub stolen: f64,
    pub idle: f64,
}

impl CpuUse {
    /// Of each CPU that some of the trials know; none where the server's CPUs are not known.
    pub fn of<'a>(trials: impl Iterator<Item = &'a TrialRecord>) -> Vec<Self> {
        let mut by_cpu: BTreeMap<(bool, usize), Vec<Self>> = BTreeMap::new();
        for cpu in trials.flat_map(of_trial) {
            by_cpu.entry((cpu.of_host, cpu.cpu)).or_default().push(cpu);
        }
        by_cpu.into_values().filter_map(|all| median(&all)).collect()
    }
}

fn median(all: &[CpuUse]) -> Option<CpuUse> {
    let of = |part: fn(&CpuUse) -> f64| {
        let samples: Vec<f64> = all.iter().map(part).collect();
        stats::median(&samples).ok()
    };
    Some(CpuUse {
        server: of(|cpu| cpu.server)?,
        client: of(|cpu| cpu.client)?,
        others: of(|cpu| cpu.others)?,
        interrupts: of(|cpu| cpu.interrupts)?,
        stolen: of(|cpu| cpu.stolen)?,
        idle: of(|cpu| cpu.idle)?,
        ..*all.first()?
    })
}

fn of_trial(line: &TrialRecord) -> Vec<CpuUse> {
    let asked = &line.receipt.asked;
    let lists = asked.server_cpus.as_ref().zip(asked.client_cpus.as_ref());
    let times = line.cpu_ns.server.zip(line.cpu_ns.client);
    let (Some((server, client)), Some((server_ns, client_ns))) = (lists, times) else {
        return Vec::new();
    };
    let is_on = |cpu: usize, list: &CpuList| list.as_slice().contains(&cpu);
    let programs = |core: &CoreSeries| core.mean(&core.user) + core.mean(&core.system);
    let is_elsewhere = asked.host.is_some();
    let of_server = if is_elsewhere { &line.server_cpu_share } else { &line.cpu_share };
    // What a side used, over what programs used on its CPUs.
    let part = |cores: &[CoreSeries], list: &CpuList, used_ns: u64| {
        let cores = cores.iter().filter(|core| is_on(core.cpu, list));
        let ran: f64 = cores.map(programs).sum();
        if ran > 0.0 { used_ns as f64 / line.window_ns as f64 / ran } else { 0.0 }
    };
    let server_part = part(of_server, server, server_ns);
    let client_part = part(&line.cpu_share, client, client_ns);
    let of_cpu = |core: &CoreSeries, of_host: bool| {
        let ran = programs(core);
        let part =
            |list, part, is_there: bool| if is_there && is_on(core.cpu, list) { part } else { 0.0 };
        let server = part(server, server_part, of_host == is_elsewhere);
        let client = part(client, client_part, !of_host);
        // Where the kernel counts interrupts in processes too, these used more than programs did.
        let all = (server + client).max(1.0);
        let (server, client) = (ran * server / all, ran * client / all);
        CpuUse {
            cpu: core.cpu,
            of_host,
            server,
            client,
            others: ran - server - client,
            interrupts: core.mean(&core.softirq),
            stolen: core.mean(&core.steal),
            idle: core.mean(&core.idle),
        }
    };
    let here = line.cpu_share.iter().map(|core| of_cpu(core, false));
    here.chain(line.server_cpu_share.iter().map(|core| of_cpu(core, true))).collect()
}

/// For each CPU a row for each cell that is compared; along a key, at its last value.
pub(super) fn chart(points: &[Point]) -> Option<Bars> {
    let last = points.last()?;
    let of_row = |of: &'_ RowFigure| {
        let cpus = CpuUse::of(of.row.valid()).into_iter();
        cpus.map(|cpu| (of.label.clone(), cpu)).collect::<Vec<_>>()
    };
    let mut known: Vec<(String, CpuUse)> = last.shown().flat_map(of_row).collect();
    known.sort_by_key(|(_, cpu)| (cpu.of_host, cpu.cpu));
    let at = last.value_along().map(|value| format!(", {value}"));
    (!known.is_empty()).then(|| Bars {
        title: "What used each CPU".to_owned(),
        subtitle: last.subtitle() + &at.unwrap_or_default(),
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
    let part = |(series, name, of): Part| Bar {
        name: name.to_owned(),
        series,
        // By the kernel's rounding, what is nothing can be less.
        figure: Figure::of(vec![of(&cpu).max(0.0)]),
        ..Bar::default()
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
    let of_cell = |cell: &'a Row| CpuUse::of(cell.valid()).into_iter().map(move |cpu| (cell, cpu));
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

#[cfg(test)]
mod tests {
    use journal::testing::example;

    use super::*;

    /// A trial of a second: for each CPU what was in programs, in interrupts, and idle.
    fn trial(server: u64, client: u64, cpus: &[(f64, f64, f64)]) -> TrialRecord {
        let mut line = example().line;
        line.window_ns = 1_000_000_000;
        (line.cpu_ns.server, line.cpu_ns.client) = (Some(server), Some(client));
        line.receipt.asked.server_cpus = Some("0,1".parse().unwrap());
        line.receipt.asked.client_cpus = Some(2.into());
        let core = |(cpu, (ran, softirq, idle)): (usize, &(f64, f64, f64))| CoreSeries {
            cpu,
            step_ns: vec![250_000_000, 750_000_000],
            // In the first quarter nothing ran.
            user: vec![0.0, ran / 0.75],
            system: vec![0.0; 2],
            softirq: vec![*softirq; 2],
            steal: vec![0.0; 2],
            idle: vec![*idle; 2],
        };
        line.cpu_share = cpus.iter().enumerate().map(core).collect();
        line
    }

    fn rounded(cpus: &[CpuUse]) -> Vec<[f64; 5]> {
        let percents = |cpu: &CpuUse| {
            [cpu.server, cpu.client, cpu.others, cpu.interrupts, cpu.idle]
                .map(|share| (share * 100.0).round())
        };
        cpus.iter().map(percents).collect()
    }

    const CPUS: [(f64, f64, f64); 4] =
        [(0.9, 0.1, 0.0), (0.6, 0.1, 0.3), (0.5, 0.1, 0.4), (0.2, 0.0, 0.8)];

    #[test]
    fn each_sides_time_lies_where_programs_ran_on_its_cpus() {
        let line = trial(1_200_000_000, 450_000_000, &CPUS);
        assert_eq!(
            rounded(&CpuUse::of(std::iter::once(&line))),
            [
                [72.0, 0.0, 18.0, 10.0, 0.0],
                [48.0, 0.0, 12.0, 10.0, 30.0],
                [0.0, 45.0, 5.0, 10.0, 40.0],
                [0.0, 0.0, 20.0, 0.0, 80.0],
            ]
        );
    }

    #[test]
    fn cpus_of_two_machines_are_not_mixed_up() {
        let mut line = trial(600_000_000, 450_000_000, &CPUS[2..]);
        line.receipt.asked.host = Some("me@server".to_owned());
        line.receipt.asked.server_cpus = Some(0.into());
        line.receipt.asked.client_cpus = Some(0.into());
        line.server_cpu_share = trial(0, 0, &CPUS[..1]).cpu_share;
        let cpus = CpuUse::of(std::iter::once(&line));
        let places: Vec<(usize, bool)> = cpus.iter().map(|cpu| (cpu.cpu, cpu.of_host)).collect();
        assert_eq!(places, [(0, false), (1, false), (0, true)]);
        assert_eq!(
            rounded(&cpus),
            [
                [0.0, 45.0, 5.0, 10.0, 40.0],
                [0.0, 0.0, 20.0, 0.0, 80.0],
                [60.0, 0.0, 30.0, 10.0, 0.0],
            ]
        );
    }

    #[test]
    fn a_process_has_no_more_of_a_cpu_than_ran_there() {
        // The kernel counts interrupts in the process that they interrupt.
        let line = trial(1_900_000_000, 400_000_000, &CPUS);
        let cpus = rounded(&CpuUse::of(std::iter::once(&line)));
        assert_eq!((cpus[0], cpus[1][0]), ([90.0, 0.0, 0.0, 10.0, 0.0], 60.0));
    }

    #[test]
    fn the_median_is_over_trials_and_of_what_is_known() {
        let of = |server| trial(server, 500_000_000, &CPUS);
        let mut unknown = of(0);
        unknown.receipt.asked.server_cpus = None;
        let trials = [of(1_500_000_000), of(0), of(750_000_000), unknown.clone()];
        let cpus = CpuUse::of(trials.iter());
        assert_eq!(rounded(&cpus)[0], [45.0, 0.0, 45.0, 10.0, 0.0]);
        assert_eq!(CpuUse::of(std::iter::once(&unknown)), []);
    }
}
