//! Which pauses a closed loop takes. In its warm-up longer ones are tried in turns with the usual ones, and one is
//! kept if it saves the client's CPU and changes nothing else. It reads no clock: times and counts are arguments.
//!
//! With N operations under way at a busy server the mean response time is N over the rate (Little's law): what waits
//! at the client does not wait at the server, and a pause costs nothing until the server runs out of work. At a server
//! that has time to spare, or a network away, half of the pause is added to each operation. No single response shows
//! which of the two it is; the mean response time with longer and with shorter pauses does. It is the rate too, since
//! the number under way is fixed, but it is not rounded to whole operations. The rate of a busy server is also what an
//! operation costs it, so that a pause that makes its work cheaper, by bursts, is seen and refused.
//!
//! Two slots of time make a pair, one with each pause, which of them first in turns, so that a drift cancels. The
//! ratios of pairs give a median and its distribution-free interval. A longer pause is kept where the median has moved by
//! 1% at most, and the interval shows that it is not the third of what the pause would add at a server with time to
//! spare. Undecided, the usual pauses stay.

use serde::{Deserialize, Serialize};
use stats::{Estimate, looks};
use strum::Display;

/// A pause as a share of what the quickest of the recent operations took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, Serialize, Deserialize)]
pub enum PauseShare {
    /// No pause: each event is seen at once.
    #[strum(to_string = "none")]
    #[serde(rename = "none")]
    None,
    /// 1/32.
    #[strum(to_string = "1/32")]
    #[serde(rename = "1/32")]
    Short,
    /// 1/8.
    #[strum(to_string = "1/8")]
    #[serde(rename = "1/8")]
    Long,
    /// 1/4.
    #[strum(to_string = "1/4")]
    #[serde(rename = "1/4")]
    Longest,
}

/// Why pauses are as long as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, Serialize, Deserialize)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum PauseReason {
    /// It is what was asked for.
    Asked,
    /// Others were not tried: there was no time for it, or too little was under way.
    Untried,
    /// They were tried beside others.
    Tried,
    /// Others were tried, and the warm-up was too short, or the machine too noisy, to decide.
    Undecided,
    /// Response times have changed by more than half since others were chosen.
    Changed,
}

/// How the threads of a load pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    /// How long.
    pub share: PauseShare,
    /// Why so.
    pub reason: PauseReason,
}

/// What a load thread has seen up to a moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    /// Operations that ended.
    pub(crate) ended: u64,
    /// What they took, all together, in ns.
    pub(crate) took: u64,
    /// Its CPU time, in ns.
    pub(crate) cpu: u64,
    /// What the quickest of the recent ones took, in ns; 0 where that allows no pause.
    pub(crate) quickest: u64,
    /// How many operations are under way; 0 while some of its slots have not begun.
    pub(crate) under_way: usize,
}

/// A change of the rate, or of the server's CPU time per operation, that is too much.
const TOO_MUCH: f64 = 0.01;

/// What a longer pause has to save of the client's CPU time.
const SAVED: f64 = 0.03;

/// A client that is busy for this share of the time may hold the server up: a rate that rises when it gets cheaper
/// is its own doing.
const BUSY: f64 = 0.9;

/// The first number of pairs whose interval can decide.
const FIRST_PAIRS: u32 = 8;

/// The longest pause of a load thread, in ns: at 500 wake-ups per second there is little left to save.
pub const LONGEST_PAUSE: u64 = 2_000_000;

/// How often a thread looks where no slot ends earlier, in ns.
const LOOK: u64 = 1_000_000;

/// At least how long the counted part of a slot is, in ns, and it is one response time: so some hundred operations of
/// 64 under way end in it.
const LEAST_SLOT: u64 = 3_000_000;
/// Over how long response times are compared with those at the choice, in ns; at least two of them.
const BLOCK: u64 = 20_000_000;

/// By how much they may move, and for how many blocks in a row. A pause of 1/4 at a server that is no longer busy takes
/// up to 1/9 of the rate.
const CHANGED: f64 = 1.5;
const UNLIKE: u32 = 2;

/// See the module.
#[derive(Debug)]
pub(crate) struct Choice {
    pauses: Pauses,
    /// When trying ends at the latest.
    until: u64,
    state: State,
    threads: Vec<Thread>,
}

#[derive(Debug)]
enum State {
    /// Until all threads have their operations under way.
    Waiting,
    Trying(Trial),
    /// What an operation took then, on average, in ns; 0 where nothing was chosen.
    Settled {
        response: f64,
    },
}

