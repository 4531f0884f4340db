//! How many rounds a study may have, and whether there is time to repeat a trial.
//!
//! Both follow from the planned length of trials, not from a clock: a run that is continued, and a
//! machine that stood still for a minute, measure what the whole run would have.

use std::time::Duration;

use study::{Cell, Forecast, Study};

/// What a trial takes besides its warm-up and window: measuring the core's frequency, starting the
/// load, closing its connections, writing the journal.
const OVERHEAD: Duration = Duration::from_millis(80);

/// What sampling a cell takes, with the reading of the samples.
const SAMPLING: Duration = Duration::from_secs(6);

/// How long rounds take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Length {
    /// The fewest rounds.
    least: u32,
    /// What they take.
    first: Duration,
    /// What each further one takes.
    more: Duration,
    /// What all of it may take; `None` where only the fewest rounds are made.
    at_most: Option<Duration>,
}

impl Length {
    pub(super) fn of(study: &Study) -> Self {
        let takes = |rounds| time(&study.forecast_of(rounds));
        let (least, first) = (study.trials, takes(study.trials));
        let more = takes(least.saturating_add(1)).saturating_sub(first);
        Self { least, first, more, at_most: study.until.map(|until| until.at_most.into()) }
    }

    /// The most rounds, if repeated trials have taken this long.
    pub(super) fn most_rounds(&self, repeated: Duration) -> u32 {
        let left = self.at_most.and_then(|most| most.checked_sub(self.first + repeated));
        let more = left.map_or(0, |left| left.as_nanos() / self.more.as_nanos().max(1));
        self.least.saturating_add(u32::try_from(more).unwrap_or(u32::MAX))
    }

    /// Whether a trial that takes this long can be repeated in a round, from 0, without shortening
    /// what comes before the end of that round.
    pub(super) fn has_time_to_repeat(&self, round: u32, repeated: Duration) -> bool {
        let further = (round + 1).saturating_sub(self.least);
        let needed = self.first + self.more.saturating_mul(further) + repeated;
        self.at_most.is_some_and(|most| needed <= most)
    }
}

/// What a trial takes.
pub(super) fn of_trial(cell: &Cell) -> Duration {
    time(&Forecast::of(cell, 1, 0))
}

/// What all of it takes.
pub(super) fn time(forecast: &Forecast) -> Duration {
    let trials = forecast.held.saturating_add(forecast.searching);
    let overhead = OVERHEAD.saturating_mul(u32::try_from(trials).unwrap_or(u32::MAX));
    let sampling = SAMPLING.saturating_mul(u32::try_from(forecast.sampling).unwrap_or(u32::MAX));
    Duration::from_nanos(forecast.time.0).saturating_add(overhead).saturating_add(sampling)
}
