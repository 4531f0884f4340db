//! A connection's wire as a library in C sees it: a pointer that its callbacks are given.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::io::{self, Read, Write};
use std::ptr::NonNull;

use crate::wire::Wire;

/// Received at once: a record of the largest size with its header.
const AHEAD: usize = (16 << 10) + 256;

/// A wire at an address of its own. Between calls of the library nobody else uses it.
pub(super) struct WireCell(NonNull<Ends>);

/// The wire, and what was received of it before the library asked for that: libraries ask for the five bytes of a
/// record's header and then for the rest, and each would be a system call.
struct Ends {
    wire: Wire,
    ahead: Vec<u8>,
    start: usize,
}

impl WireCell {
    pub(super) fn new(wire: Wire) -> Self {
        let ends = Box::new(Ends { wire, ahead: Vec::new(), start: 0 });
        Self(NonNull::from(Box::leak(ends)))
    }

    pub(super) fn wire(&self) -> &Wire {
        // SAFETY: it lives as long as the cell; the library runs only while the cell's session is borrowed mutably.
        unsafe { &self.0.as_ref().wire }
    }

    pub(super) fn wire_mut(&mut self) -> &mut Wire {
        // SAFETY: it lives as long as the cell, which is borrowed mutably, so that the library does not run meanwhile.
        unsafe { &mut self.0.as_mut().wire }
    }

    /// What the library gives its callbacks, which give it to [`receive`] and [`send`].
    pub(super) fn pointer(&self) -> *mut c_void {
        self.0.as_ptr().cast()
    }
}

impl Drop for WireCell {
    fn drop(&mut self) {
        // SAFETY: it was a box, and is given back once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// What a library asks to receive.
///
/// # Safety
/// `cell` is the pointer of a cell that lives and is not borrowed; `room` has `length` bytes.
pub(super) unsafe fn receive(
    cell: *mut c_void,
    room: *mut c_void,
    length: usize,
) -> io::Result<usize> {
    // SAFETY: as the caller says.
    let (ends, room) = unsafe {
        (&mut *cell.cast::<Ends>(), std::slice::from_raw_parts_mut(room.cast::<u8>(), length))
    };
    ends.read(room)
}

/// What a library sends: the wire takes all of it.
///
/// # Safety
/// As for [`receive`].
pub(super) unsafe fn send(cell: *mut c_void, bytes: *const c_void, length: usize) {
    // SAFETY: as the caller says.
    let (ends, bytes) = unsafe {
        (&mut *cell.cast::<Ends>(), std::slice::from_raw_parts(bytes.cast::<u8>(), length))
    };
    // It gathers, and never fails.
    let _: io::Result<()> = ends.wire.write_all(bytes);
}

impl Ends {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.ahead.is_empty() {
            if room.len() >= AHEAD {
                return self.wire.read(room);
            }
            return self.read_ahead(room);
        }
        let rest = &self.ahead[self.start..];
        let count = rest.len().min(room.len());
        room[..count].copy_from_slice(&rest[..count]);
        self.start += count;
        if self.start == self.ahead.len() {
            // An idle connection has no buffer.
            (self.ahead, self.start) = (Vec::new(), 0);
        }
        Ok(count)
    }

    /// Receives into this thread's buffer, and keeps what there is no room for.
    fn read_ahead(&mut self, room: &mut [u8]) -> io::Result<usize> {
        thread_local! {
            static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; AHEAD].into());
        }
        BUFFER.with_borrow_mut(|buffer| {
            let received = self.wire.read(buffer)?;
            let count = received.min(room.len());
            room[..count].copy_from_slice(&buffer[..count]);
            self.ahead.extend_from_slice(&buffer[count..received]);
            Ok(count)
        })
    }
}

/// What a callback gives where nothing was received, with the number that says why.
pub(super) fn fail(error: &io::Error) -> c_int {
    let number = match error.kind() {
        io::ErrorKind::WouldBlock => libc::EAGAIN,
        _ => error.raw_os_error().unwrap_or(libc::EIO),
    };
    // SAFETY: it is this thread's own.
    unsafe { *libc::__errno_location() = number };
    -1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoll::Readiness;
    use std::os::unix::net::UnixStream;
    use std::rc::Rc;

    #[test]
    fn what_was_received_ahead_is_given_in_order_and_then_forgotten() {
        let (mut client, server) = UnixStream::pair().unwrap();
        server.set_nonblocking(true).unwrap();
        let mut wire = Wire::new(server.into(), Rc::default(), None);
        wire.ready(&Readiness { token: 0, readable: true, writable: true, hung_up: false });
        let cell = WireCell::new(wire);
        let sent: Vec<u8> = (0..1000_u16).map(|at| at as u8).collect();
        client.write_all(&sent).unwrap();
        let mut received = Vec::new();
        // As a library asks for records: a header, then a body.
        let mut ask = |length: usize| {
            let mut room = vec![0; length];
            // SAFETY: the cell lives, and the memory is as long as it is said to be.
            let count = unsafe { receive(cell.pointer(), room.as_mut_ptr().cast(), length) };
            count.map(|count| received.extend_from_slice(&room[..count]))
        };
        for length in [5, 300, 5, 600, 500] {
            ask(length).unwrap();
        }
        assert_eq!(ask(5).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(received, sent);
        // SAFETY: nobody else uses the cell.
        let ends = unsafe { cell.0.as_ref() };
        assert_eq!(ends.ahead.capacity(), 0);
    }

    #[test]
    fn what_is_sent_gathers() {
        let (_client, server) = UnixStream::pair().unwrap();
        let cell = WireCell::new(Wire::new(server.into(), Rc::default(), None));
        // SAFETY: the cell lives, and the memory is as long as it is said to be.
        unsafe { send(cell.pointer(), b"record".as_ptr().cast(), 6) };
        assert_eq!(cell.wire().gathered(), 6);
    }
}
