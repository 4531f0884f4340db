//! The figures of a cell by name, and figures in words.

use crate::analysis::{Analysis, CellSummary, Figure};

use crate::label::trials;
use crate::quantity::{Quantity, Unit};

/// Whether the figure has an interval: one trial has none.
pub fn has_interval(figure: &Figure) -> bool {
    figure.estimate.interval.coverage > 0.0
}

/// `[7.05, 7.31]`; empty where there is no interval.
pub fn interval(figure: &Figure, unit: &Unit) -> String {
    let interval = figure.estimate.interval;
    match has_interval(figure) {
        true => format!("[{}, {}]", unit.number(interval.low), unit.number(interval.high)),
        false => String::new(),
    }
}

/// How sure the intervals of a run are, by the number of trials, in parts of a sentence.
pub fn coverages(analysis: &Analysis) -> Vec<String> {
    let figures = analysis.cells.iter().filter_map(|cell| cell.rate_per_s.as_ref());
    let mut coverages: Vec<(usize, f64)> =
        figures.map(|figure| (figure.estimate.n, figure.estimate.interval.coverage)).collect();
    coverages.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
    coverages.dedup_by_key(|(n, _)| *n);
    let in_words = |(n, coverage)| match n {
        1 => "with 1 trial there is no interval".to_owned(),
        _ => format!(
            "with {} it covers the true median in {} of runs",
            trials(n),
            units::percent(coverage)
        ),
    };
    coverages.into_iter().map(in_words).collect()
}

/// Two words with a space between, or the first alone.
pub fn joined(first: &str, second: &str) -> String {
    let space = if second.is_empty() { "" } else { " " };
    format!("{first}{space}{second}")
}

/// One figure of a cell.
pub struct Named {
    /// In snake_case with the unit.
    pub name: &'static str,
    pub words: &'static str,
    quantity: Quantity,
    /// Where it stands.
    pub of: fn(&CellSummary) -> Option<&Figure>,
    /// The figure that is to be compared with it, and so is written in the same unit.
    beside: fn(&CellSummary) -> Option<&Figure>,
}

impl Named {
    /// The unit in which it is written for these cells.
    pub fn unit<'a>(&self, cells: impl IntoIterator<Item = &'a CellSummary>) -> Unit {
        let figures = cells.into_iter().flat_map(|cell| [(self.of)(cell), (self.beside)(cell)]);
        self.quantity.unit_for(figures.flatten().map(|figure| figure.estimate.median))
    }
}

pub const RATE: Named = Named {
    name: "rate_per_s",
    words: "rate",
    quantity: Quantity::PerSecond,
    of: |cell| cell.rate_per_s.as_ref(),
    beside: |cell| cell.rate_per_server_cpu.as_ref(),
};

pub const GOODPUT: Named = Named {
    name: "goodput_bps",
    words: "goodput",
    quantity: Quantity::BitsPerSecond,
    of: |cell| cell.goodput_bps.as_ref(),
    beside: |cell| cell.goodput_per_server_cpu.as_ref(),
};

pub const RATE_OF_ONE_CORE: Named = Named {
    name: "operations_per_server_cpu_s",
    words: "rate of one core",
    quantity: Quantity::PerSecond,
    of: |cell| cell.rate_per_server_cpu.as_ref(),
    beside: |cell| cell.rate_per_s.as_ref(),
};

pub const GOODPUT_OF_ONE_CORE: Named = Named {
    name: "bits_per_server_cpu_s",
    words: "goodput of one core",
    quantity: Quantity::BitsPerSecond,
    of: |cell| cell.goodput_per_server_cpu.as_ref(),
    beside: |cell| cell.goodput_bps.as_ref(),
};

pub const SERVER_PER_OPERATION: Named = Named {
    name: "server_cpu_ns_per_operation",
    words: "server CPU per operation",
    quantity: Quantity::Nanos,
    of: |cell| cell.server_ns_per_operation.as_ref(),
    beside: |cell| cell.client_ns_per_operation.as_ref(),
};

pub const CLIENT_PER_OPERATION: Named = Named {
    name: "client_cpu_ns_per_operation",
    words: "client CPU per operation",
    quantity: Quantity::Nanos,
    of: |cell| cell.client_ns_per_operation.as_ref(),
    beside: |cell| cell.server_ns_per_operation.as_ref(),
};

pub const SERVER_PER_GIGABYTE: Named = Named {
    name: "server_cpu_s_per_gb",
    words: "server CPU per GB",
    quantity: Quantity::SecondsPerGigabyte,
    of: |cell| cell.server_s_per_gb.as_ref(),
    beside: |cell| cell.client_s_per_gb.as_ref(),
};

pub const CLIENT_PER_GIGABYTE: Named = Named {
    name: "client_cpu_s_per_gb",
    words: "client CPU per GB",
    quantity: Quantity::SecondsPerGigabyte,
    of: |cell| cell.client_s_per_gb.as_ref(),
    beside: |cell| cell.server_s_per_gb.as_ref(),
};

pub const SERVER_BUSY: Named = Named {
    name: "server_busy_share",
    words: "server busy",
    quantity: Quantity::Share,
    of: |cell| cell.server_busy.as_ref(),
    beside: |cell| cell.client_busy.as_ref(),
};

pub const CLIENT_BUSY: Named = Named {
    name: "client_busy_share",
    words: "client busy",
    quantity: Quantity::Share,
    of: |cell| cell.client_busy.as_ref(),
    beside: |cell| cell.server_busy.as_ref(),
};

pub const P50: Named = Named {
    name: "latency_p50_ns",
    words: "latency p50",
    quantity: Quantity::Nanos,
    of: |cell| cell.p50_ns.as_ref(),
    beside: |cell| cell.p99_ns.as_ref(),
};

pub const P99: Named = Named {
    name: "latency_p99_ns",
    words: "latency p99",
    quantity: Quantity::Nanos,
    of: |cell| cell.p99_ns.as_ref(),
    beside: |cell| cell.p50_ns.as_ref(),
};

/// All figures of a cell, in the order of the CSV's columns.
pub const FIGURES: [Named; 12] = [
    RATE,
    GOODPUT,
    RATE_OF_ONE_CORE,
    GOODPUT_OF_ONE_CORE,
    SERVER_PER_OPERATION,
    CLIENT_PER_OPERATION,
    SERVER_PER_GIGABYTE,
    CLIENT_PER_GIGABYTE,
    SERVER_BUSY,
    CLIENT_BUSY,
    P50,
    P99,
];
