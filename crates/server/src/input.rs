//! What a connection has received and not yet taken for a request.

use std::io;

/// The most bytes that a request's head may have.
pub(crate) const HEAD_LIMIT: usize = 8 << 10;

/// Room for a usual head; the buffer grows to [`HEAD_LIMIT`] for others.
const USUAL: usize = 1 << 10;

/// At most [`HEAD_LIMIT`] bytes: a part of a head, or several pipelined ones. Holds no memory
/// while it is empty.
#[derive(Default)]
pub(crate) struct Input {
    bytes: Vec<u8>,
    start: usize,
}

impl Input {
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Forgets the first `count` bytes.
    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
        if self.is_empty() {
            *self = Self::default();
        }
    }

    /// Takes all of it out, which fits into `room`.
    pub(crate) fn take_into(&mut self, room: &mut [u8]) -> usize {
        let count = self.bytes().len().min(room.len());
        room[..count].copy_from_slice(&self.bytes()[..count]);
        self.consume(count);
        count
    }

    /// Receives once through `read`, which gets the room that is left and says how much it used.
    pub(crate) fn fill(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.bytes.drain(..self.start);
        self.start = 0;
        let used = self.bytes.len();
        let room = if used < USUAL { USUAL } else { HEAD_LIMIT };
        self.bytes.resize(room, 0);
        let outcome = read(&mut self.bytes[used..]);
        let count = outcome.as_ref().map_or(0, |&count| count.min(room - used));
        self.bytes.truncate(used + count);
        if self.bytes.is_empty() {
            self.bytes = Vec::new();
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn input_is_bounded_and_holds_nothing_when_empty() {
        let mut input = Input::default();
        while input.bytes().len() < HEAD_LIMIT {
            input.fill(|room| Ok(room.len())).unwrap();
        }
        assert_eq!(input.bytes().len(), HEAD_LIMIT);
        input.consume(HEAD_LIMIT);
        assert_eq!(input.bytes.capacity(), 0);
    }

    proptest! {
        #[test]
        fn bytes_come_out_as_they_went_in(pieces in prop::collection::vec((1usize..700, 0usize..900), 1..60)) {
            let (mut input, mut sent, mut seen) = (Input::default(), 0u64, 0u64);
            for (receive, consume) in pieces {
                if input.bytes().len() < HEAD_LIMIT {
                    input.fill(|room| {
                        let count = receive.min(room.len());
                        for byte in &mut room[..count] {
                            *byte = (sent % 251) as u8;
                            sent += 1;
                        }
                        Ok(count)
                    }).unwrap();
                }
                let consume = consume.min(input.bytes().len());
                for byte in &input.bytes()[..consume] {
                    prop_assert_eq!(*byte, (seen % 251) as u8);
                    seen += 1;
                }
                input.consume(consume);
            }
            prop_assert_eq!(sent - seen, input.bytes().len() as u64);
        }
    }
}
