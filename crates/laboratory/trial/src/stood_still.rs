//! Operations that stood still: under way when the window ended, and for longer than chance explains. Latencies are of
//! operations that ended, so they say nothing of these.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Operations that a trial's latencies leave out although they are slower than all that these have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoodStill {
    /// How many.
    pub operations: u64,
    /// How long they had taken at least, in ns.
    pub at_least_ns: u64,
}

/// How many times as long as the slowest that ended an operation has taken that stands still: where a server falls behind,
/// each takes a little longer than the last one.
const TIMES: u64 = 2;

/// The part of the window for which it has: a pause of the server, which all of its operations share, is seen at the end
/// alone as often as it is long.
const PART: u64 = 2;

/// The least time for which it has, in ns: what a lost packet and a busy host explain.
const LEAST: u64 = 500_000_000;

/// The exponent of the heaviest tail that counts as honest: P(latency > t) falls as t^-1.25.
const TAIL: f64 = 1.25;

/// The probability below which it is no chance, where each operation has a latency of its own.
const CHANCE: f64 = 1e-4;

impl StoodStill {
    /// Of the latencies of operations that ended within the window, in ns, and of the ages at its end of those under way.
    ///
    /// Let operations begin at a rate r, with latencies above t with the probability S(t), and let M be the slowest that
    /// ended within a window T. Of those that take longer than M none ended: their number has the mean r T S(M) = x, which
    /// is as random as an exponential variable with the mean 1, because M is where the first of them would have been.
    /// Those under way that are older than a have the mean r ∫ S from a on, and so x u with u = ∫ S / (T S(M)). For
    /// S(t) = t^-k this is u = (M / T) (M / a)^(k-1) / (k-1); for lighter tails it is less. A Poisson variable with a mean
    /// that is exponential is geometric: that there are n or more of them has the probability (u / (1 + u))^n.
    pub(crate) fn of(
        ended: &Histogram<u64>,
        under_way: &Histogram<u64>,
        window: Nanos,
    ) -> Option<Self> {
        if ended.is_empty() {
            return None;
        }
        let slowest = ended.max();
        let at_least_ns = LEAST.max(window.0 / PART).max(slowest.saturating_mul(TIMES));
        let operations = under_way.count_between(at_least_ns, u64::MAX);
        let over = |of: u64, than: u64| of as f64 / than.max(1) as f64;
        let mean =
            over(slowest, window.0) * over(slowest, at_least_ns).powf(TAIL - 1.0) / (TAIL - 1.0);
        let chance = (mean / (1.0 + mean)).powf(operations as f64);
        (operations > 0 && chance < CHANCE).then_some(Self { operations, at_least_ns })
    }
}

#[cfg(test)]
mod tests {
    use random::Random;

    use super::*;

    /// In ms: how long the load warms up, and its window.
    const WARMUP: f64 = 500.0;
    const WINDOW: f64 = 4_000.0;

    /// What is found of operations with these beginnings and latencies, in ms.
    fn found(operations: impl Iterator<Item = (f64, f64)>) -> Option<StoodStill> {
        let histogram = || Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        let (mut ended, mut under_way) = (histogram(), histogram());
        let end = WARMUP + WINDOW;
        for (begin, latency) in operations.filter(|(begin, _)| *begin < end) {
            let ns = |ms: f64| ((ms * 1e6) as u64).clamp(1, 3_600_000_000_000);
            match begin + latency {
                over if over < WARMUP => {}
                over if over < end => ended.record(ns(latency)).unwrap(),
                _ => under_way.record(ns(end - begin)).unwrap(),
            }
        }
        StoodStill::of(&ended, &under_way, Nanos(WINDOW as u64 * 1_000_000))
    }

    /// Arrivals, so many in a ms on average.
    fn arrivals(random: &mut Random, rate: f64) -> Vec<f64> {
        let mut at = 0.0;
        let next = || {
            at += random.exponential() / rate;
            Some(at)
        };
        std::iter::from_fn(next).take_while(|at| *at < WARMUP + WINDOW).collect()
    }

