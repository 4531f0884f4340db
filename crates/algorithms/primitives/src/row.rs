//! A row of a table of primitives: what was measured, and what came of it.
//!
//! `toll bench --json` prints rows, the journal keeps them, and findings are made of them.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{Algorithm, Cache, CycleSource, Failed, Hardware, Unavailable};
use crate::{sampler::Quality, sampler::Quartiles};

/// What a row is of.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowKey {
    pub algorithm: Algorithm,
    /// The library's id; that of a libcrypto is its path.
    pub library: String,
    /// Bytes of a message; absent where the unit is an operation.
    pub size_bytes: Option<u64>,
    /// With how much of the processor.
    pub hardware: Hardware,
    pub cache: Cache,
    /// CPUs that worked at the same time.
    pub threads: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    #[serde(flatten)]
    pub key: RowKey,
    /// The library and its version, in its own words.
    pub library_title: String,
    /// Where the cycles come from.
    pub cycles_source: CycleSource,
    #[serde(flatten)]
    pub outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    /// Its result was confirmed, and it was measured.
    Measured(Box<Measured>),
    None(NoFigure),
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Core cycles for each byte of messages; absent where the unit is an operation.
    pub cycles_per_byte: Option<Quartiles>,
    /// Core cycles of an operation, or of as many messages as are hashed at once. Of several CPUs those of
    /// the CPU with the median cost.
    pub cycles_per_op: Quartiles,
    /// The core's frequency meanwhile: the median of the cycles over that of the times.
    pub core_hz: f64,
    /// Operations, or such hashes, per second, of all CPUs together.
    pub ops_per_s: f64,
    /// Bytes of messages per second, of all CPUs together; absent where the unit is an operation.
    pub bytes_per_s: Option<f64>,
    /// Messages that are hashed at once, or operations that are done at once.
    pub messages_per_op: u64,
    /// Samples that the figure is made of; these and those below are of all CPUs together.
    pub samples: u64,
    /// Samples that do not count, because something else used the core.
    pub dropped_shared: u64,
    /// Samples that do not count, because the core's frequency changed.
    pub dropped_unsteady: u64,
    /// Whether the figure can be trusted: of several CPUs, the worst.
    pub quality: Quality,
    /// The library that confirmed the result.
    pub confirmed_by: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoFigure {
    #[serde(rename = "no_figure")]
    pub why: String,
    /// Journals of earlier versions have none.
    #[serde(default)]
    pub reason: Reason,
}

/// Whether a row without a figure is a failure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Not a failure: the library does not do it here.
    #[default]
    Unavailable,
    /// A failure: the result is wrong, or no library can confirm it.
    Refused,
}

/// How far two numbers may be apart that are one: what is lost in writing them.
const SAME: f64 = 1e-6;

impl Row {
    /// Why the row cannot be what toll measured, where it cannot.
    pub fn contradiction(&self) -> Option<&'static str> {
        let measured = self.outcome.measured()?;
        let is_ordered = |q: &Quartiles| 0.0 < q.low && q.low <= q.median && q.median <= q.high;
        let all = [Some(measured.cycles_per_op), measured.cycles_per_byte];
        if !all.iter().flatten().all(|q| is_ordered(q) && q.high.is_finite()) {
            return Some("its quartiles are in no order");
        }
        if measured.confirmed_by.is_empty() || measured.confirmed_by == self.library_title {
            return Some("no second library confirmed the result");
        }
        if measured.samples == 0 {
            return Some("it is made of no sample");
        }
        if self.key.size_bytes.is_some() != measured.cycles_per_byte.is_some() {
            return Some("its unit is not that of its algorithm");
        }
        if let (Some(size), Some(per_byte)) = (self.key.size_bytes, measured.cycles_per_byte) {
            let bytes = size as f64 * measured.messages_per_op as f64;
            if !is_same(per_byte.median * bytes, measured.cycles_per_op.median) {
                return Some("cycles_per_byte is not cycles_per_op over the bytes");
            }
            if !measured.bytes_per_s.is_some_and(|rate| is_same(rate, measured.ops_per_s * bytes)) {
                return Some("bytes_per_s is not ops_per_s times the bytes");
            }
        }
        // Of several CPUs the rate is a sum, and the cycles are those of the middle one.
        let cycles_per_s = measured.ops_per_s * measured.cycles_per_op.median;
        if self.key.threads == 1 && !is_same(cycles_per_s, measured.core_hz) {
            return Some("ops_per_s times cycles_per_op is not core_hz");
        }
        None
    }
}

fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME * b.abs()
}

impl Outcome {
    /// The figures, where there are some.
    pub fn measured(&self) -> Option<&Measured> {
        match self {
            Self::Measured(measured) => Some(measured),
            Self::None(_) => None,
        }
    }

    /// Why there are none.
    pub fn no_figure(&self) -> Option<&NoFigure> {
        match self {
            Self::Measured(_) => None,
            Self::None(no_figure) => Some(no_figure),
        }
    }
}

impl Measured {
    /// Core cycles in the unit of the algorithm: of a byte or of an operation.
    pub fn cycles(&self) -> Quartiles {
        self.cycles_per_byte.unwrap_or(self.cycles_per_op)
    }

    pub fn ns_per_op(&self) -> f64 {
        self.cycles_per_op.median * 1e9 / self.core_hz
    }

    pub fn taken(&self) -> u64 {
        match self.quality {
            // The figure is of all samples then.
            Quality::Disturbed => self.samples,
            Quality::Quiet | Quality::Unknown => self.samples + self.dropped(),
        }
    }

    pub fn dropped(&self) -> u64 {
        self.dropped_shared + self.dropped_unsteady
    }

    pub fn quiet(&self) -> u64 {
        self.taken() - self.dropped()
    }
}

impl From<Unavailable> for NoFigure {
    fn from(why: Unavailable) -> Self {
        Self { why: why.to_string(), reason: Reason::Unavailable }
    }
}

/// A figure of a wrong result would mean nothing.
impl From<Failed> for NoFigure {
    fn from(failed: Failed) -> Self {
        Self { why: format!("no figure: {failed}"), reason: Reason::Refused }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_without_a_figure_says_whether_it_is_a_failure() {
        let unavailable = NoFigure::from(Unavailable::because("no such thing"));
        let wrong = NoFigure::from(Failed::because(crate::check::NO_SECOND));
        for (no_figure, text) in [
            (unavailable, r#"{"no_figure":"not available: no such thing","reason":"unavailable"}"#),
            (
                wrong,
                r#"{"no_figure":"no figure: there is no second library here to check its result","reason":"refused"}"#,
            ),
        ] {
            let outcome = Outcome::None(no_figure);
            assert_eq!(serde_json::to_string(&outcome).unwrap(), text);
            assert_eq!(serde_json::from_str::<Outcome>(text).unwrap(), outcome);
        }
        let earlier: Outcome = serde_json::from_str(r#"{"no_figure":"not available: x"}"#).unwrap();
        assert_eq!(earlier.no_figure().unwrap().reason, Reason::Unavailable);
    }
}
