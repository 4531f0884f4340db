//! What the frames of the server mean, and what the client sends.
//!
//! Rules that a stream breaks end the stream, and those of the connection end that, as RFC 9113 has it.

mod control;
mod requests;
mod responses;

use std::collections::VecDeque;

use self::requests::Waiting;
use self::responses::PartialHead;
use super::breach::Breach;
use super::due::Due;
use super::flow::ReceiveWindow;
use super::frame::{self, FrameHeader};
use super::head::Heads;
use super::reader::Part;
use super::settings::{ClientSettings, DEFAULT_WINDOW, ServerLimits};
use super::streams::OpenStreams;
use super::{ClientHandler, StreamEnd};
use crate::hpack::Encoder;
use crate::{Frame, FrameKind, LARGEST_WINDOW, Stream};

/// The most frames in a row that are of no use to an open stream. A server that has just been told of a reset
/// has sent fewer.
const MOST_USELESS: usize = 10_000;

/// See the module.
pub(super) struct Session {
    settings: ClientSettings,
    server: ServerLimits,
    heads: Heads,
    encoder: Encoder,
    /// The block of the request that is being sent; kept for its memory.
    block: Vec<u8>,
    streams: OpenStreams,
    /// Requests for which the server takes no stream yet.
    waiting: VecDeque<Waiting>,
    /// Streams with more of a body to send, in turns.
    sending: VecDeque<i32>,
    due: Due,
    partial: PartialHead,
    send_window: i64,
    receive_window: ReceiveWindow,
    /// The number of the next stream, and of the last one that was sent.
    next: i32,
    sent: i32,
    has_sent_preface: bool,
    /// The last stream that the server processes.
    goaway: Option<i32>,
    is_acknowledged: bool,
    /// Acknowledgements that are due.
    answers: usize,
    useless: usize,
    breach: Option<Breach>,
}

impl Session {
    pub(super) fn new(settings: ClientSettings) -> Self {
        debug_assert!((DEFAULT_WINDOW..=LARGEST_WINDOW).contains(&settings.window));
        let mut due = Due::default();
        due.frame(frame::SETTINGS, 0, 0, &settings.payload());
        if settings.window > DEFAULT_WINDOW {
            due.window_update(0, settings.window - DEFAULT_WINDOW);
        }
        Self {
            settings,
            server: ServerLimits::new(),
            heads: Heads::new(settings.longest_head),
            encoder: Encoder::new(),
            block: Vec::new(),
            streams: OpenStreams::new(),
            waiting: VecDeque::new(),
            sending: VecDeque::new(),
            due,
            partial: PartialHead::default(),
            send_window: DEFAULT_WINDOW.into(),
            receive_window: ReceiveWindow::new(settings.window),
            next: 1,
            sent: 0,
            has_sent_preface: false,
            goaway: None,
            is_acknowledged: false,
            answers: 0,
            useless: 0,
            breach: None,
        }
    }

    pub(super) fn breach(&self) -> Option<Breach> {
        self.breach
    }

    pub(super) fn has_to_send(&self) -> bool {
        !self.due.is_empty()
    }

    pub(super) fn window(&mut self, stream: i32) -> i64 {
        let window = self.streams.find(stream).map_or(0, |open| open.send_window);
        window.min(self.send_window)
    }

    pub(super) fn connection_window(&self) -> i64 {
        self.send_window
    }

    pub(super) fn window_left(&self) -> u32 {
        self.receive_window.left()
    }

    pub(super) fn most_streams(&self) -> Option<u32> {
        self.server.max_streams
    }

    /// Ends the connection.
    pub(super) fn fail(&mut self, breach: Breach) {
        // No stream of the server was processed: it has none.
        let payload = [0u32.to_be_bytes(), breach.code().to_be_bytes()].concat();
        self.due.frame(frame::GOAWAY, 0, 0, &payload);
        self.breach = Some(breach);
    }

