//! A connection of HTTP/3: its streams, as they come from QUIC and go there.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use counters::CounterRow;
use http3::{Breach, ControlEvent, ErrorCode, Fields, PeerStreams, Side, frame};
use quinn_proto::{Dir, Event, ReadError, StreamEvent, StreamId, VarInt};
use tls::SendMode;

use super::config::FIRST_STREAMS;
use super::exchange::{Exchange, Heads, Sent};
use crate::answer::MAX_STREAMS;
use crate::content::Contents;

/// See the module.
pub(super) struct Connection {
    pub(super) quic: quinn_proto::Connection,
    /// The client's unidirectional streams.
    peer: PeerStreams,
    control: Option<StreamId>,
    exchanges: HashMap<StreamId, Exchange>,
    /// The requests from this one on were not looked at, once the client was told to send no more.
    first_unseen: u64,
    is_draining: bool,
    /// Whether it is in the queue of those that can go on.
    pub(super) is_queued: bool,
}

/// What all connections of a thread use.
pub(super) struct Shared<'a> {
    pub(super) contents: &'a Contents,
    pub(super) row: Option<CounterRow>,
    pub(super) now: Instant,
    /// How long the head of a request may take.
    pub(super) timeout: Duration,
    /// Where heads are decoded.
    pub(super) fields: Fields,
    pub(super) heads: Heads,
}

impl Connection {
    pub(super) fn new(quic: quinn_proto::Connection) -> Self {
        Self {
            quic,
            peer: PeerStreams::new(Side::Client),
            control: None,
            exchanges: HashMap::new(),
            first_unseen: 0,
            is_draining: false,
            is_queued: false,
        }
    }

    /// Takes what has come, and writes what its streams have room for.
    pub(super) fn turn(&mut self, shared: &mut Shared<'_>) {
        while let Some(event) = self.quic.poll() {
            let outcome = match event {
                Event::Connected => {
                    if let Some(row) = shared.row {
                        row.count_connection(SendMode::User);
                    }
                    self.open_control();
                    Ok(())
                }
                Event::Stream(event) => self.stream(event, shared),
                Event::HandshakeDataReady
                | Event::ConnectionLost { .. }
                | Event::DatagramReceived
                | Event::DatagramsUnblocked => Ok(()),
            };
            if let Err(breach) = outcome {
                self.close(breach.code, breach.what, shared.now);
            }
        }
        if self.is_draining && self.exchanges.is_empty() {
            self.close(ErrorCode::NoError, "", shared.now);
        }
    }

    /// The server stops: no more requests are taken, and those that are there are answered.
    pub(super) fn drain(&mut self, shared: &mut Shared<'_>) {
        self.is_draining = true;
        if let Some(control) = self.control {
            let mut goaway = Vec::new();
            frame::put_goaway(&mut goaway, self.first_unseen);
            // The connection ends anyway where there is no room for that.
            let _ = self.quic.send_stream(control).write(&goaway);
        }
        self.turn(shared);
    }

    fn open_control(&mut self) {
        let Some(control) = self.quic.streams().open(Dir::Uni) else { return };
        let mut begin = Vec::new();
        http3::put_control_stream(&mut begin);
        // A client that leaves no room for it gets no SETTINGS, and is free to mind that.
        let _ = self.quic.send_stream(control).write(&begin);
        self.control = Some(control);
    }

    fn stream(&mut self, event: StreamEvent, shared: &mut Shared<'_>) -> Result<(), Breach> {
        match event {
            StreamEvent::Opened { dir } => {
                while let Some(id) = self.quic.streams().accept(dir) {
                    self.readable(id, shared)?;
                    self.allow_more();
                }
                Ok(())
            }
            StreamEvent::Readable { id } => self.readable(id, shared),
            StreamEvent::Writable { id } => {
                self.write(id);
                Ok(())
            }
            StreamEvent::Finished { id } => {
                self.exchanges.remove(&id);
                Ok(())
            }
            StreamEvent::Stopped { id, .. } if Some(id) == self.control => {
                Err(Breach::new(ErrorCode::ClosedCriticalStream, "the control stream is not read"))
            }
            StreamEvent::Stopped { id, .. } => {
                self.abandon(id, ErrorCode::RequestCancelled);
                Ok(())
            }
            StreamEvent::Available { .. } => Ok(()),
        }
    }

