//! Schedules over simulated time: counts and orders, no clock.

use std::collections::BTreeSet;

use proptest::prelude::*;
use units::Nanos;

use super::*;
use crate::{Distribution, Pace, Rate};

const SECOND: u64 = 1_000_000_000;

fn part(slots: usize) -> ThreadPart {
    ThreadPart {
        thread: 0,
        threads: 1,
        slots,
        connections: slots,
        window_start: 0,
        seed: 1,
        ramp: Ramp::NONE,
        period: Nanos(0),
    }
}

fn open(rate: u64, distribution: Distribution) -> Arrival {
    Arrival::Open { rate: Rate::from_thousandths(rate * 1000).unwrap(), distribution }
}

fn paced(period: u64) -> Arrival {
    Arrival::Paced { pace: Pace::Every(Nanos(period)) }
}

fn schedule(arrival: Arrival, part: ThreadPart) -> Schedule {
    let period = match arrival {
        Arrival::Paced { pace: Pace::Every(period) } => period,
        _ => Nanos(0),
    };
    Schedule::new(arrival, ThreadPart { period, ..part })
}

/// One operation of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Started {
    slot: usize,
    intended: u64,
    at: u64,
}

/// A thread that wakes at these moments only; an operation that begins at `t` is over at the first
/// wake-up at or after `t + service(operation's number)`.
fn simulate(
    schedule: &mut Schedule,
    slots: usize,
    looks: impl IntoIterator<Item = u64>,
    service: impl Fn(usize) -> u64,
) -> Vec<Started> {
    let mut begun: Vec<Started> = Vec::new();
    let mut busy_until = vec![Some(0); slots];
    for now in looks {
        loop {
            let mut due: Vec<Due> = Vec::new();
            for (slot, until) in busy_until.iter_mut().enumerate() {
                if until.is_some_and(|until| until <= now) {
                    *until = None;
                    let intended = schedule.freed(slot, now);
                    due.extend(intended.map(|intended| Due { slot, intended, at: intended }));
                }
            }
            while let Some(next) = schedule.next(now) {
                due.push(next);
            }
            if due.is_empty() {
                break;
            }
            for Due { slot, intended, .. } in due {
                assert_eq!(busy_until[slot], None, "slot {slot} is busy");
                assert!(intended <= now, "{intended} begins at {now}");
                busy_until[slot] = Some(now + service(begun.len()).max(1));
                begun.push(Started { slot, intended, at: now });
            }
        }
    }
    begun
}

fn intended(begun: &[Started]) -> Vec<u64> {
    let mut starts: Vec<u64> = begun.iter().map(|begun| begun.intended).collect();
    starts.sort_unstable();
    starts
}

/// All starts that a schedule intends before `end`.
fn all_starts(arrival: Arrival, part: ThreadPart, end: u64) -> Vec<u64> {
    let mut starts = Vec::new();
    schedule(arrival, part).leave(end, |at| starts.push(at));
    starts.sort_unstable();
    starts
}

/// The parts of a load's threads, as the engine deals its connections.
fn parts(threads: usize, connections: usize, seed: u64) -> impl Iterator<Item = ThreadPart> {
    (0..threads).map(move |thread| {
        let slots = connections / threads + usize::from(thread < connections % threads);
        let (window_start, ramp, period) = (0, Ramp::NONE, Nanos(0));
        ThreadPart { thread, threads, slots, connections, window_start, seed, ramp, period }
    })
}

fn distribution() -> impl Strategy<Value = Distribution> {
    prop_oneof![Just(Distribution::Uniform), Just(Distribution::Poisson)]
}

fn scheduled() -> impl Strategy<Value = Arrival> {
    prop_oneof![
        (1u64..5_000, distribution()).prop_map(|(rate, distribution)| open(rate, distribution)),
        (1_000_000u64..SECOND).prop_map(paced),
    ]
}

/// Moments at which a thread wakes: mostly often, sometimes after seconds.
fn looks() -> impl Strategy<Value = Vec<u64>> {
    let step = prop_oneof![
        20 => 1u64..2_000_000,
        5 => 1_000_000u64..50_000_000,
        1 => SECOND..4 * SECOND,
    ];
    proptest::collection::vec(step, 1..200).prop_map(|steps| {
        let sum = |now: &mut u64, step| {
            *now += step;
            Some(*now)
        };
        steps.into_iter().scan(0, sum).collect()
    })
}

