//! What the server sends on its streams: control, and responses.

use http3::{Breach, ControlEvent, ErrorCode};
use quinn_proto::{Dir, ReadError, StreamEvent, StreamId, VarInt};
use wire::{ErrorKind, Failure};

use super::requests::{Exchange, Request, name_of};
use super::{Http3, code, failure};
use crate::connection::streams::Streams;
use crate::context::Context;
use crate::retry::Unanswered;

impl Http3 {
    /// Does what follows from something that happened to a stream.
    pub(super) fn stream(
        &mut self,
        context: &mut Context<'_>,
        event: StreamEvent,
    ) -> Result<(), Breach> {
        match event {
            StreamEvent::Opened { dir } => {
                while let Some(id) = self.quic.streams().accept(dir) {
                    self.unidirectional(id)?;
                }
                Ok(())
            }
            StreamEvent::Readable { id } if id.dir() == Dir::Uni => self.unidirectional(id),
            StreamEvent::Readable { id } => self.response(context, id),
            StreamEvent::Writable { id } => {
                if let Some(place) = self.place(id) {
                    self.write(context, id, place);
                }
                Ok(())
            }
            StreamEvent::Available { dir: Dir::Bi } => {
                self.open_waiting(context);
                Ok(())
            }
            StreamEvent::Stopped { id, error_code } => {
                self.stopped(id, error_code);
                Ok(())
            }
            StreamEvent::Available { dir: Dir::Uni } | StreamEvent::Finished { .. } => Ok(()),
        }
    }

    /// Reads a stream of the server that carries no response.
    fn unidirectional(&mut self, id: StreamId) -> Result<(), Breach> {
        let mut stream = self.quic.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return Ok(()) };
        let number = VarInt::from(id).into_inner();
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    let mut bytes = &chunk.bytes[..];
                    while let Some(event) = self.peer.next(number, &mut bytes)? {
                        match event {
                            ControlEvent::Settings(_) => {}
                            ControlEvent::Goaway(from) => {
                                self.has_gone_away = true;
                                goes_away(&mut self.streams, from);
                            }
                            ControlEvent::UnknownStream => {
                                drop(chunks);
                                let _ = stream.stop(code(ErrorCode::StreamCreationError));
                                return Ok(());
                            }
                        }
                    }
                }
                Err(ReadError::Blocked) => return Ok(()),
                Ok(None) | Err(ReadError::Reset(_)) => return self.peer.end(number),
            }
        }
    }

    /// Reads more of a response.
    fn response(&mut self, context: &mut Context<'_>, id: StreamId) -> Result<(), Breach> {
        let Some(place) = self.place(id) else { return Ok(()) };
        let Some(heads) = context.quic.as_mut().map(|quic| &mut quic.response_heads) else {
            return Ok(());
        };
        let mut stream = self.quic.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return Ok(()) };
        let end = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => match self.streams.receive(place, &chunk.bytes, heads) {
                    Ok(true) => {}
                    Ok(false) => break Some(Ok(())),
                    Err(breach) if breach.code.ends_only_stream() => {
                        break Some(Err(failure::of(breach)));
                    }
                    Err(breach) => return Err(breach),
                },
                Ok(None) => break None,
                Err(ReadError::Blocked) => return Ok(()),
                Err(ReadError::Reset(code)) => {
                    drop(chunks);
                    self.reset(place, id, code.into_inner());
                    return Ok(());
                }
            }
        };
        drop(chunks);
        match end {
            // It is wrong, and no more of it is read.
            Some(end) => {
                self.cancel(id);
                self.streams.ends_with(place, end);
            }
            None => {
                let Some(exchange) = self.streams.at(place) else { return Ok(()) };
                exchange.is_whole = true;
                let end = match exchange.own.response.end() {
                    Err(breach) if !breach.code.ends_only_stream() => return Err(breach),
                    end => end.map_err(failure::of),
                };
                if exchange.body_left > 0 {
                    // The rest of the request's body is of no use to a server that has answered.
                    let _ = self.quic.send_stream(id).reset(code(ErrorCode::NoError));
                }
                self.streams.ends_with(place, end);
            }
        }
        Ok(())
    }

    /// The server has reset the stream of a place with this code.
    fn reset(&mut self, place: usize, id: StreamId, code: u64) {
        let seen = format!("RESET_STREAM with {}", name_of(code));
        self.cancel(id);
        let has_begun = self.streams.get(place).is_some_and(|exchange| exchange.has_begun);
        match ErrorCode::of(code) {
            Some(ErrorCode::RequestRejected) if !has_begun => {
                let failure = Failure::new(ErrorKind::RefusedStream, seen);
                self.streams.fails(place, failure, Some(Unanswered::NotTaken));
            }
            _ => {
                self.streams.ends_with(place, Err(Failure::new(ErrorKind::StreamReset, seen)));
            }
        }
    }
}

/// Requests on streams from this number on are not answered.
fn goes_away(streams: &mut Streams<Request>, from: u64) {
    streams.counts.goaways += 1;
    let is_left_out =
        |of: &Exchange| of.own.id.is_none_or(|id| VarInt::from(id).into_inner() >= from);
    for place in streams.places(is_left_out) {
        let seen = format!("GOAWAY that left the request out, from stream {from} on");
        let failure = Failure::new(ErrorKind::Goaway, seen);
        streams.fails(place, failure, Some(Unanswered::NotTaken));
    }
}