/// What is kept of a thread between two looks.
#[derive(Debug, Clone, Copy, Default)]
struct Thread {
    is_ready: bool,
    quickest: u64,
    under_way: usize,
    /// When its current slot or block was begun to be counted, the number of it, and what it had seen.
    since: Option<(u64, usize, Seen)>,
    /// How many blocks in a row were unlike the choice's.
    unlike: u32,
}

/// A longer pause, beside the usual one.
#[derive(Debug)]
struct Trial {
    usual: PauseShare,
    longer: PauseShare,
    start: u64,
    slot: u64,
    /// The part of a slot in which operations end that began before it.
    guard: u64,
    quickest: u64,
    slots: Vec<Slot>,
    pairs: Vec<Pair>,
    next_decision: usize,
}

/// What all threads saw in a slot.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    threads: usize,
    ended: u64,
    took: u64,
    cpu: u64,
    time: u64,
}

/// The longer pause's figures over the usual one's.
#[derive(Debug, Clone, Copy)]
struct Pair {
    response: f64,
    cpu: f64,
    usual: Slot,
}

/// What came of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    Kept,
    /// At least by this share.
    Slower(f64),
    Faster,
    NotCheaper,
}

impl PauseShare {
    /// How long such a pause is at most, in ns, where the quickest operations take so long.
    pub(crate) fn length(self, quickest: u64) -> u64 {
        let length = match self {
            Self::None => 0,
            Self::Short => quickest / 32,
            Self::Long => quickest / 8,
            Self::Longest => quickest / 4,
        };
        length.min(LONGEST_PAUSE)
    }

    /// With this many operations under way several end per pause: two of 64 in 1/32, four of 16 in 1/4. With fewer,
    /// a pause would cost a wake-up and save none.
    pub(crate) fn least_under_way(self) -> usize {
        match self {
            Self::None => 0,
            Self::Short => 64,
            Self::Long => 32,
            Self::Longest => 16,
        }
    }

    fn usual(under_way: usize) -> Self {
        if under_way < Self::Short.least_under_way() { Self::None } else { Self::Short }
    }
}

impl Choice {
    /// For a number of threads, up to the end of their warm-up, in ns; with `asked` there is nothing to choose.
    pub(crate) fn new(threads: usize, until: u64, asked: Option<PauseShare>) -> Self {
        let (share, reason, state) = match asked {
            Some(share) => (share, PauseReason::Asked, State::Settled { response: 0.0 }),
            None => (PauseShare::Short, PauseReason::Untried, State::Waiting),
        };
        let threads = vec![Thread::default(); threads];
        Self { pauses: Pauses { share, reason }, until, state, threads }
    }

    /// What is chosen.
    pub(crate) fn pauses(&self) -> Pauses {
        self.pauses
    }

    /// A thread looks, at a time and with what it has seen: how it pauses from now on, and when it looks again.
    pub(crate) fn look(&mut self, thread: usize, now: u64, seen: Seen) -> (PauseShare, u64) {
        if now >= self.until {
            self.stop_trying();
        }
        match &self.state {
            State::Waiting => self.await_all(thread, now, seen),
            State::Trying(_) => self.count(thread, now, seen),
            State::Settled { response } => self.watch(*response, thread, now, seen),
        }
    }

    fn stop_trying(&mut self) {
        match &self.state {
            State::Waiting => self.state = State::Settled { response: 0.0 },
            State::Trying(trial) => {
                let reason = match trial.pairs.is_empty() {
                    true => PauseReason::Untried,
                    false => PauseReason::Undecided,
                };
                self.settle(PauseShare::Short, reason, 0.0);
            }
            State::Settled { .. } => {}
        }
    }

    /// Until all threads have their operations under way, and some of each have ended.
    fn await_all(&mut self, thread: usize, now: u64, seen: Seen) -> (PauseShare, u64) {
        let enough = 4 * seen.under_way as u64;
        let own = &mut self.threads[thread];
        own.is_ready = enough > 0 && seen.ended >= enough && seen.quickest > 0;
        (own.quickest, own.under_way) = (seen.quickest, seen.under_way);
        if self.threads.iter().all(|thread| thread.is_ready) {
            self.try_longer(PauseShare::Longest, now + 2 * LOOK);
        }
        (self.pauses.share, now + LOOK)
    }

