//! Responses over HTTP/2 whose middle is dropped unread, where a connection has one stream.
//!
//! The record in which a response begins is opened: its head must be decoded, because it changes the table of the
//! ones after it. When [`LEARNED_FROM`] responses that began alike came in the same records and frames, the next one is
//! expected to do so too: all its records are dropped up to the one that has the header of the last frame, which is
//! opened with the sequence number that it must have. That proves how many records there were, and with their lengths
//! how many bytes; the header has to be where it is expected, and the body as long as the head has promised. So what
//! was dropped was as many bytes of the body. Where it does not come out, the response has failed as
//! [`UnverifiableRecord`](wire::ErrorKind::UnverifiableRecord), and its thread opens every record from then on.
//!
//! What such a walk cannot see: the content of what it drops, frames of another kind that are as long as a frame of
//! the body and its header would be, and TLS 1.3 padding.

use std::cell::RefCell;
use std::rc::Rc;

use http2::{Dropped, Position};
use wire::reception::{LEARNED_FROM, Want};

/// A window that no response fills, so that the client never holds the server up. It is not the largest
/// one, which a server that adds to it would overflow.
pub const HTTP2_WINDOW: u32 = 1 << 30;

/// Dropping fewer bytes is not worth a system call.
const LEAST: u64 = 16 << 10;

/// A longer body would use up the client's window before that is opened again.
const MOST_BODY: u64 = HTTP2_WINDOW as u64 / 4;

/// How many ways of beginning are remembered: heads of a few lengths for each of some objects.
const MOST_SHAPES: usize = 64;

/// How a response begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Beginning {
    /// The length of the body that its head promises.
    pub(super) promised: u64,
    /// The length of its first record, with its header.
    pub(super) record: usize,
    /// Where in the frames that record ends.
    pub(super) position: Position,
}

/// What follows the first record and is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Middle {
    pub(super) records: u64,
    /// All their bytes.
    pub(super) wire: u64,
    pub(super) dropped: Dropped,
}

/// Responses that began alike.
#[derive(Debug)]
struct Shape {
    beginning: Beginning,
    /// `None` where there is nothing to drop.
    middle: Option<Middle>,
    responses: u32,
}

/// What a thread has learned of how its server's responses come.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shapes(Rc<RefCell<Known>>);

#[derive(Debug, Default)]
struct Known {
    shapes: Vec<Shape>,
    /// Whether one was not as others that began like it. From then on nothing is dropped.
    is_irregular: bool,
}

impl Shapes {
    /// The longest record in which a response begins whose middle can be dropped; `None` where nothing is known yet.
    pub(super) fn longest_beginning(&self) -> Option<usize> {
        let known = self.0.borrow();
        let shapes = known.shapes.iter().filter(|shape| shape.is_known() && !known.is_irregular);
        shapes.map(|shape| shape.beginning.record).max()
    }

    /// What can be dropped of a response that has begun so.
    pub(super) fn middle(&self, beginning: Beginning) -> Option<Middle> {
        let known = self.0.borrow();
        let mut shapes =
            known.shapes.iter().filter(|shape| shape.is_known() && !known.is_irregular);
        shapes.find(|shape| shape.beginning == beginning)?.middle
    }

    fn learn(&self, beginning: Beginning, middle: Option<Middle>) {
        let known = &mut *self.0.borrow_mut();
        let has_room = known.shapes.len() < MOST_SHAPES;
        match known.shapes.iter_mut().find(|shape| shape.beginning == beginning) {
            Some(shape) if shape.middle == middle => {
                shape.responses = shape.responses.saturating_add(1);
            }
            Some(_) => known.is_irregular = true,
            None if has_room => {
                known.shapes.push(Shape { beginning, middle, responses: 1 });
            }
            None => {}
        }
    }

    /// One that was expected to be as others were was not.
    pub(super) fn failed(&self) {
        self.0.borrow_mut().is_irregular = true;
    }
}

impl Shape {
    fn is_known(&self) -> bool {
        self.responses >= LEARNED_FROM && self.middle.is_some()
    }
}

/// What has come of a response after its first record, whose records are all opened.
#[derive(Debug)]
pub(super) struct Course {
    beginning: Beginning,
    so_far: Stretch,
    /// The last place where the frames' position was known, and the last one before a frame began.
    known: Place,
    before_last: Place,
    is_regular: bool,
}

type Place = (Stretch, Position);

/// A part of a response.
#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    records: u64,
    wire: u64,
    length: u64,
    /// Frames that began in it.
    frames: u64,
}

