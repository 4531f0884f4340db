//! Adding to a row.

use std::io;
use std::path::Path;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

use tls::SendMode;

use crate::block::{Block, Cells, PROCESSES};
use crate::places::{
    ACCELERATOR, CALLS, HAS_ACCELERATOR, IN_BATCHES, IN_FLIGHT_MAX, ONE_BY_ONE, OWNER, PLAIN,
    TLS_REQUESTS,
};
use crate::process::RowOwner;
use crate::{AcceleratorCounts, BatchCounts, KeyUse, SendCounters};

/// A system call that sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Write,
    Sendfile,
}

/// A row of a file of counters. Only [`count_accelerated`](Self::count_accelerated) may be called by several
/// threads at once.
#[derive(Debug, Clone, Copy)]
pub struct CounterRow(&'static Cells);

impl CounterRow {
    /// All rows of a file, at least one; a new file where there is none. They stay mapped as long as the process
    /// lives.
    ///
    /// # Errors
    /// It cannot be written or mapped.
    pub fn open(path: &Path) -> io::Result<Vec<Self>> {
        Ok(Block::to_add(path, 1)?.iter().map(Self).collect())
    }

    /// All rows of a file in which each process of a server takes one.
    ///
    /// # Errors
    /// As those of [`open`](Self::open).
    pub fn open_for_processes(path: &Path) -> io::Result<Vec<Self>> {
        Ok(Block::to_add(path, PROCESSES)?.iter().map(Self).collect())
    }

    /// The place of the calling process's row: the one that it has, or one of nobody, or that of a process that has ended,
    /// whose operations are abandoned then. `None` where other processes have all.
    pub fn take(rows: &[Self]) -> Option<usize> {
        let own = RowOwner::own();
        let owner = |row: &Self| row.0.numbers[OWNER].load(Acquire);
        let take = |row: &Self, from: u64| {
            row.0.numbers[OWNER].compare_exchange(from, own.0, AcqRel, Acquire).is_ok()
        };
        let known = rows.iter().find(|row| owner(row) == own.0);
        let free = || rows.iter().find(|row| take(row, 0));
        let left = || {
            rows.iter().find(|row| {
                let former = RowOwner(owner(row));
                if !own.sees_others() || !former.is_gone() {
                    return false;
                }
                let in_flight = SendCounters::in_flight_of(row.0);
                let is_taken = take(row, former.0);
                if is_taken {
                    let abandoned = in_flight;
                    row.count_accelerated(&AcceleratorCounts { abandoned, ..Default::default() });
                }
                is_taken
            })
        };
        let taken = known.or_else(free).or_else(left)?;
        rows.iter().position(|row| std::ptr::eq(row.0, taken.0))
    }

    /// From now on, what is counted is not complete.
    pub fn begin(self) {
        let version = self.0.version.load(Relaxed);
        self.0.version.store(version | 1, Relaxed);
        // Who sees a count that follows sees that too.
        fence(Release);
    }

    /// All that was done is counted, and nothing is under way.
    pub fn settle(self) {
        let version = self.0.version.load(Relaxed);
        // Who sees this sees all counts before it.
        self.0.version.store((version | 1) + 1, Release);
    }

    /// A connection whose handshake is over.
    pub fn count_connection(self, mode: SendMode) {
        self.add(mode as usize, 1);
    }

    /// A connection over plain HTTP that was accepted.
    pub fn count_plain_connection(self) {
        self.add(PLAIN, 1);
    }

    /// Requests that are answered, over TLS or plain HTTP.
    pub fn count_requests(self, over_tls: bool, count: u64) {
        self.add(if over_tls { TLS_REQUESTS } else { PLAIN + 1 }, count);
    }

    /// A call that took so many bytes.
    pub fn count_call(self, call: Call, bytes: u64) {
        let place = CALLS + 2 * call as usize;
        self.add(place, 1);
        self.add(place + 1, bytes);
    }

    /// There is an accelerator, also if it is never asked; one that computes in batches, or not.
    pub fn has_accelerator(self, in_batches: bool) {
        let kind = if in_batches { IN_BATCHES } else { ONE_BY_ONE };
        self.0.numbers[HAS_ACCELERATOR].store(kind, Relaxed);
    }

    /// What is new, and the number of operations that are under way.
    pub fn count_accelerated(self, new: &AcceleratorCounts) {
        let [added @ .., in_flight_max] = new.numbers();
        let (cells, of_batches) = self.0.numbers[ACCELERATOR..].split_at(added.len() + 1);
        let add = |cell: &AtomicU64, new| {
            if new > 0 {
                // Who sees an operation's end has its begin before it.
                cell.fetch_add(new, Release);
            }
        };
        cells.iter().zip(added).for_each(|(cell, new)| add(cell, new));
        if let Some(batches) = &new.batches {
            batches.each_number(|place, new| {
                // What is measured is no count; it has functions of its own.
                if place < BatchCounts::MEASURED {
                    add(&of_batches[place], new);
                }
            });
        }
        if in_flight_max > 0 {
            cells[added.len()].fetch_max(in_flight_max, Relaxed);
        }
    }

    /// How many operations of a use cost as much in a batch as one by one; the largest of several keys.
    pub fn set_break_even(self, of: KeyUse, count: usize) {
        let place = IN_FLIGHT_MAX + 1 + BatchCounts::MEASURED + of as usize;
        self.0.numbers[place].fetch_max(count as u64, Relaxed);
    }

    /// What a pause costs, by measurement.
    pub fn set_pause(self, ns: u64) {
        self.0.numbers[IN_FLIGHT_MAX + 1 + BatchCounts::PAUSE].fetch_max(ns, Relaxed);
    }

    fn add(self, place: usize, count: u64) {
        let cell: &AtomicU64 = &self.0.numbers[place];
        // One thread writes, so this needs no locked instruction.
        cell.store(cell.load(Relaxed) + count, Relaxed);
    }
}
