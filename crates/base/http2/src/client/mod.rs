//! The client's side of a connection (RFC 9113): a codec without sockets.
//!
//! Received bytes are cut into frames (`reader`), and each frame has its effect: on the connection (`control`), or
//! as a part of a response (`responses`). What repeats is cheap: a head whose bytes are those of a former one is
//! neither decoded (`heads`) nor encoded again (`crate::hpack`), a stream is found by its number (`streams`), and
//! bodies are handed on where they are. Nothing is allocated for a request or a frame once the buffers are as large
//! as they get. Rules that a stream breaks end the stream, and those of the connection end that.

mod breach;
mod control;
mod due;
mod flow;
mod frame;
mod heads;
mod partial_head;
mod position;
mod reader;
mod requests;
mod responses;
mod settings;
mod streams;
mod waiting;
mod walk;

use std::collections::VecDeque;
use std::marker::PhantomData;

pub use breach::Breach;
pub use heads::Head;
pub use position::{Dropped, Position};
pub use settings::ClientSettings;
pub use waiting::NoMoreRequests;

use self::breach::Taken;
use self::due::Due;
use self::flow::ReceiveWindow;
use self::frame::FrameHeader;
use self::heads::Heads;
use self::partial_head::PartialHead;
use self::reader::{FrameReader, Part};
use self::settings::{DEFAULT_WINDOW, ServerLimits};
use self::streams::OpenStreams;
use self::waiting::Waiting;
use crate::hpack::{Encoder, Fields};
use crate::{Frame, FrameKind, LARGEST_WINDOW, Stream};

/// What a client's session calls. All of it comes in the order in which it was received or sent.
pub trait ClientHandler {
    /// A head or trailers, whose fields are as RFC 9113 wants them. A stream that has ended has no tag.
    fn head(&mut self, _stream: Stream, _head: Head<'_>) {}

    /// A part of a body.
    fn data(&mut self, _stream: Stream, _bytes: &[u8]) {}

    /// A frame has come whole; after what was in it.
    fn received(&mut self, _stream: Stream, _frame: Frame) {}

    /// A frame is among the bytes to send.
    fn sent(&mut self, _stream: Stream, _frame: Frame) {}

    /// A stream has ended, or never began.
    fn closed(&mut self, _stream: Stream, _end: StreamEnd) {}

    /// How many bytes of a body the next DATA frame carries, at most `most`, and whether they are the last;
    /// `None` where there is no such body.
    fn body(&mut self, _stream: Stream, _most: usize) -> Option<(usize, bool)> {
        None
    }

    /// Appends as many bytes as [`Self::body`] has just announced.
    fn put_body(&mut self, _stream: Stream, _length: usize, _out: &mut Vec<u8>) {}
}

/// Why a stream is no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// Both sides have sent all.
    Complete,
    /// The server has reset it, with this code.
    Reset(u32),
    /// The client has reset it, because the server broke this rule.
    Malformed(&'static str),
    /// The caller gave it up.
    Cancelled,
    /// A GOAWAY says that the server has not begun with the request.
    LeftOut,
    /// A GOAWAY came before the request was sent.
    NotSent,
}

/// The most frames in a row that are of no use to an open stream. A server that has just been told of a reset
/// has sent fewer.
const MOST_USELESS: usize = 10_000;

/// A client's session: it sends requests, and each is a stream.
pub struct Client<H> {
    reader: FrameReader,
    settings: ClientSettings,
    server: ServerLimits,
    heads: Heads,
    encoder: Encoder,
    /// The block of the request that is being sent; kept for its memory.
    block: Vec<u8>,
    streams: OpenStreams,
    /// Requests for which the server takes no stream yet.
    waiting: VecDeque<Waiting>,
    /// The memory of those that have waited.
    spare: Vec<Fields>,
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
    handler: PhantomData<fn(&mut H)>,
}

impl<H: ClientHandler> Client<H> {
    /// A session whose preface and SETTINGS are due.
    pub fn new(settings: ClientSettings) -> Self {
        debug_assert!((DEFAULT_WINDOW..=LARGEST_WINDOW).contains(&settings.window));
        let mut due = Due::default();
        due.frame(frame::SETTINGS, 0, 0, &settings.payload());
        if settings.window > DEFAULT_WINDOW {
            due.window_update(0, settings.window - DEFAULT_WINDOW);
        }
        Self {
            reader: FrameReader::new(settings.max_frame),
            settings,
            server: ServerLimits::new(),
            heads: Heads::new(settings.longest_head),
            encoder: Encoder::new(),
            block: Vec::new(),
            streams: OpenStreams::new(),
            waiting: VecDeque::new(),
            spare: Vec::new(),
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
            handler: PhantomData,
        }
    }

