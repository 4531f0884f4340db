/// Why a block cannot be decoded. The table is unknown after that, so the connection is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HpackError {
    /// A name or value of more than 64 KiB.
    LongField,
    /// More bytes of fields than this decoder takes.
    LongHead,
    /// What RFC 7541 forbids.
    Wrong(&'static str),
}

/// An integer or a string that is none.
pub const WRONG: HpackError = HpackError::Wrong(
    "a compressed head whose end is missing, or a number in it that is too large",
);
