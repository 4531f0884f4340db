//! The client's side of a connection (RFC 9113): a codec without sockets.
//!
//! Received bytes are cut into frames (`reader`), and the session does what each frame asks for (`session`). What
//! repeats is cheap: a head whose bytes are those of a former one is neither decoded (`head`) nor encoded again
//! (crate::hpack), a stream is found by its number (`streams`), and bodies are handed on where they are. Nothing
//! is allocated for a request or a frame once the buffers are as large as they get.

mod breach;
mod due;
mod flow;
mod frame;
mod head;
mod reader;
mod session;
mod settings;
mod streams;

pub use breach::Breach;
pub use head::Head;
pub use settings::ClientSettings;

use crate::{Frame, Stream};
use reader::FrameReader;
use session::Session;

/// The most frames in which a head goes on. A server that fills its frames has sent 1 MiB then.
pub const MOST_CONTINUATIONS: usize = 64;

/// What a client's session calls. All of it comes in the order in which it was received or sent.
pub trait ClientHandler {
    /// A head or trailers, whose fields are as RFC 9113 wants them. A stream that has ended has no tag.
    fn head(&mut self, _stream: Stream, _head: &Head) {}

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

/// The server takes no more requests on this connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoMoreRequests;

/// A client's session: it sends requests, and each is a stream.
pub struct Client {
    reader: FrameReader,
    session: Session,
}

impl Client {
    /// A session whose preface and SETTINGS are due.
    pub fn new(settings: ClientSettings) -> Self {
        Self { reader: FrameReader::new(settings.max_frame), session: Session::new(settings) }
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
        self.session.request(fields, tag, has_body)
    }

    /// Takes received bytes, all of them; none after a breach.
    pub fn receive<H: ClientHandler>(&mut self, handler: &mut H, mut bytes: &[u8]) {
        while self.session.breach().is_none() {
            let taken = match self.reader.next(&mut bytes) {
                Ok(None) => return,
                Ok(Some(part)) => self.session.take(handler, part),
                Err(breach) => Err(breach),
            };
            if let Err(breach) = taken {
                self.session.fail(breach);
            }
        }
    }

    /// Appends what is due to `out`. No more DATA is added when that holds `enough` bytes.
    pub fn send<H: ClientHandler>(&mut self, handler: &mut H, out: &mut Vec<u8>, enough: usize) {
        self.session.send(handler, out, enough);
    }

    /// Gives a request up.
    pub fn cancel<H: ClientHandler>(&mut self, handler: &mut H, stream: i32) {
        self.session.cancel(handler, stream);
    }

    /// What the server did wrong, where the session cannot go on for that.
    pub fn breach(&self) -> Option<Breach> {
        self.session.breach()
    }

    /// Whether a frame other than DATA is due.
    pub fn has_to_send(&self) -> bool {
        self.session.has_to_send()
    }

    /// How much of a stream's body the server's windows let through now: the smaller one of the stream's
    /// and the connection's.
    pub fn window(&mut self, stream: i32) -> i64 {
        self.session.window(stream)
    }

    /// How much of any body the server's window for the whole connection lets through now.
    pub fn connection_window(&self) -> i64 {
        self.session.connection_window()
    }

    /// How much of this side's window for the whole connection is left to the server.
    pub fn window_left(&self) -> u32 {
        self.session.window_left()
    }

    /// Whether the server takes more requests: not after a GOAWAY, and not after 2^30 of them.
    pub fn takes_requests(&self) -> bool {
        self.session.takes_requests()
    }

    /// How many streams the server takes at once, where it has announced that.
    pub fn most_streams(&self) -> Option<u32> {
        self.session.most_streams()
    }
}
