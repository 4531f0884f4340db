//! toll, rank 0 and two ranks on a network in memory: order, lateness and loss, without MPI or clocks.

mod proofs;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, Instant};

use load::{Job, Outcome, Plan, Progress, Rank, Source};
use peers::Offer;
use proptest::prelude::*;
use trial::ClientFigures;

use crate::member::{Loader, Member, Stage, Step};
use crate::messages::Messages;
use crate::relay::Relay;
use crate::share::Share;
use crate::watch::{State, Watch};
use crate::words::{Done, Order, RankCommand, Report};

const MS: Duration = Duration::from_millis(1);
/// How long a load is ready after it was asked for, and how long it takes.
const PREPARED: Duration = Duration::from_millis(20);
const LENGTH: Duration = Duration::from_secs(2);
const SILENCE: Duration = Duration::from_secs(10);

/// Messages that take their time, and barriers.
struct Net {
    now: Instant,
    arriving: Vec<VecDeque<(Instant, usize, Vec<u8>)>>,
    /// How long each rank's messages take, in each direction.
    delays: Vec<Duration>,
    is_cut_off: Vec<bool>,
    /// How many barriers each has entered.
    entered: Vec<u32>,
    log: Vec<String>,
}

type Shared = Rc<RefCell<Net>>;

struct End {
    rank: usize,
    net: Shared,
}

impl Messages for End {
    fn size(&self) -> usize {
        self.net.borrow().delays.len()
    }

    fn send(&mut self, to: usize, bytes: Vec<u8>) {
        let net = &mut *self.net.borrow_mut();
        if !net.is_cut_off[self.rank] && !net.is_cut_off[to] {
            let at = net.now + net.delays[self.rank] + net.delays[to];
            net.arriving[to].push_back((at, self.rank, bytes));
        }
    }

    fn receive(&mut self) -> Option<(usize, Vec<u8>)> {
        let net = &mut *self.net.borrow_mut();
        let has_come = net.arriving[self.rank].front().is_some_and(|(at, ..)| *at <= net.now);
        let (_, from, bytes) = has_come.then(|| net.arriving[self.rank].pop_front())??;
        Some((from, bytes))
    }

    fn enter_barrier(&mut self) {
        self.net.borrow_mut().entered[self.rank] += 1;
    }

    fn has_passed_barrier(&mut self) -> bool {
        let net = self.net.borrow();
        net.entered.iter().all(|entered| *entered >= net.entered[self.rank])
    }
}

/// A load that takes its time and completes one operation a rank.
struct Fake {
    rank: usize,
    net: Shared,
    prepared_in: Duration,
    refuses: Option<&'static str>,
    asked: Option<Instant>,
    begun: Option<Instant>,
    is_ready: bool,
}

impl Fake {
    fn log(&self, what: &str) {
        self.net.borrow_mut().log.push(format!("{} {what}", self.rank));
    }

    fn is_since(&self, then: Option<Instant>, time: Duration) -> bool {
        then.is_some_and(|then| self.net.borrow().now >= then + time)
    }
}

impl Loader for Fake {
    fn check(&mut self, place: &Rank) -> Result<(), String> {
        match place.host.as_str() {
            "lg1" | "lg2" => Ok(()),
            host => Err(format!("{host} is not here")),
        }
    }

    fn prove(
        &mut self,
        _: &[SocketAddr],
        _: Option<&Source>,
        _: &str,
    ) -> Result<Option<IpAddr>, String> {
        Ok(None)
    }

    fn prepare(&mut self, _: Share) {
        self.log("prepares");
        (self.asked, self.begun, self.is_ready) = (Some(self.net.borrow().now), None, false);
    }

