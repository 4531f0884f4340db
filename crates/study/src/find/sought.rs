//! What a trial says to its search.

use journal::{Role, Sought, TrialLine};
use trial::{Limit, Measured};

use super::{Find, Seen};

impl Find {
    /// What a trial at this load says.
    pub fn sought(&self, load: u64, measured: &Measured) -> Sought {
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
    pub fn seen(&self, trial: &TrialLine) -> Option<Seen> {
        let TrialLine { place, line } = trial;
        let sought = place.find.as_ref()?;
        if !line.lost_ranks.is_empty() {
            return None;
        }
        let is_held = place.role == Role::Measure;
        if is_held && !line.valid && line.verdict.limit != Limit::Errors {
            return None;
        }
        let watched = sought.seen();
        Some(Seen {
            load: self.over.load(&sought.load)?,
            figure: self.maximize.value(line).unwrap_or_default(),
            watched,
            holds: sought.holds,
            is_held,
        })
    }
}
