//! The lines that primitives have in the journal: one for each row and round, and one for each bound
//! and round.

use primitives::sampler::{Quality, Quartiles};
use primitives::{Cache, CycleSource, Hardware};
use serde::{Deserialize, Serialize};

/// What tells these lines from those of trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The cost of an algorithm.
    Primitive,
    /// What no program can go below here.
    Bound,
}

/// Where a line of the journal belongs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The table's name.
    pub table: String,
    /// What was measured.
    pub algorithm: String,
    /// The library as the study names it.
    pub library: String,
    /// Bytes of a message; absent where the unit is an operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// With how much of the processor.
    pub hardware: Hardware,
    /// Where the data lay.
    pub cache: Cache,
    /// CPUs that worked at the same time.
    pub threads: usize,
}

/// One row of a table in one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// [`SCHEMA`](trial::SCHEMA).
    pub schema: u32,
    /// [`Role::Primitive`].
    pub role: Role,
    /// Which row.
    #[serde(flatten)]
    pub place: Place,
    /// Which repetition it was, from 0.
    pub round: u32,
    /// The part's place in the order in which parts ran, from 0.
    pub order: u32,
    /// When the part began, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// The library and its version, in its own words.
    pub library_title: String,
    /// Where the cycles come from.
    pub cycles_source: CycleSource,
    /// The figure, or why there is none.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The figure of a row, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    /// Its result was confirmed, and it was measured.
    Measured(Box<Figure>),
    /// The library does not do it here, or its result is wrong, or nobody can confirm it.
    None {
        /// Why, in one line.
        no_figure: String,
    },
}

/// What was measured of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Core cycles for each byte of messages; absent where the unit is an operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles_per_byte: Option<Quartiles>,
    /// Core cycles of a run, which is one operation, or as many messages as are hashed at once.
    pub cycles_per_op: Quartiles,
    /// The core's frequency meanwhile.
    pub core_hz: f64,
    /// Runs a second, of all CPUs together.
    pub ops_per_s: f64,
    /// Bytes of messages a second, of all CPUs together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<f64>,
    /// Messages in a run.
    pub messages_per_op: u64,
    /// Samples that the figure is made of.
    pub samples: u64,
    /// Samples that do not count, because something else used the core.
    pub dropped_shared: u64,
    /// Samples that do not count, because the core's frequency changed.
    pub dropped_unsteady: u64,
    /// Whether the figure can be trusted.
    pub quality: Quality,
    /// The library that confirmed the result.
    pub confirmed_by: String,
}

/// A bound in one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoundLine {
    /// [`SCHEMA`](trial::SCHEMA).
    pub schema: u32,
    /// [`Role::Bound`].
    pub role: Role,
    /// Of what.
    pub of: String,
    /// Core cycles for each byte.
    pub cycles_per_byte: f64,
    /// How it comes about, with the measured costs of instructions.
    pub arithmetic: String,
    /// Which repetition it was, from 0.
    pub round: u32,
    /// The part's place in the order in which parts ran, from 0.
    pub order: u32,
}

/// How far two numbers may be apart that are one: what is lost in writing them.
const SAME: f64 = 1e-6;

impl Line {
    /// Why the line cannot be what toll measured, where it cannot.
    #[must_use]
    pub fn contradiction(&self) -> Option<String> {
        let figure = match &self.outcome {
            Outcome::Measured(figure) => figure,
            Outcome::None { .. } => return None,
        };
        let is_ordered = |q: &Quartiles| 0.0 < q.low && q.low <= q.median && q.median <= q.high;
        let all = [Some(figure.cycles_per_op), figure.cycles_per_byte];
        if !all.iter().flatten().all(|q| is_ordered(q) && q.high.is_finite()) {
            return Some("its quartiles are in no order".to_owned());
        }
        if figure.confirmed_by.is_empty() || figure.confirmed_by == self.library_title {
            return Some("no second library confirmed the result".to_owned());
        }
        if figure.samples == 0 {
            return Some("it is made of no sample".to_owned());
        }
        if self.place.size_bytes.is_some() != figure.cycles_per_byte.is_some() {
            return Some("its unit is not that of its algorithm".to_owned());
        }
        if let (Some(size), Some(per_byte)) = (self.place.size_bytes, figure.cycles_per_byte) {
            let bytes = size as f64 * figure.messages_per_op as f64;
            if !is_same(per_byte.median * bytes, figure.cycles_per_op.median) {
                return Some("cycles_per_byte is not cycles_per_op over the bytes".to_owned());
            }
            if !figure.bytes_per_s.is_some_and(|rate| is_same(rate, figure.ops_per_s * bytes)) {
                return Some("bytes_per_s is not ops_per_s times the bytes".to_owned());
            }
        }
        // Of several CPUs the rate is a sum, and the cycles are those of the middle one.
        let cycles_per_s = figure.ops_per_s * figure.cycles_per_op.median;
        if self.place.threads == 1 && !is_same(cycles_per_s, figure.core_hz) {
            return Some("ops_per_s times cycles_per_op is not core_hz".to_owned());
        }
        None
    }
}

fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME * b.abs()
}