    fn normal(random: &mut Random) -> f64 {
        (-2.0 * random.uniform().ln()).sqrt() * (std::f64::consts::TAU * random.uniform()).cos()
    }

    type Latency = fn(&mut Random) -> f64;

    /// Latencies in ms of honest servers, light and heavy.
    const LATENCIES: [(&str, Latency); 6] = [
        ("exponential", |random| 5.0 * random.exponential()),
        ("slow", |random| 1_500.0 * random.exponential()),
        ("log-normal", |random| 5.0 * normal(random).exp()),
        ("log-normal, wide", |random| 5.0 * (2.0 * normal(random)).exp()),
        ("Pareto 2", |random| random.uniform().powf(-1.0 / 2.0)),
        ("Pareto 1.3", |random| random.uniform().powf(-1.0 / 1.3)),
    ];

    #[test]
    fn honest_servers_raise_no_alarm() {
        for (name, latency) in LATENCIES {
            for seed in 0..100 {
                let random = &mut Random::stream(seed, 1);
                let begins = arrivals(random, 0.5);
                let open = begins.into_iter().map(|begin| (begin, latency(random))).collect();
                // Users who each ask when they were answered.
                let mut closed = Vec::new();
                for _ in 0..16 {
                    let mut now = 0.0;
                    while now < WARMUP + WINDOW {
                        closed.push((now, latency(random)));
                        now += closed[closed.len() - 1].1;
                    }
                }
                for operations in [open, closed] {
                    assert_eq!(found(operations.into_iter()), None, "{name}, {seed}");
                }
            }
        }
    }

    /// It stops for a while now and then, as for a collection of garbage; and one that is offered more than it can do.
    #[test]
    fn servers_that_are_slow_now_and_then_or_fall_behind_raise_no_alarm() {
        for (every, takes) in [(3_000.0, 100.0), (3_000.0, 400.0), (8_000.0, 1_500.0)] {
            for seed in 0..100 {
                let random = &mut Random::stream(seed, 2);
                let pauses = arrivals(random, 1.0 / every);
                let begins = arrivals(random, 0.5);
                let operations = begins.into_iter().map(|begin| {
                    let usual = 2.0 * random.exponential();
                    let waits = |pause: &f64| (*pause..pause + takes).contains(&(begin + usual));
                    let pause = pauses.iter().find(|pause| waits(pause));
                    (begin, pause.map_or(usual, |pause| pause + takes - begin))
                });
                assert_eq!(found(operations), None, "{takes} {seed}");
            }
        }
        for share in [1.05, 1.5, 3.0] {
            for seed in 0..100 {
                let random = &mut Random::stream(seed, 3);
                let mut free = 0.0_f64;
                let begins = arrivals(random, share);
                let operations = begins.into_iter().map(|begin| {
                    free = free.max(begin) + random.exponential();
                    (begin, free - begin)
                });
                assert_eq!(found(operations), None, "{share} {seed}");
            }
        }
    }

    #[test]
    fn operations_that_never_end_are_found_beside_quick_ones() {
        for seed in 0..100 {
            let random = &mut Random::stream(seed, 4);
            let begins = arrivals(random, 0.5);
            // Ten of the first ones stop half-way.
            let operations = begins.into_iter().enumerate().map(|(number, begin)| match number {
                100..110 => (begin, f64::INFINITY),
                _ => (begin, random.exponential()),
            });
            let found = found(operations).unwrap();
            assert_eq!((found.operations, found.at_least_ns), (10, 2_000_000_000), "{seed}");
        }
        // Among those that take as long, or before any has ended, nothing is known.
        let alike = (0..100).map(|number| (f64::from(number), 4_300.0));
        assert_eq!(found(alike), None);
        assert_eq!(found((0..100).map(|number| (f64::from(number), f64::INFINITY))), None);
    }
}