    fn poll(&mut self) -> Option<Stage> {
        if let Some(why) = self.refuses {
            return Some(Stage::Failed(why.to_owned()));
        }
        if !self.is_ready && self.is_since(self.asked, self.prepared_in) {
            self.is_ready = true;
            self.log("is ready");
            return Some(Stage::Ready);
        }
        self.is_since(self.begun, LENGTH).then(|| {
            let outcome = Outcome { completed: 1, ..Outcome::default() };
            Stage::Done(Box::new(Done { outcome, client: ClientFigures::default() }))
        })
    }

    fn begin(&mut self) -> Result<u64, String> {
        self.log("begins");
        self.begun = Some(self.net.borrow().now);
        Ok(0)
    }

    fn progress(&self) -> Progress {
        Progress { completed: 1, ..Progress::default() }
    }

    fn stop(&mut self) {
        self.log("stops");
    }
}

/// All of it.
struct World {
    net: Shared,
    zero: End,
    relay: Relay,
    members: Vec<(Member<Fake>, End)>,
    /// Those that do nothing any more.
    is_stopped: [bool; 2],
    /// What each was to do after its last step.
    steps: [Step; 2],
    watch: Watch,
    start: Instant,
    /// Whether toll has told the ranks that all are ready.
    has_woken: bool,
    went: Option<Instant>,
}

fn ranks() -> Vec<Rank> {
    let rank = |host: &str| Rank {
        host: host.to_owned(),
        cpus: "0".parse().unwrap(),
        source: None,
        to: None,
    };
    ["lg1", "lg2"].map(rank).into()
}

impl World {
    /// In which both ranks are asked to prepare a load; their messages take this long.
    fn new(delays: [Duration; 2]) -> Self {
        Self::with(delays, |_| {})
    }

    fn with(delays: [Duration; 2], change: impl FnMut(&mut Fake)) -> Self {
        Self::of(2, delays, change)
    }

    /// In which the first ranks load, so many, and the others take part in the barrier.
    fn of(loading: usize, delays: [Duration; 2], mut change: impl FnMut(&mut Fake)) -> Self {
        let start = Instant::now();
        let net = Rc::new(RefCell::new(Net {
            now: start,
            arriving: vec![VecDeque::new(); 3],
            delays: [&[Duration::ZERO][..], &delays].concat(),
            is_cut_off: vec![false; 3],
            entered: vec![0; 3],
            log: Vec::new(),
        }));
        let end = |rank| End { rank, net: net.clone() };
        let mut member = |rank| {
            let mut fake = Fake {
                rank,
                net: net.clone(),
                prepared_in: PREPARED,
                refuses: None,
                asked: None,
                begun: None,
                is_ready: false,
            };
            change(&mut fake);
            (Member::new(fake, SILENCE, start), end(rank))
        };
        let members = vec![member(1), member(2)];
        let mut world = Self {
            zero: end(0),
            relay: Relay::new(SILENCE, start),
            members,
            is_stopped: [false; 2],
            steps: [Step::End; 2],
            watch: Watch::new(&ranks(), loading, start, LENGTH),
            start,
            has_woken: false,
            went: None,
            net,
        };
        let url = "https://127.0.0.1/".parse().unwrap();
        let job = Job::new(Plan::default(), url, "127.0.0.1:443".parse().unwrap());
        for (rank, share) in (1..).zip(Share::of(&job, &ranks(), Offer::Anything).unwrap()) {
            let share = (rank <= loading).then(|| Box::new(share));
            world.say(&RankCommand::To(rank, Order::Prepare(share)));
        }
        world
    }

    fn now(&self) -> Instant {
        self.net.borrow().now
    }

    fn log(&self) -> Vec<String> {
        self.net.borrow().log.clone()
    }

    fn say(&mut self, line: &RankCommand) {
        let text = serde_json::to_string(line).unwrap();
        self.relay.pass_on(self.now(), &text, &mut self.zero).unwrap();
    }

