//! Messages between ranks, independent of their transport.

/// Messages between ranks. No call waits.
pub trait Messages {
    /// How many ranks there are.
    fn size(&self) -> usize;
    /// Sends a message. Those to one rank arrive in their order.
    fn send(&mut self, to: usize, bytes: Vec<u8>);
    /// The next message that has arrived, and its sender.
    fn receive(&mut self) -> Option<(usize, Vec<u8>)>;
    /// Enters the barrier. No rank passes it before all have entered.
    fn enter_barrier(&mut self);
    /// Whether all have entered the barrier since this one did.
    fn has_passed_barrier(&mut self) -> bool;
}
