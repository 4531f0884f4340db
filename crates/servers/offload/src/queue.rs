//! Operations on their way through a device, with whom they belong to. Time is a value here.

use std::collections::{HashMap, VecDeque};
use std::thread::ThreadId;

use units::Nanos;

use crate::device::{Device, Operation, Premaster, Ticket};

/// How long after its time the answer to an operation is given up.
pub(crate) const PATIENCE: Nanos = Nanos(1_000_000_000);

/// What is known of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeviceReply {
    UnderWay {
        /// When it is worth looking again.
        due: Nanos,
    },
    Answered(Premaster),
    /// The device did not answer.
    Silent,
}

pub(crate) struct Queue {
    device: Box<dyn Device>,
    next: u64,
    /// Until they are taken.
    operations: HashMap<Ticket, Entry>,
    /// When each is given up, ascending; answered ones too.
    patience: VecDeque<(Nanos, Ticket)>,
    threads: HashMap<ThreadId, Waiting>,
}

/// The operations of a thread that asks for them.
#[derive(Default)]
struct Waiting {
    /// Those whose progress is final and which the thread was not given.
    ready: Vec<Ticket>,
    /// When it is worth looking for each of the others.
    due: VecDeque<Nanos>,
}

struct Entry {
    /// The thread that looks for it among those that are ready, where one does.
    owner: Option<ThreadId>,
    progress: DeviceReply,
}

impl Queue {
    pub(crate) fn new(device: Box<dyn Device>) -> Self {
        Self {
            device,
            next: 0,
            operations: HashMap::new(),
            patience: VecDeque::new(),
            threads: HashMap::new(),
        }
    }

    /// Gives an operation to the device; `None` where it refuses. `owner` is a thread that asks
    /// [`ready`](Self::ready) for it.
    pub(crate) fn submit(
        &mut self,
        owner: Option<ThreadId>,
        key_bits: u32,
        premaster: Premaster,
        now: Nanos,
    ) -> Option<Ticket> {
        // What is complete makes room.
        self.advance(now);
        let ticket = Ticket(self.next);
        let due = self.device.submit(Operation { ticket, key_bits, premaster }, now)?;
        self.next += 1;
        if let Some(owner) = owner {
            self.threads.entry(owner).or_default().due.push_back(due);
        }
        self.operations.insert(ticket, Entry { owner, progress: DeviceReply::UnderWay { due } });
        self.patience.push_back((Nanos(due.0 + PATIENCE.0), ticket));
        Some(ticket)
    }

    /// How many operations are not taken yet.
    pub(crate) fn in_flight(&self) -> usize {
        self.operations.len()
    }

    /// How an operation stands; it is forgotten with a final answer.
    pub(crate) fn take(&mut self, ticket: Ticket, now: Nanos) -> DeviceReply {
        self.advance(now);
        match self.operations.get(&ticket).map(|entry| entry.progress) {
            Some(progress @ DeviceReply::UnderWay { .. }) => progress,
            Some(progress) => {
                self.operations.remove(&ticket);
                progress
            }
            None => DeviceReply::Silent,
        }
    }

    /// Forgets an operation that nobody will take; whether it was there.
    pub(crate) fn abandon(&mut self, ticket: Ticket) -> bool {
        self.operations.remove(&ticket).is_some()
    }

    /// The operations of a thread that can be taken now, each named once.
    pub(crate) fn ready(&mut self, owner: ThreadId, now: Nanos) -> Vec<Ticket> {
        self.advance(now);
        let waiting = self.threads.get_mut(&owner);
        waiting.map(|waiting| std::mem::take(&mut waiting.ready)).unwrap_or_default()
    }

    /// When a thread's next operation is expected to be ready; `None` where it has none.
    pub(crate) fn next(&self, owner: ThreadId) -> Option<Nanos> {
        let waiting = self.threads.get(&owner)?;
        if waiting.ready.is_empty() { waiting.due.front().copied() } else { Some(Nanos(0)) }
    }

    fn advance(&mut self, now: Nanos) {
        while let Some(completion) = self.device.collect(now) {
            // A device that is late or answers twice names one that is over.
            self.finish(completion.ticket, DeviceReply::Answered(completion.premaster));
        }
        while let Some(&(end, ticket)) = self.patience.front()
            && end <= now
        {
            self.patience.pop_front();
            self.finish(ticket, DeviceReply::Silent);
        }
    }

