//! What becomes of received bytes.

/// What became of the bytes that were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// More is wanted.
    More,
    /// The response is complete.
    Complete(Completed),
    /// The response is complete and not what was asked for: see [`Reception::refusal`](super::Reception::refusal). The connection can
    /// carry another request.
    Refused,
    /// The peer announced its close at a point where it may: by close_notify, or as servers do that keep a
    /// connection no longer (an alert, 408).
    Closed,
}

/// A response that arrived as promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    pub status: u16,
    /// Length of the body.
    pub body: u64,
    /// How many of its bytes were opened or read.
    pub opened: u64,
    /// Whether every byte was compared with the generated object.
    pub compared: bool,
    /// Whether its head was read from a record that was not opened, so that nothing authenticates it.
    pub peeked: bool,
    /// Whether the server will close the connection.
    pub closes: bool,
}
