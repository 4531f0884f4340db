//! What a server's session calls.

/// What a server's session calls. Fields come in the order in which the client sent them.
pub trait ServerHandler {
    /// A field of a request's head, or of its trailers.
    fn field(&mut self, stream: i32, name: &[u8], value: &[u8]);

    /// A head or trailers have come whole.
    fn head_ends(&mut self, _stream: i32) {}

    /// The client sends nothing more on this stream.
    fn request_ends(&mut self, _stream: i32) {}

    /// A stream has ended.
    fn closed(&mut self, _stream: i32) {}

    /// How many bytes of a body the next DATA frame carries, at most `most`, and whether they are the last;
    /// `None` where they cannot be had.
    fn body(&mut self, _stream: i32, _most: usize) -> Option<(usize, bool)> {
        None
    }

    /// Appends as many bytes as the last [`Self::body`] announced; false where they cannot be had.
    fn put_body(&mut self, _stream: i32, _length: usize, _out: &mut Vec<u8>) -> bool {
        false
    }
}
