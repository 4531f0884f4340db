//! Where operations are counted: in a file that toll reads, if anywhere.

use std::sync::OnceLock;

use counters::{AcceleratorCounts, Row};

use crate::Accelerator;

static ROW: OnceLock<Row> = OnceLock::new();

/// From now on, once the accelerator is made, all threads of this process count their operations here.
pub fn count_in(row: Row) {
    let in_batches = Accelerator::get().is_some_and(|it| it.multi_buffer().is_some());
    row.has_accelerator(in_batches);
    ROW.get_or_init(|| row);
}

pub(crate) fn add(change: impl FnOnce(&mut AcceleratorCounts)) {
    if let Some(row) = ROW.get() {
        let mut new = AcceleratorCounts::default();
        change(&mut new);
        row.count_accelerated(&new);
    }
}
