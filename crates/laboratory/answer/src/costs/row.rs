//! What the rounds say of one row of a table.

use std::collections::BTreeMap;

use primitives::instructions::Bounded;
use primitives::row::{Measured, NoFigure, Reason};
use primitives::sampler::Quality;
use primitives::{Cache, Hardware, RowKey};
use serde::Serialize;

use crate::figure::Figure;
use crate::wording::brief;
use journal::primitive::RowLine;
use study::primitive::{ALGORITHM, AlgorithmTable, CACHE, HARDWARE, LIBRARY, SIZE, TableRow};
use study::reference::Reference;
use study::{Metric, Params};
use units::{Bytes, PerSecond, Quantity};

/// One row of a table over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlgorithmRow {
    /// As its figures are called beside those of cells: `ciphers-0003`.
    pub name: String,
    /// What tells it from the others of its table.
    #[serde(skip)]
    pub params: Params,
    /// How many rounds it should have.
    #[serde(skip)]
    pub planned: usize,
    /// Has, whatever came of them.
    #[serde(skip)]
    pub done: usize,
    /// The table's name.
    pub table: String,
    #[serde(flatten)]
    pub key: RowKey,
    /// The library and its version.
    pub library_title: String,
    /// What it costs; `None` where there is no figure.
    pub cost: Option<Cost>,
    /// Why there is none.
    #[serde(flatten)]
    pub no_figure: Option<NoFigure>,
    pub published: Vec<PublishedCost>,
    /// What the bound is of, where there is one.
    pub bound: Option<Bounded>,
    /// How many times the bound it costs, where there is a bound.
    pub times_the_bound: Option<f64>,
}

/// What a row costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// Core cycles per byte, or per operation where that is the unit: a sample is the median of a round.
    pub cycles: Figure,
    /// Time of a run on one CPU, in nanoseconds: a sample is that of a round.
    pub ns_per_op: Figure,
    /// The rounds of the samples.
    pub rounds: Vec<u32>,
    /// A quarter of the samples of a round lies below: the median of the rounds'.
    pub low: f64,
    /// A quarter lies above.
    pub high: f64,
    /// The core's frequency.
    pub core_hz: f64,
    /// Runs per second, of all threads.
    pub ops_per_s: f64,
    /// Bytes per second, of all threads.
    pub bytes_per_s: Option<f64>,
    /// The rates of the rounds: of bytes where these are the unit.
    #[serde(skip)]
    pub rates: Vec<f64>,
    /// Messages in a run.
    pub messages_per_op: u64,
    /// Samples of all rounds.
    pub taken: u64,
    /// Those beside which something else used the core, or its frequency changed. They are in the figure
    /// only where too few others were there.
    pub dropped: u64,
    /// Rounds in which too few samples were quiet.
    pub disturbed_rounds: usize,
    /// Whether it is not known if the core was shared.
    pub contention_unknown: bool,
    /// The library that confirmed the results.
    pub confirmed_by: String,
}

/// A published cost beside a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedCost {
    /// The processor.
    pub label: String,
    /// Core cycles per byte.
    pub cycles_per_byte: f64,
    /// Where it was published.
    #[serde(skip)]
    pub source: String,
}

/// What an algorithm costs at the least.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LowerBound {
    pub of: Bounded,
    /// Core cycles per byte; a sample is that of a round.
    pub cycles_per_byte: Figure,
    /// How it comes about.
    pub arithmetic: String,
    /// What to say where a library is faster.
    pub beaten: Option<String>,
}

impl AlgorithmRow {
    pub(super) fn of(
        table: &AlgorithmTable,
        TableRow { name, params, key }: &TableRow,
        lines: &[&RowLine],
        bounds: &[LowerBound],
        references: &[Reference],
    ) -> Self {
        // Of a round that was measured again, the last counts.
        let mut of_rounds: Vec<&RowLine> = Vec::new();
        for line in lines.iter().filter(|line| is_of(line, &table.name, key)) {
            of_rounds.retain(|other| other.round != line.round);
            of_rounds.push(line);
        }
        of_rounds.sort_by_key(|line| line.round);
        let no_figure = of_rounds.iter().find_map(|line| line.row.outcome.no_figure()).cloned();
        // A result that was wrong once makes all of the row doubtful.
        let cost = if no_figure.is_none() { Cost::of(&of_rounds) } else { None };
        let bound = cost
            .as_ref()
            .and_then(|cost| bounds.iter().find(|bound| bound.of.is_of(key, cost.messages_per_op)));
        let times_the_bound = cost
            .as_ref()
            .zip(bound)
            .map(|(cost, bound)| cost.cycles.median() / bound.cycles_per_byte.median());
        let published = |cost| references.iter().flat_map(|of| published(key, cost, of)).collect();
        let published = cost.as_ref().map_or(Vec::new(), published);
        let title = of_rounds.last().map_or(&key.library, |line| &line.row.library_title);
        Self {
            name: name.clone(),
            params: params.clone(),
            planned: table.rounds as usize,
            done: of_rounds.len(),
            library_title: title.clone(),
            table: table.name.clone(),
            cost,
            no_figure,
            published,
            bound: bound.map(|bound| bound.of),
            times_the_bound,
            key: key.clone(),
        }
    }

    /// `OpenSSL 3.0.22`, `toll's multi-buffer kernels`: without the part in brackets, which the tables show.
    fn library(&self) -> String {
        let title = self.library_title.split(" (").next().unwrap_or_default();
        match title.strip_prefix("multi-buffer") {
            Some("") => "toll's multi-buffer kernels".to_owned(),
            Some(backend) => format!("toll's{backend} kernels"),
            None => title.to_owned(),
        }
    }

