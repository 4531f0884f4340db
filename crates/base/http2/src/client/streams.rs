//! The open streams of a connection, found by their numbers without hashing.
//!
//! Numbers are given in turn, so a stream's number says its place, as in a ring. One that outlasts a whole round
//! makes way for the stream that needs its place, and goes to a list of such stragglers.

use super::flow::ReceiveWindow;

/// A stream that was opened and has not ended on both sides.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) id: i32,
    pub(super) tag: usize,
    /// What the server takes of the request's body; SETTINGS may make it less than nothing.
    pub(super) send_window: i64,
    pub(super) receive_window: ReceiveWindow,
    /// Whether the response's final head has come.
    pub(super) has_head: bool,
    /// Whether the server has ended its side.
    pub(super) has_ended: bool,
    /// Whether more of the request's body is to be sent.
    pub(super) is_sending: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct OpenStreams {
    /// As many as a power of two.
    ring: Vec<Option<Open>>,
    stragglers: Vec<Open>,
    count: usize,
}

impl OpenStreams {
    pub(super) fn new() -> Self {
        Self { ring: Vec::from([None]), stragglers: Vec::new(), count: 0 }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    fn place(&self, id: i32) -> usize {
        (id / 2) as usize & (self.ring.len() - 1)
    }

    fn is_in_ring(&self, id: i32) -> bool {
        self.ring[self.place(id)].as_ref().is_some_and(|open| open.id == id)
    }

    #[inline]
    pub(super) fn find(&mut self, id: i32) -> Option<&mut Open> {
        match self.is_in_ring(id) {
            true => {
                let place = self.place(id);
                self.ring[place].as_mut()
            }
            false => self.stragglers.iter_mut().find(|open| open.id == id),
        }
    }

    pub(super) fn insert(&mut self, open: Open) {
        if 2 * self.count >= self.ring.len() {
            let all: Vec<Open> = self.ring.drain(..).flatten().collect();
            self.ring.resize_with((2 * (self.count + 1)).next_power_of_two(), || None);
            all.into_iter().for_each(|open| self.put(open));
        }
        self.count += 1;
        self.put(open);
    }

    fn put(&mut self, open: Open) {
        let place = self.place(open.id);
        self.stragglers.extend(self.ring[place].replace(open));
    }

    pub(super) fn remove(&mut self, id: i32) -> Option<Open> {
        let removed = match self.is_in_ring(id) {
            true => {
                let place = self.place(id);
                self.ring[place].take()
            }
            false => {
                let at = self.stragglers.iter().position(|open| open.id == id);
                at.map(|at| self.stragglers.swap_remove(at))
            }
        };
        self.count -= usize::from(removed.is_some());
        removed
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Open> {
        self.ring.iter_mut().flatten().chain(&mut self.stragglers)
    }

    /// The numbers of the streams after this one, in their order.
    pub(super) fn after(&self, last: i32) -> Vec<i32> {
        let all = self.ring.iter().flatten().chain(&self.stragglers).map(|open| open.id);
        let mut after: Vec<i32> = all.filter(|id| *id > last).collect();
        after.sort_unstable();
        after
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn open(id: i32) -> Open {
        Open {
            id,
            tag: id as usize + 1,
            send_window: 0,
            receive_window: ReceiveWindow::new(1),
            has_head: false,
            has_ended: false,
            is_sending: false,
        }
    }

    proptest! {
        #[test]
        fn streams_are_found_in_whatever_order_they_end(
            steps in proptest::collection::vec(any::<(bool, proptest::sample::Index)>(), 0..300),
        ) {
            let (mut streams, mut known, mut next) = (OpenStreams::new(), BTreeSet::new(), 1);
            for (ends, which) in steps {
                if ends && !known.is_empty() {
                    let id = *known.iter().nth(which.index(known.len())).unwrap();
                    known.remove(&id);
                    prop_assert_eq!(streams.remove(id).map(|open| open.tag), Some(id as usize + 1));
                    prop_assert!(streams.remove(id).is_none() && streams.find(id).is_none());
                } else {
                    streams.insert(open(next));
                    known.insert(next);
                    next += 2;
                }
                prop_assert_eq!(streams.count(), known.len());
                prop_assert_eq!(streams.after(0), known.iter().copied().collect::<Vec<_>>());
                prop_assert!(known.iter().all(|id| streams.find(*id).is_some_and(|open| open.id == *id)));
            }
        }
    }
}
