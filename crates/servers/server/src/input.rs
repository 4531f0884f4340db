//! What a connection has received and not yet taken for a request.

/// The most bytes that a request's head may have.
pub(crate) const HEAD_LIMIT: usize = 8 << 10;

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

    /// How many more bytes it takes at once; none where it is full.
    pub(crate) fn room(&self) -> usize {
        HEAD_LIMIT - self.bytes().len()
    }

    /// Adds bytes that were received, at most its room.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn input_is_bounded_and_holds_nothing_when_empty() {
        let mut input = Input::default();
        while input.room() > 0 {
            input.append(&[7; 1000][..input.room().min(1000)]);
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
                let count = (receive.min(input.room())) as u64;
                let received: Vec<_> = (sent..sent + count).map(|byte| (byte % 251) as u8).collect();
                input.append(&received);
                sent += count;
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