    /// What its value of a key is called; `None` where it has none.
    pub(crate) fn label(&self, key: &str) -> Option<String> {
        let text = match key {
            ALGORITHM => self.key.algorithm.name(),
            LIBRARY => return Some(self.library()),
            SIZE => return Some(Bytes(self.key.size_bytes?).in_words()),
            HARDWARE => match self.key.hardware {
                Hardware::All => "all instructions",
                Hardware::Avx2 => "AVX2 at most",
                Hardware::Sse => "SSE 4.2 at most",
                Hardware::None => "no instructions for cryptography",
            },
            CACHE => match self.key.cache {
                Cache::Warm => "data in the cache",
                Cache::Cold => "data in memory",
            },
            _ => return None,
        };
        Some(text.to_owned())
    }

    /// The metric of its cost.
    pub(crate) fn metric(&self) -> Metric {
        match self.key.size_bytes {
            Some(_) => Metric::CyclesPerByte,
            None => Metric::CyclesPerOperation,
        }
    }

    /// `0.580 cycles/byte`, `967 kilocycles`.
    pub(super) fn cost_in_words(&self) -> Option<String> {
        let metric = self.metric();
        Some(brief(metric.row().quantity, self.cost.as_ref()?.cycles.median()))
    }

    /// Of each metric that it can have, by round.
    pub(crate) fn samples(&self) -> BTreeMap<Metric, Vec<(u32, f64)>> {
        let by_round = |cost: &Cost, samples: &[f64]| {
            cost.rounds.iter().copied().zip(samples.iter().copied()).collect()
        };
        let [cycles, rate] = Metric::of_algorithm(self.key.algorithm.unit());
        let of_cost = |cost: &Cost| {
            [(cycles, by_round(cost, &cost.cycles.samples)), (rate, by_round(cost, &cost.rates))]
        };
        self.cost.iter().flat_map(of_cost).collect()
    }

    /// Whether it has no figure because its result is wrong, and not because the library does not do it.
    pub fn is_refused(&self) -> bool {
        self.no_figure.as_ref().is_some_and(|none| none.reason == Reason::Refused)
    }

    /// Why it cannot be measured, where its library does not do it.
    pub(crate) fn unavailable(&self) -> Option<&str> {
        self.no_figure.as_ref().filter(|_| !self.is_refused()).map(|none| none.why.as_str())
    }
}

impl Cost {
    /// Whether too few samples of some round were quiet, so that the figure is too high.
    pub fn is_disturbed(&self) -> bool {
        self.disturbed_rounds > 0
    }

    fn of(lines: &[&RowLine]) -> Option<Self> {
        let figures: Vec<(u32, &Measured)> = lines
            .iter()
            .filter_map(|line| Some((line.round, line.row.outcome.measured()?)))
            .collect();
        let (_, last) = figures.last()?;
        let median = |of: &dyn Fn(&Measured) -> f64| {
            let values: Vec<f64> = figures.iter().map(|(_, figure)| of(figure)).collect();
            stats::median(&values).ok()
        };
        let sum = |of: fn(&Measured) -> u64| figures.iter().map(|(_, figure)| of(figure)).sum();
        let with = |quality| figures.iter().filter(|(_, figure)| figure.quality == quality).count();
        Some(Self {
            cycles: Figure::of(figures.iter().map(|(_, f)| f.cycles().median).collect())?,
            ns_per_op: Figure::of(figures.iter().map(|(_, f)| f.ns_per_op()).collect())?,
            rounds: figures.iter().map(|(round, _)| *round).collect(),
            low: median(&|figure| figure.cycles().low)?,
            high: median(&|figure| figure.cycles().high)?,
            core_hz: median(&|figure| figure.core_hz)?,
            ops_per_s: median(&|figure| figure.ops_per_s)?,
            bytes_per_s: match last.bytes_per_s {
                Some(_) => median(&|figure| figure.bytes_per_s.unwrap_or(f64::NAN)),
                None => None,
            },
            rates: figures.iter().map(|(_, f)| f.bytes_per_s.unwrap_or(f.ops_per_s)).collect(),
            messages_per_op: last.messages_per_op,
            taken: sum(Measured::taken),
            dropped: sum(Measured::dropped),
            disturbed_rounds: with(Quality::Disturbed),
            contention_unknown: with(Quality::Unknown) > 0,
            confirmed_by: last.confirmed_by.clone(),
        })
    }

    /// Bytes or runs a second, in words and as a number.
    pub(super) fn rate(&self) -> (String, f64) {
        match self.bytes_per_s {
            Some(bytes) => (brief(Quantity::BytesPerSecond, bytes), bytes),
            None => (PerSecond(self.ops_per_s).to_string(), self.ops_per_s),
        }
    }
}

fn published(key: &RowKey, cost: &Cost, reference: &Reference) -> Vec<PublishedCost> {
    let is_beside = |beside: &study::reference::PublishedRow| {
        beside.algorithm == key.algorithm
            && Some(beside.size.0) == key.size_bytes
            && beside.is_of(cost.messages_per_op)
            && beside.cache.is_none_or(|cache| cache == key.cache)
            && key.hardware == Hardware::All
    };
    let costs = reference.costs().filter(|(beside, _)| is_beside(beside));
    let costs = costs.map(|(beside, cycles_per_byte)| PublishedCost {
        label: beside.label.clone(),
        cycles_per_byte,
        source: reference.source.clone(),
    });
    costs.collect()
}

pub(super) fn is_of(line: &RowLine, table: &str, key: &RowKey) -> bool {
    line.table == table && line.row.key == *key
}
