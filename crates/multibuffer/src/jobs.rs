//! What the lanes are filled with: whole messages, pieces of messages, ends of messages.

use crate::algorithm::{Algorithm, pad};
use crate::context::Context;
use crate::schedule::{Column, First, Jobs, Lane, Own};

/// Whole messages. As many digests as messages.
pub(crate) struct Messages<'a, 'd, A: Algorithm, M> {
    pub(crate) messages: &'a [M],
    pub(crate) digests: &'d mut [A::Digest],
    pub(crate) next: usize,
}

impl<'a, A: Algorithm, M: AsRef<[u8]>> Jobs<'a, A> for Messages<'a, '_, A, M> {
    fn next<'s>(
        &'s mut self,
        lane: &mut Lane<'a, A>,
        own: &mut Own<A>,
    ) -> Option<&'s [A::Word; 8]> {
        let id = self.next;
        let message = self.messages.get(id)?.as_ref();
        self.next += 1;
        let (slice, rest) = A::blocks(message);
        match rest {
            [] => lane.take_padded(id, slice, message.len() as u64),
            _ => {
                let padding = pad::<A>(rest, message.len() as u64, own);
                lane.take(id, First::Slice, padding, slice);
            }
        }
        Some(A::INITIAL)
    }

    fn done(&mut self, id: usize, state: Column<'_, A::Word>) {
        self.digests[id] = A::digest(&state);
    }
}

/// The next pieces of messages. As many contexts as pieces.
pub(crate) struct Pieces<'a, 'c, A: Algorithm, M> {
    pub(crate) pieces: &'a [M],
    pub(crate) contexts: &'c mut [Context<A>],
    pub(crate) next: usize,
}

impl<'a, A: Algorithm, M: AsRef<[u8]>> Jobs<'a, A> for Pieces<'a, '_, A, M> {
    fn next<'s>(
        &'s mut self,
        lane: &mut Lane<'a, A>,
        own: &mut Own<A>,
    ) -> Option<&'s [A::Word; 8]> {
        let (id, full, slice) = loop {
            let id = self.next;
            let piece = self.pieces.get(id)?.as_ref();
            self.next += 1;
            let (full, slice) = self.contexts[id].append(piece);
            if full.is_some() || !slice.is_empty() {
                break (id, full, slice);
            }
        };
        if let Some(block) = full {
            own[0] = block;
        }
        lane.take(id, First::Own, full.is_some().into(), slice);
        Some(&self.contexts[id].state)
    }

    fn done(&mut self, id: usize, state: Column<'_, A::Word>) {
        self.contexts[id].state = std::array::from_fn(|i| state.word(i));
    }
}

/// The ends of messages. As many digests as contexts.
pub(crate) struct Ends<'c, 'd, A: Algorithm> {
    pub(crate) contexts: &'c [Context<A>],
    pub(crate) digests: &'d mut [A::Digest],
    pub(crate) next: usize,
}

impl<'a, A: Algorithm> Jobs<'a, A> for Ends<'_, '_, A> {
    fn next<'s>(
        &'s mut self,
        lane: &mut Lane<'a, A>,
        own: &mut Own<A>,
    ) -> Option<&'s [A::Word; 8]> {
        let id = self.next;
        let context = self.contexts.get(id)?;
        self.next += 1;
        match context.buffered() {
            [] => lane.take_padded(id, &[], context.bytes()),
            rest => {
                let padding = pad::<A>(rest, context.bytes(), own);
                lane.take(id, First::Own, padding, &[]);
            }
        }
        Some(&context.state)
    }

    fn done(&mut self, id: usize, state: Column<'_, A::Word>) {
        self.digests[id] = A::digest(&state);
    }
}
