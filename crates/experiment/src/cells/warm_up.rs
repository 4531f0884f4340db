//! Loads a server before its first trial, for a time or until its rate is steady.
//!
//! Code that a just-in-time compiler has not reached yet runs many times slower, and instructions of
//! the processor for AES are used in compiled code only. Compilers are threads of the server, which
//! get little of a CPU that is shared with hundreds of threads that answer. So most of the time there
//! are few users. All of them come at the end, for the threads and connections of the server that
//! they need. One load runs all the time in each part, so that the slices differ in nothing but the
//! server.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use load::{Engine, Job, Load};
use targets::{SteadyRule, WarmUp};
use trial::NotSteady;
use units::Nanos;

/// How often it is looked at.
const STEP: Duration = Duration::from_millis(100);

/// The part with few users is this much of it, and the rest is a third of that.
const FEW_FOR: f64 = 0.75;

/// How a server is warmed up.
pub(crate) struct Plan {
    pub(crate) how: WarmUp,
    /// Users that leave its compilers a part of its CPUs.
    pub(crate) few: usize,
    /// The most of its cells.
    pub(crate) most: usize,
}

/// Loads with `job` as planned; `Some` where the server is not steady by then. A warm-up of a
/// time that is too short for that is not judged. An interrupt ends it early. `each` is told how long it has taken.
///
/// # Errors
/// The load could not begin.
pub(crate) fn warm_up(
    plan: &Plan,
    mut job: Job,
    interrupt: &AtomicBool,
    each: &mut dyn FnMut(Duration),
) -> Result<Option<NotSteady>, String> {
    job.plan.warmup = Some(Nanos(0));
    job.plan.ramp = Nanos(0);
    // Else its users would stop before it is over.
    job.plan.walks = None;
    job.plan.count = None;
    let begin = Instant::now();
    let mut each = || each(begin.elapsed());
    let until_steady = plan.how == WarmUp::UntilSteady;
    let longest = Duration::from(plan.how.most()).mul_f64(FEW_FOR);
    let few = plan.few.min(plan.most);
    let watch = run(&job, few, longest, until_steady, interrupt, &mut each)?;
    run(&job, plan.most, begin.elapsed() / 3, false, interrupt, &mut each)?;
    Ok(watch.verdict().filter(|_| until_steady || watch.has_enough()))
}

/// Loads with this many connections for this long, or until it is steady.
fn run(
    job: &Job,
    connections: usize,
    longest: Duration,
    until_steady: bool,
    interrupt: &AtomicBool,
    each: &mut dyn FnMut(),
) -> Result<Watch, String> {
    let mut job = job.clone();
    job.plan.connections = connections;
    job.plan.duration = Nanos(longest.as_nanos() as u64);
    let engine = Engine::start(job).map_err(|error| error.to_string())?;
    let (begin, end) = engine.window();
    let slice = Duration::from(SteadyRule::USUAL.slice);
    let mut watch = Watch::new(SteadyRule::USUAL);
    let mut next = begin + slice;
    while Instant::now() < end && !interrupt.load(Relaxed) && !engine.is_finished() {
        std::thread::sleep(STEP);
        each();
        if Instant::now() >= next {
            next += slice;
            watch.add(engine.progress().completed);
            if until_steady && watch.is_steady() {
                break;
            }
        }
    }
    engine.stop();
    let _ = engine.join();
    Ok(watch)
}

/// What was completed, slice by slice.
struct Watch {
    rule: SteadyRule,
    total: u64,
    slices: Vec<u64>,
}

impl Watch {
    fn new(rule: SteadyRule) -> Self {
        Self { rule, total: 0, slices: Vec::new() }
    }

    /// A slice is over, and this is what was completed since the begin.
    fn add(&mut self, total: u64) {
        self.slices.push(total - self.total);
        self.total = total;
    }

    fn has_enough(&self) -> bool {
        self.slices.len() >= self.rule.slices
    }

    fn is_steady(&self) -> bool {
        self.rule.spread_of(&self.slices).is_some_and(|spread| spread <= self.rule.spread)
    }

    fn verdict(&self) -> Option<NotSteady> {
        let after = Nanos(self.rule.slice.0 * self.slices.len() as u64);
        let spread = self.rule.spread_of(&self.slices);
        (!self.is_steady()).then_some(NotSteady { after, spread })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(totals: &[u64]) -> Watch {
        let mut watch = Watch::new(SteadyRule::USUAL);
        totals.iter().for_each(|total| watch.add(*total));
        watch
    }

    #[test]
    fn a_rate_that_settles_is_steady() {
        let watch = after(&[10, 40, 100, 200, 300, 401, 501]);
        assert!(!after(&[10, 40, 100, 200, 300, 401]).is_steady());
        assert!(!watch.is_steady());
        let watch = after(&[10, 40, 100, 200, 300, 401, 501, 601]);
        assert!(watch.is_steady() && watch.verdict().is_none());
    }

    #[test]
    fn a_rate_that_goes_on_growing_is_not() {
        let watch = after(&[100, 210, 330, 460, 600, 750]);
        let verdict = watch.verdict().unwrap();
        assert_eq!(verdict.after, Nanos(12_000_000_000));
        assert!((verdict.spread.unwrap() - 40.0 / 130.0).abs() < 1e-9, "{verdict:?}");
        assert_eq!(after(&[0; 6]).verdict().unwrap().spread, None);
    }
}
