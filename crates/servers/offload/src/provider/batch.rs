//! Operations in batches of the multi-buffer library.

use std::time::Instant;

use super::alarm::Alarm;
use super::job;
use crate::multi_buffer::{Answer, PATIENCE, Wake, Work};
use crate::{Accelerator, CompletedBy};

/// Has the multi-buffer library use a key, in a batch with others where the caller is in a job that can be
/// paused; `None` where OpenSSL is to do it.
pub(super) fn in_batch(work: Work) -> Answer {
    let accelerator = Accelerator::get()?;
    let device = accelerator.multi_buffer()?;
    if device.never_pays(&work) {
        return None;
    }
    let pauses = accelerator.pauses().filter(|_| job::is_running());
    let is_polled = pauses == Some(CompletedBy::Poll);
    let ticket = device.submit(work, if is_polled { Wake::Poll } else { Wake::Caller });
    if pauses == Some(CompletedBy::Event) {
        // Who completes a batch computes it, and wakes the others.
        device.run_full();
    }
    let (start, mut seen) = (Instant::now(), 0);
    let answer = loop {
        if let Some(answer) = device.take(ticket) {
            break answer;
        }
        let is_paused = match pauses {
            Some(CompletedBy::Poll) if start.elapsed() < PATIENCE => {
                job::pause(ticket);
                true
            }
            Some(CompletedBy::Event) => {
                // The first of those that wait looks once in a round of the server's loop whether others come, and
                // wakes them with their results. It computes when none has come, for the server has nothing
                // else to do then, or when it has waited long enough.
                let (is_first, waiting) = device.company(ticket).unwrap_or_default();
                let waits = waiting > seen && start.elapsed() < device.wait();
                seen = waiting;
                let wake = |event| device.wake_by(ticket, event);
                (!is_first || waits) && Alarm::pause_in_batch(ticket, is_first, wake).is_some()
            }
            _ => false,
        };
        if !is_paused {
            device.finish(ticket);
            break device.take(ticket).flatten();
        }
    };
    if pauses == Some(CompletedBy::Event) {
        Alarm::end_of_operation();
    }
    answer
}
