//! Going on after DATA that was dropped unread.
//!
//! Whoever drops it knows from the record layer how long it was, and says how many frames began in it. Whether that was
//! so shows in what follows: a frame's header has to be where it is said to be.

use super::position::{Dropped, Position};
use super::{Client, ClientHandler};

impl<H: ClientHandler> Client<H> {
    /// Where the server is with this stream; `None` within a header or right after it, in padding, and in another frame
    /// or the stream's last one.
    pub fn position(&self, stream: i32) -> Option<Position> {
        self.reader.position(stream)
    }

    /// Whether the server is within a frame that is not DATA of this stream, or padded.
    pub fn is_elsewhere(&self, stream: i32) -> bool {
        self.reader.is_elsewhere(stream)
    }

    /// Goes on after what was dropped of this stream, which began at a [`Self::position`] that was known. Its
    /// windows are opened again as if it had been received.
    pub fn pass(&mut self, stream: i32, dropped: Dropped) {
        let before = self.reader.position(stream).map_or(0, Position::left);
        let begun = dropped.body() + dropped.end.left() - before;
        self.reader.pass(stream, dropped.end);
        let begun = u32::try_from(begun).unwrap_or(u32::MAX);
        if let Some(increment) = self.receive_window.take(begun) {
            self.due.window_update(0, increment);
        }
        if let Some(open) = self.streams.find(stream)
            && let Some(increment) = open.receive_window.take(begun)
        {
            self.due.window_update(stream, increment);
        }
    }
}
