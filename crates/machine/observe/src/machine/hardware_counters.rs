use crate::{Availability, CycleCounter};

/// Whether the core's cycles in user mode can be counted for this thread.
pub fn probe() -> Availability {
    match CycleCounter::open() {
        Ok(_) => Availability::Available,
        Err(error) => Availability::NotAvailable(format!("perf_event_open of cycles: {error}")),
    }
}
