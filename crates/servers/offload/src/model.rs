//! The modelled device.
//!
//! Each engine begins an operation when it is free, and is free for the next one after `1 / rate`. The
//! answer comes `latency` after the beginning, so an engine may have several operations under way, as a
//! pipeline has. Operations begin in the order in which they came, on the engine that is free first.
//! Nothing else delays an answer: no bus, no driver, no interrupt.

use std::collections::VecDeque;

use units::Nanos;

use crate::Description;
use crate::Rates;
use crate::device::{Completion, Device, Operation};

pub(crate) struct Model {
    rates: Rates,
    latency: Nanos,
    queue: usize,
    /// When each engine is free.
    free: Vec<Nanos>,
    /// With the times of their answers, which ascend.
    under_way: VecDeque<(Nanos, Completion)>,
}

impl Model {
    pub(crate) fn new(description: &Description) -> Self {
        let Description { rates, latency, queue, engines, .. } = description;
        Self {
            rates: rates.clone(),
            latency: *latency,
            queue: queue.get(),
            free: vec![Nanos(0); engines.get()],
            under_way: VecDeque::new(),
        }
    }
}

impl Device for Model {
    fn submit(&mut self, operation: Operation, now: Nanos) -> Option<Nanos> {
        let interval = self.rates.interval(operation.key_bits)?;
        if self.under_way.len() == self.queue {
            return None;
        }
        let engine = self.free.iter_mut().min()?;
        let begins = now.max(*engine);
        *engine = Nanos(begins.0 + interval.0);
        let due = Nanos(begins.0 + self.latency.0);
        let Operation { ticket, premaster, .. } = operation;
        self.under_way.push_back((due, Completion { ticket, premaster }));
        Some(due)
    }

    fn collect(&mut self, now: Nanos) -> Option<Completion> {
        let is_due = self.under_way.front().is_some_and(|(due, _)| *due <= now);
        is_due.then(|| self.under_way.pop_front()).flatten().map(|(_, completion)| completion)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use proptest::prelude::*;

    use super::*;
    use crate::Ticket;

    fn model(rates: &str, latency: u64, queue: usize, engines: usize) -> Model {
        Model::new(&Description {
            rates: rates.parse().unwrap(),
            latency: Nanos(latency),
            queue: NonZeroUsize::new(queue).unwrap(),
            engines: NonZeroUsize::new(engines).unwrap(),
            ..Description::default()
        })
    }

    fn operation(ticket: u64, key_bits: u32) -> Operation {
        Operation { ticket: Ticket(ticket), key_bits, premaster: [ticket as u8; 48] }
    }

    #[test]
    fn an_operation_that_is_alone_takes_the_latency() {
        let mut model = model("rsa:2048 1000/s", 100_000, 8, 1);
        assert_eq!(model.submit(operation(1, 2048), Nanos(5)), Some(Nanos(100_005)));
        assert_eq!(model.collect(Nanos(100_004)), None);
        assert_eq!(model.collect(Nanos(100_005)).unwrap().ticket, Ticket(1));
        assert_eq!(model.collect(Nanos(100_005)), None);
    }

    #[test]
    fn a_key_without_a_rate_is_refused() {
        assert_eq!(model("rsa:2048 1/s", 1, 8, 1).submit(operation(1, 4096), Nanos(0)), None);
    }

    #[test]
    fn engines_add_up() {
        let completed_by = |engines, end| {
            let mut model = model("rsa:2048 500/s", 1_000_000, 64, engines);
            let (mut ticket, mut completed) = (0, 0);
            for now in (0..end).step_by(100_000).map(Nanos) {
                while model.submit(operation(ticket, 2048), now).is_some() {
                    ticket += 1;
                }
                completed += std::iter::from_fn(|| model.collect(now)).count();
            }
            completed
        };
        let second = 1_000_000_000;
        assert_eq!([1, 2, 4].map(|engines| completed_by(engines, second)), [500, 1000, 2000]);
    }

    proptest! {
        /// Whoever comes when: no answer before its latency, no more answers than the engines can give, no
        /// more operations than the queue holds, each taken one answered once, in their order.
        #[test]
        fn the_device_keeps_its_promises(
            steps in proptest::collection::vec((0u64..200_000, 0usize..6, any::<bool>()), 1..200),
            latency in 0u64..1_000_000,
            queue in 1usize..20,
            engines in 1usize..5,
        ) {
            let mut model = model("rsa:2048 40000/s, rsa:4096 4130/s", latency, queue, engines);
            let fastest = 25_000;
            let mut now = Nanos(0);
            let mut taken = VecDeque::new();
            let mut answers = Vec::new();
            let mut ticket = 0;
            let end = [(1_000_000_000, 0, false)];
            for (wait, count, is_large) in steps.into_iter().chain(end) {
                now.0 += wait;
                while let Some(completion) = model.collect(now) {
                    let (ticket, at): (u64, u64) = taken.pop_front().unwrap();
                    prop_assert_eq!(completion.ticket, Ticket(ticket));
                    prop_assert_eq!(completion.premaster, [ticket as u8; 48]);
                    prop_assert!(now.0 >= at + latency);
                    answers.push(ticket);
                }
                prop_assert!(answers.len() as u64 <= (now.0 / fastest + 1) * engines as u64);
                for _ in 0..count {
                    let bits = if is_large { 4096 } else { 2048 };
                    let due = model.submit(operation(ticket, bits), now);
                    prop_assert_eq!(due.is_some(), taken.len() < queue);
                    if let Some(due) = due {
                        prop_assert!(due.0 >= now.0 + latency);
                        taken.push_back((ticket, now.0));
                    }
                    ticket += 1;
                }
            }
            prop_assert!(taken.is_empty());
        }
    }
}
