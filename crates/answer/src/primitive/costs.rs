//! What the journal says of the tables: a cost for each row, with what was published of it and how far it
//! is from what the instructions allow.

use primitives::instructions::{Bound, Bounded};
use primitives::row::{Measured, NoFigure, Reason};
use primitives::sampler::Quality;
use primitives::{Algorithm, CycleSource, Hardware, RowKey};
use serde::Serialize;

use super::answer::{self, Answer};
use super::gates;
use crate::analysis::Figure;
use crate::gate::GateOutcome;
use journal::Entries;
use journal::primitive::{BoundLine, RowLine};
use study::Study;
use study::primitive::Table;
use study::reference::Reference;

/// What was found of a study's tables.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Costs {
    /// How many figures a whole run has: rows times rounds.
    pub planned: usize,
    /// In the journal.
    pub done: usize,
    /// In the order of the study's answers.
    pub answers: Vec<Answer>,
    /// All rows of the study, also those that were not measured, in its order.
    pub rows: Vec<Row>,
    /// What no program can go below here.
    pub bounds: Vec<LowerBound>,
    /// The lines that are in no figure, because they cannot be what toll measured.
    pub discarded: Vec<Discarded>,
    /// Where the cycles come from.
    pub cycles_source: Option<CycleSource>,
    /// When the first part began, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: Option<u64>,
    /// What became of the gates of the answers; `toll` prints them with those of `--gate`.
    #[serde(skip)]
    pub gates: Vec<GateOutcome>,
}

/// One row of a table over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
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
    pub published: Vec<Beside>,
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
    /// Runs a second, of all threads.
    pub ops_per_s: f64,
    /// Bytes a second, of all threads.
    pub bytes_per_s: Option<f64>,
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
pub struct Beside {
    /// The processor.
    pub label: String,
    /// Core cycles per byte.
    pub cycles_per_byte: f64,
}

/// What no program can go below.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LowerBound {
    pub of: Bounded,
    /// Core cycles per byte; a sample is that of a round.
    pub cycles_per_byte: Figure,
    /// How it comes about.
    pub arithmetic: String,
}

/// A line of the journal that is in no figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Discarded {
    /// What it says that it is of.
    pub of: String,
    /// Why it is in no figure.
    pub why: String,
}

impl Costs {
    /// What the journal says.
    #[must_use]
    pub fn of(study: &Study, entries: &Entries) -> Self {
        let tables = &study.primitives.tables;
        let mut discarded = Vec::new();
        let keys = keys(tables);
        let lines = sound(&keys, &entries.primitives, &mut discarded);
        let bounds = bounds(tables, &entries.bounds, &mut discarded);
        let reference = study.reference.as_deref().and_then(|name| Reference::find(name).ok());
        let row = |(table, key): &(&Table, RowKey)| {
            Row::of(&table.name, key, &lines, &bounds, reference.as_ref())
        };
        let rows: Vec<Row> = keys.iter().map(row).collect();
        let find = |name: &str| tables.iter().find(|table| table.name == name);
        let answers: Vec<Answer> = study
            .primitives
            .answers
            .iter()
            .filter_map(|rule| Some(answer::of(rule, find(&rule.primitives)?, &rows, &bounds)))
            .collect();
        let done = |(table, key): &(&Table, RowKey)| {
            let of_round = |round: &u32| {
                lines.iter().any(|line| line.round == *round && is_of(line, &table.name, key))
            };
            (0..table.rounds).filter(of_round).count()
        };
        Self {
            gates: gates::all(study, &answers, &rows),
            planned: keys.iter().map(|(table, _)| table.rounds as usize).sum(),
            done: keys.iter().map(done).sum(),
            answers,
            bounds,
            discarded,
            cycles_source: lines.iter().map(|line| line.row.cycles_source).max_by_key(|s| *s as u8),
            started_unix_ms: lines.iter().map(|line| line.started_unix_ms).min(),
            rows,
        }
    }

    /// Whether every row has all its rounds, and none was refused.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.done >= self.planned && !self.rows.iter().any(Row::is_refused)
    }
}

/// What all rows of the tables are of.
fn keys(tables: &[Table]) -> Vec<(&Table, RowKey)> {
    let mut keys = Vec::new();
    for table in tables {
        for &hardware in &table.hardware {
            for &cache in &table.caches {
                keys.extend(table.combination(hardware, cache).into_iter().map(|key| (table, key)));
            }
        }
    }
    keys
}

fn is_of(line: &RowLine, table: &str, key: &RowKey) -> bool {
    line.table == table && line.row.key == *key
}

