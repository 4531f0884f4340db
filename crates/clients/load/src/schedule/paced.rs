//! Paced connections: each slot has its own ticks at a fixed interval.

use super::part::{Due, ThreadPart};

/// All slots have the same pace and their phases rise with their number, so their ticks come in
/// rounds, slot by slot: the next tick is found by counting, without a queue of timers.
#[derive(Debug)]
pub(crate) struct Paced {
    part: ThreadPart,
    slots: Vec<Slot>,
    /// The next tick that the schedule has not processed.
    cursor: Tick,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    state: State,
    /// The number of its first tick whose operation has not begun.
    next: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its connection has not been opened.
    Absent,
    Busy,
    Free,
}

#[derive(Debug, Clone, Copy)]
struct Tick {
    slot: usize,
    number: u64,
}

impl Paced {
    pub(super) fn new(part: ThreadPart) -> Self {
        let mut paced = Self {
            part,
            slots: vec![Slot { state: State::Absent, next: 0 }; part.slots],
            cursor: Tick { slot: 0, number: 0 },
        };
        // All ticks of the window are meant to start, even if the connection is opened later.
        for slot in 0..part.slots {
            paced.slots[slot].next = paced.first_tick(slot, part.window_start);
        }
        paced
    }

    pub(super) fn freed(&mut self, slot: usize, now: u64) -> Option<u64> {
        if self.slots[slot].state == State::Absent && now < self.part.window_start {
            // In the warm-up, a connection that is not open yet has nothing to catch up with.
            self.slots[slot].next = self.first_tick(slot, now);
        }
        let tick = Tick { slot, number: self.slots[slot].next };
        if self.at(tick) <= now {
            return Some(self.begin(tick));
        }
        self.slots[slot].state = State::Free;
        None
    }

    pub(super) fn next(&mut self, now: u64) -> Option<Due> {
        while self.at(self.cursor) <= now {
            let tick = self.cursor;
            self.cursor = match tick.slot + 1 < self.slots.len() {
                true => Tick { slot: tick.slot + 1, ..tick },
                false => Tick { slot: 0, number: tick.number + 1 },
            };
            let slot = self.slots[tick.slot];
            // A slot that is busy begins its tick when it is freed.
            if slot.state == State::Free && slot.next == tick.number {
                let at = self.begin(tick);
                return Some(Due { slot: tick.slot, intended: at, at });
            }
        }
        None
    }

    pub(super) fn wake_at(&self) -> Option<u64> {
        Some(self.at(self.cursor))
    }

    pub(super) fn leave(&mut self, end: u64, mut each: impl FnMut(u64)) {
        for slot in 0..self.slots.len() {
            let mut tick = Tick { slot, number: self.slots[slot].next };
            while self.at(tick) < end {
                each(self.at(tick));
                tick.number += 1;
            }
            self.slots[slot].next = tick.number;
        }
    }

    fn begin(&mut self, tick: Tick) -> u64 {
        self.slots[tick.slot] = Slot { state: State::Busy, next: tick.number + 1 };
        self.at(tick)
    }

    fn at(&self, tick: Tick) -> u64 {
        self.phase(tick.slot).saturating_add(tick.number.saturating_mul(self.part.period.0))
    }

    /// The first tick of a slot at this time or later.
    fn first_tick(&self, slot: usize, time: u64) -> u64 {
        time.saturating_sub(self.phase(slot)).div_ceil(self.part.period.0)
    }

    /// The slots of the load's threads take turns, so that each thread is busy all the time.
    fn phase(&self, slot: usize) -> u64 {
        let number = self.part.number(slot);
        (u128::from(self.part.period.0) * number as u128 / self.part.connections as u128) as u64
    }
}
