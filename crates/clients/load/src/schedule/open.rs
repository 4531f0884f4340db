//! An open loop: operations start at a rate, and a free slot takes the next one.

use std::collections::VecDeque;

use random::Random;

use super::part::{Due, ThreadPart};
use super::ramp::Ramp;
use crate::{Distribution, Rate};

/// Waiting arrivals need no queue: they are the starts in the computed sequence that have passed
/// and were not taken. So they take no memory, and a thread that was held up loses none.
#[derive(Debug)]
pub(crate) struct Open {
    starts: Starts,
    ramp: Ramp,
    /// Slots without an operation, the one that has been free for longest first. So all connections
    /// are used equally, and none reaches the server's idle limit.
    free: VecDeque<usize>,
}

impl Open {
    pub(super) fn new(rate: Rate, distribution: Distribution, part: &ThreadPart) -> Self {
        let starts = Starts::new(rate, distribution, part);
        Self { starts, ramp: part.ramp, free: VecDeque::new() }
    }

    /// The first start that was not taken.
    fn first(&self) -> u64 {
        match self.ramp.is_none() {
            true => self.starts.first(),
            // No more operations start after the ramp down.
            false => self.ramp.at(self.starts.first() as f64).map_or(u64::MAX, |at| at as u64),
        }
    }

    fn take(&mut self) -> u64 {
        let first = self.first();
        self.starts.take();
        first
    }

    pub(super) fn freed(&mut self, slot: usize, now: u64) -> Option<u64> {
        if self.free.is_empty() && self.first() <= now {
            return Some(self.take());
        }
        self.free.push_back(slot);
        None
    }

    pub(super) fn next(&mut self, now: u64) -> Option<Due> {
        if self.first() > now {
            return None;
        }
        let slot = self.free.pop_front()?;
        let at = self.take();
        Some(Due { slot, intended: at, at })
    }

    pub(super) fn wake_at(&self) -> Option<u64> {
        (!self.free.is_empty()).then(|| self.first())
    }

    pub(super) fn leave(&mut self, end: u64, mut each: impl FnMut(u64)) {
        while self.first() < end {
            each(self.take());
        }
    }
}

/// One thread's part of a load's starts, in order, in ns since the load's start, at the full rate.
#[derive(Debug)]
enum Starts {
    /// Every `step`th of the load's starts at equal intervals. The time is computed from the
    /// number, so that rounding errors do not add up.
    Uniform { rate: Rate, number: u64, step: u64 },
    /// The Poisson processes of all threads together are one with the sum of their rates.
    Poisson { mean_gap: f64, at: f64, random: Random },
}

impl Starts {
    fn new(rate: Rate, distribution: Distribution, part: &ThreadPart) -> Self {
        let (thread, threads) = (part.thread as u64, part.threads as u64);
        match distribution {
            Distribution::Uniform => Self::Uniform { rate, number: thread, step: threads },
            Distribution::Poisson => {
                let mean_gap = 1e9 / rate.per_second() * threads as f64;
                let mut random = Random::stream(part.seed, thread);
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

    fn take(&mut self) {
        match self {
            Self::Uniform { number, step, .. } => *number += *step,
            Self::Poisson { mean_gap, at, random } => *at += random.exponential() * *mean_gap,
        }
    }
}