proptest! {
    /// Whatever the service times and however late the thread wakes: each intended start is begun
    /// once or left over; none is lost, moved or invented.
    #[test]
    fn no_intended_start_is_lost(
        arrival in scheduled(),
        slots in 1usize..20,
        looks in looks(),
        services in proptest::collection::vec(0u64..100_000_000, 1..20),
    ) {
        let end = looks.last().unwrap() + 1;
        let mut schedule = schedule(arrival, part(slots));
        let begun = simulate(&mut schedule, slots, looks, |i| services[i % services.len()]);
                let mut seen = intended(&begun);
                schedule.leave(end, |at| seen.push(at));
                seen.sort_unstable();
                prop_assert_eq!(seen, all_starts(arrival, part(slots), end));
        // Each is left over only once.
        schedule.leave(end, |at| panic!("{at} is left twice"));
    }

    /// A thread that is woken when the schedule says begins each start at its time, to the
    /// nanosecond, as long as a slot is free.
    #[test]
    fn waking_as_scheduled_begins_in_time(arrival in scheduled(), slots in 1usize..20) {
        let mut schedule = schedule(arrival, part(slots));
        for slot in 0..slots {
            while let Some(intended) = schedule.freed(slot, 0) {
                prop_assert_eq!(intended, 0);
            }
        }
        let mut now = 0;
        for _ in 0..200 {
            let wake = schedule.wake_at().unwrap();
            prop_assert!(wake >= now);
            now = wake;
            while let Some(due) = schedule.next(now) {
                prop_assert_eq!(due.intended, now);
                while let Some(intended) = schedule.freed(due.slot, now) {
                    prop_assert_eq!(intended, now);
                }
            }
        }
    }

    /// The threads of a uniform load together make its starts: the n-th at n / rate, however long
    /// the load runs.
    #[test]
    fn uniform_starts_do_not_drift(
        thousandths in 1u64..10_000_000,
        threads in 1usize..6,
    ) {
        let rate = Rate::from_thousandths(thousandths).unwrap();
        let arrival = Arrival::Open { rate, distribution: Distribution::Uniform };
        let end = (50_000_000_000_000 / thousandths).max(1);
        let mut starts: Vec<u64> =
            parts(threads, 8, 1).flat_map(|part| all_starts(arrival, part, end)).collect();
        starts.sort_unstable();
        for (number, start) in starts.iter().enumerate() {
            let exact = u128::from(number as u64) * 1_000_000_000_000 / u128::from(thousandths);
            prop_assert_eq!(u128::from(*start), exact);
        }
        prop_assert!((50..=51).contains(&starts.len()), "{}", starts.len());
    }

    /// The number of starts in a span is exact to one, even hours later.
    #[test]
    fn uniform_starts_keep_their_rate(
        thousandths in 1u64..10_000,
        from in 0u64..10_000,
        length in 1u64..1_000,
    ) {
        let rate = Rate::from_thousandths(thousandths).unwrap();
        let arrival = Arrival::Open { rate, distribution: Distribution::Uniform };
        let starts = all_starts(arrival, part(1), (from + length) * SECOND);
        let within = starts.iter().filter(|at| **at >= from * SECOND).count() as f64;
        prop_assert!((within - length as f64 * rate.per_second()).abs() <= 1.0, "{within}");
    }

    /// Each connection of a paced load starts at its phase and every T after it; the phases of all
    /// threads together are spread evenly.
    #[test]
    fn paced_phases_are_spread_and_stay(
        every in 1_000_000u64..10 * SECOND,
        connections in 1usize..200,
        threads in 1usize..6,
    ) {
        let threads = threads.min(connections);
        let mut phases = BTreeSet::new();
        for part in parts(threads, connections, 1) {
            let mut schedule = schedule(paced(every), part);
            let looks = (0..4 * part.slots as u64 * 4).map(|i| i * every / (part.slots as u64 * 4));
            let begun = simulate(&mut schedule, part.slots, looks, |_| 0);
            for slot in 0..part.slots {
                let mut own: Vec<u64> = begun.iter().filter(|b| b.slot == slot).map(|b| b.intended).collect();
                own.sort_unstable();
                prop_assert!(own.len() >= 3, "{own:?}");
                prop_assert!(own.windows(2).all(|pair| pair[1] - pair[0] == every), "{own:?}");
                phases.insert(own[0]);
            }
        }
        // Each connection of all threads has its own place in the period.
        prop_assert_eq!(phases.len(), connections);
        let gap = every as f64 / connections as f64;
        for (i, phase) in phases.iter().enumerate() {
            prop_assert!((*phase as f64 - i as f64 * gap).abs() <= 1.0);
        }
    }
}

