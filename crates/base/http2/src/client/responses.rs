//! Responses: their heads, bodies and trailers (RFC 9113, sections 6.1, 6.2, 6.10 and 8.1).

use super::breach::{Breach, MOST_CONTINUATIONS, Taken};
use super::frame::{self, FrameHeader};
use super::partial_head::PartialHead;
use super::streams::Open;
use super::{Client, ClientHandler, StreamEnd};
use crate::error_code::PROTOCOL_ERROR;
use crate::{Frame, FrameKind, Stream};

impl<H: ClientHandler> Client<H> {
    pub(super) fn headers(
        &mut self,
        handler: &mut H,
        header: FrameHeader,
        payload: &[u8],
    ) -> Taken {
        let fragment = header.fragment(payload)?;
        if header.has(frame::END_HEADERS) {
            return self.head(handler, header, fragment, payload.len());
        }
        self.partial.header = Some(header);
        self.partial.block.extend_from_slice(fragment);
        (self.partial.length, self.partial.continuations) = (payload.len(), 0);
        Ok(())
    }

    pub(super) fn continuation(
        &mut self,
        handler: &mut H,
        header: FrameHeader,
        payload: &[u8],
    ) -> Taken {
        let Some(begun) = self.partial.header else {
            return Err(Breach::protocol("CONTINUATION without a head"));
        };
        self.partial.continuations += 1;
        if self.partial.continuations > MOST_CONTINUATIONS {
            return Err(Breach::ManyContinuations);
        }
        self.partial.length += payload.len();
        self.partial.block.extend_from_slice(payload);
        if !header.has(frame::END_HEADERS) {
            return Ok(());
        }
        let PartialHead { block, length, .. } = std::mem::take(&mut self.partial);
        self.head(handler, begun, &block, length)
    }

    /// Takes a whole header block.
    #[inline]
    fn head(&mut self, handler: &mut H, header: FrameHeader, block: &[u8], length: usize) -> Taken {
        // It changes the table, whatever the stream is.
        let head = self.heads.read(block)?;
        let id = header.stream;
        let (stream, taken) = match self.streams.find(id) {
            None => (Stream { id, tag: 0 }, Ok(())),
            Some(open) if open.has_ended => {
                return Err(Breach::closed("a head on a stream that the server has ended"));
            }
            Some(open) => {
                let stream = Stream { id, tag: open.tag };
                let take = |status| takes_head(open, status, header.ends_stream());
                (stream, head.known().and_then(take))
            }
        };
        match taken {
            Ok(()) => handler.head(stream, head),
            Err(what) => {
                self.reset(handler, id, PROTOCOL_ERROR, StreamEnd::Malformed(what));
            }
        }
        self.end_frame(handler, header, FrameKind::Headers, length)
    }

    pub(super) fn begin_data(&mut self, handler: &mut H, header: FrameHeader) -> Taken {
        if let Some(increment) = self.receive_window.take(header.length) {
            self.due.window_update(0, increment);
        }
        let id = header.stream;
        let Some(open) = self.streams.find(id) else { return Ok(()) };
        if open.has_ended {
            return Err(Breach::closed("DATA on a stream that the server has ended"));
        }
        if !open.has_head {
            let end = StreamEnd::Malformed("DATA before the response's head");
            self.reset(handler, id, PROTOCOL_ERROR, end);
        } else if let Some(increment) = open.receive_window.take(header.length) {
            self.due.window_update(id, increment);
        }
        Ok(())
    }

    #[inline]
    pub(super) fn data(
        &mut self,
        handler: &mut H,
        header: FrameHeader,
        bytes: &[u8],
        is_last: bool,
    ) -> Taken {
        if let Some(open) = self.streams.find(header.stream)
            && !bytes.is_empty()
        {
            handler.data(Stream { id: open.id, tag: open.tag }, bytes);
        }
        match is_last {
            true => self.end_frame(handler, header, FrameKind::Data, header.length as usize),
            false => Ok(()),
        }
    }

    /// A frame of a response has come whole.
    fn end_frame(
        &mut self,
        handler: &mut H,
        header: FrameHeader,
        kind: FrameKind,
        length: usize,
    ) -> Taken {
        let (id, ends_stream) = (header.stream, header.ends_stream());
        let frame = Frame { kind, length, ends_stream };
        let Some(open) = self.streams.find(id) else {
            handler.received(Stream { id, tag: 0 }, frame);
            return self.useless();
        };
        self.useless = 0;
        open.has_ended = ends_stream;
        let is_complete = ends_stream && !open.is_sending;
        handler.received(Stream { id, tag: open.tag }, frame);
        if is_complete {
            self.close(handler, id, StreamEnd::Complete);
        }
        Ok(())
    }
}

/// Notes a head with this status, or trailers, unless it may not come now.
fn takes_head(open: &mut Open, status: Option<u16>, ends_stream: bool) -> Result<(), &'static str> {
    match (status, open.has_head) {
        (Some(101), false) => Err("101 Switching Protocols, which HTTP/2 does not have"),
        (Some(100..200), false) if ends_stream => Err("an interim head that ends the stream"),
        (Some(100..200), false) => Ok(()),
        (Some(_), false) => {
            open.has_head = true;
            Ok(())
        }
        (None, false) => Err("a head without :status"),
        (Some(_), true) => Err("a second head of one response"),
        (None, true) if !ends_stream => Err("trailers that do not end the stream"),
        (None, true) => Ok(()),
    }
}
