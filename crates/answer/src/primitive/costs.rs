//! What the journal says of the tables: a cost for each row, with what was published of it and how far it
//! is from what the instructions allow.

use primitives::sampler::Quality;
use primitives::{Algorithm, CycleSource, Hardware};
use serde::Serialize;

use super::answer::{self, Answer};
use crate::analysis::Figure;
use journal::Entries;
use journal::primitive::Place;
use journal::primitive::{BoundLine, Line, Outcome};
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
}

/// One row of a table over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Which one.
    #[serde(flatten)]
    pub place: Place,
    /// The library and its version.
    pub library_title: String,
    /// What it costs; `None` where there is no figure.
    pub cost: Option<Cost>,
    /// Why there is none.
    pub no_figure: Option<String>,
    pub published: Vec<Beside>,
    /// What the bound is of, where there is one.
    pub bound: Option<String>,
    /// How many times the bound it costs, where there is a bound.
    pub times_the_bound: Option<f64>,
}

/// What a row costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// Core cycles per byte, or per operation where that is the unit: a sample is the median of a round.
    pub cycles: Figure,
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
    /// Of what.
    pub of: String,
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
        let lines = sound(tables, &entries.primitives, &mut discarded);
        let bounds = bounds(tables, &entries.bounds, &mut discarded);
        let reference = study.reference.as_deref().and_then(|name| Reference::find(name).ok());
        let rows: Vec<Row> = tables
            .iter()
            .flat_map(places)
            .map(|place| Row::of(place, &lines, &bounds, reference.as_ref()))
            .collect();
        let find = |name: &str| tables.iter().find(|table| table.name == name);
        let answers = study
            .primitives
            .answers
            .iter()
            .filter_map(|rule| Some(answer::of(rule, find(&rule.primitives)?, &rows, &bounds)))
            .collect();
        let mut counted: Vec<(&Place, u32)> =
            lines.iter().map(|line| (&line.place, line.round)).collect();
        counted.sort_by_key(|(place, round)| (key(place), *round));
        counted.dedup();
        Self {
            planned: tables.iter().map(|table| places(table).len() * table.rounds as usize).sum(),
            done: counted.len(),
            answers,
            bounds,
            discarded,
            cycles_source: lines.iter().map(|line| line.cycles_source).max_by_key(|s| *s as u8),
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

/// All rows of a table.
fn places(table: &Table) -> Vec<Place> {
    let caches = || table.caches.iter();
    let all =
        table.hardware.iter().flat_map(|hardware| caches().map(move |cache| (hardware, cache)));
    all.flat_map(|(hardware, cache)| table.combination(*hardware, *cache)).collect()
}

/// Something that places can be sorted by.
fn key(place: &Place) -> (&str, &str, &str, Option<u64>, String, String, usize) {
    let Place { table, algorithm, library, size_bytes, hardware, cache, threads } = place;
    (table, algorithm, library, *size_bytes, hardware.to_string(), cache.to_string(), *threads)
}

/// The lines that belong to the study and do not contradict themselves.
fn sound<'a>(tables: &[Table], lines: &'a [Line], discarded: &mut Vec<Discarded>) -> Vec<&'a Line> {
    let known: Vec<(Place, u32)> = tables
        .iter()
        .flat_map(|table| places(table).into_iter().map(|place| (place, table.rounds)))
        .collect();
    let why_not = |line: &Line| {
        let rounds = known.iter().find(|(place, _)| *place == line.place).map(|(_, rounds)| rounds);
        match rounds {
            None => Some("the study has no such row".to_owned()),
            Some(rounds) if line.round >= *rounds => Some("the study has no such round".to_owned()),
            Some(_) => line.contradiction(),
        }
    };
    let mut sound = Vec::new();
    for line in lines {
        match why_not(line) {
            None => sound.push(line),
            Some(why) => {
                let Place { table, algorithm, library, .. } = &line.place;
                let of = format!("{table}, {algorithm}, {library}, round {}", line.round);
                discarded.push(Discarded { of, why });
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
    let mut bounds: Vec<(&BoundLine, Vec<f64>)> = Vec::new();
    for line in lines {
        let is_number = line.cycles_per_byte.is_finite() && line.cycles_per_byte > 0.0;
        if !is_number || line.round >= rounds {
            let of = format!("{}, round {}", line.of, line.round);
            discarded.push(Discarded { of, why: "it is not a bound of this study".to_owned() });
            continue;
        }
        match bounds.iter_mut().find(|(first, _)| first.of == line.of) {
            Some((_, samples)) => samples.push(line.cycles_per_byte),
            None => bounds.push((line, vec![line.cycles_per_byte])),
        }
    }
    let bound = |(line, samples): (&BoundLine, Vec<f64>)| {
        Some(LowerBound {
            of: line.of.clone(),
            cycles_per_byte: Figure::of(samples)?,
            arithmetic: line.arithmetic.clone(),
        })
    };
    bounds.into_iter().filter_map(bound).collect()
}

impl Row {
    fn of(
        place: Place,
        lines: &[&Line],
        bounds: &[LowerBound],
        reference: Option<&Reference>,
    ) -> Self {
        // Of a round that was measured again, the last counts.
        let mut of_rounds: Vec<&Line> = Vec::new();
        for line in lines.iter().filter(|line| line.place == place) {
            of_rounds.retain(|other| other.round != line.round);
            of_rounds.push(line);
        }
        of_rounds.sort_by_key(|line| line.round);
        let no_figure = of_rounds.iter().find_map(|line| match &line.outcome {
            Outcome::None { no_figure } => Some(no_figure.clone()),
            Outcome::Measured(_) => None,
        });
        // A result that was wrong once makes all of the row doubtful.
        let cost = if no_figure.is_none() { Cost::of(&of_rounds) } else { None };
        let bound = cost.as_ref().and_then(|cost| bound(&place, cost, bounds));
        let times_the_bound = cost.as_ref().zip(bound).map(|(cost, bound)| {
            cost.cycles.estimate.median / bound.cycles_per_byte.estimate.median
        });
        let published = match (&cost, reference) {
            (Some(cost), Some(reference)) => published(&place, cost, reference),
            _ => Vec::new(),
        };
        let title = of_rounds.last().map_or(&place.library, |line| &line.library_title);
        Self {
            library_title: title.clone(),
            cost,
            no_figure,
            published,
            bound: bound.map(|bound| bound.of.clone()),
            times_the_bound,
            place,
        }
    }

    /// Whether it has no figure because its result is wrong, and not because the library does not do it.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.no_figure.as_ref().is_some_and(|why| !why.starts_with("not available"))
    }
}

impl Cost {
    /// Whether too few samples of some round were quiet, so that the figure is too high.
    #[must_use]
    pub fn is_disturbed(&self) -> bool {
        self.disturbed_rounds > 0
    }

    fn of(lines: &[&Line]) -> Option<Self> {
        let figures: Vec<_> = lines
            .iter()
            .filter_map(|line| match &line.outcome {
                Outcome::Measured(figure) => Some((line.round, figure.as_ref())),
                Outcome::None { .. } => None,
            })
            .collect();
        let (_, last) = figures.last()?;
        let median = |of: &dyn Fn(&journal::primitive::Figure) -> f64| {
            let values: Vec<f64> = figures.iter().map(|(_, figure)| of(figure)).collect();
            stats::median(&values).ok()
        };
        let cycles = |figure: &journal::primitive::Figure| {
            figure.cycles_per_byte.unwrap_or(figure.cycles_per_op)
        };
        let sum =
            |of: fn(&journal::primitive::Figure) -> u64| figures.iter().map(|(_, f)| of(f)).sum();
        let with = |quality| figures.iter().filter(|(_, figure)| figure.quality == quality).count();
        Some(Self {
            cycles: Figure::of(figures.iter().map(|(_, f)| cycles(f).median).collect())?,
            rounds: figures.iter().map(|(round, _)| *round).collect(),
            low: median(&|figure| cycles(figure).low)?,
            high: median(&|figure| cycles(figure).high)?,
            core_hz: median(&|figure| figure.core_hz)?,
            ops_per_s: median(&|figure| figure.ops_per_s)?,
            bytes_per_s: match last.bytes_per_s {
                Some(_) => median(&|figure| figure.bytes_per_s.unwrap_or(f64::NAN)),
                None => None,
            },
            messages_per_op: last.messages_per_op,
            taken: sum(|figure| match figure.quality {
                Quality::Disturbed => figure.samples,
                Quality::Quiet | Quality::Unknown => figure.samples + dropped(figure),
            }),
            dropped: sum(dropped),
            disturbed_rounds: with(Quality::Disturbed),
            contention_unknown: with(Quality::Unknown) > 0,
            confirmed_by: last.confirmed_by.clone(),
        })
    }
}

fn dropped(figure: &journal::primitive::Figure) -> u64 {
    figure.dropped_shared + figure.dropped_unsteady
}

/// The bound of a row: that of its algorithm with the whole processor, on one CPU.
fn bound<'a>(place: &Place, cost: &Cost, bounds: &'a [LowerBound]) -> Option<&'a LowerBound> {
    /// Kernels of half the width, whose instructions are those of AVX-512: no bound is of these.
    const HALF: &str = "multibuffer-avx512vl";
    if place.hardware != Hardware::All || place.threads != 1 || place.library == HALF {
        return None;
    }
    let name = match cost.messages_per_op {
        1 => place.algorithm.clone(),
        messages => format!("{}, {messages} messages", place.algorithm),
    };
    let of_one = format!("{name}, one message");
    bounds.iter().find(|bound| match cost.messages_per_op {
        1 => bound.of == name || bound.of.starts_with(&of_one),
        _ => bound.of.starts_with(&name),
    })
}

fn published(place: &Place, cost: &Cost, reference: &Reference) -> Vec<Beside> {
    let is_beside = |beside: &study::reference::Beside| {
        let algorithm: Option<Algorithm> = beside.algorithm.parse().ok();
        let size = beside.size.parse::<units::Bytes>().ok().map(|size| size.0);
        algorithm.is_some_and(|algorithm| algorithm.name() == place.algorithm)
            && size == place.size_bytes
            && beside.many_messages == (cost.messages_per_op > 1)
            && beside.cache.as_ref().is_none_or(|cache| *cache == place.cache.to_string())
            && place.hardware == Hardware::All
    };
    let costs = reference.costs().filter(|(beside, _)| is_beside(beside));
    costs
        .map(|(beside, cycles_per_byte)| Beside { label: beside.label.clone(), cycles_per_byte })
        .collect()
}
