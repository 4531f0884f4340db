//! An endpoint of QUIC: a socket of a thread, and the connections that come over it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use counters::CounterRow;
use http3::Fields;
use quinn_proto::{ConnectionHandle, DatagramEvent, Incoming, Transmit};
use timers::Timers;

use super::config::QuicSettings;
use super::connection::{Connection, Shared};
use super::exchange::Heads;
use super::socket::UdpSocket;
use crate::content::Contents;

/// The most sends of a connection before the others get their turn.
const SENDS: usize = 4;

/// The most receives before connections get their turn.
const RECEIVES: usize = 8;

/// What an endpoint needs of its thread.
pub(crate) struct Service<'a> {
    pub(crate) contents: &'a Contents,
    pub(crate) row: Option<CounterRow>,
    pub(crate) timeout: Duration,
}

/// See the module.
pub(crate) struct Endpoint<'a> {
    quic: quinn_proto::Endpoint,
    socket: UdpSocket,
    /// By QUIC's handle.
    connections: Vec<Option<Box<Connection>>>,
    count: usize,
    most_connections: usize,
    queue: VecDeque<usize>,
    timers: Timers<Instant>,
    shared: Shared<'a>,
    /// What the datagrams of one receive were; empty in between.
    arrivals: Vec<Arrival>,
    /// Whether datagrams may wait to be received.
    is_readable: bool,
    /// What the socket had no room for.
    unsent: Option<Unsent>,
    /// Whether its owner tells when the socket has room.
    is_watched: bool,
    /// Where datagrams are put together.
    space: Vec<u8>,
    is_draining: bool,
}

/// Datagrams that wait for the socket.
struct Unsent {
    transmit: Transmit,
    bytes: Vec<u8>,
}

impl<'a> Endpoint<'a> {
    pub(crate) fn new(
        settings: &QuicSettings,
        socket: Arc<OwnedFd>,
        service: Service<'a>,
    ) -> io::Result<Self> {
        let config = Arc::new(QuicSettings::endpoint());
        let server = Some(Arc::clone(&settings.server));
        let Service { contents, row, timeout } = service;
        Ok(Self {
            quic: quinn_proto::Endpoint::new(config, server, false, None),
            socket: UdpSocket::new(socket, settings.gso, row)?,
            connections: Vec::new(),
            count: 0,
            most_connections: settings.most_connections,
            queue: VecDeque::new(),
            timers: Timers::default(),
            shared: Shared {
                contents,
                row,
                now: Instant::now(),
                timeout,
                fields: Fields::default(),
                heads: Heads::default(),
            },
            arrivals: Vec::new(),
            is_readable: true,
            unsent: None,
            is_watched: false,
            space: Vec::new(),
            is_draining: false,
        })
    }

    /// The socket has become ready.
    pub(crate) fn ready(&mut self, readable: bool, writable: bool) -> io::Result<()> {
        self.is_readable |= readable;
        match self.unsent.take_if(|_| writable) {
            Some(Unsent { transmit, bytes }) => self.send(transmit, bytes),
            None => Ok(()),
        }
    }

    /// Whether its owner is to tell from now on when the socket has room; `None` where that stays as it is.
    pub(crate) fn changes_watch(&mut self) -> Option<bool> {
        let is_watched = self.unsent.is_some();
        (std::mem::replace(&mut self.is_watched, is_watched) != is_watched).then_some(is_watched)
    }

    /// Whether it can go on without waiting.
    pub(crate) fn is_busy(&self) -> bool {
        self.unsent.is_none() && (self.is_readable || !self.queue.is_empty())
    }

    /// When it is to go on, at the latest.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Whether no connection is there.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether all connections are closed; their ends may still be acknowledged.
    pub(crate) fn is_drained(&self) -> bool {
        let mut open = self.connections.iter().flatten().filter(|one| !one.quic.is_closed());
        self.unsent.is_none() && open.next().is_none()
    }

    /// Takes no more connections or requests.
    pub(crate) fn drain(&mut self) -> io::Result<()> {
        self.is_draining = true;
        for key in 0..self.connections.len() {
            if let Some(connection) = &mut self.connections[key] {
                connection.drain(&mut self.shared);
                self.enqueue(key);
            }
        }
        self.take_turns()
    }

    /// Receives, wakes the connections whose time has come, and gives a turn to those that can go on.
    ///
    /// # Errors
    /// The socket does not do what was asked of it.
    pub(crate) fn turn(&mut self, now: Instant) -> io::Result<()> {
        self.shared.now = now;
        self.receive()?;
        while let Some(key) = self.timers.pop(now) {
            let Some(connection) = self.connections[key].as_mut() else { continue };
            match connection.quic.poll_timeout() {
                Some(due) if due > now => self.timers.set(key, due),
                Some(_) => {
                    connection.quic.handle_timeout(now);
                    self.enqueue(key);
                }
                None => {}
            }
        }
        self.take_turns()
    }