    fn count(&mut self, thread: usize, now: u64, seen: Seen) -> (PauseShare, u64) {
        let all = self.threads.len();
        let State::Trying(trial) = &mut self.state else { return (self.pauses.share, now + LOOK) };
        let Some(into) = now.checked_sub(trial.start) else { return (trial.usual, trial.start) };
        let number = (into / trial.slot) as usize;
        let own = &mut self.threads[thread];
        if let Some((since, of, before)) = own.since.take_if(|(_, of, _)| *of < number)
            && trial.adds(of, now - since, before, seen, all)
        {
            self.decide(now);
            return self.look(thread, now, seen);
        }
        let begin = trial.start + number as u64 * trial.slot;
        if now < begin + trial.guard {
            return (trial.of(number), begin + trial.guard);
        }
        own.since.get_or_insert((now, number, seen));
        (trial.of(number), begin + trial.slot)
    }

    /// Compares response times with those of the choice, block by block.
    fn watch(&mut self, response: f64, thread: usize, now: u64, seen: Seen) -> (PauseShare, u64) {
        if response == 0.0 {
            return (self.pauses.share, u64::MAX);
        }
        let block = BLOCK.max(2 * response as u64);
        let own = &mut self.threads[thread];
        let (since, _, before) = *own.since.get_or_insert((now, 0, seen));
        if now < since + block {
            return (self.pauses.share, since + block);
        }
        own.since = Some((now, 0, seen));
        let ended = seen.ended - before.ended;
        let mean = seen.took.wrapping_sub(before.took) as f64 / ended.max(1) as f64;
        let is_like = (1.0 / CHANGED..CHANGED).contains(&(mean / response));
        own.unlike = if is_like { 0 } else { own.unlike + 1 };
        if own.unlike < UNLIKE {
            return (self.pauses.share, now + block);
        }
        self.settle(PauseShare::Short, PauseReason::Changed, 0.0);
        if now < self.until {
            self.threads.iter_mut().for_each(|thread| *thread = Thread::default());
            self.state = State::Waiting;
        }
        (self.pauses.share, now + LOOK)
    }

    /// Tries these pauses, from then on, where there is time.
    fn try_longer(&mut self, longer: PauseShare, start: u64) {
        let under_way = self.threads.iter().map(|thread| thread.under_way).min().unwrap_or(0);
        let quickest = self.threads.iter().map(|thread| thread.quickest).max().unwrap_or(0);
        self.threads.iter_mut().for_each(|thread| thread.since = None);
        let guard = quickest + quickest / 4;
        let slot = guard + LEAST_SLOT.max(quickest);
        let pairs = self.until.saturating_sub(start) / (2 * slot);
        if under_way < longer.least_under_way() || pairs < FIRST_PAIRS.into() {
            let reason = match &self.state {
                State::Trying(_) => PauseReason::Undecided,
                _ => PauseReason::Untried,
            };
            return self.settle(PauseShare::Short, reason, 0.0);
        }
        self.state = State::Trying(Trial {
            usual: PauseShare::usual(under_way),
            longer,
            start,
            slot,
            guard,
            quickest,
            slots: Vec::new(),
            pairs: Vec::new(),
            next_decision: FIRST_PAIRS as usize,
        });
    }

    /// Follows from the pairs that there are.
    fn decide(&mut self, now: u64) {
        let State::Trying(trial) = &self.state else { return };
        let Some(verdict) = trial.verdict() else { return };
        let response = trial.response();
        let takes = |share: PauseShare| share.length(trial.quickest) as f64;
        match verdict {
            Verdict::Kept => self.settle(trial.longer, PauseReason::Tried, response),
            Verdict::Slower(by) => {
                // What a pause adds grows with its length.
                let by = |share| by * takes(share) / takes(trial.longer);
                if trial.usual != PauseShare::None && by(trial.usual) > TOO_MUCH {
                    self.settle(PauseShare::None, PauseReason::Tried, response);
                } else if trial.longer == PauseShare::Longest && by(PauseShare::Long) <= TOO_MUCH {
                    self.try_longer(PauseShare::Long, now + LOOK);
                } else {
                    self.settle(PauseShare::Short, PauseReason::Tried, 0.0);
                }
            }
            Verdict::Faster if trial.longer == PauseShare::Longest => {
                self.try_longer(PauseShare::Long, now + LOOK);
            }
            Verdict::Faster | Verdict::NotCheaper => {
                self.settle(PauseShare::Short, PauseReason::Tried, 0.0);
            }
        }
    }