    /// Takes received bytes, all of them; none after a breach.
    pub fn receive(&mut self, handler: &mut H, mut bytes: &[u8]) {
        // Its parts are lent while the rest of the session takes them.
        let mut reader = std::mem::take(&mut self.reader);
        while self.breach.is_none() {
            let taken = match reader.next(&mut bytes) {
                Ok(None) => break,
                Ok(Some(part)) => self.take(handler, part),
                Err(breach) => Err(breach),
            };
            if let Err(breach) = taken {
                self.fail(breach);
            }
        }
        self.reader = reader;
    }

    /// What the server did wrong, where the session cannot go on for that.
    pub fn breach(&self) -> Option<Breach> {
        self.breach
    }

    /// Whether a frame other than DATA is due.
    pub fn has_to_send(&self) -> bool {
        !self.due.is_empty()
    }

    /// How much of a stream's body the server's windows let through now: the smaller one of the stream's
    /// and the connection's.
    pub fn window(&mut self, stream: i32) -> i64 {
        let window = self.streams.find(stream).map_or(0, |open| open.send_window);
        window.min(self.send_window)
    }

    /// How much of this side's window for the whole connection is left to the server.
    pub fn window_left(&self) -> u32 {
        self.receive_window.left()
    }

    /// How many streams the server takes at once, where it has announced that.
    pub fn most_streams(&self) -> Option<u32> {
        self.server.max_streams
    }

    /// Ends the connection.
    fn fail(&mut self, breach: Breach) {
        // No stream of the server was processed: it has none.
        let payload = [0u32.to_be_bytes(), breach.code().to_be_bytes()].concat();
        self.due.frame(frame::GOAWAY, 0, 0, &payload);
        self.breach = Some(breach);
    }

    /// Takes a part of what the server has sent.
    #[inline]
    fn take(&mut self, handler: &mut H, part: Part<'_>) -> Taken {
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
    fn check(&self, header: FrameHeader) -> Taken {
        let FrameHeader { kind, stream, .. } = header;
        if !self.server.have_come && kind != frame::SETTINGS {
            return Err(Breach::protocol("another frame before the server's SETTINGS"));
        }
        let next = self.partial.header.map(|begun| (frame::CONTINUATION, begun.stream));
        if next.is_some_and(|next| (kind, stream) != next) {
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

    fn frame(&mut self, handler: &mut H, header: FrameHeader, payload: &[u8]) -> Taken {
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
    fn useless(&mut self) -> Taken {
        self.useless += 1;
        match self.useless > MOST_USELESS {
            true => Err(Breach::flood("more than 10,000 frames in a row that are of no use")),
            false => Ok(()),
        }
    }

    /// Ends a stream with an error.
    fn reset(&mut self, handler: &mut H, id: i32, code: u32, end: StreamEnd) {
        self.due.frame(frame::RST_STREAM, 0, id, &code.to_be_bytes());
        self.close(handler, id, end);
    }

    fn close(&mut self, handler: &mut H, id: i32, end: StreamEnd) {
        if let Some(open) = self.streams.remove(id) {
            if open.is_sending {
                self.sending.retain(|sending| *sending != id);
            }
            handler.closed(Stream { id, tag: open.tag }, end);
            self.open_waiting();
        }
    }
}