proptest! {
    // Each case draws some 20,000 numbers.
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Counts of a Poisson process have its rate as mean and as variance, for any number of
    /// threads: six standard deviations are never seen.
    #[test]
    fn poisson_starts_come_at_the_rate(
        rate in 1u64..10_000,
        threads in 1usize..6,
        seed: u64,
    ) {
        let seconds = 20_000 / rate + 1;
        let arrival = open(rate, Distribution::Poisson);
        let mut starts: Vec<u64> = parts(threads, 8, seed)
            .flat_map(|part| all_starts(arrival, part, seconds * SECOND))
            .collect();
        starts.sort_unstable();
        let expected = (rate * seconds) as f64;
        prop_assert!((starts.len() as f64 - expected).abs() < 6.0 * expected.sqrt(), "{} of {expected}", starts.len());
        // Exponential gaps: a share of 1/e is longer than the mean.
        let mean = SECOND as f64 / rate as f64;
        let long = starts.windows(2).filter(|pair| (pair[1] - pair[0]) as f64 > mean).count();
        let share = long as f64 / starts.len() as f64;
        prop_assert!((share - (-1f64).exp()).abs() < 0.03, "{share}");
    }
}

#[test]
fn starts_are_late_but_kept_when_the_thread_stalls() {
    let mut schedule = schedule(open(1000, Distribution::Uniform), part(10));
    let millisecond = SECOND / 1000;
    // Every millisecond, but for the fourth second.
    let looks = (0..8000).filter(|ms| !(3000..4000).contains(ms)).map(|ms| ms * millisecond);
    let begun = simulate(&mut schedule, 10, looks, |_| millisecond / 2);
    let mut starts = intended(&begun);
    schedule.leave(8 * SECOND, |at| starts.push(at));
    assert_eq!(starts, (0..8000).map(|ms| ms * millisecond).collect::<Vec<_>>());
    let late = |by: u64| begun.iter().filter(|b| b.at - b.intended >= by).count();
    // Of the thousand that came meanwhile, half began more than half a second late.
    assert!((500..700).contains(&late(SECOND / 2)), "{}", late(SECOND / 2));
    assert!(begun.iter().filter(|b| b.intended < 3 * SECOND).all(|b| b.at == b.intended));
}

#[test]
fn connections_of_an_open_loop_take_turns_and_arrivals_wait_for_them() {
    let mut schedule = schedule(open(1000, Distribution::Uniform), part(3));
    let millisecond = SECOND / 1000;
    assert_eq!(schedule.wake_at(), None, "no slot is free");
    assert_eq!(schedule.freed(2, 0), Some(0));
    for slot in [0, 1] {
        assert_eq!(schedule.freed(slot, 0), None);
    }
    assert_eq!(schedule.next(0), None);
    assert_eq!(schedule.wake_at(), Some(millisecond));
    let due = |slot, ms| Some(Due { slot, intended: ms * millisecond, at: ms * millisecond });
    assert_eq!(schedule.next(millisecond), due(0, 1));
    assert_eq!(schedule.next(5 * millisecond), due(1, 2));
    assert_eq!(schedule.next(5 * millisecond), None, "all are busy");
    assert_eq!(schedule.wake_at(), None);
    // The oldest first.
    assert_eq!(schedule.freed(1, 6 * millisecond), Some(3 * millisecond));
    assert_eq!(schedule.freed(2, 6 * millisecond), Some(4 * millisecond));
    let mut left = Vec::new();
    schedule.leave(7 * millisecond, |at| left.push(at / millisecond));
    assert_eq!(left, [5, 6]);
}

#[test]
fn a_late_response_starts_the_next_at_once_and_shifts_no_tick() {
    let mut schedule = schedule(paced(100), part(2));
    assert_eq!(schedule.freed(0, 0), Some(0));
    assert_eq!(schedule.freed(1, 0), None);
    assert_eq!(schedule.wake_at(), Some(0));
    assert_eq!(schedule.next(0), None);
    assert_eq!(schedule.next(60), Some(Due { slot: 1, intended: 50, at: 50 }));
    // Slot 0 is over at 250: its ticks at 100 and 200 have passed.
    assert_eq!(schedule.next(250), None);
    assert_eq!(schedule.freed(0, 250), Some(100));
    assert_eq!(schedule.freed(0, 260), Some(200));
    assert_eq!(schedule.freed(0, 270), None);
    assert_eq!(schedule.next(299), None);
    assert_eq!(schedule.next(300), Some(Due { slot: 0, intended: 300, at: 300 }));
}

