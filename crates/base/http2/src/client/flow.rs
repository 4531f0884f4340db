//! Flow control of what is received (RFC 9113, section 5.2), for a stream or a connection.

/// A window that is opened again as soon as half of it is used: no server that waits for its windows is held up, and
/// one that does not is not noticed.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceiveWindow {
    size: u32,
    used: u32,
}

impl ReceiveWindow {
    pub(super) fn new(size: u32) -> Self {
        Self { size, used: 0 }
    }

    pub(super) fn left(self) -> u32 {
        self.size - self.used
    }

    /// Notes that a frame of this length has come, and returns by how much the window is to be opened now.
    pub(super) fn take(&mut self, length: u32) -> Option<u32> {
        self.used += length;
        (self.used > self.size / 2).then(|| std::mem::take(&mut self.used))
    }
}