    /// Lets this much time pass in small steps, in which toll does what it does in a trial.
    fn pass(&mut self, time: Duration) {
        let end = self.now() + time;
        while self.now() < end {
            self.net.borrow_mut().now += MS;
            let now = self.now();
            let mut written = Vec::new();
            self.relay.step(now, &mut self.zero, &mut written).unwrap();
            for line in String::from_utf8(written).unwrap().lines() {
                let (rank, report): (usize, Report) = serde_json::from_str(line).unwrap();
                self.watch.hear(now, rank, report);
            }
            self.watch.look(now);
            if self.watch.are_all_ready() && !self.has_woken {
                self.has_woken = true;
                self.say(&RankCommand::All(Order::Wake));
            }
            if self.watch.are_all_awake() && self.went.is_none() {
                self.went = Some(now);
                self.watch.go(now);
                self.net.borrow_mut().log.push("go".to_owned());
                self.say(&RankCommand::Go);
            }
            if (now - self.start).as_millis().is_multiple_of(2000) {
                self.say(&RankCommand::All(Order::Alive));
            }
            for (index, (member, end)) in self.members.iter_mut().enumerate() {
                if self.is_stopped[index] {
                    continue;
                }
                let step = member.step(now, end);
                self.is_stopped[index] = step == Step::Alone;
                self.steps[index] = step;
            }
        }
    }

    fn lost(&self) -> Vec<String> {
        self.watch.lost().into_iter().map(|(_, why)| why).collect()
    }
}

#[test]
fn nobody_begins_before_all_are_ready() {
    let mut world = World::with([Duration::ZERO; 2], |fake| {
        fake.prepared_in = PREPARED * fake.rank as u32;
    });
    world.pass(LENGTH + 10 * PREPARED);
    let log = world.log();
    assert_eq!(
        log,
        ["1 prepares", "2 prepares", "1 is ready", "2 is ready", "go", "1 begins", "2 begins"]
    );
    assert!(world.watch.are_all_done() && world.lost().is_empty());
    assert_eq!(world.watch.progress().completed, 2);
    let mut sum = Outcome::default();
    for seen in world.watch.into_ranks() {
        let State::Done(done) = seen.state else { panic!("{:?}", seen.state) };
        sum.merge(done.outcome);
    }
    assert_eq!(sum.completed, 2);
}

#[test]
fn ranks_look_often_only_once_all_are_ready() {
    let mut world = World::with([Duration::ZERO; 2], |fake| {
        fake.prepared_in = Duration::from_secs(fake.rank as u64);
    });
    world.pass(1_900 * MS);
    // One waits at the barrier for the other, for a time that nobody knows.
    assert_eq!((world.log().last().unwrap().as_str(), world.went), ("1 is ready", None));
    let [waits, prepares] = world.steps;
    assert_eq!(waits, prepares);
    assert!(waits >= Step::Sleep(10 * MS), "{waits:?}");
    // From toll's word on each looks often, until it is to begin.
    let mut before_go = world.steps;
    while world.went.is_none() {
        before_go = world.steps;
        world.pass(MS);
    }
    assert!(before_go.iter().all(|step| *step < Step::Sleep(MS)), "{before_go:?}");
}

#[test]
fn a_rank_that_does_not_load_takes_part_in_the_barrier_and_may_then_be_silent() {
    let mut world = World::of(1, [Duration::ZERO; 2], |_| {});
    world.pass(LENGTH + 6_000 * MS);
    assert_eq!(world.log(), ["1 prepares", "1 is ready", "go", "1 begins"]);
    assert!(world.watch.are_all_done() && world.lost().is_empty());
    assert_eq!(world.watch.into_ranks().count(), 1);
    // It keeps the others from beginning where it is not there.
    let mut world = World::of(1, [Duration::ZERO; 2], |_| {});
    world.is_stopped[1] = true;
    world.pass(5_000 * MS);
    assert_eq!(world.lost(), ["rank 2 on lg2: no result"]);
}

