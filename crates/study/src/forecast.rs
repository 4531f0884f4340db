//! How long a study takes, before it begins.

use std::iter::Sum;

use units::Nanos;

use crate::find::Find;
use crate::{Cell, Study};

/// Trials, and how long their ramps, warm-ups and windows last together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forecast {
    /// Trials that measure.
    pub held: u64,
    /// At most so many trials that search.
    pub searching: u64,
    /// The time of all of them.
    pub time: Nanos,
}

impl Forecast {
    /// Of so many trials of a cell that measure, and so many that search.
    pub fn of(cell: &Cell, held: u64, searching: u64) -> Self {
        let ramps = cell.load.ramp.0.saturating_mul(2);
        let warmup = cell.load.warmup().0.saturating_add(ramps);
        let lasts =
            |count: u64, window: Nanos| count.saturating_mul(warmup.saturating_add(window.0));
        let step = cell.find.as_ref().map_or(Nanos(0), |find| find.step);
        let time = lasts(held, cell.held_for()).saturating_add(lasts(searching, step));
        Self { held, searching, time: Nanos(time) }
    }
}

impl Sum for Forecast {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            held: sum.held.saturating_add(one.held),
            searching: sum.searching.saturating_add(one.searching),
            time: Nanos(sum.time.0.saturating_add(one.time.0)),
        })
    }
}

impl Study {
    /// Of all trials. With searches it is an upper bound, but for what is measured again where a
    /// maximum does not hold.
    #[must_use]
    pub fn forecast(&self) -> Forecast {
        let of = |cell: &Cell| {
            let steps = cell.find.as_ref().map_or(0, Find::most_steps);
            Forecast::of(cell, self.trials.into(), steps)
        };
        let mut all: Forecast = self.cells.iter().map(of).sum();
        all.time = Nanos(all.time.0.saturating_add(self.server_warmups().0));
        all
    }

    /// How long the warm-ups of all servers last at most: one for each suite that a server gets.
    fn server_warmups(&self) -> Nanos {
        let mut known = Vec::new();
        let mut time: u64 = 0;
        for cell in &self.cells {
            let Some(warmup) = cell.target.warmup else { continue };
            let one = (cell.setup(), cell.load.suite);
            if !known.contains(&one) {
                known.push(one);
                time = time.saturating_add(warmup.most().0);
            }
        }
        Nanos(time)
    }

    /// How long the ramps, warm-ups and windows of all trials last together, at most.
    #[must_use]
    pub fn measuring_time(&self) -> Nanos {
        self.forecast().time
    }
}

impl Cell {
    /// The window of a trial that measures.
    #[must_use]
    pub fn held_for(&self) -> Nanos {
        self.find.as_ref().map_or(self.load.duration, |find| find.hold)
    }
}
