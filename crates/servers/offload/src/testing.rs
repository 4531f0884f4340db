//! A device that fails on demand.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use units::Nanos;

use crate::Accelerator;
use crate::device::{Completion, Device, Operation};

/// From the submission of an operation to its answer, as the device says.
const LATENCY: Nanos = Nanos(1_000_000);

/// What a device does wrong with the operations that it takes from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// It does not answer.
    Silent,
    /// It answers later than it said, by this time.
    Late(Nanos),
    /// It answers twice.
    Twice,
    /// It answers with another secret.
    Wrong,
}

static FAULT: Mutex<Fault> = Mutex::new(Fault::None);

/// Makes such a device the accelerator of this process, where that has none yet. A server that is made
/// afterwards uses it, whatever its settings say of the device.
pub fn install() -> &'static Accelerator {
    Accelerator::make_with(Box::<Faulty>::default())
}

/// Has the device do this.
pub fn fail(fault: Fault) {
    *FAULT.lock().unwrap_or_else(PoisonError::into_inner) = fault;
}

#[derive(Default)]
struct Faulty {
    /// With the times at which they come, in no order.
    answers: VecDeque<(Nanos, Completion)>,
}

impl Device for Faulty {
    fn submit(&mut self, operation: Operation, now: Nanos) -> Option<Nanos> {
        let due = Nanos(now.0 + LATENCY.0);
        let Operation { ticket, mut premaster, .. } = operation;
        let (mut at, mut times) = (due, 1);
        match *FAULT.lock().unwrap_or_else(PoisonError::into_inner) {
            Fault::None => {}
            Fault::Silent => times = 0,
            Fault::Late(by) => at.0 += by.0,
            Fault::Twice => times = 2,
            Fault::Wrong => premaster[47] ^= 1,
        }
        let answer = Completion { ticket, premaster };
        self.answers.extend(std::iter::repeat_n((at, answer), times));
        Some(due)
    }

    fn collect(&mut self, now: Nanos) -> Option<Completion> {
        let place = self.answers.iter().position(|(at, _)| *at <= now)?;
        self.answers.remove(place).map(|(_, answer)| answer)
    }
}
