//! Handshakes, whoever makes them.

use super::established::Established;
use crate::Failure;

/// One handshake under way. It does no input or output itself.
pub trait Handshake: Send {
    /// Takes received bytes, of which it removes those that it used, and appends bytes to send.
    /// `Some` when both sides have finished; the appended bytes must still be sent then.
    ///
    /// On failure, the appended bytes (an alert) should be sent if that is possible.
    fn advance(
        &mut self,
        received: &mut Vec<u8>,
        to_send: &mut Vec<u8>,
    ) -> Result<Option<Established>, Failure>;
}

/// Starts handshakes of one offer, on one thread.
pub trait Client: Send {
    fn start(&self) -> Result<Box<dyn Handshake>, Failure>;

    /// Whether handshakes are full from now on, and their tickets and sessions kept for later ones.
    fn collect(&self, _is_collecting: bool) {}
}
