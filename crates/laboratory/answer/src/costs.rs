//! What the journal says of timed algorithms: a cost for each row of a table, with what was published of it and
//! how far it is from what the instructions allow.

mod one_round;
mod row;
mod table;
mod tables;

use primitives::CycleSource;
use primitives::instructions::{self, Bound, Bounded};
use serde::Serialize;

pub use self::one_round::of_one_round;
use self::row::is_of;
pub use self::row::{AlgorithmRow, Cost, LowerBound, PublishedCost};
use crate::figure::Figure;
use crate::wording::grouped;
use journal::Entries;
use journal::primitive::{BoundLine, RowLine};
use study::Study;
use study::primitive::{AlgorithmTable, TableRow};
use study::reference::Reference;

/// What was found of a study's tables.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Costs {
    /// How many figures a whole run has: rows times rounds.
    pub planned: usize,
    /// In the journal.
    pub done: usize,
    /// All rows of the study's tables, also those that were not measured, in its order.
    pub rows: Vec<AlgorithmRow>,
    /// What the instructions allow here.
    pub bounds: Vec<LowerBound>,
    /// The lines that are in no figure, because they cannot be what toll measured.
    pub discarded: Vec<Discarded>,
    /// Where the cycles come from.
    pub cycles_source: Option<CycleSource>,
    /// When the first part began, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: Option<u64>,
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
    pub fn of(study: &Study, entries: &Entries) -> Self {
        let reference = study.reference.as_deref().and_then(|name| Reference::find(name).ok());
        Self::of_tables(&study.primitives.tables, reference.as_slice(), entries)
    }

    /// What was measured of these tables, beside what was published.
    pub fn of_tables(
        tables: &[AlgorithmTable],
        references: &[Reference],
        entries: &Entries,
    ) -> Self {
        let mut discarded = Vec::new();
        let all = |table| AlgorithmTable::all_rows(table).into_iter().map(move |row| (table, row));
        let keys: Vec<(&AlgorithmTable, TableRow)> = tables.iter().flat_map(all).collect();
        let lines = sound(&keys, &entries.primitives, &mut discarded);
        let rounds = tables.iter().map(|table| table.rounds).max().unwrap_or(0);
        let mut bounds = bounds(rounds, &entries.bounds, &mut discarded);
        let row = |(table, row): &(&AlgorithmTable, TableRow)| {
            AlgorithmRow::of(table, row, &lines, &bounds, references)
        };
        let rows: Vec<AlgorithmRow> = keys.iter().map(row).collect();
        for bound in &mut bounds {
            let of = rows.iter().filter(|row| row.bound == Some(bound.of));
            let costs = of.filter_map(|row| {
                let cost = row.cost.as_ref().filter(|cost| !cost.is_disturbed())?;
                Some((row.library_title.as_str(), cost.cycles.median()))
            });
            bound.beaten = instructions::beaten(bound.cycles_per_byte.median(), costs);
        }
        Self {
            planned: rows.iter().map(|row| row.planned).sum(),
            done: rows.iter().map(|row| row.done).sum(),
            bounds,
            discarded,
            cycles_source: lines.iter().map(|line| line.row.cycles_source).max_by_key(|s| *s as u8),
            started_unix_ms: lines.iter().map(|line| line.started_unix_ms).min(),
            rows,
        }
    }

    /// What the instructions allow, measured in one round.
    pub fn of_bounds(lines: &[BoundLine]) -> Self {
        Self { bounds: bounds(1, lines, &mut Vec::new()), ..Self::default() }
    }

    /// Whether every row has all its rounds, and none was refused.
    pub fn is_whole(&self) -> bool {
        self.done >= self.planned && !self.rows.iter().any(AlgorithmRow::is_refused)
    }
}

/// The lines that belong to the study and do not contradict themselves.
fn sound<'a>(
    keys: &[(&AlgorithmTable, TableRow)],
    lines: &'a [RowLine],
    discarded: &mut Vec<Discarded>,
) -> Vec<&'a RowLine> {
    let why_not = |line: &RowLine| {
        let table = keys.iter().find(|(table, row)| is_of(line, &table.name, &row.key));
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
                let primitives::RowKey { algorithm, library, .. } = &line.row.key;
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