/// The lines that belong to the study and do not contradict themselves.
fn sound<'a>(
    keys: &[(&Table, RowKey)],
    lines: &'a [RowLine],
    discarded: &mut Vec<Discarded>,
) -> Vec<&'a RowLine> {
    let why_not = |line: &RowLine| {
        let table = keys.iter().find(|(table, key)| is_of(line, &table.name, key));
        match table {
            None => Some("the study has no such row"),
            Some((table, _)) if line.round >= table.rounds => Some("the study has no such round"),
            Some(_) => line.row.contradiction(),
        }
    };
    let mut sound = Vec::new();
    for line in lines {
        match why_not(line) {
            None => sound.push(line),
            Some(why) => {
                let RowKey { algorithm, library, .. } = &line.row.key;
                let of = format!("{}, {algorithm}, {library}, round {}", line.table, line.round);
                discarded.push(Discarded { of, why: why.to_owned() });
            }
        }
    }
    sound
}

fn bounds(
    tables: &[Table],
    lines: &[BoundLine],
    discarded: &mut Vec<Discarded>,
) -> Vec<LowerBound> {
    let rounds = tables.iter().map(|table| table.rounds).max().unwrap_or(0);
    let mut bounds: Vec<(&Bound, Vec<f64>)> = Vec::new();
    for BoundLine { bound, round, .. } in lines {
        let is_number = bound.cycles_per_byte.is_finite() && bound.cycles_per_byte > 0.0;
        if !is_number || *round >= rounds {
            let of = format!("{}, round {round}", bound.of);
            discarded.push(Discarded { of, why: "it is not a bound of this study".to_owned() });
            continue;
        }
        match bounds.iter_mut().find(|(first, _)| first.of == bound.of) {
            Some((_, samples)) => samples.push(bound.cycles_per_byte),
            None => bounds.push((bound, vec![bound.cycles_per_byte])),
        }
    }
    let bound = |(bound, samples): (&Bound, Vec<f64>)| {
        Some(LowerBound {
            of: bound.of,
            cycles_per_byte: Figure::of(samples)?,
            arithmetic: bound.arithmetic.clone(),
        })
    };
    bounds.into_iter().filter_map(bound).collect()
}

impl Row {
    fn of(
        table: &str,
        key: &RowKey,
        lines: &[&RowLine],
        bounds: &[LowerBound],
        reference: Option<&Reference>,
    ) -> Self {
        // Of a round that was measured again, the last counts.
        let mut of_rounds: Vec<&RowLine> = Vec::new();
        for line in lines.iter().filter(|line| is_of(line, table, key)) {
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
        let times_the_bound = cost.as_ref().zip(bound).map(|(cost, bound)| {
            cost.cycles.estimate.median / bound.cycles_per_byte.estimate.median
        });
        let published = match (&cost, reference) {
            (Some(cost), Some(reference)) => published(key, cost, reference),
            _ => Vec::new(),
        };
        let title = of_rounds.last().map_or(&key.library, |line| &line.row.library_title);
        Self {
            library_title: title.clone(),
            table: table.to_owned(),
            cost,
            no_figure,
            published,
            bound: bound.map(|bound| bound.of),
            times_the_bound,
            key: key.clone(),
        }
    }

    /// Whether it has no figure because its result is wrong, and not because the library does not do it.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.no_figure.as_ref().is_some_and(|none| none.reason == Reason::Refused)
    }
}

impl Cost {
    /// Whether too few samples of some round were quiet, so that the figure is too high.
    #[must_use]
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
            messages_per_op: last.messages_per_op,
            taken: sum(Measured::taken),
            dropped: sum(Measured::dropped),
            disturbed_rounds: with(Quality::Disturbed),
            contention_unknown: with(Quality::Unknown) > 0,
            confirmed_by: last.confirmed_by.clone(),
        })
    }
}

impl Cost {
    /// The rounds with their cycles.
    pub(super) fn samples(&self) -> impl Iterator<Item = (u32, f64)> {
        self.rounds.iter().copied().zip(self.cycles.samples.iter().copied())
    }
}

fn published(key: &RowKey, cost: &Cost, reference: &Reference) -> Vec<Beside> {
    let is_beside = |beside: &study::reference::Beside| {
        let algorithm: Option<Algorithm> = beside.algorithm.parse().ok();
        let size = beside.size.parse::<units::Bytes>().ok().map(|size| size.0);
        algorithm == Some(key.algorithm)
            && size == key.size_bytes
            && beside.many_messages == (cost.messages_per_op > 1)
            && beside.cache.as_ref().is_none_or(|cache| *cache == key.cache.to_string())
            && key.hardware == Hardware::All
    };
    let costs = reference.costs().filter(|(beside, _)| is_beside(beside));
    costs
        .map(|(beside, cycles_per_byte)| Beside { label: beside.label.clone(), cycles_per_byte })
        .collect()
}