/// What a record has brought.
#[derive(Debug, Clone, Copy)]
pub(super) struct Brought {
    /// The record's length with its header, and that of what was in it.
    pub(super) wire: usize,
    pub(super) length: usize,
    /// Frames of the body that began in it, and whether anything else came.
    pub(super) frames: u64,
    pub(super) has_others: bool,
    /// Where it ends; `None` where a walk could not go on from there.
    pub(super) end: Option<Position>,
}

impl Course {
    pub(super) fn new(beginning: Beginning) -> Self {
        let place = (Stretch::default(), beginning.position);
        let so_far = Stretch::default();
        Self { beginning, so_far, known: place, before_last: place, is_regular: true }
    }

    /// Takes the next record.
    pub(super) fn take(&mut self, brought: Brought) {
        self.is_regular &= !brought.has_others;
        if brought.frames > 0 {
            self.before_last = self.known;
        }
        self.so_far.records += 1;
        self.so_far.wire += brought.wire as u64;
        self.so_far.length += brought.length as u64;
        self.so_far.frames += brought.frames;
        if let Some(position) = brought.end {
            self.known = (self.so_far, position);
        }
    }

    /// The response has ended, all being right.
    pub(super) fn end(self, shapes: &Shapes) {
        let (Stretch { records, wire, length, frames }, end) = self.before_last;
        let is_worth_it = wire >= LEAST && self.beginning.promised <= MOST_BODY;
        let dropped = Dropped { length, frames, end };
        let middle = is_worth_it.then_some(Middle { records, wire, dropped });
        if self.is_regular {
            shapes.learn(self.beginning, middle);
        }
    }
}

/// The walk of a connection.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) shapes: Shapes,
    pub(super) step: Step,
    /// The stream that is open, or was last.
    pub(super) stream: i32,
    /// Body bytes of the window that were proven after their operation was taken out.
    pub(super) late: u64,
    /// Whether a response was given up while it was dropped: nobody knows where the next one begins.
    pub(super) is_lost: bool,
}

#[derive(Debug)]
pub(super) enum Step {
    /// Records are opened; of the response under way this is known, if it may teach something.
    Open(Option<Course>),
    /// `left` bytes are still to be dropped; `within` of those that were came within the window.
    Drop { left: u64, middle: Middle, within: u64 },
    /// The next record proves these bytes of the body, `within` of the window.
    Prove { body: u64, within: u64 },
}

impl Walk {
    pub(super) fn new(shapes: Shapes) -> Self {
        Self { shapes, step: Step::Open(None), stream: 0, late: 0, is_lost: false }
    }

    /// Bytes that are to be dropped next.
    pub(super) fn to_drop(&self) -> Option<u64> {
        match self.step {
            Step::Drop { left, .. } => Some(left),
            Step::Open(_) | Step::Prove { .. } => None,
        }
    }

    /// What to receive, where `min` bytes must come and a response may be about to begin.
    pub(super) fn want(&self, min: usize, awaits_response: bool) -> Want {
        match self.step {
            Step::Drop { left, .. } => Want::Skip(left),
            Step::Open(_) if awaits_response => {
                let max = self.shapes.longest_beginning().unwrap_or(usize::MAX);
                Want::Read { min, max: max.max(min) }
            }
            Step::Open(_) | Step::Prove { .. } => Want::Read { min, max: usize::MAX },
        }
    }

    /// Takes dropped bytes; returns what was dropped when all of it was.
    pub(super) fn skipped(&mut self, count: u64, is_within: bool) -> Option<Middle> {
        let Step::Drop { left, middle, within } = &mut self.step else { return None };
        *left = left.saturating_sub(count);
        *within += if is_within { count } else { 0 };
        let (is_over, middle, within) = (*left == 0, *middle, *within);
        is_over.then(|| {
            let body = middle.dropped.body();
            self.step = Step::Prove { body, within: share(body, within, middle.wire) };
            middle
        })
    }

    /// Whether bytes of the body were dropped and not proven yet.
    pub(super) fn awaits_proof(&self) -> bool {
        !matches!(self.step, Step::Open(_))
    }

    /// Those of the window.
    pub(super) fn unproven(&self) -> u64 {
        match self.step {
            Step::Open(_) => 0,
            Step::Drop { middle, within, .. } => share(middle.dropped.body(), within, middle.wire),
            Step::Prove { within, .. } => within,
        }
    }
}

/// The body bytes in `part` of the `wire` bytes that carry a whole body.
fn share(body: u64, part: u64, wire: u64) -> u64 {
    (u128::from(body) * u128::from(part) / u128::from(wire.max(1))) as u64
}
