//! Where operations are counted: in a file that toll reads, if anywhere. Each process of a server has a row there,
//! so that toll can tell what one that was killed had under way.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use counters::{AcceleratorCounts, CounterRow, KeyUse};

static ROWS: OnceLock<(Vec<CounterRow>, Begin)> = OnceLock::new();
/// The process that has taken a row, and the place of that after it; none where no row was left.
static TAKEN: AtomicU64 = AtomicU64::new(0);
const NO_ROW: u32 = u32::MAX;

/// What a process counts first, in the row that it has taken.
type Begin = fn(CounterRow);

/// From now on, all threads of this process count their operations in one of these rows, and so does each process
/// that it forks.
pub(crate) fn count_in(rows: Vec<CounterRow>, begin: Begin) {
    ROWS.get_or_init(|| (rows, begin));
    row();
}

/// That of the calling process.
fn row() -> Option<CounterRow> {
    let (rows, begin) = ROWS.get()?;
    let process = std::process::id();
    let taken = TAKEN.load(Ordering::Relaxed);
    if (taken >> 32) as u32 == process {
        return rows.get(taken as u32 as usize).copied();
    }
    // Two threads may come here at once: the second one finds the row of the first.
    let place = CounterRow::take(rows).unwrap_or(NO_ROW as usize);
    TAKEN.store(u64::from(process) << 32 | place as u64, Ordering::Relaxed);
    let row = *rows.get(place)?;
    begin(row);
    Some(row)
}

pub(crate) fn add(change: impl FnOnce(&mut AcceleratorCounts)) {
    if let Some(row) = row() {
        let mut new = AcceleratorCounts::default();
        change(&mut new);
        row.count_accelerated(&new);
    }
}

pub(crate) fn set_break_even(of: KeyUse, count: usize) {
    if let Some(row) = row() {
        row.set_break_even(of, count);
    }
}

pub(crate) fn set_pause(ns: u64) {
    if let Some(row) = row() {
        row.set_pause(ns);
    }
}
