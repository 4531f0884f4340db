//! What a trial says to its search.

use journal::Sought;
use trial::Measured;

use super::Find;

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
}
