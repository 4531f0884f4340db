//! What Little's law allows the users of a closed loop.
//!
//! With D, the server's CPU time per operation, and Z, the time from one operation of a user to its
//! next, N users make at most N / (D + Z) operations per second, and the cores at most cores / D. The
//! two meet at the knee N* = cores x (D + Z) / D, beyond which users wait for each other: the response
//! time is at least D, and at least N x D / cores - Z. These are the asymptotic bounds of Denning and
//! Buzen (1978). D is the least that was measured, so no figure crosses a bound.

use serde::Serialize;
use study::{Metric, Param, Show};

use super::point::Point;
use super::row_figure::RowFigure;
use crate::figure::Figure;

/// The bounds of one value of the compared key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LittlesLawBounds {
    #[serde(skip)]
    pub(super) value: Param,
    /// The value in words.
    pub label: String,
    /// D: the least median of a point.
    pub demand_ns: f64,
    /// Which point that is: `50 users`.
    pub demand_at: String,
    /// Z, at that point.
    pub think_ns: f64,
    /// CPUs of the server.
    pub cores: usize,
}

impl LittlesLawBounds {
    /// One for each value of the compared key of closed loops whose server has CPUs of its own.
    pub(super) fn all(key: &str, points: &[Point]) -> Vec<Self> {
        let is_shown = |first: &&Point| first.rule.shows(Show::LittlesLaw);
        let Some(first) = points.first().filter(is_shown) else {
            return Vec::new();
        };
        let of = |value: &Param| {
            let all = points.iter().filter_map(|point| {
                let entry = point.figure_of(value)?;
                Some((point, entry, demand(entry)?))
            });
            let (point, entry, demand_ns) = all.min_by(|a, b| a.2.total_cmp(&b.2))?;
            Some(Self {
                value: value.clone(),
                label: point.label(&point.rule.compare, value),
                demand_ns,
                demand_at: point.label_at(key),
                think_ns: think(entry)?,
                cores: entry.row.cell()?.target.pinned_to()?.len(),
            })
        };
        first.figures.iter().filter_map(|entry| of(&entry.value)).collect()
    }

    /// The most operations per second of this number of users.
    pub fn most_per_second(&self, users: f64) -> f64 {
        let of_users = users / (self.demand_ns + self.think_ns);
        1e9 * of_users.min(self.cores as f64 / self.demand_ns)
    }

    /// The least response time of this number of users, in nanoseconds.
    pub fn least_response(&self, users: f64) -> f64 {
        self.demand_ns.max(users * self.demand_ns / self.cores as f64 - self.think_ns)
    }

    /// The users from which on the cores are the limit.
    pub fn knee(&self) -> f64 {
        self.cores as f64 * (self.demand_ns + self.think_ns) / self.demand_ns
    }
}

fn demand(entry: &RowFigure) -> Option<f64> {
    let figure = entry.row.figure(Metric::ServerCpuPerOperation)?;
    Some(figure.median())
}

/// The median of the trials; `None` of loads that are no closed loop of toll's own client.
fn think(entry: &RowFigure) -> Option<f64> {
    let laws = entry.row.valid().filter_map(|line| line.littles_law);
    let thinks = laws.map(|law| law.think_ns.unwrap_or_default() as f64);
    Some(Figure::of(thinks.collect())?.median())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_meet_at_the_knee() {
        let bounds = LittlesLawBounds {
            value: Param::Count(16),
            label: String::new(),
            demand_ns: 2e6,
            demand_at: String::new(),
            think_ns: 6e6,
            cores: 4,
        };
        assert_eq!(bounds.knee(), 16.0);
        let rates = [1.0, 8.0, 16.0, 200.0].map(|users| bounds.most_per_second(users));
        assert_eq!(rates, [125.0, 1_000.0, 2_000.0, 2_000.0]);
        let times = [1.0, 16.0, 20.0, 200.0].map(|users| bounds.least_response(users));
        assert_eq!(times, [2e6, 2e6, 4e6, 94e6]);
    }
}
