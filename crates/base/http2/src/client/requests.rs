//! Requests: their heads, the turns of their bodies, and those that wait for a stream.

use super::flow::ReceiveWindow;
use super::frame::{self, put_header};
use super::streams::Open;
use super::waiting::{NoMoreRequests, Waiting};
use super::{Client, ClientHandler, StreamEnd};
use crate::error_code::CANCEL;
use crate::{DEFAULT_MAX_FRAME, Frame, FrameKind, PREFACE, Stream};

impl<H: ClientHandler> Client<H> {
    /// Whether the server takes more requests: not after a GOAWAY, and not after 2^30 of them.
    pub fn takes_requests(&self) -> bool {
        self.goaway.is_none() && self.breach.is_none() && self.next < i32::MAX
    }

    /// Asks for something: the fields with the pseudo-header fields first, names in lower case, and where
    /// it `has_body`, what [`ClientHandler::body`] gives. The request is sent when the server takes another
    /// stream. Returns the stream's number.
    ///
    /// # Errors
    /// No request can be sent any more.
    pub fn request<'f>(
        &mut self,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])> + Clone,
        tag: usize,
        has_body: bool,
    ) -> Result<i32, NoMoreRequests> {
        if !self.takes_requests() {
            return Err(NoMoreRequests);
        }
        let stream = Stream { id: self.next, tag };
        // The largest number stays unused, so that the next one is a number.
        self.next += 2;
        if self.waiting.is_empty() && self.streams.count() < self.server.streams() {
            self.open(stream, has_body, fields);
        } else {
            let mut kept = self.spare.pop().unwrap_or_default();
            kept.clear();
            fields.for_each(|field| kept.push(field));
            self.waiting.push_back(Waiting { stream, has_body, fields: kept });
        }
        Ok(stream.id)
    }

    /// Whether requests wait until the server takes another stream.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn open<'f>(
        &mut self,
        stream: Stream,
        has_body: bool,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])> + Clone,
    ) {
        self.block.clear();
        self.encoder.encode(fields, &mut self.block);
        self.due.head(stream, !has_body, &self.block);
        self.streams.insert(Open {
            id: stream.id,
            tag: stream.tag,
            send_window: self.server.window.into(),
            receive_window: ReceiveWindow::new(self.settings.window),
            has_head: false,
            has_ended: false,
            is_sending: has_body,
        });
        if has_body {
            self.sending.push_back(stream.id);
        }
    }

    /// Opens streams for requests that wait, as far as the server takes more.
    pub(super) fn open_waiting(&mut self) {
        while self.streams.count() < self.server.streams()
            && let Some(Waiting { stream, has_body, fields }) = self.waiting.pop_front()
        {
            self.open(stream, has_body, fields.iter());
            self.spare.push(fields);
        }
    }

    /// Gives a request up.
    pub fn cancel(&mut self, handler: &mut H, id: i32) {
        if self.streams.find(id).is_some() {
            self.reset(handler, id, CANCEL, StreamEnd::Cancelled);
        } else if let Some(at) = self.waiting.iter().position(|one| one.stream.id == id)
            && let Some(Waiting { stream, .. }) = self.waiting.remove(at)
        {
            handler.closed(stream, StreamEnd::Cancelled);
        }
    }

    /// The server takes no more requests, and has begun with none after `last`.
    pub(super) fn leave_out(&mut self, handler: &mut H, last: i32) {
        self.due.drop_after(self.sent);
        let waiting = std::mem::take(&mut self.waiting);
        for id in self.streams.after(last.min(self.sent)) {
            let end = if id > self.sent { StreamEnd::NotSent } else { StreamEnd::LeftOut };
            self.close(handler, id, end);
        }
        waiting.iter().for_each(|one| handler.closed(one.stream, StreamEnd::NotSent));
    }

    /// Appends what is due to `out`. No more DATA is added when that holds `enough` bytes.
    pub fn send(&mut self, handler: &mut H, out: &mut Vec<u8>, enough: usize) {
        if !std::mem::replace(&mut self.has_sent_preface, true) {
            out.extend_from_slice(PREFACE);
        }
        self.answers = 0;
        for (stream, frame) in self.due.take(out) {
            if frame.kind == FrameKind::Headers {
                self.sent = stream.id;
            }
            handler.sent(stream, frame);
        }
        // Each has a turn, and then again as long as any can send.
        let mut turns = self.sending.len();
        while turns > 0
            && self.breach.is_none()
            && out.len() < enough
            && let Some(id) = self.sending.pop_front()
        {
            turns -= 1;
            if self.send_body(handler, id, out) {
                turns = self.sending.len();
            }
        }
    }

    /// Appends a DATA frame, if the windows let one through. A stream that has more to send gets in line again.
    fn send_body(&mut self, handler: &mut H, id: i32, out: &mut Vec<u8>) -> bool {
        let Some(open) = self.streams.find(id) else { return false };
        let most = open.send_window.min(self.send_window).min(DEFAULT_MAX_FRAME.into());
        let Some(most) = usize::try_from(most).ok().filter(|most| *most > 0) else {
            self.sending.push_back(id);
            return false;
        };
        let stream = Stream { id, tag: open.tag };
        let Some((length, is_last)) = handler.body(stream, most) else {
            self.reset(handler, id, CANCEL, StreamEnd::Cancelled);
            return false;
        };
        let flags = if is_last { frame::END_STREAM } else { 0 };
        put_header(out, length, frame::DATA, flags, id);
        handler.put_body(stream, length, out);
        handler.sent(stream, Frame { kind: FrameKind::Data, length, ends_stream: is_last });
        open.send_window -= length as i64;
        self.send_window -= length as i64;
        open.is_sending = !is_last;
        if !is_last {
            self.sending.push_back(id);
        } else if open.has_ended {
            self.close(handler, id, StreamEnd::Complete);
        }
        true
    }
}