    /// Takes a part of what the server has sent.
    #[inline]
    pub(super) fn take<H: ClientHandler>(
        &mut self,
        handler: &mut H,
        part: Part<'_>,
    ) -> Result<(), Breach> {
        match part {
            Part::Frame(header, payload) => {
                self.check(header)?;
                self.frame(handler, header, payload)
            }
            Part::Data { header, bytes, is_first, is_last } => {
                if is_first {
                    self.check(header)?;
                    self.begin_data(handler, header)?;
                }
                self.data(handler, header, bytes, is_last)
            }
        }
    }

    /// What must hold of each frame.
    fn check(&self, header: FrameHeader) -> Result<(), Breach> {
        let FrameHeader { kind, stream, .. } = header;
        if !self.server.have_come && kind != frame::SETTINGS {
            return Err(Breach::protocol("another frame before the server's SETTINGS"));
        }
        if self
            .partial
            .header
            .is_some_and(|begun| (kind, stream) != (frame::CONTINUATION, begun.stream))
        {
            return Err(Breach::protocol("another frame within a head"));
        }
        match kind {
            frame::SETTINGS | frame::PING | frame::GOAWAY if stream != 0 => {
                Err(Breach::protocol("a frame about the connection on a stream"))
            }
            frame::DATA..=frame::RST_STREAM | frame::CONTINUATION if stream == 0 => {
                Err(Breach::protocol("a frame of a stream without the stream's number"))
            }
            frame::DATA | frame::HEADERS | frame::RST_STREAM | frame::WINDOW_UPDATE
                if stream != 0 && (stream % 2 == 0 || stream > self.sent) =>
            {
                Err(Breach::protocol("a frame on a stream that the client has not opened"))
            }
            _ => Ok(()),
        }
    }

    fn frame<H: ClientHandler>(
        &mut self,
        handler: &mut H,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<(), Breach> {
        match header.kind {
            frame::HEADERS => return self.headers(handler, header, payload),
            frame::CONTINUATION => return self.continuation(handler, header, payload),
            frame::GOAWAY => return self.goaway(handler, payload),
            frame::PUSH_PROMISE => {
                return Err(Breach::protocol(
                    "a pushed response, which the client's SETTINGS forbid",
                ));
            }
            frame::PRIORITY if payload.len() != 5 => {
                return Err(Breach::size("PRIORITY of a wrong length"));
            }
            frame::SETTINGS => self.settings(header, payload)?,
            frame::PING => self.ping(header, payload)?,
            frame::WINDOW_UPDATE => self.window_update(handler, header, payload)?,
            frame::RST_STREAM => self.rst_stream(handler, header, payload)?,
            // RFC 7540's priorities, and frames that are not known here.
            _ => self.useless()?,
        }
        let kind = match header.kind {
            frame::SETTINGS => FrameKind::Settings,
            _ => FrameKind::Other,
        };
        let frame = Frame { kind, length: payload.len(), ends_stream: false };
        handler.received(self.stream(header.stream), frame);
        Ok(())
    }

    /// A stream with its tag, or without one where it is not open.
    fn stream(&mut self, id: i32) -> Stream {
        Stream { id, tag: self.streams.find(id).map_or(0, |open| open.tag) }
    }

    /// Notes a frame that is of no use to an open stream.
    fn useless(&mut self) -> Result<(), Breach> {
        self.useless += 1;
        match self.useless > MOST_USELESS {
            true => Err(Breach::flood("more than 10,000 frames in a row that are of no use")),
            false => Ok(()),
        }
    }

    /// Ends a stream with an error.
    fn reset<H: ClientHandler>(&mut self, handler: &mut H, id: i32, code: u32, end: StreamEnd) {
        self.due.frame(frame::RST_STREAM, 0, id, &code.to_be_bytes());
        self.close(handler, id, end);
    }

    fn close<H: ClientHandler>(&mut self, handler: &mut H, id: i32, end: StreamEnd) {
        if let Some(open) = self.streams.remove(id) {
            if open.is_sending {
                self.sending.retain(|sending| *sending != id);
            }
            handler.closed(Stream { id, tag: open.tag }, end);
            self.open_waiting();
        }
    }
}