#[test]
fn a_connection_that_opens_in_the_warm_up_has_nothing_to_catch_up_with() {
    let part = ThreadPart { window_start: 1000, ..part(2) };
    let mut schedule = schedule(paced(100), part);
    assert_eq!(schedule.freed(0, 730), None);
    assert_eq!(schedule.next(799), None);
    assert_eq!(schedule.next(800), Some(Due { slot: 0, intended: 800, at: 800 }));
    // A connection that opens in the window has to catch up with the window's ticks.
    assert_eq!(schedule.freed(1, 1210), Some(1050));
    assert_eq!(schedule.freed(1, 1211), Some(1150));
    assert_eq!(schedule.freed(1, 1212), None);
}

#[test]
fn users_think_and_do_not_start_in_step() {
    let think = Arrival::Closed { think: Nanos(1000) };
    let mut schedule = schedule(think, part(4));
    for slot in 0..4 {
        assert_eq!(schedule.freed(slot, 0), None);
    }
    for (slot, at) in [(0, 0), (1, 250), (2, 500), (3, 750)] {
        assert_eq!(schedule.wake_at(), Some(at));
        assert_eq!(schedule.next(at), Some(Due { slot, intended: at, at }));
        assert_eq!(schedule.next(at), None);
        assert_eq!(schedule.freed(slot, at + 10), None);
    }
    assert_eq!(schedule.wake_at(), Some(1010));
    // In a closed loop a late start is a start that was meant then, and is known to be late.
    assert_eq!(schedule.next(1100), Some(Due { slot: 0, intended: 1100, at: 1010 }));
}

#[test]
fn without_think_time_a_free_slot_begins_at_once() {
    let mut schedule = schedule(Arrival::CLOSED, part(2));
    assert_eq!((schedule.wake_at(), schedule.next(5)), (None, None));
    assert_eq!(schedule.freed(1, 7), Some(7));
    assert_eq!(schedule.freed(1, 8), Some(8));
    schedule.leave(100, |at| panic!("{at} was intended"));
}

proptest! {
    /// In a load with ramps, each thread's starts are in order and within the load, and their
    /// number is that of the hold and one ramp at the full rate.
    #[test]
    fn an_open_loop_with_ramps_has_as_many_starts_as_its_area(
        rate in 100u64..5_000,
        distribution in distribution(),
        length in 0u64..5 * SECOND,
        hold in SECOND..5 * SECOND,
        threads in 1usize..4,
        seed: u64,
    ) {
        let ramp = Ramp::new(length, Some(length + hold));
        let end = 2 * length + hold;
        let mut count = 0;
        let mut within_hold = 0;
        for part in parts(threads, 8, seed) {
            let starts = {
                let mut starts = Vec::new();
                schedule(open(rate, distribution), ThreadPart { ramp, ..part })
                    .leave(end, |at| starts.push(at));
                starts
            };
            prop_assert!(starts.is_sorted());
            count += starts.len();
            within_hold +=
                starts.iter().filter(|at| (length..length + hold).contains(at)).count();
        }
        let expected = |nanos: u64| rate as f64 * nanos as f64 / SECOND as f64;
        for (count, nanos) in [(count, length + hold), (within_hold, hold)] {
            let room = match distribution {
                Distribution::Uniform => 2.0,
                // Six standard deviations.
                Distribution::Poisson => 6.0 * expected(nanos).sqrt() + 2.0,
            };
            let expected = expected(nanos);
            prop_assert!((count as f64 - expected).abs() <= room, "{count} of {expected}");
        }
    }
}

#[test]
fn slots_of_all_threads_come_and_go_in_turn() {
    let ramp = Ramp::new(60, Some(100));
    let parts: Vec<ThreadPart> = parts(2, 6, 1).map(|part| ThreadPart { ramp, ..part }).collect();
    let joins = |part: &ThreadPart| (0..3).map(|slot| part.joins(slot)).collect::<Vec<_>>();
    assert_eq!((joins(&parts[0]), joins(&parts[1])), (vec![0, 20, 40], vec![10, 30, 50]));
    assert_eq!((parts[0].leaves(2), parts[1].leaves(2)), (Some(140), Some(150)));
}
