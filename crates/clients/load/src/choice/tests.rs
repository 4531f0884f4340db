//! Servers and networks in virtual time, and load threads that pause as the choice says.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use random::Random;

use super::*;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// What a load thread's wake-up costs it, a pause, and an operation, in ns.
const WAKE: u64 = 6 * US;
const SLEEP: u64 = 3 * US;
const OPERATION: u64 = 5 * US;

/// Over how many operations [`crate::coalescing`] remembers.
const MEMORY: u64 = 64;

/// A server that is reached over a network.
#[derive(Debug, Clone, Copy)]
struct Scene {
    threads: usize,
    per_thread: usize,
    workers: usize,
    /// What an operation takes a worker, before and after half of the run, in ns.
    service: [u64; 2],
    /// What network and backend add, before and after, in ns.
    delay: [u64; 2],
    /// It works for this long and then rests for as long; 0: it never rests.
    rests: u64,
    /// By how much service times differ, in parts of them.
    jitter: f64,
    warmup: u64,
    end: u64,
    /// Whether there is time to try pauses.
    tries: bool,
}

const BUSY_SERVER: Scene = Scene {
    threads: 1,
    per_thread: 64,
    workers: 1,
    service: [16 * US; 2],
    delay: [40 * US; 2],
    rests: 0,
    jitter: 0.3,
    warmup: 400 * MS,
    end: 1000 * MS,
    tries: true,
};

#[derive(Debug)]
struct Played {
    /// After the warm-up.
    completed: u64,
    /// CPU time of the client per operation, warm-up included, in ns.
    cpu: f64,
    /// When the warm-up ended, and in the end.
    chosen: [Pauses; 2],
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    Request { thread: usize, began: u64 },
    Response { thread: usize, began: u64 },
    Runs { thread: usize },
}

struct Client {
    inbox: Vec<u64>,
    is_asleep: bool,
    seen: Seen,
    share: PauseShare,
    next_look: u64,
}

/// With pauses as chosen, or without any.
fn play(scene: Scene, pauses: bool) -> Played {
    let mut random = Random::new(7);
    let mut choice = Choice::new(scene.threads, if scene.tries { scene.warmup } else { 0 }, None);
    let mut chosen = [choice.pauses(); 2];
    let mut before = 0;
    let mut events = BinaryHeap::new();
    let mut free = vec![0_u64; scene.workers];
    let client = |_| Client {
        inbox: Vec::new(),
        is_asleep: true,
        seen: Seen { under_way: scene.per_thread, ..Seen::default() },
        share: PauseShare::Short,
        next_look: 0,
    };
    let mut clients: Vec<_> = (0..scene.threads).map(client).collect();
    for thread in 0..scene.threads {
        for _ in 0..scene.per_thread {
            events.push(Reverse((0, Happens::Request { thread, began: 0 })));
        }
    }
    while let Some(Reverse((now, happens))) = events.pop() {
        if now >= scene.end {
            break;
        }
        let half = usize::from(now >= scene.end / 2);
        match happens {
            Happens::Request { thread, began } => {
                let worker = (0..scene.workers).min_by_key(|&worker| free[worker]).unwrap();
                let mut from = now.max(free[worker]);
                if scene.rests > 0 && from / scene.rests % 2 == 1 {
                    from = (from / scene.rests + 1) * scene.rests;
                }
                let unit = 2.0 * random.uniform() - 1.0;
                let takes = scene.service[half] as f64 * (1.0 + scene.jitter * unit);
                free[worker] = from + takes as u64;
                let at = free[worker] + scene.delay[half];
                events.push(Reverse((at, Happens::Response { thread, began })));
            }
            Happens::Response { thread, began } => {
                let client = &mut clients[thread];
                client.inbox.push(began);
                if std::mem::take(&mut client.is_asleep) {
                    client.seen.cpu += WAKE;
                    events.push(Reverse((now + WAKE, Happens::Runs { thread })));
                }
            }
            Happens::Runs { thread } => {
                let client = &mut clients[thread];
                let mut at = now;
                before += if now < scene.warmup { client.inbox.len() as u64 } else { 0 };
                for began in client.inbox.drain(..) {
                    let took = at - began;
                    let seen = &mut client.seen;
                    seen.ended += 1;
                    seen.took += took;
                    seen.cpu += OPERATION;
                    if took < seen.quickest || seen.quickest == 0 {
                        seen.quickest = took;
                    } else {
                        seen.quickest += (took - seen.quickest) / MEMORY;
                    }
                    at += OPERATION;
                    events.push(Reverse((at, Happens::Request { thread, began: at })));
                }
                if at >= client.next_look {
                    (client.share, client.next_look) = choice.look(thread, at, client.seen);
                    chosen[1] = choice.pauses();
                    if at < scene.warmup {
                        chosen[0] = chosen[1];
                    }
                }
                let pause = match client.share.least_under_way() <= scene.per_thread && pauses {
                    true => client.share.length(client.seen.quickest),
                    false => 0,
                };
                // Since the last wake-up, which was when this began.
                let until = now + pause;
                if until > at {
                    client.seen.cpu += SLEEP;
                    events.push(Reverse((until, Happens::Runs { thread })));
                } else {
                    client.is_asleep = true;
                }
            }
        }
    }
    let ended: u64 = clients.iter().map(|client| client.seen.ended).sum();
    let cpu: u64 = clients.iter().map(|client| client.seen.cpu).sum();
    Played { completed: ended - before, cpu: cpu as f64 / ended as f64, chosen }
}

