//! What became of the operations of a trial.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use units::thousands;

/// How operations ended.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operations {
    /// Well, within the window.
    pub completed: u64,
    /// Not before the window's end.
    pub in_flight: u64,
    /// Badly, by error kind.
    pub errors: BTreeMap<String, u64>,
    /// The first error of each kind in words.
    pub first_errors: BTreeMap<String, String>,
    /// Where none ended: what those under way waited for, by the kind of error that it would have become.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unended: BTreeMap<String, String>,
    /// How long those had taken that were under way when the window ended.
    #[serde(default, skip_serializing_if = "UnderWayNs::is_empty")]
    pub under_way_ns: UnderWayNs,
    /// Operations as they were meant to start; absent in a closed loop, where they start when they
    /// can.
    pub arrivals: Option<Arrivals>,
}

impl Operations {
    /// The errors by kind, with the first of each: `1,200 reset, the first: connection reset by peer`.
    pub fn errors_in_words(&self) -> impl Iterator<Item = String> {
        self.errors.iter().map(|(kind, count)| {
            let first = self.first_errors.get(kind).map(|words| format!(", the first: {words}"));
            format!("{} {kind}{}", thousands(*count), first.unwrap_or_default())
        })
    }
}

impl From<&load::Failures> for Operations {
    /// The errors alone.
    fn from(failures: &load::Failures) -> Self {
        Self {
            errors: failures.iter().map(|(kind, count, _)| (kind.to_string(), count)).collect(),
            first_errors: first_words(failures),
            ..Self::default()
        }
    }
}

/// What was seen of the first of each kind.
pub(crate) fn first_words(failures: &load::Failures) -> BTreeMap<String, String> {
    failures.iter().map(|(kind, _, words)| (kind.to_string(), words.to_owned())).collect()
}

/// The longest times of what was under way when the window ended; absent where nothing was.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnderWayNs {
    /// Of connections that did not stand yet: since their start.
    pub connect_max: Option<u64>,
    /// Of operations without a byte of their response: since they were meant to start.
    pub first_byte_max: Option<u64>,
    /// Of all operations: since they were meant to start.
    pub max: Option<u64>,
}

impl UnderWayNs {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl From<&load::Latencies> for UnderWayNs {
    fn from(under_way: &load::Latencies) -> Self {
        let max = |histogram: &hdrhistogram::Histogram<u64>| {
            (!histogram.is_empty()).then(|| histogram.max())
        };
        Self {
            connect_max: max(&under_way.connect),
            first_byte_max: max(&under_way.first_byte),
            max: max(&under_way.whole),
        }
    }
}

/// Operations as they were meant to start, whether or not they could.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Meant to start within the window.
    pub intended: u64,
    /// Meant to start before the window, and not ended by its begin; absent in older journals.
    pub carried: Option<u64>,
    /// Meant to start before the window's end, and not begun by then.
    pub waiting: u64,
    /// Their connection was to ask again within the window; only where it asks at a pace.
    pub deadlines: Option<u64>,
    /// Those of them that were not over then.
    pub deadline_misses: Option<u64>,
}