    fn finish(&mut self, ticket: Ticket, progress: DeviceReply) {
        if let Some(entry) = self.operations.get_mut(&ticket)
            && matches!(entry.progress, DeviceReply::UnderWay { .. })
        {
            entry.progress = progress;
            if let Some(waiting) = entry.owner.and_then(|owner| self.threads.get_mut(&owner)) {
                waiting.ready.push(ticket);
                waiting.due.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::device::Completion;

    /// Answers what it is told to, when it is told to.
    struct Faulty(VecDeque<(Nanos, Completion)>);

    impl Device for Faulty {
        fn submit(&mut self, _: Operation, now: Nanos) -> Option<Nanos> {
            Some(now)
        }

        fn collect(&mut self, now: Nanos) -> Option<Completion> {
            let is_due = self.0.front().is_some_and(|(at, _)| *at <= now);
            is_due.then(|| self.0.pop_front()).flatten().map(|(_, answer)| answer)
        }
    }

    fn queue(answers: &[(u64, u64, u8)]) -> Queue {
        let answers = answers.iter().map(|&(at, ticket, byte)| {
            (Nanos(at), Completion { ticket: Ticket(ticket), premaster: [byte; 48] })
        });
        Queue::new(Box::new(Faulty(answers.collect())))
    }

    fn me() -> ThreadId {
        std::thread::current().id()
    }

    fn submit(queue: &mut Queue, now: u64) -> Ticket {
        queue.submit(Some(me()), 2048, [7; 48], Nanos(now)).unwrap()
    }

    #[test]
    fn an_operation_is_ready_once_and_taken_once() {
        let mut queue = queue(&[(10, 0, 1)]);
        let ticket = submit(&mut queue, 0);
        assert_eq!(queue.take(ticket, Nanos(9)), DeviceReply::UnderWay { due: Nanos(0) });
        assert_eq!((queue.ready(me(), Nanos(9)), queue.next(me())), (vec![], Some(Nanos(0))));
        assert_eq!((queue.ready(me(), Nanos(10)), queue.next(me())), (vec![ticket], None));
        assert_eq!((queue.ready(me(), Nanos(10)), queue.in_flight()), (Vec::new(), 1));
        assert_eq!(queue.take(ticket, Nanos(11)), DeviceReply::Answered([1; 48]));
        assert_eq!(queue.in_flight(), 0);
    }

    #[test]
    fn each_thread_is_given_its_own() {
        let mut queue = queue(&[(1, 0, 1), (1, 1, 1)]);
        let other = std::thread::spawn(me).join().unwrap();
        let (mine, theirs) =
            (submit(&mut queue, 0), queue.submit(Some(other), 2048, [7; 48], Nanos(0)));
        assert_eq!(queue.ready(me(), Nanos(1)), [mine]);
        assert_eq!(queue.ready(other, Nanos(1)), [theirs.unwrap()]);
    }

    #[test]
    fn a_device_that_stops_is_given_up_after_a_second() {
        let mut queue = queue(&[]);
        let tickets = [0, 5].map(|now| submit(&mut queue, now));
        assert_eq!(queue.ready(me(), Nanos(PATIENCE.0 - 1)), []);
        assert_eq!(queue.ready(me(), PATIENCE), [tickets[0]]);
        assert_eq!(queue.take(tickets[0], PATIENCE), DeviceReply::Silent);
        assert_eq!(queue.ready(me(), Nanos(PATIENCE.0 + 5)), [tickets[1]]);
        assert_eq!(queue.take(tickets[1], Nanos(PATIENCE.0 + 5)), DeviceReply::Silent);
        assert_eq!(queue.in_flight(), 0);
    }

    #[test]
    fn an_operation_that_is_abandoned_is_not_in_flight_and_its_answer_is_dropped() {
        let mut queue = queue(&[(1, 0, 1)]);
        let ticket = queue.submit(None, 2048, [7; 48], Nanos(0)).unwrap();
        assert_eq!((queue.abandon(ticket), queue.in_flight()), (true, 0));
        assert!(!queue.abandon(ticket));
        assert_eq!(queue.take(ticket, Nanos(1)), DeviceReply::Silent);
    }

    #[test]
    fn answers_that_come_late_or_twice_or_for_nobody_are_dropped() {
        let late = PATIENCE.0 + 1;
        let mut queue = queue(&[(1, 9, 9), (2, 1, 1), (3, 1, 2), (late, 0, 3)]);
        let (first, second) = (submit(&mut queue, 0), submit(&mut queue, 0));
        assert_eq!(queue.ready(me(), Nanos(3)), [second]);
        assert_eq!(queue.take(second, Nanos(3)), DeviceReply::Answered([1; 48]));
        assert_eq!(queue.take(first, PATIENCE), DeviceReply::Silent);
        assert_eq!(queue.take(first, Nanos(late)), DeviceReply::Silent);
        // It was named as ready when it was given up, and is over since.
        assert_eq!(queue.ready(me(), Nanos(late)), [first]);
    }

    proptest! {
        /// Whatever a device answers and when: each operation is ready once, within the patience with it,
        /// and nothing is left.
        #[test]
        fn no_operation_is_lost_or_ready_twice(
            waits in proptest::collection::vec(0u64..50_000_000, 1..50),
            answers in proptest::collection::vec((0u64..5_000_000_000, 0u64..60), 0..100),
        ) {
            let mut answers: Vec<_> =
                answers.into_iter().map(|(at, ticket)| (at, ticket, 1)).collect();
            answers.sort_unstable();
            let mut queue = queue(&answers);
            let (mut now, mut submitted, mut ready) = (0, Vec::new(), Vec::new());
            let end = [PATIENCE.0];
            for wait in waits.into_iter().chain(end) {
                now += wait;
                ready.extend(queue.ready(me(), Nanos(now)));
                if wait < PATIENCE.0 {
                    submitted.push(submit(&mut queue, now));
                }
            }
            prop_assert_eq!(queue.next(me()), None);
            ready.sort_unstable_by_key(|ticket| ticket.0);
            prop_assert_eq!(&ready, &submitted);
            for ticket in ready {
                let progress = queue.take(ticket, Nanos(now));
                let is_over = !matches!(progress, DeviceReply::UnderWay { .. });
                prop_assert!(is_over, "{progress:?}");
            }
            prop_assert_eq!(queue.in_flight(), 0);
        }
    }
}
