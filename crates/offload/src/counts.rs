//! Where operations are counted: in a file that toll reads, if anywhere.

use std::sync::OnceLock;

use counters::{AcceleratorCounts, KeyUse, Row};

use crate::Accelerator;

static ROW: OnceLock<Row> = OnceLock::new();

/// From now on, once the accelerator is made, all threads of this process count their operations here.
pub fn count_in(row: Row) {
    let device = Accelerator::get().and_then(Accelerator::multi_buffer);
    row.has_accelerator(device.is_some());
    ROW.get_or_init(|| row);
    if let Some(device) = device {
        device.publish_break_evens();
    }
}

pub(crate) fn add(change: impl FnOnce(&mut AcceleratorCounts)) {
    if let Some(row) = ROW.get() {
        let mut new = AcceleratorCounts::default();
        change(&mut new);
        row.count_accelerated(&new);
    }
}

pub(crate) fn set_break_even(of: KeyUse, count: usize) {
    if let Some(row) = ROW.get() {
        row.set_break_even(of, count);
    }
}
