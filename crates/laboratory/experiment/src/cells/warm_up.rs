//! Loads a server before its first trial, for a time or until it is steady.
//!
//! Steadiness is judged by what it completes per second of its own CPU time, as in trials: the time of
//! its compilers counts, and time that other programs or the hypervisor take does not.
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

/// How often its speed is read.
const STEP: Duration = Duration::from_millis(100);

/// The part with few users is this much of it, and the rest is a third of that.
const FEW_FOR: f64 = 0.75;

/// How a server is warmed up.
pub(crate) struct WarmUpPlan<'a> {
    pub(crate) how: WarmUp,
    /// Users that leave its compilers a part of its CPUs.
    pub(crate) few: usize,
    /// The most of its cells.
    pub(crate) most: usize,
    /// The CPU time that the server has used; `None` where it is gone.
    pub(crate) spent: &'a dyn Fn() -> Option<Duration>,
}

/// Loads with `job` as planned; `Some` where the server is not steady by then. A warm-up of a
/// time that is too short for that is not judged. An interrupt ends it early. `each` is called with how long it has taken.
///
/// # Errors
/// The load could not begin.
pub(crate) fn warm_up(
    plan: &WarmUpPlan<'_>,
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
    let until_steady = plan.how == WarmUp::UntilSteady;
    let longest = Duration::from(plan.how.most()).mul_f64(FEW_FOR);
    let few = plan.few.min(plan.most);
    let mut watch = Watch::new(SteadyRule::USUAL);
    run(&job, few, longest, interrupt, &mut |engine| {
        let at = begin.elapsed();
        each(at);
        if watch.is_due(at)
            && let Some(spent) = (plan.spent)()
        {
            watch.add(Seen { at, spent, completed: engine.progress().completed });
        }
        until_steady && watch.is_steady()
    })?;
    run(&job, plan.most, begin.elapsed() / 3, interrupt, &mut |_| {
        each(begin.elapsed());
        false
    })?;
    Ok(watch.verdict().filter(|_| until_steady || watch.has_enough()))
}

/// Loads with this many connections for this long, or until `is_enough` says so.
fn run(
    job: &Job,
    connections: usize,
    longest: Duration,
    interrupt: &AtomicBool,
    is_enough: &mut dyn FnMut(&Engine) -> bool,
) -> Result<(), String> {
    let mut job = job.clone();
    job.plan.connections = connections;
    job.plan.duration = Nanos(longest.as_nanos() as u64);
    let engine =
        Engine::start_after(job, interrupt, &mut || {}).map_err(|error| error.to_string())?;
    // Its window may begin, and end, earlier than planned.
    while Instant::now() < engine.window().1 && !interrupt.load(Relaxed) && !engine.is_finished() {
        std::thread::sleep(STEP);
        if is_enough(&engine) {
            break;
        }
    }
    engine.stop();
    let _ = engine.join();
    Ok(())
}

/// What a server has done since the begin.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    at: Duration,
    /// CPU time.
    spent: Duration,
    completed: u64,
}

/// How fast a server is, slice by slice.
struct Watch {
    rule: SteadyRule,
    last: Option<Seen>,
    /// Completed operations per second of CPU time.
    speeds: Vec<f64>,
}

impl Watch {
    fn new(rule: SteadyRule) -> Self {
        Self { rule, last: None, speeds: Vec::new() }
    }

    /// Whether a slice is over.
    fn is_due(&self, at: Duration) -> bool {
        self.last.is_none_or(|last| at >= last.at + self.rule.slice.into())
    }

    /// Ends a slice, the first time begins one.
    fn add(&mut self, now: Seen) {
        // A worker that ends takes its CPU time out of the sum: nothing is known of that slice.
        let spent = |last: &Seen| Some((now.spent.checked_sub(last.spent)?, last.completed));
        if let Some((spent, before)) = self.last.as_ref().and_then(spent) {
            let completed = now.completed - before;
            let speed = completed as f64 / spent.as_secs_f64();
            self.speeds.push(if completed == 0 { 0.0 } else { speed });
        }
        self.last = Some(now);
    }

    fn has_enough(&self) -> bool {
        self.speeds.len() >= self.rule.slices
    }

    fn is_steady(&self) -> bool {
        self.rule.spread_of(&self.speeds).is_some_and(|spread| spread <= self.rule.spread)
    }

    fn verdict(&self) -> Option<NotSteady> {
        let after = self.last.map_or(Duration::ZERO, |last| last.at);
        let spread = self.rule.spread_of(&self.speeds);
        (!self.is_steady()).then_some(NotSteady { after: Nanos(after.as_nanos() as u64), spread })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After slices of operations and the milliseconds of CPU time that they took.
    fn after(slices: &[(u64, u64)]) -> Watch {
        let mut watch = Watch::new(SteadyRule::USUAL);
        let mut now = Seen::default();
        watch.add(now);
        for (completed, spent_ms) in slices {
            now.at += SteadyRule::USUAL.slice.into();
            assert!(watch.is_due(now.at) && !watch.is_due(now.at - Duration::from_nanos(1)));
            now.completed += completed;
            now.spent += Duration::from_millis(*spent_ms);
            watch.add(now);
        }
        watch
    }

    #[test]
    fn a_cost_that_settles_is_steady() {
        let slices = [(10, 2000), (30, 2000), (60, 2000), (100, 2000), (100, 2000), (101, 2000)];
        let settled = [slices.as_slice(), &[(100, 2000), (100, 2000)]].concat();
        assert!(!after(&slices).is_steady() && !after(&settled[..7]).is_steady());
        assert!(after(&settled).is_steady() && after(&settled).verdict().is_none());
    }

    #[test]
    fn cpu_time_that_others_take_is_not_the_servers() {
        let robbed = [(100, 2000), (40, 800), (10, 200), (75, 1500), (99, 2000)];
        assert!(after(&robbed).is_steady());
        let slower = [(100, 2000), (100, 2000), (100, 2200), (100, 2000), (100, 2000)];
        assert!(!after(&slower).is_steady());
    }

    #[test]
    fn a_speed_that_goes_on_growing_is_not() {
        let growing = [100, 110, 120, 130, 140, 150].map(|completed| (completed, 2000));
        let verdict = after(&growing).verdict().unwrap();
        assert_eq!(verdict.after, Nanos(12_000_000_000));
        assert!((verdict.spread.unwrap() - 40.0 / 130.0).abs() < 1e-9, "{verdict:?}");
    }

    #[test]
    fn a_worker_that_ends_takes_no_part_in_the_judgement() {
        let mut watch = after(&[(100, 2000); 3]);
        let mut now = watch.last.unwrap();
        for spent_ms in [1500, 3500, 5500] {
            now.at += SteadyRule::USUAL.slice.into();
            now.completed += 100;
            now.spent = Duration::from_millis(spent_ms);
            watch.add(now);
        }
        assert_eq!(watch.speeds, [50.0; 5]);
    }

    #[test]
    fn a_server_that_does_nothing_is_not() {
        assert_eq!(after(&[(0, 0); 6]).verdict().unwrap().spread, None);
        assert_eq!(after(&[(100, 2000); 4]).verdict().unwrap().spread, None);
        assert!(!after(&[(100, 2000); 4]).has_enough());
    }
}