/// What pauses take of the rate after the warm-up, and what happened with them.
fn loss(scene: Scene) -> (f64, Played) {
    let [with, without] = [true, false].map(|pauses| play(scene, pauses));
    (1.0 - with.completed as f64 / without.completed as f64, with)
}

#[test]
fn a_busy_server_is_given_the_longest_pauses_and_loses_nothing() {
    for (threads, workers, per_thread) in [(1, 1, 64), (2, 1, 64), (1, 1, 16)] {
        let scene = Scene { threads, workers, per_thread, jitter: 0.1, ..BUSY_SERVER };
        let (loss, with) = loss(scene);
        let tried = Pauses { share: PauseShare::Longest, reason: PauseReason::Tried };
        assert_eq!(with.chosen, [tried; 2], "{scene:?}");
        assert!(loss < 0.001, "{loss}, {scene:?}");
        assert!(with.cpu < 0.7 * play(scene, false).cpu, "{with:?}");
    }
}

#[test]
fn a_server_that_could_do_more_meanwhile_is_left_none_of_its_rate() {
    // At 1,024 µs the server idles half of the time.
    let near = [900 * US, 1100 * US, 2 * MS].map(|delay| (delay, 400 * MS));
    for (delay, warmup) in near.into_iter().chain([(20 * MS, 1500 * MS)]) {
        let end = warmup + 600 * MS;
        let (loss, with) = loss(Scene { delay: [delay; 2], warmup, end, ..BUSY_SERVER });
        let Pauses { share, reason } = with.chosen[1];
        assert!(loss < 0.01, "{loss}, {with:?}, {delay}");
        assert!(share < PauseShare::Long && reason == PauseReason::Tried, "{with:?}, {delay}");
    }
}

#[test]
fn a_server_that_rests_or_serves_slowly_one_at_a_time_loses_nothing() {
    for scene in [
        Scene { rests: 5 * MS, ..BUSY_SERVER },
        Scene { service: [500 * US; 2], ..BUSY_SERVER },
        Scene { jitter: 1.0, ..BUSY_SERVER },
    ] {
        let (loss, with) = loss(scene);
        assert!(loss < 0.01, "{loss}, {with:?}, {scene:?}");
    }
}

/// Longer pauses were right before. Where they are not any more, they last for two blocks. The usual ones, which follow,
/// take up to 1/64 of such a server's rate.
#[test]
fn a_server_whose_speed_changes_within_the_window_loses_no_more_than_by_the_usual_pauses() {
    let faster = Scene { service: [16 * US, US], delay: [40 * US, 400 * US], ..BUSY_SERVER };
    let further = Scene { delay: [40 * US, 20 * MS], ..BUSY_SERVER };
    for scene in [faster, further].map(|scene| Scene { jitter: 0.1, end: 1800 * MS, ..scene }) {
        let Played { chosen, completed, .. } = play(scene, true);
        assert_eq!(chosen[0].share, PauseShare::Longest);
        let back = Pauses { share: PauseShare::Short, reason: PauseReason::Changed };
        assert_eq!(chosen[1], back);
        let usual = play(Scene { tries: false, ..scene }, true).completed;
        let loss = 1.0 - completed as f64 / usual as f64;
        assert!(loss < 0.01, "{loss}, {scene:?}");
    }
}

/// With what changes in the warm-up they are tried anew.
#[test]
fn a_change_within_the_warm_up_is_followed() {
    let scene = Scene { delay: [2 * MS, 40 * US], warmup: 950 * MS, jitter: 0.1, ..BUSY_SERVER };
    let (_, with) = loss(scene);
    let tried = Pauses { share: PauseShare::Longest, reason: PauseReason::Tried };
    assert_eq!(with.chosen, [tried; 2]);
}

#[test]
fn where_nothing_can_be_shown_the_usual_pauses_stay() {
    for scene in [
        Scene { warmup: 0, ..BUSY_SERVER },
        Scene { warmup: 20 * MS, ..BUSY_SERVER },
        Scene { per_thread: 15, ..BUSY_SERVER },
    ] {
        let (_, with) = loss(scene);
        let untried = Pauses { share: PauseShare::Short, reason: PauseReason::Untried };
        assert_eq!(with.chosen, [untried; 2], "{scene:?}");
    }
}

/// A thread that looks late, or misses slots, spoils its pairs and nothing else.
#[test]
fn any_looks_at_any_times_are_answered() {
    let mut random = Random::new(3);
    for _ in 0..50 {
        let mut choice = Choice::new(2, 300 * MS, None);
        let (mut now, mut seen) = (0, [Seen { under_way: 64, quickest: MS, ..Seen::default() }; 2]);
        while now < 400 * MS {
            now += (random.uniform() * 5e6) as u64;
            let thread = usize::from(random.uniform() < 0.5);
            let ended = (random.uniform() * 300.0) as u64;
            let own = &mut seen[thread];
            own.ended += ended;
            (own.took, own.cpu) = (own.took + ended * MS, own.cpu + ended * 10 * US);
            let (share, next) = choice.look(thread, now, *own);
            assert!(next > now, "{share} {next} {now}");
        }
        assert_ne!(choice.pauses().share, PauseShare::Long);
    }
}