    /// Allows a client that has many requests open as many as any may have.
    fn allow_more(&mut self) {
        let has_many = self.exchanges.len() >= FIRST_STREAMS as usize / 2;
        if has_many && self.quic.max_concurrent_streams(Dir::Bi) < MAX_STREAMS.into() {
            self.quic.set_max_concurrent_streams(Dir::Bi, MAX_STREAMS.into());
        }
    }

    fn readable(&mut self, id: StreamId, shared: &mut Shared<'_>) -> Result<(), Breach> {
        match id.dir() {
            Dir::Uni => self.unidirectional(id),
            Dir::Bi => match self.request(id, shared) {
                Err(breach) if breach.code.ends_only_stream() => {
                    self.abandon(id, breach.code);
                    Ok(())
                }
                outcome => outcome,
            },
        }
    }

    /// Reads a stream of the client that carries no request.
    fn unidirectional(&mut self, id: StreamId) -> Result<(), Breach> {
        let mut stream = self.quic.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return Ok(()) };
        let number = u64::from(VarInt::from(id));
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    let mut bytes = &chunk.bytes[..];
                    while let Some(event) = self.peer.next(number, &mut bytes)? {
                        if event == ControlEvent::UnknownStream {
                            drop(chunks);
                            let _ = stream.stop(code(ErrorCode::StreamCreationError));
                            return Ok(());
                        }
                    }
                }
                Err(ReadError::Blocked) => return Ok(()),
                Ok(None) | Err(ReadError::Reset(_)) => return self.peer.end(number),
            }
        }
    }

    /// Reads more of a request, and answers it where it has ended.
    fn request(&mut self, id: StreamId, shared: &mut Shared<'_>) -> Result<(), Breach> {
        if self.is_draining && id.index() * 4 >= self.first_unseen {
            return Err(Breach::new(ErrorCode::RequestRejected, "a request after GOAWAY"));
        }
        self.first_unseen = self.first_unseen.max((id.index() + 1) * 4);
        let mut stream = self.quic.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return Ok(()) };
        let exchange = self.exchanges.entry(id).or_insert_with(|| Exchange::new(shared.now));
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    exchange.receive(&chunk.bytes, &mut shared.fields, shared.contents)?;
                }
                Err(ReadError::Blocked) if exchange.is_late(shared.now, shared.timeout) => {
                    let what = "a head that takes longer than the server waits";
                    return Err(Breach::new(ErrorCode::RequestRejected, what));
                }
                Err(ReadError::Blocked) => return Ok(()),
                Err(ReadError::Reset(_)) => {
                    let what = "a request that its client has reset";
                    return Err(Breach::new(ErrorCode::RequestCancelled, what));
                }
                Ok(None) => break,
            }
        }
        drop(chunks);
        exchange.respond(&mut shared.heads)?;
        if let Some(row) = shared.row {
            row.count_requests(true, 1);
        }
        self.write(id);
        Ok(())
    }

    /// Sends more of a response.
    fn write(&mut self, id: StreamId) {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return };
        if exchange.is_responding() && exchange.send(&mut self.quic.send_stream(id)) == Sent::Broken
        {
            self.abandon(id, ErrorCode::InternalError);
        }
    }

    /// Ends a stream in both directions, unanswered.
    fn abandon(&mut self, id: StreamId, why: ErrorCode) {
        // Either direction may have ended already.
        let _ = self.quic.recv_stream(id).stop(code(why));
        let _ = self.quic.send_stream(id).reset(code(why));
        self.exchanges.remove(&id);
    }

    fn close(&mut self, why: ErrorCode, what: &'static str, now: Instant) {
        if !self.quic.is_closed() {
            self.quic.close(now, code(why), Bytes::from_static(what.as_bytes()));
        }
    }
}

fn code(code: ErrorCode) -> VarInt {
    VarInt::from_u32(code as u32)
}
