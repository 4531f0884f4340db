//! Receiving: what a codec wants is read of the socket, until the socket has no more or its turn is over.

use super::http2::Http2;
use crate::context::Context;
use crate::socket::{Moved, Socket};
use wire::Failure;
use wire::reception::{Given, Reception, Want};

/// The most bytes that one connection receives in one turn, so that the others get theirs.
const LONGEST_TURN: u64 = 8 << 20;

/// What is known about bytes that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readable {
    /// There may be something.
    Unknown,
    /// The server's end of stream, after whatever there is.
    ToTheEnd,
    /// Nothing, until the socket becomes ready again.
    Nothing,
    /// Nothing but the server's end of stream.
    End,
}

impl Readable {
    /// After a read that returned less than was asked for: there is nothing more to read. Another
    /// read would be a wasted system call, and bytes that come meanwhile cause an event.
    pub(super) fn drained(self) -> Self {
        match self {
            Self::Unknown | Self::Nothing => Self::Nothing,
            Self::ToTheEnd | Self::End => Self::End,
        }
    }
}

/// Gives a codec what comes, until it reports something or nothing more can be read; returns how much was read. It is
/// made for each codec, because it runs for each record.
pub(super) fn receive_into<C: Receive>(
    codec: &mut C,
    socket: &Socket,
    readable: &mut Readable,
    received: &mut Vec<u8>,
    scratch: &mut [u8],
    context: &Context<'_>,
) -> Result<(Given, u64), Failure> {
    // Bytes in hand are `scratch[start..end]`.
    let (mut start, mut end) = (0, received.len());
    scratch[..end].copy_from_slice(received);
    received.clear();
    let mut turn = 0;
    let given = loop {
        let given = match codec.want() {
            Want::Skip(left) if start < end => {
                let here = left.min((end - start) as u64);
                start += here as usize;
                codec.skipped(here, context)?
            }
            Want::Read { min, .. } if end - start >= min => {
                let (used, given) = codec.give(&mut scratch[start..end], context)?;
                start += used;
                given
            }
            want => {
                if turn >= LONGEST_TURN || *readable == Readable::Nothing {
                    break Given::More;
                }
                if *readable == Readable::End {
                    break Given::Closed;
                }
                let (asked, moved) = match want {
                    Want::Skip(left) => (left, socket.skip(left)?),
                    Want::Read { max, .. } => {
                        scratch.copy_within(start..end, 0);
                        (start, end) = (0, end - start);
                        let room = scratch.len().min(max.max(end + 1));
                        let room = &mut scratch[end..room];
                        (room.len() as u64, socket.receive(room)?)
                    }
                };
                if matches!(moved, Moved::Bytes(count) if (count as u64) < asked) {
                    *readable = readable.drained();
                }
                match (moved, want) {
                    (Moved::Blocked, _) => break Given::More,
                    (Moved::End, _) => break Given::Closed,
                    (Moved::Bytes(count), Want::Skip(_)) => {
                        turn += count as u64;
                        codec.skipped(count as u64, context)?
                    }
                    (Moved::Bytes(count), Want::Read { .. }) => {
                        turn += count as u64;
                        end += count;
                        continue;
                    }
                }
            }
        };
        if !matches!(given, Given::More) {
            break given;
        }
    };
    received.extend_from_slice(&scratch[start..end]);
    Ok((given, turn))
}

/// What takes the bytes that come.
pub(super) trait Receive {
    /// What is needed next.
    fn want(&self) -> Want;

    /// Counts bytes that came and were dropped unread.
    fn skipped(&mut self, count: u64, context: &Context<'_>) -> Result<Given, Failure>;

    /// Takes what was received, and returns how much of it was used.
    fn give(&mut self, bytes: &mut [u8], context: &Context<'_>) -> Result<(usize, Given), Failure>;
}

impl Receive for Reception {
    #[inline]
    fn want(&self) -> Want {
        self.want()
    }

    #[inline]
    fn skipped(&mut self, count: u64, _: &Context<'_>) -> Result<Given, Failure> {
        self.skipped(count)
    }

    #[inline]
    fn give(&mut self, bytes: &mut [u8], _: &Context<'_>) -> Result<(usize, Given), Failure> {
        self.give(bytes)
    }
}

impl Receive for Http2 {
    fn want(&self) -> Want {
        self.want()
    }

    fn skipped(&mut self, count: u64, context: &Context<'_>) -> Result<Given, Failure> {
        self.skipped(count, context);
        Ok(Given::More)
    }

    fn give(&mut self, bytes: &mut [u8], context: &Context<'_>) -> Result<(usize, Given), Failure> {
        self.give(bytes, context)
    }
}
