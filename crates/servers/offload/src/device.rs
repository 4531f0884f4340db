use units::Nanos;

/// A premaster secret of TLS 1.2 (RFC 5246, section 7.4.7.1).
pub(crate) type Premaster = [u8; 48];

/// An operation on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket(pub(crate) u64);

/// What a device is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) ticket: Ticket,
    /// The size of the RSA key.
    pub(crate) key_bits: u32,
    /// What the device is to answer.
    pub(crate) premaster: Premaster,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) ticket: Ticket,
    pub(crate) premaster: Premaster,
}

/// What decrypts. Times are since an instant of the caller's choice, and never go back.
pub(crate) trait Device: Send {
    /// Takes an operation, and says when it is worth looking for the answer; `None` where it has no room,
    /// or no rate for the key.
    fn submit(&mut self, operation: Operation, now: Nanos) -> Option<Nanos>;

    /// An answer that is there by now. One that is complete has room for another.
    fn collect(&mut self, now: Nanos) -> Option<Completion>;
}
