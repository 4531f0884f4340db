//! Flow control of what is received (RFC 9113, section 5.2), for a stream or a connection.

/// A window that is opened again when the server has used half of it.
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

    /// Notes that a frame of this length has come; `None` where the server may not send so much.
    pub(super) fn take(&mut self, length: u32) -> Option<()> {
        self.used = self.used.checked_add(length).filter(|used| *used <= self.size)?;
        Some(())
    }

    /// By how much the window is to be opened now.
    pub(super) fn increment(&mut self) -> Option<u32> {
        let is_due = self.used > 0 && self.used >= self.size / 2;
        is_due.then(|| std::mem::take(&mut self.used))
    }
}
