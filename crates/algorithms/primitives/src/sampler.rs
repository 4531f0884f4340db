//! Short samples, each between two readings of the core.
//!
//! A sample takes about 100 µs: long against the clock's errors, short against the scheduler's
//! ticks and the changes of the core's frequency. Right before and after it the core is read: its
//! frequency, and whether something else uses it. A sample counts only if the core was quiet both
//! times and its frequency stayed within 2%; then its time times its frequency is its core cycles.
//! Where the machine has a cycle counter, its difference is the cycles instead.
//!
//! What does not count is kept and reported: with too few quiet samples, the figure is that of all
//! samples and bears a mark, because a shared core makes everything slower.

use crate::routine::Failed;

/// A reading of the clock, and of the cycle counter where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    pub nanos: u64,
    /// Core cycles of this thread in user mode.
    pub cycles: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Core {
    /// Its frequency, in cycles per second.
    pub hz: f64,
    /// Whether nothing else used it; `None` where that is not known.
    pub is_quiet: Option<bool>,
}

/// What a sampler looks at. Tests have their own.
pub trait Instruments {
    fn tick(&mut self) -> Tick;
    fn core(&mut self) -> Core;
}

/// What was spent on the runs of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    pub nanos: u64,
    /// Cycles, where they are counted.
    pub cycles: Option<u64>,
}

impl Spent {
    pub fn between(start: Tick, end: Tick) -> Self {
        let cycles = end.cycles.zip(start.cycles).map(|(end, start)| end.saturating_sub(start));
        Self { nanos: end.nanos.saturating_sub(start.nanos), cycles }
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let cycles = self.cycles.zip(other.cycles).map(|(a, b)| a + b);
        Self { nanos: self.nanos + other.nanos, cycles }
    }

    pub const NOTHING: Self = Self { nanos: 0, cycles: Some(0) };
}

pub trait Subject {
    /// Does it `runs` times, and returns what that took.
    fn run(&mut self, runs: u64, instruments: &mut dyn Instruments) -> Result<Spent, Failed>;

    /// How often it must be done in a sample, where it is not free.
    fn fixed_runs(&self) -> Option<u64> {
        None
    }
}

const SAMPLE: u64 = 100_000;
/// How far two readings of the frequency may lie apart.
const STEADY: f64 = 0.02;
/// Fewer quiet samples make no figure of their own.
pub const FEWEST: usize = 5;
pub const SAMPLES_A_VISIT: usize = 3;
/// A quarter of the samples must be quiet.
const LEAST_QUIET_SHARE: u64 = 4;

/// What one run cost, by one sample.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cost {
    cycles: f64,
    nanos: f64,
}

/// The samples of a subject so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    runs: Option<u64>,
    good: Vec<Cost>,
    shared: Vec<Cost>,
    unsteady: Vec<Cost>,
    contention_unknown: bool,
}

impl Series {
    /// Samples that count.
    pub fn quiet(&self) -> usize {
        self.good.len()
    }

    /// Whether fewer than this many samples, and fewer than a quarter of those that were taken, count.
    pub fn has_too_few_quiet(&self, enough: usize) -> bool {
        let taken = self.good.len() + self.shared.len() + self.unsteady.len();
        too_few_quiet(self.good.len() as u64, taken as u64, enough as u64)
    }

    /// Takes some samples, the first time after finding out how often the subject runs in one.
    pub fn visit(
        &mut self,
        subject: &mut dyn Subject,
        instruments: &mut dyn Instruments,
    ) -> Result<(), Failed> {
        let runs = match self.runs.or_else(|| subject.fixed_runs()) {
            Some(runs) => runs,
            None => runs_of_a_sample(subject, instruments)?,
        };
        self.runs = Some(runs);
        // Caches, branch predictors and the power supply of wide vectors get used to it.
        subject.run(runs.div_ceil(2), instruments)?;
        let mut before = instruments.core();
        for _ in 0..SAMPLES_A_VISIT {
            let spent = subject.run(runs, instruments)?;
            let after = instruments.core();
            self.add(runs, spent, before, after);
            before = after;
        }
        Ok(())
    }

    fn add(&mut self, runs: u64, spent: Spent, before: Core, after: Core) {
        let nanos = spent.nanos as f64;
        let hz = before.hz.midpoint(after.hz);
        let cycles = spent.cycles.map_or(nanos * hz / 1e9, |cycles| cycles as f64);
        let cost = Cost { cycles: cycles / runs as f64, nanos: nanos / runs as f64 };
        self.contention_unknown |= before.is_quiet.is_none();
        if before.is_quiet == Some(false) || after.is_quiet == Some(false) {
            self.shared.push(cost);
        } else if !(before.hz / after.hz - 1.0).abs().le(&STEADY) {
            self.unsteady.push(cost);
        } else {
            self.good.push(cost);
        }
    }