#[test]
fn a_rank_whose_words_take_long_may_have_begun_as_late() {
    let mut world = World::new([Duration::ZERO, 40 * MS]);
    world.pass(1_000 * MS);
    let within: Vec<_> = world.watch.into_ranks().map(|seen| seen.begun_within.unwrap()).collect();
    assert!(within[0] < 5 * MS && within[1] >= 40 * MS, "{within:?}");
}

#[test]
fn a_rank_that_is_stopped_is_named_within_some_seconds() {
    let mut world = World::new([Duration::ZERO; 2]);
    world.pass(1_000 * MS);
    world.is_stopped[1] = true;
    world.pass(3_000 * MS);
    assert!(world.lost().is_empty(), "it may come back");
    world.pass(2_000 * MS);
    assert_eq!(world.lost(), ["rank 2 on lg2: no result"]);
}

#[test]
fn a_rank_that_is_stopped_for_a_while_was_silent_for_as_long() {
    let mut world = World::new([Duration::ZERO; 2]);
    world.pass(500 * MS);
    world.is_stopped[1] = true;
    world.pass(1_200 * MS);
    world.is_stopped[1] = false;
    world.pass(LENGTH);
    assert!(world.watch.are_all_done() && world.lost().is_empty());
    let silence: Vec<_> = world.watch.into_ranks().map(|seen| seen.silence).collect();
    assert!(silence[0] > Duration::ZERO && silence[0] <= 260 * MS, "{silence:?}");
    assert!(silence[1] >= 1_200 * MS && silence[1] <= 1_460 * MS, "{silence:?}");
}

#[test]
fn a_rank_that_is_cut_off_stops_loading_and_ends() {
    let mut world = World::new([Duration::ZERO; 2]);
    world.pass(1_000 * MS);
    world.net.borrow_mut().is_cut_off[2] = true;
    world.pass(8_000 * MS);
    assert_eq!(
        (world.lost(), world.is_stopped),
        (vec!["rank 2 on lg2: no result".into()], [false; 2])
    );
    world.pass(4_000 * MS);
    assert_eq!(world.is_stopped, [false, true]);
    assert_eq!(world.log().last().unwrap(), "2 stops");
}

#[test]
fn ranks_end_where_toll_says_nothing_any_more() {
    let mut world = World::new([Duration::ZERO; 2]);
    world.pass(5_000 * MS);
    // toll hears no more, and nobody hears it: rank 0 is alone, and then the others are.
    let mut alone = None;
    for _ in 0..15_000 {
        world.net.borrow_mut().now += MS;
        let now = world.now();
        if alone.is_none() {
            let step = world.relay.step(now, &mut world.zero, &mut Vec::new()).unwrap();
            alone = (step == Step::Alone).then_some(now);
        }
        for (index, (member, end)) in world.members.iter_mut().enumerate() {
            world.is_stopped[index] |= member.step(now, end) == Step::Alone;
        }
    }
    assert!(alone.is_some());
    assert_eq!(world.is_stopped, [true; 2]);
}

#[test]
fn a_rank_that_never_gets_ready_is_lost_and_not_those_that_wait_for_it() {
    let mut world = World::with([Duration::ZERO; 2], |fake| {
        if fake.rank == 2 {
            fake.prepared_in = Duration::from_secs(3600);
        }
    });
    world.pass(8_900 * MS);
    assert!(world.lost().is_empty());
    world.pass(200 * MS);
    assert_eq!(world.lost(), ["rank 2 on lg2: no result"]);
    assert!(!world.log().iter().any(|line| line.contains("begins")));
}

#[test]
fn a_share_that_cannot_be_made_is_known_before_anything_is_sent() {
    let mut world = World::with([Duration::ZERO; 2], |fake| {
        fake.refuses = (fake.rank == 1).then_some("too few descriptors");
    });
    world.pass(100 * MS);
    assert_eq!(world.watch.refused.as_deref(), Some("rank 1 on lg1: too few descriptors"));
    assert!(!world.log().iter().any(|line| line.contains("begins")));
}

