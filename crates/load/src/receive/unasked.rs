//! How many bytes a server sends before its response to a connection's only request: the tickets of
//! TLS 1.3. A connection that knows the number sleeps until the response's first byte.

use std::cell::Cell;
use std::rc::Rc;

/// How many responses must have been seen first.
const LEARNED_FROM: u32 = 16;

/// What a thread knows about that: the fewest bytes so far. If more come, the connection wakes
/// early. If fewer come than ever, and the response does not make up for them, the connection is
/// noticed by its lack of progress.
#[derive(Debug, Clone, Default)]
pub(super) struct Unasked(Rc<Cell<Known>>);

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    fewest: u64,
    responses: u32,
}

impl Unasked {
    /// A response began after this many bytes.
    pub(super) fn learn(&self, bytes: u64) {
        let Known { fewest, responses } = self.0.get();
        let fewest = if responses == 0 { bytes } else { fewest.min(bytes) };
        self.0.set(Known { fewest, responses: responses.saturating_add(1) });
    }

    /// How many bytes come before the next response at least, if it is like those before it.
    pub(super) fn expected(&self) -> u64 {
        let Known { fewest, responses } = self.0.get();
        if responses >= LEARNED_FROM { fewest } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_bytes_of_many_responses_are_expected() {
        let unasked = Unasked::default();
        for _ in 0..LEARNED_FROM {
            assert_eq!(unasked.expected(), 0);
            unasked.learn(158);
        }
        assert_eq!(unasked.expected(), 158);
        unasked.learn(237);
        assert_eq!(unasked.expected(), 158);
        unasked.learn(79);
        assert_eq!(unasked.expected(), 79);
        unasked.learn(0);
        (0..100).for_each(|_| unasked.learn(158));
        assert_eq!(unasked.expected(), 0);
    }
}
