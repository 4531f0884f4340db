//! The search for a maximum: the load at which a server does the most while a limit holds.
//!
//! A cell with a [`Find`] has no load of its own. [`search`] finds it by short trials, and that load
//! alone is held and repeated. What is searched is said here; [`ceiling`] says whether a trial keeps
//! within the limit.

mod ceiling;
mod search;
mod sought;
mod standing;

use keys::full;
use load::{Arrival, Distribution, Percent, Plan, Rate};
use serde::{Deserialize, Serialize};
use units::Nanos;

pub use ceiling::{Ceiling, Watched};
pub use search::{Bounds, Next, Seen};
pub use standing::{Search, Standing};

use crate::{Cell, Metric};

/// What is searched for in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Find {
    /// What is to be as large as it can be, a throughput.
    pub maximize: Metric,
    /// What the load is, and so what `from` and `to` count.
    pub over: Over,
    /// The smallest load that is tried; at least 1.
    pub from: u64,
    /// The largest load that is tried; above `from`.
    pub to: u64,
    /// What must hold.
    pub ceiling: Ceiling,
    /// Of loads that do nearly the most, the smallest is taken: `2%` below the most is near.
    pub plateau: Percent,
    /// The window of a trial of the search.
    pub step: Nanos,
    /// The window of a trial that measures the maximum.
    pub hold: Nanos,
}

/// What a search changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Over {
    /// `load.connections`: a load is this many of them.
    Connections,
    /// The rate of `load.arrival`: a load is this many thousandths of an operation per second.
    Arrival(Distribution),
}

impl Over {
    /// The key of the study file that the search takes over.
    pub fn key(self) -> &'static str {
        match self {
            Self::Connections => full::CONNECTIONS,
            Self::Arrival(_) => full::ARRIVAL,
        }
    }

    /// A load as a value of the key: `64`, `poisson 2000/s`.
    pub fn value(self, load: u64) -> String {
        match self {
            Self::Connections => load.to_string(),
            Self::Arrival(_) => self.arrival(load).map_or_else(String::new, |a| a.to_string()),
        }
    }

    /// A load as a number for people: connections, or operations per second.
    pub fn number(self, load: u64) -> f64 {
        match self {
            Self::Connections => load as f64,
            Self::Arrival(_) => load as f64 / 1e3,
        }
    }

    /// The load that a value of the key says.
    pub fn load(self, value: &str) -> Option<u64> {
        match (self, value.parse().ok()) {
            (Self::Connections, _) => value.parse().ok(),
            (Self::Arrival(_), Some(Arrival::Open { rate, .. })) => Some(rate.thousandths()),
            (Self::Arrival(_), _) => None,
        }
    }

    fn arrival(self, load: u64) -> Option<Arrival> {
        let Self::Arrival(distribution) = self else { return None };
        let rate = Rate::from_thousandths(load)?;
        Some(Arrival::Open { rate, distribution })
    }

    /// Makes a plan one of this load.
    pub fn set(self, plan: &mut Plan, load: u64) {
        match self {
            Self::Connections => plan.connections = usize::try_from(load).unwrap_or(usize::MAX),
            Self::Arrival(_) => {
                if let Some(arrival) = self.arrival(load) {
                    plan.arrival = arrival;
                }
            }
        }
    }
}

impl Find {
    pub fn bounds(&self) -> Bounds {
        Bounds {
            from: self.from,
            to: self.to,
            most: self.ceiling.most(),
            plateau: f64::from(self.plateau.get()) / 100.0,
        }
    }

    /// At most this many trials search before the first one measures.
    pub fn most_steps(&self) -> u64 {
        self.bounds().most_steps()
    }

    /// The cell at a load, with a window.
    pub fn at(&self, cell: &Cell, load: u64, window: Nanos) -> Cell {
        let mut cell = cell.clone();
        self.over.set(&mut cell.load, load);
        cell.load.duration = window;
        cell
    }
}

impl Cell {
    /// The most connections that it may have open at once.
    pub fn most_connections(&self) -> usize {
        match &self.find {
            Some(Find { over: Over::Connections, to, .. }) => {
                usize::try_from(*to).unwrap_or(usize::MAX)
            }
            _ => self.load.connections,
        }
    }
}
