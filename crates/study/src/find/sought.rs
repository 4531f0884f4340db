//! What a trial says to its search, as the journal keeps it.

use serde::{Deserialize, Serialize};

use super::{Find, Maximize, Seen};
use crate::line::{Line, Role};
use crate::trial::Measured;
use crate::verdict::Limit;

/// The load of a trial that belongs to a search, and whether the limit held there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sought {
    /// The key that is searched over: `load.connections`.
    pub over: String,
    /// Its value in this trial.
    pub load: String,
    /// What must hold, as the study says it.
    pub limit: String,
    /// What the limit is on, where that is a time; absent where nothing was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_ns: Option<u64>,
    /// The same where it is a share of operations, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_share: Option<f64>,
    /// Whether the trial is valid and the limit held.
    pub holds: bool,
}

impl Sought {
    /// What the limit is on, in nanoseconds or as a share.
    #[must_use]
    pub fn seen(&self) -> Option<f64> {
        self.seen_ns.map(|ns| ns as f64).or(self.seen_share)
    }
}

impl Find {
    /// What a trial at this load says.
    pub(crate) fn sought(&self, load: u64, measured: &Measured) -> Sought {
        let watched = self.ceiling.watched;
        let seen = self.ceiling.seen(measured);
        let (seen_ns, seen_share) = match watched.is_share() {
            true => (None, seen),
            false => (seen.map(|ns| ns.round() as u64), None),
        };
        let is_within = match seen {
            Some(seen) => seen <= self.ceiling.most(),
            None => self.ceiling.is_none_late(measured),
        };
        Sought {
            over: self.over.key().to_owned(),
            load: self.over.value(load),
            limit: self.ceiling.to_string(),
            seen_ns,
            seen_share,
            holds: measured.line.valid && is_within,
        }
    }

    /// What a line of the journal says to this search; `None` where it is not of it, or failed for a
    /// reason that has nothing to do with the load.
    pub(crate) fn seen(&self, line: &Line) -> Option<Seen> {
        let place = line.place.as_ref()?;
        let sought = place.find.as_ref()?;
        let is_held = place.role == Role::Measure;
        if is_held && !line.valid && line.verdict.limit != Limit::Errors {
            return None;
        }
        let figure = match self.maximize {
            Maximize::Goodput => line.goodput_bps as f64,
            Maximize::Rate => line.rate_per_s,
        };
        let watched = sought.seen();
        Some(Seen {
            load: self.over.load(&sought.load)?,
            figure,
            watched,
            holds: sought.holds,
            is_held,
        })
    }
}