    /// The figure of the samples; `None` where there is no sample at all.
    pub fn figure(&self) -> Option<TimedFigure> {
        let is_quiet = self.good.len() >= FEWEST;
        let mut costs = self.good.clone();
        if !is_quiet {
            costs.extend(self.shared.iter().chain(&self.unsteady));
        }
        let cycles = Quartiles::of(costs.iter().map(|cost| cost.cycles).collect())?;
        let nanos = Quartiles::of(costs.iter().map(|cost| cost.nanos).collect())?;
        Some(TimedFigure {
            cycles,
            nanos: nanos.median,
            samples: costs.len(),
            dropped_shared: self.shared.len(),
            dropped_unsteady: self.unsteady.len(),
            quality: match (is_quiet, self.contention_unknown) {
                (false, _) => Quality::Disturbed,
                (true, true) => Quality::Unknown,
                (true, false) => Quality::Quiet,
            },
        })
    }
}

/// Whether so few quiet samples of those taken, where `enough` would do, make no figure to compare: those
/// few may be quiet only in part.
pub fn too_few_quiet(quiet: u64, taken: u64, enough: u64) -> bool {
    quiet < enough && quiet * LEAST_QUIET_SHARE < taken
}

/// How often a subject runs in [`SAMPLE`]; at least once.
fn runs_of_a_sample(
    subject: &mut dyn Subject,
    instruments: &mut dyn Instruments,
) -> Result<u64, Failed> {
    let mut runs = 1;
    subject.run(runs, instruments)?;
    loop {
        let spent = subject.run(runs, instruments)?.nanos;
        // From a fifth of a sample on, the clock's errors do not matter.
        if spent >= SAMPLE / 5 || runs >= 1 << 20 {
            return Ok((runs * SAMPLE / spent.max(1)).max(1));
        }
        runs *= 4;
    }
}

/// The middle half of some values.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Quartiles {
    /// A quarter lies below.
    pub low: f64,
    /// Half lies below.
    pub median: f64,
    /// A quarter lies above.
    pub high: f64,
}

impl Quartiles {
    /// By the nearest rank; `None` of nothing, or where a value is not finite.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        let median = stats::median(&values).ok()?;
        values.sort_by(f64::total_cmp);
        let quarter = (values.len() - 1) / 4;
        Some(Self { low: values[quarter], median, high: values[values.len() - 1 - quarter] })
    }

    /// Each divided by a number.
    #[must_use]
    pub fn per(self, number: f64) -> Self {
        Self { low: self.low / number, median: self.median / number, high: self.high / number }
    }
}

