/// A fuzzer's bytes, taken from the front.
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte, 0 after the end.
    pub(super) fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    /// The next two bytes as a number.
    pub(super) fn short(&mut self) -> usize {
        usize::from(u16::from_be_bytes([self.byte(), self.byte()]))
    }

    /// The next `count` bytes, fewer at the end.
    pub(super) fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Up to 255 bytes, after a byte with their number.
    pub(super) fn counted(&mut self) -> &'a [u8] {
        let count = self.byte();
        self.bytes(count.into())
    }

    /// Up to seven sizes of the pieces in which bytes arrive; without any, they arrive at once.
    pub(super) fn pieces(&mut self) -> Vec<usize> {
        let count = self.byte() % 8;
        let pieces: Vec<usize> = (0..count).map(|_| self.short() + 1).collect();
        if pieces.is_empty() { vec![usize::MAX] } else { pieces }
    }
}