    fn receive(&mut self) -> io::Result<()> {
        // What comes is answered; where nothing can be sent, it waits in the kernel.
        for _ in 0..RECEIVES {
            if !self.is_readable || self.unsent.is_some() {
                break;
            }
            let mut arrivals = std::mem::take(&mut self.arrivals);
            let Self { quic, socket, space, shared, .. } = self;
            let received = socket.receive(|received| {
                for datagram in received.bytes.chunks(received.length) {
                    space.clear();
                    let datagram = BytesMut::from(datagram);
                    let (from, to) = (received.from, received.to);
                    match quic.handle(shared.now, from, to, received.ecn, datagram, space) {
                        Some(DatagramEvent::Response(transmit)) => {
                            arrivals.push(Arrival::Response(transmit, space.clone()));
                        }
                        Some(DatagramEvent::NewConnection(incoming)) => {
                            arrivals.push(Arrival::Connection(incoming));
                        }
                        Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                            arrivals.push(Arrival::Event(handle, event));
                        }
                        None => {}
                    }
                }
            });
            self.is_readable = received;
            arrivals.drain(..).try_for_each(|arrival| self.arrived(arrival))?;
            self.arrivals = arrivals;
        }
        Ok(())
    }

    fn arrived(&mut self, arrival: Arrival) -> io::Result<()> {
        match arrival {
            Arrival::Response(transmit, bytes) => return self.send(transmit, bytes),
            Arrival::Connection(incoming) => return self.accept(incoming),
            Arrival::Event(ConnectionHandle(key), event) => {
                if let Some(connection) = self.connections.get_mut(key).and_then(Option::as_mut) {
                    connection.quic.handle_event(event);
                    self.enqueue(key);
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self, incoming: Incoming) -> io::Result<()> {
        let mut bytes = Vec::new();
        if self.is_draining || self.count >= self.most_connections {
            let transmit = self.quic.refuse(incoming, &mut bytes);
            return self.send(transmit, bytes);
        }
        match self.quic.accept(incoming, self.shared.now, &mut bytes, None) {
            Ok((ConnectionHandle(key), connection)) => {
                if self.connections.len() <= key {
                    self.connections.resize_with(key + 1, || None);
                }
                self.connections[key] = Some(Box::new(Connection::new(connection)));
                self.count += 1;
                if let Some(row) = self.shared.row {
                    row.begin();
                }
                self.enqueue(key);
                Ok(())
            }
            Err(error) => match error.response {
                Some(transmit) => self.send(transmit, bytes),
                None => Ok(()),
            },
        }
    }

    fn enqueue(&mut self, key: usize) {
        if let Some(connection) = self.connections[key].as_mut()
            && !std::mem::replace(&mut connection.is_queued, true)
        {
            self.queue.push_back(key);
        }
    }

    fn take_turns(&mut self) -> io::Result<()> {
        for _ in 0..self.queue.len() {
            if self.unsent.is_some() {
                break;
            }
            let Some(key) = self.queue.pop_front() else { break };
            self.take_turn(key)?;
        }
        Ok(())
    }

    fn take_turn(&mut self, key: usize) -> io::Result<()> {
        let Some(connection) = self.connections[key].as_mut() else { return Ok(()) };
        connection.is_queued = false;
        connection.turn(&mut self.shared);
        while let Some(event) = connection.quic.poll_endpoint_events() {
            if let Some(event) = self.quic.handle_event(ConnectionHandle(key), event) {
                connection.quic.handle_event(event);
            }
        }
        let segments = self.socket.most_segments(connection.quic.current_mtu().into());
        let mut has_more = true;
        for _ in 0..SENDS {
            let Some(connection) = self.connections[key].as_mut() else { break };
            let mut bytes = std::mem::take(&mut self.space);
            bytes.clear();
            let Some(transmit) =
                connection.quic.poll_transmit(self.shared.now, segments, &mut bytes)
            else {
                self.space = bytes;
                has_more = false;
                break;
            };
            self.send(transmit, bytes)?;
            if self.unsent.is_some() {
                break;
            }
        }
        let Some(connection) = self.connections[key].as_mut() else { return Ok(()) };
        if connection.quic.is_drained() {
            self.connections[key] = None;
            self.count -= 1;
            return Ok(());
        }
        if let Some(due) = connection.quic.poll_timeout() {
            self.timers.set(key, due);
        }
        if has_more {
            self.enqueue(key);
        }
        Ok(())
    }

    /// Sends, or keeps what the socket has no room for.
    fn send(&mut self, transmit: Transmit, bytes: Vec<u8>) -> io::Result<()> {
        if self.unsent.is_some() {
            // What answers a datagram, and is lost, as on any network.
            return Ok(());
        }
        match self.socket.send(&transmit, &bytes)? {
            true => self.space = bytes,
            false => self.unsent = Some(Unsent { transmit, bytes }),
        }
        Ok(())
    }
}

/// What a datagram is for.
enum Arrival {
    Response(Transmit, Vec<u8>),
    Connection(Incoming),
    Event(ConnectionHandle, quinn_proto::ConnectionEvent),
}

impl AsFd for Endpoint<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
