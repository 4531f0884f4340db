//! A driver that feeds the bytes of a peer to a reception as a connection does: it reads in pieces,
//! cuts skips short, and keeps in hand what was read ahead.

use wire::Failure;
use wire::reception::{Completed, Given, Reception, Want};

/// How a line ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Complete(Completed),
    Closed,
    /// All bytes were used and more are wanted.
    Starved,
}

/// The client's side of a line: what is still to come, and what is in hand.
pub struct Line<'a> {
    coming: &'a [u8],
    hand: Vec<u8>,
    pieces: std::iter::Cycle<std::slice::Iter<'a, usize>>,
    /// Whether the bytes are an honest server's, so that marks can be checked.
    is_honest: bool,
}

impl<'a> Line<'a> {
    /// Delivers `bytes` in pieces of these sizes, in turn.
    pub fn new(bytes: &'a [u8], pieces: &'a [usize]) -> Self {
        Self { coming: bytes, hand: Vec::new(), pieces: pieces.iter().cycle(), is_honest: false }
    }

    pub fn honest(self) -> Self {
        Self { is_honest: true, ..self }
    }

    /// The same line, with these bytes after those in hand.
    pub fn then(self, coming: &'a [u8]) -> Self {
        Self { coming, ..self }
    }

    /// Bytes that the reception left in hand or on the line.
    pub fn left_over(&self) -> usize {
        self.hand.len() + self.coming.len()
    }

    /// Feeds `reception` until a response is complete, the peer closes, or nothing is left.
    ///
    /// # Errors
    /// Why the response failed.
    pub fn run(&mut self, reception: &mut Reception) -> Result<End, Failure> {
        // Each step uses a byte or changes the state once, so an endless loop is caught.
        let mut steps_left = 1000 + 4 * self.left_over();
        loop {
            steps_left = steps_left.checked_sub(1).expect("the reception goes in circles");
            let given = match reception.want() {
                Want::Skip(count) => {
                    // An empty read would look like the end of the stream.
                    assert!(count > 0, "nothing is to be skipped");
                    let count = if self.hand.is_empty() {
                        let Some(piece) = self.next_piece(reception, count) else {
                            return Ok(End::Starved);
                        };
                        piece.len() as u64
                    } else {
                        let here = count.min(self.hand.len() as u64);
                        self.hand.drain(..here as usize);
                        here
                    };
                    reception.skipped(count)?
                }
                Want::Read { min, max } if self.hand.len() < min => {
                    assert!(max >= min);
                    let room = max.max(self.hand.len() + 1) - self.hand.len();
                    let Some(piece) = self.next_piece(reception, room as u64) else {
                        return Ok(End::Starved);
                    };
                    self.hand.extend_from_slice(piece);
                    continue;
                }
                Want::Read { .. } => {
                    let (used, given) = reception.give(&mut self.hand)?;
                    self.hand.drain(..used);
                    given
                }
            };
            match given {
                Given::More => {}
                Given::Complete(completed) => return Ok(End::Complete(completed)),
                Given::Refused => return Err(reception.refusal()),
                Given::Closed => return Ok(End::Closed),
            }
        }
    }

    fn next_piece(&mut self, reception: &Reception, room: u64) -> Option<&'a [u8]> {
        if self.is_honest {
            let least = reception.least_to_come(self.hand.len());
            let coming = self.coming.len() as u64;
            assert!(least <= coming, "{least} bytes are awaited where {coming} come");
        }
        let piece = *self.pieces.next().unwrap_or(&usize::MAX);
        let count = piece.max(1).min(self.coming.len()).min(room as usize);
        let (piece, rest) = self.coming.split_at(count);
        self.coming = rest;
        (count > 0).then_some(piece)
    }
}
