//! A connection's socket, and the gathering of what goes out.
//!
//! OpenSSL writes each record on its own. Here its writes only gather in a buffer that a thread
//! keeps for all of its connections, so OpenSSL never sees a full socket, and what gathered leaves
//! in one send. What the socket does not take moves to the connection's own tail, which exists only
//! then. The cost: encrypted bytes are copied once again, in the cache.

use std::cell::RefCell;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;

use counters::{Call, CounterRow};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown};

/// What one thread's connections write before it is sent; empty between their turns.
pub(crate) type Gather = Rc<RefCell<Vec<u8>>>;

/// A non-blocking socket with its readiness, as edge-triggered epoll reports it. A clone takes the
/// place of its original, when a connection hands its wire to OpenSSL.
#[derive(Clone)]
pub(crate) struct Wire {
    socket: Rc<OwnedFd>,
    gather: Gather,
    row: Option<CounterRow>,
    tail: Tail,
    readable: bool,
    writable: bool,
    hung_up: bool,
    sent: u64,
}

impl Wire {
    pub(crate) fn new(socket: OwnedFd, gather: Gather, row: Option<CounterRow>) -> Self {
        Self {
            socket: Rc::new(socket),
            gather,
            row,
            tail: Tail::default(),
            readable: false,
            writable: true,
            hung_up: false,
            sent: 0,
        }
    }

    /// The socket, for a library that reads and writes it itself.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Takes note of an event.
    pub(crate) fn ready(&mut self, event: &crate::epoll::Readiness) {
        self.readable |= event.readable;
        self.writable |= event.writable;
        self.hung_up |= event.hung_up;
    }

    /// Whether there may be something to read.
    pub(crate) fn is_readable(&self) -> bool {
        self.readable
    }

    /// Whether the peer has closed its direction or the connection is broken.
    pub(crate) fn hung_up(&self) -> bool {
        self.hung_up
    }

    /// Bytes that the socket has taken so far.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Bytes that have gathered and are not sent.
    pub(crate) fn gathered(&self) -> usize {
        self.gather.borrow().len()
    }

    /// Whether a full socket has left something over.
    pub(crate) fn has_tail(&self) -> bool {
        !self.tail.is_empty()
    }

    /// Appends to what is gathered.
    pub(crate) fn gather(&mut self, bytes: &[u8]) {
        self.gather.borrow_mut().extend_from_slice(bytes);
    }

    /// Sends all that is waiting. True when nothing is left; false when the socket is full, and
    /// epoll reports when it is not.
    pub(crate) fn send_gathered(&mut self) -> io::Result<bool> {
        Ok(self.send_with_body(&[], SendFlags::empty())?.is_some())
    }

    /// Sends all that is waiting, and `body` after it without gathering it. Says how much of
    /// `body` was taken, or `None` where the socket is full before it.
    pub(crate) fn send_body(&mut self, body: &[u8]) -> io::Result<Option<usize>> {
        self.send_with_body(body, SendFlags::empty())
    }

    /// As [`Wire::send_gathered`], telling the kernel that more follows at once.
    pub(crate) fn send_before_more(&mut self) -> io::Result<bool> {
        Ok(self.send_with_body(&[], SendFlags::MORE)?.is_some())
    }

    /// Sends up to `count` bytes of `file` from `offset` on, within the kernel; all that waited
    /// must have been sent. `Some(0)` is the file's end, `None` a full socket.
    pub(crate) fn send_file(
        &mut self,
        file: impl AsFd,
        mut offset: u64,
        count: usize,
    ) -> io::Result<Option<usize>> {
        if !self.writable {
            return Ok(None);
        }
        let outcome = rustix::fs::sendfile(&self.socket, file, Some(&mut offset), count);
        self.taken(outcome, Call::Sendfile)
    }

    /// Ends this direction of the connection; what was sent is still delivered.
    pub(crate) fn shut_down(&self) {
        // A connection that is broken already needs no end.
        let _: Result<(), Errno> = rustix::net::shutdown(&self.socket, Shutdown::Write);
    }

    fn send_with_body(&mut self, body: &[u8], flags: SendFlags) -> io::Result<Option<usize>> {
        if !self.tail.is_empty() {
            self.tail.append(&mut self.gather.borrow_mut());
            if !self.writable {
                return Ok(None);
            }
            let outcome =
                rustix::net::send(&self.socket, self.tail.rest(), flags | SendFlags::NOSIGNAL);
            let count = self.taken(outcome, Call::Write)?.unwrap_or(0);
            self.tail.advance(count);
            if !self.tail.is_empty() {
                self.writable = false;
                return Ok(None);
            }
        }
        let gather = Rc::clone(&self.gather);
        let mut gather = gather.borrow_mut();
        let whole = gather.len() + body.len();
        if whole == 0 {
            return Ok(Some(0));
        }
        let mut count = 0;
        if self.writable {
            let flags = flags | SendFlags::NOSIGNAL;
            let outcome = if body.is_empty() {
                rustix::net::send(&self.socket, &gather, flags)
            } else {
                let parts = [IoSlice::new(&gather), IoSlice::new(body)];
                let mut control = SendAncillaryBuffer::default();
                rustix::net::sendmsg(&self.socket, &parts, &mut control, flags)
            };
            count = self.taken(outcome, Call::Write)?.unwrap_or(0);
            // Less than all is what a full socket takes; epoll reports when there is room again.
            self.writable = count == whole;
        }
        let head = gather.len();
        if count < head {
            self.tail.keep(&gather[count..]);
        }
        gather.clear();
        Ok(if count < head || (count == head && whole > head) { None } else { Some(count - head) })
    }

    /// The count of a send; `None` where the socket is full.
    fn taken(&mut self, outcome: Result<usize, Errno>, call: Call) -> io::Result<Option<usize>> {
        match outcome {
            Ok(count) => {
                self.sent += count as u64;
                if let Some(row) = self.row {
                    row.count_call(call, count as u64);
                }
                Ok(Some(count))
            }
            Err(Errno::AGAIN) => {
                self.writable = false;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Read for Wire {
    /// Reads without a system call where epoll has reported nothing new since the last short read.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.readable {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        match rustix::net::recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
            Ok((count, _)) => {
                // A short read has emptied the socket, but does not show that the peer is gone.
                if count < buffer.len() && !self.hung_up {
                    self.readable = false;
                }
                Ok(count)
            }
            Err(Errno::AGAIN) => {
                self.readable = false;
                Err(io::ErrorKind::WouldBlock.into())
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.gather(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a full socket left over.
#[derive(Clone, Default)]
struct Tail {
    bytes: Vec<u8>,
    start: usize,
}

impl Tail {
    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn append(&mut self, bytes: &mut Vec<u8>) {
        self.bytes.append(bytes);
    }

    /// Forgets the first `count` bytes, and the memory with the last.
    fn advance(&mut self, count: usize) {
        self.start += count;
        if self.start == self.bytes.len() {
            *self = Self::default();
        }
    }
}