/// Whether a figure can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quality {
    /// Of quiet samples only.
    Quiet,
    /// Of all samples, because too few were quiet: the real cost is probably less.
    Disturbed,
    /// Whether the core was shared is not known on this processor.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimedFigure {
    pub cycles: Quartiles,
    /// Time, the median.
    pub nanos: f64,
    pub samples: usize,
    /// Samples during which something else used the core.
    pub dropped_shared: usize,
    /// Samples during which the frequency changed.
    pub dropped_unsteady: usize,
    pub quality: Quality,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of 2 GHz on which a run takes what the script says.
    struct Scripted {
        now: u64,
        hz: Vec<f64>,
        quiet: Vec<Option<bool>>,
        readings: usize,
        counts: bool,
    }

    impl Scripted {
        fn quiet() -> Self {
            Self { now: 0, hz: vec![2e9], quiet: vec![Some(true)], readings: 0, counts: false }
        }
    }

    impl Instruments for Scripted {
        fn tick(&mut self) -> Tick {
            Tick { nanos: self.now, cycles: self.counts.then_some(self.now * 3) }
        }

        fn core(&mut self) -> Core {
            let at = self.readings;
            self.readings += 1;
            Core { hz: self.hz[at % self.hz.len()], is_quiet: self.quiet[at % self.quiet.len()] }
        }
    }

    /// Takes 1 µs a run of the scripted clock, which it moves itself.
    struct Microsecond<'a> {
        clock: &'a std::cell::Cell<u64>,
        fails_at: Option<u64>,
    }

    impl Subject for Microsecond<'_> {
        fn run(&mut self, runs: u64, instruments: &mut dyn Instruments) -> Result<Spent, Failed> {
            self.clock.set(self.clock.get() + runs);
            if self.fails_at.is_some_and(|at| self.clock.get() >= at) {
                return Err(Failed::of("the test"));
            }
            let start = instruments.tick();
            let moved = |tick: Tick| Tick {
                nanos: tick.nanos + 1000 * runs,
                cycles: tick.cycles.map(|cycles| cycles + 3000 * runs),
            };
            Ok(Spent::between(start, moved(start)))
        }
    }

    fn visits(machine: &mut Scripted, visits: usize) -> Series {
        let clock = std::cell::Cell::new(0);
        let mut subject = Microsecond { clock: &clock, fails_at: None };
        let mut series = Series::default();
        for _ in 0..visits {
            series.visit(&mut subject, machine).unwrap();
        }
        series
    }

    #[test]
    fn a_quarter_of_the_samples_or_as_many_as_were_asked_for_are_enough() {
        for (quiet, taken, is_too_few) in
            [(0, 0, false), (7, 120, true), (29, 120, true), (29, 116, false), (30, 9000, false)]
        {
            assert_eq!(too_few_quiet(quiet, taken, 30), is_too_few, "{quiet} of {taken}");
        }
    }

    #[test]
    fn cycles_are_time_times_the_frequency_that_was_read() {
        let figure = visits(&mut Scripted::quiet(), 4).figure().unwrap();
        assert_eq!(figure.cycles, Quartiles { low: 2000.0, median: 2000.0, high: 2000.0 });
        assert_eq!((figure.nanos, figure.samples), (1000.0, 12));
        assert_eq!(figure.quality, Quality::Quiet);
    }

    #[test]
    fn a_counter_is_believed_rather_than_the_frequency() {
        let mut machine = Scripted { counts: true, ..Scripted::quiet() };
        assert_eq!(visits(&mut machine, 4).figure().unwrap().cycles.median, 3000.0);
    }

    #[test]
    fn samples_beside_a_shared_core_do_not_count() {
        // Readings 0 to 3 are of the first visit; the third is not quiet, so two samples go.
        let quiet = vec![true, true, false, true].into_iter().map(Some).collect();
        let mut machine = Scripted { quiet, ..Scripted::quiet() };
        let figure = visits(&mut machine, 6).figure().unwrap();
        assert_eq!((figure.samples, figure.dropped_shared), (6, 12));
        assert_eq!(figure.quality, Quality::Quiet);
    }

    #[test]
    fn samples_while_the_frequency_changes_do_not_count() {
        let mut machine = Scripted { hz: vec![2e9, 2e9, 2.1e9, 2.1e9], ..Scripted::quiet() };
        let figure = visits(&mut machine, 6).figure().unwrap();
        assert_eq!((figure.samples, figure.dropped_unsteady), (12, 6));
    }

    #[test]
    fn a_figure_without_quiet_samples_is_marked() {
        let mut machine = Scripted { quiet: vec![Some(false)], ..Scripted::quiet() };
        let figure = visits(&mut machine, 3).figure().unwrap();
        assert_eq!(figure.quality, Quality::Disturbed);
        assert_eq!((figure.samples, figure.dropped_shared), (9, 9));
    }

    #[test]
    fn where_contention_is_not_known_the_figure_says_so() {
        let mut machine = Scripted { quiet: vec![None], ..Scripted::quiet() };
        assert_eq!(visits(&mut machine, 3).figure().unwrap().quality, Quality::Unknown);
    }

    #[test]
    fn a_sample_takes_about_as_long_as_it_should() {
        assert_eq!(visits(&mut Scripted::quiet(), 1).runs, Some(100));
    }

    #[test]
    fn a_failure_in_a_timed_loop_is_no_fast_run() {
        let clock = std::cell::Cell::new(0);
        let mut subject = Microsecond { clock: &clock, fails_at: Some(300) };
        let mut series = Series::default();
        let mut machine = Scripted::quiet();
        let ended = (0..10).try_for_each(|_| series.visit(&mut subject, &mut machine));
        assert_eq!(ended, Err(Failed::of("the test")));
    }

    #[test]
    fn quartiles_are_ranks() {
        let quartiles = Quartiles::of((1..=9).map(f64::from).collect()).unwrap();
        assert_eq!(quartiles, Quartiles { low: 3.0, median: 5.0, high: 7.0 });
        assert_eq!(Quartiles::of(vec![4.0]).unwrap().per(2.0).low, 2.0);
        assert_eq!(Quartiles::of(Vec::new()), None);
        assert_eq!(Quartiles::of(vec![f64::INFINITY]), None);
    }
}
