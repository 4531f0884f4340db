//! An open loop: starts come at a rate, whoever is free takes the next.

use std::collections::VecDeque;

use super::random::Random;
use super::{Due, Part};
use crate::{Distribution, Rate};

/// The queue of arrivals that wait is the part of the sequence of starts that has come and was not
/// taken: it needs no memory, and a thread that was held up loses none.
#[derive(Debug)]
pub(crate) struct Open {
    starts: Starts,
    /// Slots without an operation, the one that has been free for longest first: so all
    /// connections are used alike, and none idles into the server's time limit.
    free: VecDeque<usize>,
}

impl Open {
    pub(super) fn new(rate: Rate, distribution: Distribution, part: &Part) -> Self {
        Self { starts: Starts::new(rate, distribution, part), free: VecDeque::new() }
    }

    pub(super) fn freed(&mut self, slot: usize, now: u64) -> Option<u64> {
        if self.free.is_empty() && self.starts.first() <= now {
            return Some(self.starts.take());
        }
        self.free.push_back(slot);
        None
    }

    pub(super) fn next(&mut self, now: u64) -> Option<Due> {
        if self.starts.first() > now {
            return None;
        }
        let slot = self.free.pop_front()?;
        Some(Due { slot, intended: self.starts.take() })
    }

    pub(super) fn wake_at(&self) -> Option<u64> {
        (!self.free.is_empty()).then(|| self.starts.first())
    }

    pub(super) fn leave(&mut self, end: u64, mut each: impl FnMut(u64)) {
        while self.starts.first() < end {
            each(self.starts.take());
        }
    }
}

/// One thread's part of the starts of a load, in order, in ns since the load's start.
#[derive(Debug)]
enum Starts {
    /// Of the load's starts at equal distances, every `step`th. The time follows from the number,
    /// so that no rounding adds up.
    Uniform { rate: Rate, number: u64, step: u64 },
    /// Poisson processes, one a thread, are together one with the sum of their rates.
    Poisson { mean_gap: f64, at: f64, random: Random },
}

impl Starts {
    fn new(rate: Rate, distribution: Distribution, part: &Part) -> Self {
        let (thread, threads) = (part.thread as u64, part.threads as u64);
        match distribution {
            Distribution::Uniform => Self::Uniform { rate, number: thread, step: threads },
            Distribution::Poisson => {
                let mean_gap = 1e9 / rate.per_second() * threads as f64;
                let mut random = Random::new(part.seed, thread);
                let at = random.exponential() * mean_gap;
                Self::Poisson { mean_gap, at, random }
            }
        }
    }

    /// The first start that was not taken.
    fn first(&self) -> u64 {
        match self {
            Self::Uniform { rate, number, .. } => {
                let at = u128::from(*number) * 1_000_000_000_000 / u128::from(rate.thousandths());
                u64::try_from(at).unwrap_or(u64::MAX)
            }
            // A day has fewer than 2^47 ns, so an f64 keeps fractions of them.
            Self::Poisson { at, .. } => *at as u64,
        }
    }

    fn take(&mut self) -> u64 {
        let first = self.first();
        match self {
            Self::Uniform { number, step, .. } => *number += *step,
            Self::Poisson { mean_gap, at, random } => *at += random.exponential() * *mean_gap,
        }
        first
    }
}
