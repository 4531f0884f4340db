//! Frames about the connection, and those about a stream that are no part of a response (RFC 9113, sections 6.4
//! to 6.9).

use super::breach::{Breach, Taken};
use super::frame::{self, FrameHeader, number31};
use super::{Client, ClientHandler, StreamEnd};
use crate::error_code::{FLOW_CONTROL_ERROR, PROTOCOL_ERROR};
use crate::{Frame, FrameKind, LARGEST_WINDOW, Stream};

/// The most frames to acknowledge that may come before the client has sent anything.
const MOST_ANSWERS: usize = 1000;

impl<H: ClientHandler> Client<H> {
    pub(super) fn settings(&mut self, header: FrameHeader, payload: &[u8]) -> Taken {
        if header.has(frame::ACK) {
            if !payload.is_empty() {
                return Err(Breach::size("an acknowledgement of SETTINGS that is not empty"));
            }
            return match std::mem::replace(&mut self.is_acknowledged, true) {
                false if self.server.have_come => Ok(()),
                _ => Err(Breach::protocol("an acknowledgement of SETTINGS that were not sent")),
            };
        }
        let before = i64::from(self.server.window);
        self.server.take(payload)?;
        let change = i64::from(self.server.window) - before;
        for open in self.streams.iter_mut().filter(|_| change != 0) {
            open.send_window += change;
            if open.send_window > LARGEST_WINDOW.into() {
                return Err(Breach::flow("SETTINGS that make a window larger than 2^31 - 1"));
            }
        }
        self.server.table.into_iter().for_each(|size| self.encoder.resize(size));
        self.answer(frame::SETTINGS, &[])?;
        self.open_waiting();
        Ok(())
    }

    pub(super) fn ping(&mut self, header: FrameHeader, payload: &[u8]) -> Taken {
        if payload.len() != 8 {
            return Err(Breach::size("PING of a wrong length"));
        }
        if header.has(frame::ACK) { Ok(()) } else { self.answer(frame::PING, payload) }
    }

    /// Acknowledges a frame.
    fn answer(&mut self, kind: u8, payload: &[u8]) -> Taken {
        self.answers += 1;
        if self.answers > MOST_ANSWERS {
            return Err(Breach::flood("more than 1,000 frames of SETTINGS and PING at once"));
        }
        self.due.frame(kind, frame::ACK, 0, payload);
        Ok(())
    }

    pub(super) fn window_update(
        &mut self,
        handler: &mut H,
        header: FrameHeader,
        payload: &[u8],
    ) -> Taken {
        let increment =
            payload.try_into().map_err(|_| Breach::size("WINDOW_UPDATE of a wrong length"))?;
        let increment = i64::from(number31(increment));
        const NOTHING: &str = "WINDOW_UPDATE by nothing";
        const TOO_LARGE: &str = "WINDOW_UPDATE that makes a window larger than 2^31 - 1";
        if header.stream == 0 {
            self.send_window += increment;
            return match self.send_window {
                _ if increment == 0 => Err(Breach::protocol(NOTHING)),
                window if window > LARGEST_WINDOW.into() => Err(Breach::flow(TOO_LARGE)),
                _ => Ok(()),
            };
        }
        let Some(open) = self.streams.find(header.stream) else { return self.useless() };
        open.send_window += increment;
        let (code, what) = match open.send_window {
            _ if increment == 0 => (PROTOCOL_ERROR, NOTHING),
            window if window > LARGEST_WINDOW.into() => (FLOW_CONTROL_ERROR, TOO_LARGE),
            _ => return Ok(()),
        };
        self.reset(handler, header.stream, code, StreamEnd::Malformed(what));
        Ok(())
    }

    pub(super) fn rst_stream(
        &mut self,
        handler: &mut H,
        header: FrameHeader,
        payload: &[u8],
    ) -> Taken {
        let code = payload.try_into().map_err(|_| Breach::size("RST_STREAM of a wrong length"))?;
        if self.streams.find(header.stream).is_none() {
            return self.useless();
        }
        self.close(handler, header.stream, StreamEnd::Reset(u32::from_be_bytes(code)));
        Ok(())
    }

    pub(super) fn goaway(&mut self, handler: &mut H, payload: &[u8]) -> Taken {
        let ([last, error, ..], _) = payload.as_chunks::<4>() else {
            return Err(Breach::size("GOAWAY of a wrong length"));
        };
        let (last, error) = (number31(*last) as i32, u32::from_be_bytes(*error));
        if self.goaway.is_some_and(|before| last > before) {
            return Err(Breach::protocol("GOAWAY with a later last stream than before"));
        }
        self.goaway = Some(last);
        let frame =
            Frame { kind: FrameKind::Goaway { error }, length: payload.len(), ends_stream: false };
        handler.received(Stream { id: 0, tag: 0 }, frame);
        self.leave_out(handler, last);
        Ok(())
    }
}
