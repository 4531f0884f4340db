//! What the journal says of the tables: a cost for each row, with what was published of it and how far it
//! is from what the instructions allow.

use primitives::instructions::{self, Bound, Bounded};
use primitives::{CycleSource, RowKey};
use serde::Serialize;

use super::answer::{self, Answer};
use super::gates;
use super::row::{LowerBound, Row, is_of};
use crate::figure::Figure;
use crate::gate::outcome::GateOutcome;
use crate::wording::grouped;
use journal::Entries;
use journal::primitive::{BoundLine, RowLine};
use study::Study;
use study::primitive::{Primitives, Table};
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
    /// What the instructions allow here.
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

/// A line of the journal that is in no figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Discarded {
    /// What it says that it is of.
    pub of: String,
    /// Why it is in no figure.
    pub why: String,
}

impl Costs {
    /// What the journal says of a study.
    #[must_use]
    pub fn of(study: &Study, entries: &Entries) -> Self {
        let reference = study.reference.as_deref().and_then(|name| Reference::find(name).ok());
        let mut costs = Self::of_tables(&study.primitives, reference.as_slice(), entries);
        // Where the study's author says what matters, nothing else is said first.
        let rules = &study.primitives.answers;
        let is_written = rules.iter().any(|rule| rule.written.is_some())
            || study.answers.iter().any(|rule| rule.written.is_some());
        for (rule, answer) in rules.iter().zip(&mut costs.answers) {
            if is_written && rule.written.is_none() {
                answer.headline = None;
            }
        }
        costs
    }

    /// What was measured of these tables, beside what was published.
    #[must_use]
    pub fn of_tables(primitives: &Primitives, references: &[Reference], entries: &Entries) -> Self {
        let tables = &primitives.tables;
        let mut discarded = Vec::new();
        let keys = keys(tables);
        let lines = sound(&keys, &entries.primitives, &mut discarded);
        let rounds = tables.iter().map(|table| table.rounds).max().unwrap_or(0);
        let mut bounds = bounds(rounds, &entries.bounds, &mut discarded);
        let row = |(table, key): &(&Table, RowKey)| {
            Row::of(&table.name, key, &lines, &bounds, references)
        };
        let rows: Vec<Row> = keys.iter().map(row).collect();
        for bound in &mut bounds {
            let of = rows.iter().filter(|row| row.bound == Some(bound.of));
            let costs = of.filter_map(|row| {
                let cost = row.cost.as_ref().filter(|cost| !cost.is_disturbed())?;
                Some((row.library_title.as_str(), cost.cycles.median()))
            });
            bound.beaten = instructions::beaten(bound.cycles_per_byte.median(), costs);
        }
        let find = |name: &str| tables.iter().find(|table| table.name == name);
        let answers: Vec<Answer> = primitives
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
            gates: gates::all(&primitives.answers, &answers, &rows),
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

    /// What the instructions allow, measured in one round.
    #[must_use]
    pub fn of_bounds(lines: &[BoundLine]) -> Self {
        Self { bounds: bounds(1, lines, &mut Vec::new()), ..Self::default() }
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

fn bounds(rounds: u32, lines: &[BoundLine], discarded: &mut Vec<Discarded>) -> Vec<LowerBound> {
    let is_sound = |BoundLine { bound, round, .. }: &&BoundLine| {
        bound.cycles_per_byte.is_finite() && bound.cycles_per_byte > 0.0 && *round < rounds
    };
    let (sound, others): (Vec<&BoundLine>, Vec<&BoundLine>) = lines.iter().partition(is_sound);
    discarded.extend(others.into_iter().map(|BoundLine { bound, round, .. }| Discarded {
        of: format!("{}, round {round}", bound.of),
        why: "it is not a bound of this study".to_owned(),
    }));
    let bound = |(of, rounds): (Bounded, Vec<&Bound>)| {
        Some(LowerBound {
            of,
            cycles_per_byte: Figure::of(
                rounds.iter().map(|bound| bound.cycles_per_byte).collect(),
            )?,
            arithmetic: rounds.first()?.arithmetic.clone(),
            beaten: None,
        })
    };
    let by_algorithm = grouped(sound.into_iter().map(|line| (line.bound.of, &line.bound)));
    by_algorithm.into_iter().filter_map(bound).collect()
}