    fn settle(&mut self, share: PauseShare, reason: PauseReason, response: f64) {
        self.pauses = Pauses { share, reason };
        self.state = State::Settled { response };
        self.threads.iter_mut().for_each(|thread| (thread.since, thread.unlike) = (None, 0));
    }
}

impl Trial {
    /// The pause of a slot.
    fn of(&self, slot: usize) -> PauseShare {
        if is_longer(slot) { self.longer } else { self.usual }
    }

    /// Adds what a thread saw in a slot; whether that was the last of a pair, and there are enough for a decision.
    fn adds(&mut self, slot: usize, time: u64, before: Seen, seen: Seen, all: usize) -> bool {
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, Slot::default());
        }
        let sum = &mut self.slots[slot];
        sum.threads += 1;
        sum.ended += seen.ended - before.ended;
        sum.took += seen.took.wrapping_sub(before.took);
        sum.cpu += seen.cpu - before.cpu;
        sum.time += time;
        let first = slot - slot % 2;
        let pair = self.slots.get(first).zip(self.slots.get(first + 1));
        let Some((&one, &two)) = pair.filter(|(one, two)| one.threads == all && two.threads == all)
        else {
            return false;
        };
        let (usual, longer) = if is_longer(first) { (two, one) } else { (one, two) };
        if usual.ended > 0 && longer.ended > 0 {
            let ratio = |of: fn(&Slot) -> u64| {
                let per = |slot: &Slot| of(slot) as f64 / slot.ended as f64;
                per(&longer) / per(&usual).max(1.0)
            };
            let (response, cpu) = (ratio(|slot| slot.took), ratio(|slot| slot.cpu));
            self.pairs.push(Pair { response, cpu, usual });
        }
        let is_due = self.pairs.len() >= self.next_decision;
        if is_due {
            let next = looks(FIRST_PAIRS).find(|&pairs| pairs as usize > self.pairs.len());
            self.next_decision = next.map_or(usize::MAX, |pairs| pairs as usize);
        }
        is_due
    }

    /// The mean response time, in ns.
    fn response(&self) -> f64 {
        let ended: u64 = self.slots.iter().map(|slot| slot.ended).sum();
        let took: u64 = self.slots.iter().map(|slot| slot.took).sum();
        took as f64 / ended.max(1) as f64
    }

    /// What the pairs show, if they show anything.
    fn verdict(&self) -> Option<Verdict> {
        let estimate = |of: fn(&Pair) -> f64| {
            Estimate::of(&self.pairs.iter().map(of).collect::<Vec<_>>()).ok()
        };
        let (response, cpu) = (estimate(|pair| pair.response)?, estimate(|pair| pair.cpu)?);
        let (used, time) = self
            .pairs
            .iter()
            .fold((0, 0), |(used, time), pair| (used + pair.usual.cpu, time + pair.usual.time));
        let may_hold_up = used as f64 >= BUSY * time as f64;
        let (low, high) = (response.interval.low - 1.0, response.interval.high - 1.0);
        let (moved, unsure) = (response.median - 1.0, self.unsure());
        if low > TOO_MUCH {
            Some(Verdict::Slower(low))
        } else if high < -TOO_MUCH && !may_hold_up {
            Some(Verdict::Faster)
        } else if cpu.interval.low > 1.0 - SAVED {
            Some(Verdict::NotCheaper)
        } else if moved <= TOO_MUCH
            && high <= unsure
            && (may_hold_up || (moved >= -TOO_MUCH && low >= -unsure))
            && cpu.interval.high < 1.0 - SAVED
        {
            Some(Verdict::Kept)
        } else {
            None
        }
    }

    /// How far from 1 the interval of response times may reach: a third of what the longer pause adds where the server
    /// has time to spare. Ten milliseconds on a virtual machine differ by 10%, so that few warm-ups would be long enough
    /// for an interval within 1%.
    fn unsure(&self) -> f64 {
        let [longer, usual] = [self.longer, self.usual].map(|share| share.length(self.quickest));
        let added = (longer - usual) as f64 / 2.0 / self.quickest.max(1) as f64;
        TOO_MUCH.max(added / 3.0)
    }
}

/// Which slot of a pair has the longer pause takes turns.
fn is_longer(slot: usize) -> bool {
    (slot % 2 == 1) != (slot / 2 % 2 == 1)
}

#[cfg(test)]
mod tests;