#[test]
fn who_was_silent_is_to_blame_where_mpirun_names_nobody() {
    let ended = |died, cut: bool| {
        let mut world = World::new([Duration::ZERO; 2]);
        world.pass(200 * MS);
        world.net.borrow_mut().is_cut_off[1] = cut;
        world.pass(1_500 * MS);
        world.watch.end(world.now(), died, "mpirun ended: signal 9");
        world.lost()
    };
    assert_eq!(ended(Some(2), false), ["rank 2 on lg2: no result"]);
    assert_eq!(ended(None, true), ["rank 1 on lg1: no result"]);
    assert_eq!(ended(None, false), ["mpirun ended: signal 9"; 2]);
}

#[test]
fn all_others_are_lost_where_mpirun_names_one_that_is_done() {
    let mut world = World::new([Duration::ZERO; 2]);
    world.pass(1_000 * MS);
    let done = Done { outcome: Outcome::default(), client: ClientFigures::default() };
    world.watch.hear(world.now(), 1, Report::Done(Box::new(done)));
    world.watch.end(world.now(), Some(1), "mpirun ended: signal 9");
    assert_eq!(world.watch.lost(), [(2, "mpirun ended: signal 9".to_owned())]);
}

#[test]
fn ranks_end_where_they_are_told_to_and_rank_0_knows_it() {
    let mut world = World::new([Duration::ZERO; 2]);
    world.pass(100 * MS);
    assert!(!world.relay.is_over);
    world.say(&RankCommand::All(Order::End));
    assert!(world.relay.is_over);
    let now = world.now();
    for (member, end) in &mut world.members {
        assert_eq!(member.step(now, end), Step::End);
    }
}

#[test]
fn a_place_is_looked_at_before_anything_is_loaded() {
    let mut world = World::new([Duration::ZERO; 2]);
    world.say(&RankCommand::To(1, Order::Place(Rank { host: "lg9".into(), ..ranks().remove(0) })));
    let (member, end) = &mut world.members[0];
    let now = world.net.borrow().now;
    member.step(now, end);
    let mut written = Vec::new();
    world.relay.step(now, &mut world.zero, &mut written).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), "[1,{\"refused\":\"lg9 is not here\"}]\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// toll's go and the arrival of a rank's word lie around its true beginning, whatever messages take.
    #[test]
    fn the_true_beginning_lies_within_its_bound(one in 0u32..200, two in 0u32..200) {
        let mut world = World::new([MS * one, MS * two]);
        world.pass(2_000 * MS);
        let went = world.went.unwrap();
        let begun: Vec<_> =
            world.members.iter().map(|(member, _)| member.loader.begun.unwrap()).collect();
        for (seen, begun) in world.watch.into_ranks().zip(begun) {
            let within = seen.begun_within.unwrap();
            prop_assert!(begun >= went && begun <= went + within, "{:?} {:?}", begun - went, within);
        }
    }

    /// What two ranks send, merged, is what one recorder would have.
    #[test]
    fn merged_histograms_are_those_of_one_recorder(
        values in proptest::collection::vec(1_000u64..10_000_000_000, 2..200),
    ) {
        let mut whole = Outcome::default();
        let mut parts = [Outcome::default(), Outcome::default()];
        for (index, value) in values.iter().enumerate() {
            whole.latencies.whole.record(*value).unwrap();
            parts[index % 2].latencies.whole.record(*value).unwrap();
        }
        let mut merged = Outcome::default();
        for part in parts {
            let done = Done { outcome: part, client: ClientFigures::default() };
            let text = serde_json::to_string(&done).unwrap();
            merged.merge(serde_json::from_str::<Done>(&text).unwrap().outcome);
        }
        prop_assert_eq!(merged.latencies.whole, whole.latencies.whole);
    }
}
