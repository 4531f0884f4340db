//! How long a study takes, before it begins.

use std::iter::Sum;
use std::ops::Add;

use targets::{Restart, Target};
use units::Nanos;

use crate::find::Find;
use crate::{Cell, Only, Study};

/// Trials, and how long their ramps, warm-ups and windows last together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forecast {
    /// Trials that measure.
    pub held: u64,
    /// Trials that search, at most.
    pub searching: u64,
    /// Trials that sample the server's CPU time.
    pub sampling: u64,
    /// The time of those that measure or search.
    pub time: Nanos,
}

impl Forecast {
    /// Of `held` trials of a cell that measure, and `searching` that search.
    pub fn of(cell: &Cell, held: u64, searching: u64) -> Self {
        let ramps = cell.load.ramp.0.saturating_mul(2);
        let warmup = cell.load.warmup().0.saturating_add(ramps);
        let lasts =
            |count: u64, window: Nanos| count.saturating_mul(warmup.saturating_add(window.0));
        let step = cell.find.as_ref().map_or(Nanos(0), |find| find.step);
        let time = lasts(held, cell.held_for()).saturating_add(lasts(searching, step));
        Self { held, searching, sampling: 0, time: Nanos(time) }
    }
}

impl Add<Nanos> for Forecast {
    type Output = Self;

    fn add(self, more: Nanos) -> Self {
        Self { time: Nanos(self.time.0.saturating_add(more.0)), ..self }
    }
}

impl Sum for Forecast {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            held: sum.held.saturating_add(one.held),
            searching: sum.searching.saturating_add(one.searching),
            sampling: sum.sampling.saturating_add(one.sampling),
            time: Nanos(sum.time.0.saturating_add(one.time.0)),
        })
    }
}

/// What is done once for the servers of these cells, at most, where `begun` are cells of which a trial
/// was run: the warm-up of each server for each suite that it gets, and the question what its
/// cryptography runs on.
pub fn preparations(cells: &[&Cell], begun: &[&Cell]) -> Nanos {
    let is_first = |index: usize, is_alike: fn(&Cell, &Cell) -> bool| {
        let before = cells[..index].iter().chain(begun);
        !before.into_iter().any(|other| is_alike(other, cells[index]))
    };
    let of = |(index, cell): (usize, &&Cell)| {
        let warmup = cell.target.warmup.filter(|_| is_first(index, Cell::is_warmed_up_with));
        let has_crypto = cell.target.server.uses("crypto");
        let asks = has_crypto && is_first(index, |one, other| one.setup() == other.setup());
        warmup.map_or(0, |warmup| warmup.most().0) + if asks { targets::CRYPTO_TAKES.0 } else { 0 }
    };
    Nanos(cells.iter().enumerate().map(of).fold(0, u64::saturating_add))
}

/// What it takes to start the server of these cells again, with what is done once for each process.
pub fn restart_takes(cells: &[&Cell]) -> Nanos {
    Nanos(targets::RESTART_TAKES.0.saturating_add(preparations(cells, &[]).0))
}

impl Study {
    /// Of all trials, the fewest where there is an `until`. With searches it is an upper bound, but for
    /// what is measured again where a maximum does not hold.
    pub fn forecast(&self) -> Forecast {
        let sampling = if self.profile.is_some() { self.cells.len() as u64 } else { 0 };
        Forecast { sampling, ..self.forecast_of(self.trials) }
    }

    /// Of this many rounds, without the trials that sample.
    pub fn forecast_of(&self, rounds: u32) -> Forecast {
        let of = |cell: &Cell| {
            let steps = cell.find.as_ref().map_or(0, Find::most_steps);
            Forecast::of(cell, rounds.into(), steps)
        };
        let cells: Vec<&Cell> = self.cells.iter().collect();
        let trials = self.cells.iter().map(of).sum::<Forecast>();
        trials + preparations(&cells, &[]) + self.restarting(rounds)
    }

    /// How long all restarts of servers take.
    fn restarting(&self, rounds: u32) -> Nanos {
        let takes = |cells: &[usize], times: u32| {
            let cells: Vec<&Cell> = cells.iter().map(|cell| &self.cells[*cell]).collect();
            restart_takes(&cells).0.saturating_mul(u64::from(times))
        };
        let of = |(_, cells): ((Target, Only), Vec<usize>)| match self.restart(&cells) {
            Restart::Never => 0,
            Restart::Round => takes(&cells, rounds.saturating_sub(1)),
            Restart::Trial => {
                takes(&cells, rounds.saturating_mul(cells.len() as u32).saturating_sub(1))
            }
        };
        Nanos(self.servers().into_iter().map(of).fold(0, u64::saturating_add))
    }
}

impl Cell {
    /// Whether its server is warmed up for both at once.
    pub fn is_warmed_up_with(&self, other: &Self) -> bool {
        self.load.suite == other.load.suite && self.setup() == other.setup()
    }

    /// The window of a trial that measures; where it ends after a number of operations, what that takes most of the
    /// time.
    pub fn held_for(&self) -> Nanos {
        if self.load.counter().is_some() {
            return trial::COUNTING_TAKES;
        }
        self.find.as_ref().map_or(self.load.duration, |find| find.hold)
    }
}
